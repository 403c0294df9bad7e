//! What the NVIDIA DRA driver publishes for the cards of the catalogue, in every mode in which it knows them.
//! Not here: counters, names and order (the driver itself runs in scenarios). Names and types are those of
//! sigs.k8s.io/dra-driver-nvidia-gpu v0.4.1 (`deviceinfo.go`, `mig.go`, `partitions.go`), values those of the catalogue.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use gpu_model::{Brand, Catalog, Engines, GiProfile, Spec};
use oracle::objects::{Attribute, Capacity, Scalar};
use oracle::{Facts, Name, Quantity};

/// The driver of GPUs and their partitions.
pub(crate) const DRIVER: &str = "gpu.nvidia.com";

/// The DeviceClasses that come with the driver, with their selectors.
pub(crate) const CLASSES: [(&str, &str); 5] = [
    (
        "gpu.nvidia.com",
        "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'",
    ),
    (
        "mig.nvidia.com",
        "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'mig'",
    ),
    (
        "vfio.gpu.nvidia.com",
        "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'vfio'",
    ),
    (
        "compute-domain-daemon.nvidia.com",
        "device.driver == 'compute-domain.nvidia.com' && device.attributes['compute-domain.nvidia.com'].type == 'daemon'",
    ),
    (
        "compute-domain-default-channel.nvidia.com",
        "device.driver == 'compute-domain.nvidia.com' && device.attributes['compute-domain.nvidia.com'].type == 'channel' && device.attributes['compute-domain.nvidia.com'].id == 0",
    ),
];

/// Attributes and capacities whose values are the machine's, not the model's: nothing can be said of them beforehand.
pub(crate) const OF_THE_MACHINE: [&str; 13] = [
    "uuid",
    "parentUUID",
    "pciBusID",
    "pcieRoot",
    "numaNode",
    "numa",
    "driverVersion",
    "cudaDriverVersion",
    "addressingMode",
    "deviceID",
    "vendorID",
    "iommuFDEnabled",
    "addressableMemory",
];

/// A device as the driver publishes it.
#[derive(Clone, Debug)]
pub struct PublishedDevice {
    /// `1g.5gb of an A100-SXM4-40GB`.
    pub what: String,
    /// The catalogue's model.
    pub model: String,
    /// The MIG profile; none for a whole card.
    pub profile: Option<String>,
    /// Attributes and capacities.
    pub facts: Arc<Facts>,
    /// Only there where a feature gate of the driver is on.
    pub rare: bool,
}

static ALL: LazyLock<Vec<PublishedDevice>> = LazyLock::new(|| {
    let catalog = Catalog::builtin();
    let models: Vec<Spec> = catalog
        .models()
        .into_iter()
        .map(|model| model.spec().clone())
        .collect();
    models.iter().flat_map(devices).collect()
});

/// Every device that the driver publishes for a card of the catalogue: the whole card with and without partitions
/// beside it, partitions on demand and pre-made ones, and the card handed through to a virtual machine.
#[must_use]
pub fn published() -> &'static [PublishedDevice] {
    &ALL
}

fn text(value: &str) -> Attribute {
    Attribute::scalar(Scalar::Text(value.into()))
}

fn version(value: &str) -> Attribute {
    Attribute::scalar(Scalar::Version(value.into()))
}

fn amount(value: u64) -> Capacity {
    Capacity {
        value: Quantity::whole(i64::try_from(value).unwrap_or(i64::MAX)),
        policy: None,
    }
}

type Attributes = BTreeMap<Name, Attribute>;
type Capacities = BTreeMap<Name, Capacity>;

/// go-nvlib's words.
fn brand(brand: Brand) -> &'static str {
    match brand {
        Brand::Unknown => "Unknown",
        Brand::Quadro => "Quadro",
        Brand::Tesla => "Tesla",
        Brand::GeForce => "GeForce",
        Brand::Titan => "Titan",
        Brand::QuadroRtx => "QuadroRTX",
        Brand::NvidiaRtx => "NvidiaRTX",
        Brand::Nvidia => "Nvidia",
        Brand::GeForceRtx => "GeForceRTX",
        Brand::TitanRtx => "TitanRTX",
    }
}

/// What whole cards and partitions have in common; values of the machine are examples.
fn common(spec: &Spec, kind: &str) -> Attributes {
    let capability = format!(
        "{}.{}.0",
        spec.compute_capability.major, spec.compute_capability.minor
    );
    [
        ("type", text(kind)),
        ("productName", text(&spec.name)),
        ("brand", text(brand(spec.brand))),
        ("architecture", text(spec.architecture.word())),
        ("cudaComputeCapability", version(&capability)),
        ("driverVersion", version("580.95.5")),
        ("cudaDriverVersion", version("13.0.0")),
        ("addressingMode", text("HMM")),
        ("resource.kubernetes.io/pciBusID", text("0000:01:00.0")),
        ("resource.kubernetes.io/pcieRoot", text("pci0000:00")),
        (
            "resource.kubernetes.io/numaNode",
            Attribute::scalar(Scalar::Int(0)),
        ),
    ]
    .into_iter()
    .map(|(name, value)| (name.into(), value))
    .collect()
}

