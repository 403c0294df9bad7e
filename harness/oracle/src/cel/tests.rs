//! Expressions as people write them in classes and claims.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use super::*;
use crate::objects::{Attribute, Capacity, Scalar};

const ALL: Dialect = Dialect {
    multiple_allocations: true,
    includes: true,
    without_list_functions: false,
};

fn facts() -> Arc<Facts> {
    let text = |value: &str| Attribute::scalar(Scalar::Text(value.into()));
    let quantity = |value: &str| Capacity {
        value: value.parse().unwrap(),
        policy: None,
    };
    let roots = ["pci0000:00", "pci0000:01"]
        .map(|root| Scalar::Text(root.into()))
        .to_vec();
    Arc::new(Facts {
        driver: "gpu.example.com".into(),
        multiple: true,
        attributes: [
            ("type".into(), text("mig")),
            ("cores".into(), Attribute::scalar(Scalar::Int(7))),
            ("ready".into(), Attribute::scalar(Scalar::Bool(true))),
            (
                "driverVersion".into(),
                Attribute::scalar(Scalar::Version("580.95.5".into())),
            ),
            ("resource.kubernetes.io/pcieRoot".into(), text("pci0000:01")),
            ("roots".into(), Attribute::list(roots)),
        ]
        .into(),
        capacity: [
            ("memory".into(), quantity("5Gi")),
            ("other.example.com/cores".into(), quantity("500m")),
        ]
        .into(),
    })
}

fn ask(text: &str) -> Result<bool, String> {
    Expression::compile(text, ALL)
        .map_err(|error| error.to_string())?
        .holds(&facts())
}

#[track_caller]
fn holds(text: &str) {
    assert_eq!(ask(text), Ok(true), "{text}");
}

