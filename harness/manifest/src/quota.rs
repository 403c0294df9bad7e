//! ResourceQuotas: keys that count nothing, and limits that are refused or mean something else. What counts what is the oracle's
//! (`oracle::quota`).

use oracle::Gates;
use oracle::quota::{Key, Rules, Unfit, unfit};

use crate::object::Object;
use crate::problem::Report;
use crate::tree::Value;

const KEYS: &str = "devices of a class: CLASS.deviceclass.resource.k8s.io/devices; claims: count/resourceclaims.resource.k8s.io; \
     a class as extended resource: requests.deviceclass.resource.kubernetes.io/CLASS";

pub(crate) fn check(object: &Object<'_>, gates: &Gates, report: &mut Report<'_>) {
    let rules = Rules::of(gates);
    let hard = object.spec().map_or(&[][..], |spec| spec.map("hard"));
    let mut about_devices = false;
    for (key, limit) in hard {
        let mut bad = |message: String, help: String| {
            report
                .say(object.file, "quota-key", key.place, message)
                .help(help);
        };
        match Key::read(&key.name) {
            Key::Misspelt(meant) => bad(
                format!("{:?} counts nothing", key.name),
                meant.map_or_else(
                    || KEYS.to_owned(),
                    |meant| format!("write `{meant}`; {KEYS}"),
                ),
            ),
            Key::Bare(right) => bad(
                format!(
                    "a quota counts requests of extended resources only, and {:?} is none",
                    key.name
                ),
                format!("write `{right}`"),
            ),
            Key::Claims | Key::Devices(_) => about_devices = true,
            _ => {}
        }
        let text = match &limit.value {
            Value::Text(text) => text.clone(),
            Value::Int(number) => number.to_string(),
            Value::Number(number) => number.clone(),
            _ => continue,
        };
        for unfit in unfit(&key.name, &text, &rules) {
            let help = match unfit {
                Unfit::Negative => "0 is the least: nothing of it may be had",
                Unfit::NotWhole => "write a whole number of devices, of 15 digits at most",
                Unfit::Fraction => "write a whole number of devices",
                Unfit::Endless => "leave the key out, if there is to be no limit",
            };
            report
                .say(
                    object.file,
                    "quota-limit",
                    limit.place,
                    format!("{text} as limit of {:?}: {unfit}", key.name),
                )
                .help(help);
        }
    }
    let scopes = ["scopes", "scopeSelector"];
    let scoped = object
        .spec()
        .and_then(|spec| scopes.iter().find_map(|name| spec.get(name)));
    if let Some(scoped) = scoped
        && about_devices
    {
        report
            .say(
                object.file,
                "quota-scope",
                scoped.place,
                "claims are in no scope: a quota that has one counts none of them",
            )
            .help("take the keys about devices and claims into a quota without scopes");
    }
}