fn capacities(multiprocessors: u32, engines: Engines, memory_mib: u64) -> Capacities {
    [
        ("multiprocessors", u64::from(multiprocessors)),
        ("copyEngines", u64::from(engines.copy)),
        ("decoders", u64::from(engines.decoder)),
        ("encoders", u64::from(engines.encoder)),
        ("jpegEngines", u64::from(engines.jpeg)),
        ("ofaEngines", u64::from(engines.ofa)),
        ("memory", memory_mib << 20),
    ]
    .into_iter()
    .map(|(name, value)| (name.into(), amount(value)))
    .collect()
}

fn devices(spec: &Spec) -> Vec<PublishedDevice> {
    let device = |what: String,
                  profile: Option<&GiProfile>,
                  attributes: Attributes,
                  capacity: Capacities,
                  rare: bool| PublishedDevice {
        what: format!("{what} {}", spec.model),
        model: spec.model.clone(),
        profile: profile.map(|it| it.name.clone()),
        facts: Arc::new(Facts {
            driver: DRIVER.into(),
            multiple: false,
            attributes,
            capacity,
        }),
        rare,
    };
    let uuid = || {
        (
            Name::from("uuid"),
            text("GPU-00000000-0000-0000-0000-000000000000"),
        )
    };
    let mut whole = common(spec, "gpu");
    whole.extend([uuid()]);
    let memory: Capacities = [("memory".into(), amount(spec.memory_total.0 << 20))].into();
    let mut all = vec![device(
        "a whole".to_owned(),
        None,
        whole.clone(),
        memory,
        false,
    )];
    let vfio: Attributes = [
        ("type", text("vfio")),
        ("deviceID", text("0x0000")),
        ("vendorID", text("0x10de")),
        ("numa", Attribute::scalar(Scalar::Int(0))),
        ("productName", text(&spec.name)),
        ("iommuFDEnabled", Attribute::scalar(Scalar::Bool(false))),
        ("resource.kubernetes.io/pciBusID", text("0000:01:00.0")),
        ("resource.kubernetes.io/pcieRoot", text("pci0000:00")),
    ]
    .into_iter()
    .map(|(name, value)| (name.into(), value))
    .chain([uuid()])
    .collect();
    let addressable: Capacities = [(
        "addressableMemory".into(),
        amount(spec.memory_total.0 << 20),
    )]
    .into();
    all.push(device(
        "a handed-through".to_owned(),
        None,
        vfio,
        addressable,
        true,
    ));
    let Some(mig) = &spec.mig else { return all };
    let most = |of: fn(&GiProfile) -> u64| mig.profiles.iter().map(of).max().unwrap_or(0);
    let multiprocessors = u32::try_from(most(|it| u64::from(it.multiprocessors))).unwrap_or(0);
    // Beside partitions the card has the largest of each capacity of its profiles.
    let engines = mig
        .profiles
        .iter()
        .fold(Engines::default(), |sum, it| Engines {
            copy: sum.copy.max(it.engines.copy),
            decoder: sum.decoder.max(it.engines.decoder),
            encoder: sum.encoder.max(it.engines.encoder),
            jpeg: sum.jpeg.max(it.engines.jpeg),
            ofa: sum.ofa.max(it.engines.ofa),
        });
    let largest = capacities(multiprocessors, engines, most(|it| it.memory.0));
    all.push(device("a whole".to_owned(), None, whole, largest, false));
    for profile in &mig.profiles {
        let mut attributes = common(spec, "mig");
        attributes.insert("profile".into(), text(&profile.name));
        attributes.insert("parentUUID".into(), uuid().1);
        let capacity = capacities(profile.multiprocessors, profile.engines, profile.memory.0);
        let what = format!("a {} of", profile.name);
        all.push(device(
            what.clone(),
            Some(profile),
            attributes.clone(),
            capacity.clone(),
            false,
        ));
        attributes.extend([uuid()]);
        for place in profile.placements() {
            let mut capacity = capacity.clone();
            capacity.extend(
                (place.start..place.start + place.size)
                    .map(|slice| (format!("memorySlice{slice}").into(), amount(1))),
            );
            all.push(device(
                format!("a pre-made {} of", profile.name),
                Some(profile),
                attributes.clone(),
                capacity,
                false,
            ));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use oracle::{Dialect, Expression};

    #[test]
    fn the_drivers_classes_admit_what_they_are_for() {
        for (class, expression) in &CLASSES[..3] {
            let expression =
                Expression::compile(expression, Dialect::default()).expect("an expression");
            let admitted: Vec<&PublishedDevice> = published()
                .iter()
                .filter(|it| expression.holds(&it.facts) == Ok(true))
                .collect();
            assert!(!admitted.is_empty(), "{class}");
            let migs = admitted.iter().filter(|it| it.profile.is_some()).count();
            assert!(migs == 0 || migs == admitted.len(), "{class}");
        }
        let names: std::collections::BTreeSet<&str> =
            published().iter().map(|it| it.model.as_str()).collect();
        assert_eq!(names.len(), Catalog::builtin().names().count());
    }
}
