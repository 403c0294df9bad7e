//! ResourceQuotas: keys that count devices are spelled in ways of their own, and one that is misspelled counts nothing.

use std::sync::LazyLock;

use regex::Regex;

use crate::object::Object;
use crate::problem::Report;

/// What a key that speaks of device classes may look like (`core/v1/types.go`).
static RIGHT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(count/resourceclaims(templates)?\.resource\.k8s\.io|[a-z0-9.-]+\.deviceclass\.resource\.k8s\.io/devices|requests\.deviceclass\.resource\.kubernetes\.io/[a-z0-9.-]+)$").ok()
});
static ABOUT_DEVICES: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)deviceclass|resourceclaims").ok());

pub(crate) fn check(object: &Object<'_>, report: &mut Report<'_>) {
    let hard = object.spec().map_or(&[][..], |spec| spec.map("hard"));
    for (key, _) in hard {
        let is = |regex: &LazyLock<Option<Regex>>| {
            regex
                .as_ref()
                .is_some_and(|regex| regex.is_match(&key.name))
        };
        if is(&ABOUT_DEVICES) && !is(&RIGHT) {
            report
                .say(object.file, "quota-key", key.place, format!("{:?} counts nothing", key.name))
                .help(
                    "devices of a class: CLASS.deviceclass.resource.k8s.io/devices; claims: count/resourceclaims.resource.k8s.io; \
                     a class as extended resource: requests.deviceclass.resource.kubernetes.io/CLASS",
                );
        } else if key.name.contains('/')
            && !key.name.starts_with("requests.")
            && !key.name.starts_with("count/")
            && !is(&RIGHT)
        {
            report
                .say(
                    object.file,
                    "quota-key",
                    key.place,
                    format!(
                        "a quota counts requests of extended resources only, and {:?} is none",
                        key.name
                    ),
                )
                .help(format!(
                    "write `requests.{}`",
                    key.name
                        .trim_start_matches("request.")
                        .trim_start_matches("limits.")
                ));
        }
    }
}
