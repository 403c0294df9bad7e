//! The names under which a quota counts devices, and what people write instead.

/// Before the class of an implicit extended resource.
const IMPLICIT: &str = "deviceclass.resource.kubernetes.io/";
/// After the class whose devices are counted.
const DEVICES: &str = ".deviceclass.resource.k8s.io/devices";
const CLAIMS: &str = "count/resourceclaims.resource.k8s.io";
const TEMPLATES: &str = "count/resourceclaimtemplates.resource.k8s.io";
const REQUESTS: &str = "requests.";

/// What a key of a quota counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key<'k> {
    /// ResourceClaims.
    Claims,
    /// ResourceClaimTemplates.
    Templates,
    /// Devices that claims request of a class.
    Devices(&'k str),
    /// Devices of a class, as the extended resource that every class is.
    Implicit(&'k str),
    /// An extended resource: what pods request of it and, where a class stands for it, what claims request of that class.
    Resource(&'k str),
    /// It looks like one of these and counts nothing; what was meant, where that can be told.
    Misspelt(Option<String>),
    /// An extended resource without `requests.`: it counts nothing. What to write.
    Bare(String),
    /// Something else.
    Other,
}

/// The key that counts the devices of a class.
pub fn devices(class: &str) -> String {
    format!("{class}{DEVICES}")
}

/// The key that counts a class as extended resource.
pub fn implicit(class: &str) -> String {
    format!("{REQUESTS}{IMPLICIT}{class}")
}

/// The key that counts an extended resource.
pub fn requests(resource: &str) -> String {
    format!("{REQUESTS}{resource}")
}

/// The key that counts claims.
pub fn claims() -> &'static str {
    CLAIMS
}

/// Whether it is a name that Kubernetes keeps for itself: without a domain, or of `kubernetes.io`.
pub(crate) fn is_native(resource: &str) -> bool {
    !resource.contains('/') || resource.contains("kubernetes.io/")
}

/// Whether pods are charged for what they request of it.
pub(crate) fn is_extended(resource: &str) -> bool {
    resource.starts_with(IMPLICIT) || (!is_native(resource) && !resource.starts_with(REQUESTS))
}

impl<'k> Key<'k> {
    /// Reads the key.
    pub fn read(key: &'k str) -> Key<'k> {
        match key {
            CLAIMS => return Key::Claims,
            TEMPLATES => return Key::Templates,
            _ => {}
        }
        if let Some(class) = key.strip_suffix(DEVICES).filter(|class| !class.is_empty()) {
            return Key::Devices(class);
        }
        let resource = key.strip_prefix(REQUESTS);
        if let Some(class) = resource.and_then(|resource| resource.strip_prefix(IMPLICIT)) {
            return if class.is_empty() {
                Key::Misspelt(None)
            } else {
                Key::Implicit(class)
            };
        }
        if let Some(meant) = meant(key) {
            return Key::Misspelt(meant);
        }
        if key.starts_with("count/") {
            return Key::Other;
        }
        match resource {
            Some(resource) if is_native(resource) => Key::Other,
            Some(resource) => Key::Resource(resource),
            None if is_native(key) || key.contains(".storageclass.storage.k8s.io/") => Key::Other,
            None => Key::Bare(requests(
                key.trim_start_matches("request.")
                    .trim_start_matches("limits.")
                    .trim_start_matches("limit."),
            )),
        }
    }

    /// Whether claims may be charged to it.
    pub fn is_about_devices(&self) -> bool {
        matches!(
            self,
            Key::Claims | Key::Devices(_) | Key::Implicit(_) | Key::Resource(_)
        )
    }
}

/// What was meant by a key that speaks of classes or claims and is not one that counts them.
fn meant(key: &str) -> Option<Option<String>> {
    let lower = key.to_ascii_lowercase();
    if lower.contains("resourceclaimtemplate") {
        return Some(Some(TEMPLATES.to_owned()));
    }
    if lower.contains("resourceclaim") {
        return Some(Some(CLAIMS.to_owned()));
    }
    if !lower.contains("deviceclass") {
        return None;
    }
    let implicit_forms = [IMPLICIT, "deviceclass.resource.k8s.io/"];
    let bare = ["", "request.", "requests.", "limits.", "limit."];
    let class = implicit_forms.iter().find_map(|form| {
        let (before, class) = key.split_once(form)?;
        (bare.contains(&before) && !class.is_empty()).then(|| implicit(class))
    });
    let of_class = || {
        let (class, rest) = key.split_once(".deviceclass.resource.")?;
        let unit = rest
            .strip_prefix("k8s.io/")
            .or_else(|| rest.strip_prefix("kubernetes.io/"))?;
        (!class.is_empty() && !unit.is_empty()).then(|| devices(class))
    };
    Some(class.or_else(of_class))
}