#[test]
fn attributes_by_domain_with_the_driver_as_the_domain_of_names_without_one() {
    holds(r#"device.driver == "gpu.example.com""#);
    holds(r#"device.attributes["gpu.example.com"].type == "mig""#);
    holds(r#"device.attributes["resource.kubernetes.io"].pcieRoot == "pci0000:01""#);
    holds(
        r#"device.attributes["gpu.example.com"].cores >= 7 && device.attributes["gpu.example.com"].ready"#,
    );
    holds(
        r#""type" in device.attributes["gpu.example.com"] && !("x" in device.attributes["gpu.example.com"])"#,
    );
    holds(r#""gpu.example.com" in device.attributes && !("other" in device.attributes)"#);
}

#[test]
fn a_domain_that_is_not_there_is_empty_and_an_attribute_that_is_not_there_is_an_error() {
    holds(r#"!has(device.attributes["other"].type)"#);
    holds(r#"!has(device.attributes["gpu.example.com"].model)"#);
    holds(
        r#"has(device.attributes["gpu.example.com"].model) && device.attributes["gpu.example.com"].model == "x" ? false : true"#,
    );
    let error = ask(r#"device.attributes["gpu.example.com"].model == "x""#).unwrap_err();
    assert!(error.contains("model"), "{error}");
    holds(r#"device.attributes["gpu.example.com"].?model.orValue("none") == "none""#);
}

#[test]
fn quantities() {
    holds(r#"device.capacity["gpu.example.com"].memory.compareTo(quantity("5Gi")) == 0"#);
    holds(r#"device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("4Gi"))"#);
    holds(r#"device.capacity["gpu.example.com"].memory == quantity("5120Mi")"#);
    holds(r#"device.capacity["gpu.example.com"].memory.asInteger() == 5368709120"#);
    holds(r#"!device.capacity["other.example.com"].cores.isInteger()"#);
    holds(
        r#"quantity("1").add(quantity("2")).sub(1).isLessThan(quantity("3")) && quantity("-1").sign() == -1"#,
    );
    holds(r#"isQuantity("5Gi") && !isQuantity("5GB")"#);
    assert!(
        ask(r#"quantity("5GB").sign() == 1"#)
            .unwrap_err()
            .contains("5GB")
    );
}

#[test]
fn versions() {
    holds(r#"device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("570.0.0"))"#);
    holds(r#"device.attributes["gpu.example.com"].driverVersion.major() == 580"#);
    holds(r#"device.attributes["gpu.example.com"].driverVersion == semver("580.95.5")"#);
    holds(
        r#"semver("1.0.0-rc.1").isLessThan(semver("1.0.0")) && semver("1.0.0+a").compareTo(semver("1.0.0+b")) == 0"#,
    );
    holds(r#"!isSemver("v1.0") && isSemver("v1.0", true) && semver("v1.0", true).minor() == 0"#);
}

#[test]
fn lists_and_scalars_include() {
    holds(r#"device.attributes["gpu.example.com"].roots.includes("pci0000:00")"#);
    holds(r#"device.attributes["gpu.example.com"].type.includes("mig")"#);
    holds(r#"!device.attributes["gpu.example.com"].roots.includes("pci0000:02")"#);
    holds(r#""pci0000:00" in device.attributes["gpu.example.com"].roots"#);
    holds(r#"device.attributes["gpu.example.com"].roots.exists(r, r.endsWith(":01"))"#);
}

#[test]
fn bind_names_a_value() {
    holds(r#"cel.bind(a, device.attributes["gpu.example.com"], a.type == "mig" && a.cores == 7)"#);
    holds(r#"cel.bind(l, [], size(l) == 0)"#);
    assert!(ask("cel.bind(a.b, 1, true)").is_err());
}

#[test]
fn strings_of_the_extension() {
    holds(r#"device.attributes["gpu.example.com"].type.upperAscii() == "MIG""#);
    holds(r#"device.attributes["gpu.example.com"].type.matches("^m.g$")"#);
    holds(r#""a,b".split(",").size() == 2"#);
}

#[test]
fn lists_sets_and_patterns() {
    holds(
        r#"sets.contains([1, 2, 3], [3, 1]) && !sets.contains([1], [1, 2]) && sets.contains([1], [])"#,
    );
    holds(r#"sets.equivalent([1, 2], [2, 1, 1]) && !sets.equivalent([1], [])"#);
    holds(r#"sets.intersects([1, 2], [2, 3]) && !sets.intersects([1], [])"#);
    holds(r#"[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(3) == -1"#);
    holds(
        r#"[3, 1, 2].sort() == [1, 2, 3] && [1, 1].distinct() == [1] && lists.range(2) == [0, 1]"#,
    );
    holds(r#"device.driver.find("[a-z]+") == "gpu" && device.driver.find("[0-9]") == """#);
    holds(r#""a1b2".findAll("[0-9]") == ["1", "2"] && "a1b2".findAll("[0-9]", 1) == ["1"]"#);
}

#[test]
fn what_does_not_exist_is_refused_with_its_place_before_any_device_is_asked() {
    let error = |text: &str| Expression::compile(text, Dialect::default()).unwrap_err();
    let place = |text: &str| (error(text).line, error(text).column);
    assert_eq!(place("device.name == \"x\""), (1, 7));
    assert_eq!(place("true &&\n  dev.driver == \"x\""), (2, 3));
    assert_eq!(place("device.driver.frobnicate()"), (1, 25));
    assert!(
        error("device.allowMultipleAllocations")
            .message
            .contains("DRAConsumableCapacity")
    );
    assert!(
        error("device.driver.includes(\"x\")")
            .message
            .contains("DRAListTypeAttributes")
    );
    let broken = error("device.driver ==");
    assert_eq!(broken.line, 1);
    assert!(broken.to_string().contains("line 1, column"), "{broken}");
}

#[test]
fn a_selector_gives_true_or_false() {
    let refused = Expression::selector("device.driver", ALL).map_err(|error| error.to_string());
    assert!(refused.is_err_and(|error| error.contains("string")));
    holds("device.allowMultipleAllocations");
}

#[test]
fn values_that_attributes_can_hold() {
    let derive = |text: &str| Expression::compile(text, ALL).unwrap().attribute(&facts());
    assert_eq!(
        derive(r#"device.attributes["gpu.example.com"].cores * 2"#),
        Ok(Attribute::scalar(Scalar::Int(14)))
    );
    assert_eq!(
        derive(r#"semver("1.2.3")"#),
        Ok(Attribute::scalar(Scalar::Version("1.2.3".into())))
    );
    assert_eq!(derive("[1, 2]").map(|a| a.is_list()), Ok(true));
    assert!(derive("1.5").is_err() && derive("[dyn(1), true]").is_err());
}

#[test]
fn types_that_do_not_fit_are_refused_before_any_device_is_asked() {
    let place = |text: &str| {
        Expression::selector(text, ALL)
            .map(|_| ())
            .map_err(|bad| (bad.line, bad.column))
    };
    assert_eq!(place("device.driver == 3"), Err((1, 15)));
    assert_eq!(place("device.driver && true"), Err((1, 7)));
    assert_eq!(place("[1, \"a\"].size() == 2"), Err((1, 5)));
    assert_eq!(place("1 + 1"), Err((0, 0)));
    for right in [
        "device.attributes[\"d\"].a == 3",
        "device.attributes[\"d\"].a",
        "[1, 2].map(n, n * 2).exists(n, n > 3)",
        "{\"a\": 1}.all(k, k == \"a\")",
        "[[1], [2]].filter(l, l.size() == 1).size() == 2",
        "device.attributes[\"d\"].?a.orValue(1) == 1",
        "optional.of(1).value() == 1 && 1 < 1.5 && 1u <= 2",
        "cel.bind(d, device.capacity[\"d\"], has(d.m) && d.m.isInteger())",
        "\"%d of %d\".format([1, 2]) == \"\" || [1, 2][0] == 1",
        "device.attributes[\"d\"].a.exists(x, x == 1)",
        "type(1) == int && dyn(1) == \"a\"",
    ] {
        assert_eq!(place(right), Ok(()), "{right}");
    }
}

#[test]
fn addresses_and_networks() {
    holds(r#"ip("10.0.0.1").family() == 4 && ip("fe80::1").family() == 6 && !isIP("10.0.0.256")"#);
    holds(r#"!isIP("::ffff:10.0.0.1") && !isIP("fe80::1%eth0") && !isIP("010.0.0.1")"#);
    holds(r#"ip("10.0.0.1") == ip("10.0.0.1") && string(ip("2001:DB8::1")) == "2001:db8::1""#);
    holds(r#"ip.isCanonical("2001:db8::1") && !ip.isCanonical("2001:DB8::1")"#);
    holds(r#"ip("127.0.0.1").isLoopback() && ip("0.0.0.0").isUnspecified()"#);
    holds(r#"ip("169.254.1.1").isLinkLocalUnicast() && ip("224.0.0.1").isLinkLocalMulticast()"#);
    holds(r#"ip("10.0.0.1").isGlobalUnicast() && !ip("255.255.255.255").isGlobalUnicast()"#);
    holds(
        r#"cidr("10.0.0.0/8").containsIP("10.9.9.9") && !cidr("10.0.0.0/8").containsIP(ip("11.0.0.1"))"#,
    );
    holds(
        r#"cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16") && !cidr("10.1.0.0/16").containsCIDR(cidr("10.0.0.0/8"))"#,
    );
    holds(r#"!cidr("::/0").containsIP("10.0.0.1") && cidr("0.0.0.0/0").containsIP("10.0.0.1")"#);
    holds(
        r#"cidr("10.1.2.3/8").masked() == cidr("10.0.0.0/8") && cidr("fd00::1/16").masked().ip() == ip("fd00::")"#,
    );
    holds(
        r#"cidr("10.1.2.3/8").prefixLength() == 8 && string(cidr("10.1.2.3/8")) == "10.1.2.3/8""#,
    );
    holds(r#"!isCIDR("10.0.0.0/33") && !isCIDR("10.0.0.0/08") && !isCIDR("10.0.0.0")"#);
    assert!(ask(r#"ip("x").family() == 4"#).is_err_and(|error| error.contains("no address")));
}

#[test]
fn sums_extremes_and_order_of_lists() {
    holds(
        "[1, 2, 3].sum() == 6 && [1.5, 1.0].sum() == 2.5 && [3, 1, 2].max() == 3 && [3, 1].min() == 1",
    );
    holds(r#"["b", "a"].min() == "a" && [1, 1, 2].isSorted() && !["b", "a"].isSorted()"#);
    holds(r#"[duration("1m"), duration("30s")].sum() == duration("90s")"#);
    assert!(ask("[1].filter(n, n > 1).max() == 1").is_err_and(|error| error.contains("empty")));
    assert!(Expression::compile(r#"["a"].sum() == "a""#, ALL).is_err());
}

#[test]
fn moments() {
    holds(r#"duration("1h30m") > duration("80m") && duration("1h").getMinutes() == 60"#);
    holds(
        r#"timestamp("2026-11-30T12:00:00Z") + duration("24h") == timestamp("2026-12-01T12:00:00Z")"#,
    );
    holds(r#"timestamp("2026-11-30T12:00:00Z").getFullYear() == 2026"#);
    for wrong in [
        r#"duration("1 hour") > duration("1s")"#,
        r#"timestamp("today") > timestamp("2026-01-01T00:00:00Z")"#,
    ] {
        let place = Expression::compile(wrong, ALL)
            .map(|_| ())
            .map_err(|bad| bad.line);
        assert_eq!(place, Err(1), "{wrong}");
    }
}

#[test]
fn what_is_not_run_is_known_and_says_so() {
    for text in [
        "isURL(device.driver)",
        "!format.uuid().validate(device.driver).hasValue()",
        "[1, 2].all(i, v, i < v)",
        r#"{"a": 1}.transformMap(k, v, v + 1) == {"a": 2}"#,
        "[1].first().value() == 1",
    ] {
        assert!(
            ask(text).is_err_and(|error| error.contains("the oracle does not run")),
            "{text}"
        );
    }
}

#[test]
fn list_functions_are_taken_one_minor_after_they_came() {
    let before = Dialect {
        without_list_functions: true,
        ..ALL
    };
    let compiles = |text: &str, dialect| Expression::compile(text, dialect).is_ok();
    for text in [
        "[2, 1].sort() == [1, 2]",
        "[1, 2].slice(0, 1) == [1]",
        "lists.range(2) == [0, 1]",
    ] {
        assert!(compiles(text, ALL) && !compiles(text, before), "{text}");
    }
    assert!(compiles("[1, 2].indexOf(1) == 0", before));
}
