use super::*;

fn device(name: &str, consumes: &[(&str, u128)]) -> DeviceView {
    DeviceView {
        name: name.to_owned(),
        attributes: BTreeMap::new(),
        consumes: consumes
            .iter()
            .map(|(counter, amount)| (("set".to_owned(), (*counter).to_owned()), *amount))
            .collect(),
    }
}

fn pool() -> PublishedPool {
    PublishedPool {
        driver: "d".to_owned(),
        pool: "p".to_owned(),
        devices: vec![
            device("big", &[("slot-0", 1), ("slot-1", 1)]),
            device("low", &[("slot-0", 1)]),
            device("high", &[("slot-1", 1)]),
        ],
        counters: [("slot-0", 1), ("slot-1", 1)]
            .into_iter()
            .map(|(counter, amount)| (("set".to_owned(), counter.to_owned()), amount))
            .collect(),
    }
}

#[test]
fn names_of_the_driver_are_read() {
    assert_eq!(named("gpu-0"), Some(Named::Whole { minor: 0 }));
    assert_eq!(named("gpu-10"), Some(Named::Whole { minor: 10 }));
    assert_eq!(
        named("gpu-2-mig-1g5gb-19-3"),
        Some(Named::Partition {
            minor: 2,
            profile_id: 19,
            start: 3
        })
    );
    assert_eq!(
        named("gpu-0-mig-1g10gb-me-20-0"),
        Some(Named::Partition {
            minor: 0,
            profile_id: 20,
            start: 0
        })
    );
    for wrong in [
        "",
        "gpu-",
        "gpu-x",
        "gpu-0-mig-",
        "gpu-0-mig-19-3",
        "vfio-0",
        "gpu-0-mig-1g5gb-19-x",
    ] {
        assert_eq!(named(wrong), None, "{wrong}");
    }
}

#[test]
fn amounts_are_read() {
    assert_eq!(quantity("7"), Some(7));
    assert_eq!(quantity("9984Mi"), Some(9984 << 20));
    assert_eq!(quantity("40Gi"), Some(40 << 30));
    assert_eq!(quantity("2k"), Some(2000));
    assert_eq!(quantity("x"), None);
    assert_eq!(quantity("7Qi"), None);
}

#[test]
fn first_match_takes_published_order_and_counters() {
    let pool = pool();
    let first =
        |taken: &[&str]| first_match(&pool, taken, |_| true).map(|device| device.name.clone());
    assert_eq!(first(&[]).as_deref(), Some("big"));
    assert_eq!(first(&["low"]).as_deref(), Some("high"));
    assert_eq!(first(&["big"]), None);
    assert_eq!(first(&["low", "high"]), None);
    let wanted = |device: &DeviceView| device.name != "big";
    assert_eq!(
        first_match(&pool, &[], wanted).map(|device| device.name.as_str()),
        Some("low")
    );
}

#[test]
fn an_overdraft_is_named() {
    let pool = pool();
    let mut used = Counters::new();
    take(&mut used, &pool.devices[0]);
    assert!(overdrawn(&used, &pool.counters).is_empty());
    take(&mut used, &pool.devices[2]);
    assert_eq!(
        overdrawn(&used, &pool.counters),
        vec![("set/slot-1".to_owned(), 2, 1)]
    );
}
