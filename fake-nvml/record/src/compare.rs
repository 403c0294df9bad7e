//! A recording against the fake: each recorded call is made again, and each field compared.
//! Not the choice of the fake (`fake`), nor what may differ (`varies`).
use crate::{
    ask::{Process, Reply},
    getters::{Getter, getters},
    recording::{Call, MASKED, OriginKind, Recording},
    target::Target,
    varies::{Class, Varies},
    walk::{answered, request},
};
use serde::Serialize;
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt};

/// How the fake stands to a recording.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Fields that are the same.
    pub equal: usize,
    /// Fields that differ and vary by themselves.
    pub varies: usize,
    /// Fields that differ and belong to one machine, or were taken out.
    pub machine: usize,
    /// Fields that differ and are allowed to, with a reason.
    pub allowed: usize,
    /// What could not be compared: functions that this program does not know, calls that failed when they were recorded.
    pub not_compared: BTreeMap<String, usize>,
    /// Where the fake differs.
    pub differences: Vec<Difference>,
}

/// One place where the fake says something else.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The function.
    pub function: String,
    /// The version of its struct.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// On what.
    pub on: String,
    /// With which arguments.
    pub args: BTreeMap<String, u64>,
    /// The field; `code` is the return code, `symbol` whether the library has the function.
    pub field: String,
    /// What was recorded; null where the field was not there.
    pub recorded: Value,
    /// What the fake says; null where it says nothing.
    pub fake: Value,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.version.map(|v| format!(" v{v}")).unwrap_or_default();
        write!(f, "{}{version} {}", self.function, self.on)?;
        for (name, value) in &self.args {
            write!(f, " {name}={value}")?;
        }
        let say = |value: &Value| match (self.field.as_str(), value.as_u64()) {
            ("code", Some(code)) => u32::try_from(code)
                .ok()
                .and_then(|code| gpu_model::Code::ALL.iter().find(|c| c.raw() == code))
                .map_or(format!("code {code}"), |code| code.c_name().to_owned()),
            _ => value.to_string(),
        };
        write!(
            f,
            ": {} was {}, the fake says {}",
            self.field,
            say(&self.recorded),
            say(&self.fake)
        )
    }
}

impl Report {
    /// The differences with how many more of the same function and field follow each.
    pub fn grouped(&self) -> Vec<(&Difference, usize)> {
        let mut groups: Vec<(&Difference, usize)> = Vec::new();
        for difference in &self.differences {
            let same = |d: &Difference| {
                d.function == difference.function
                    && d.version == difference.version
                    && d.field == difference.field
            };
            match groups.iter_mut().find(|(first, _)| same(first)) {
                Some((_, more)) => *more += 1,
                None => groups.push((difference, 0)),
            }
        }
        groups
    }

    /// Whether there is nothing to mend.
    pub fn clean(&self) -> bool {
        self.differences.is_empty()
    }
}

/// Makes each recorded call on the fake and compares.
pub fn compare(recording: &Recording, fake: &mut Process, varies: &Varies) -> Report {
    let mut report = Report::default();
    let partial = recording.origin.kind == OriginKind::Capture;
    let mut absent_here = Vec::new();
    for call in &recording.calls {
        let getter = getters()
            .iter()
            .find(|g| g.name == call.function && g.version() == call.version);
        let target: Result<Target, _> = call.on.parse();
        let (Some(getter), Ok(target), Some(code)) = (getter, target, call.code) else {
            *report
                .not_compared
                .entry(call.function.clone())
                .or_default() += 1;
            continue;
        };
        if absent_here.contains(&getter.name) {
            continue;
        }
        let arguments = in_order(getter, call);
        match fake.ask(&request(getter, target, &arguments)) {
            Reply::Absent => {
                absent_here.push(getter.name.clone());
                report.differences.push(difference(
                    call,
                    "symbol",
                    json!("present"),
                    json!("absent"),
                ));
            }
            reply @ (Reply::TimedOut | Reply::Died(_) | Reply::Overrun(_)) => {
                let says = json!(format!("{reply:?}"));
                report
                    .differences
                    .push(difference(call, "code", json!(code), says));
            }
            reply => {
                let ours = answered(getter, target, &arguments, reply);
                compare_call(&mut report, call, &ours, partial, varies);
            }
        }
    }
    for name in &recording.absent {
        let Some(getter) = getters().iter().find(|g| g.name == *name) else {
            continue;
        };
        let target = if getter.on.iter().any(|kind| kind == "system") {
            Target::System
        } else {
            Target::Gpu(0)
        };
        let arguments = getter
            .arguments(&[0])
            .into_iter()
            .next()
            .unwrap_or_default();
        let asked = fake.ask(&request(getter, target, &arguments));
        if asked == Reply::Absent {
            report.equal += 1;
        } else {
            let call = Call {
                function: name.clone(),
                version: None,
                on: target.to_string(),
                args: BTreeMap::new(),
                code: None,
                failure: None,
                granularity: None,
                value: serde_json::Map::new(),
            };
            report.differences.push(difference(
                &call,
                "symbol",
                json!("absent"),
                json!("present"),
            ));
        }
    }
    report
}

fn in_order(getter: &Getter, call: &Call) -> Vec<(String, u64)> {
    // Peers are whatever was recorded; only the names and their order count here.
    let names = getter
        .arguments(&[0])
        .into_iter()
        .next()
        .unwrap_or_default();
    names
        .into_iter()
        .map(|(name, _)| {
            let value = call.args.get(&name).copied().unwrap_or_default();
            (name, value)
        })
        .collect()
}

fn difference(call: &Call, field: &str, recorded: Value, fake: Value) -> Difference {
    Difference {
        function: call.function.clone(),
        version: call.version,
        on: call.on.clone(),
        args: call.args.clone(),
        field: field.to_owned(),
        recorded,
        fake,
    }
}

fn compare_call(report: &mut Report, call: &Call, ours: &Call, partial: bool, varies: &Varies) {
    let mut fields = Vec::new();
    fields.push(("code".to_owned(), json!(call.code), json!(ours.code)));
    if call.code == Some(0) && ours.code == Some(0) {
        for (name, recorded) in &call.value {
            let here = ours.value.get(name).cloned().unwrap_or_default();
            spread(name, recorded, &here, partial, &mut fields);
        }
        if !partial {
            for (name, here) in ours
                .value
                .iter()
                .filter(|(name, _)| !call.value.contains_key(*name))
            {
                fields.push((name.clone(), Value::Null, here.clone()));
            }
        }
    }
    for (field, recorded, here) in fields {
        let near = |step: u64| {
            let both = recorded.as_u64().zip(here.as_u64());
            both.is_some_and(|(a, b)| a.abs_diff(b) < step)
        };
        if recorded == here || call.granularity.is_some_and(near) {
            report.equal += 1;
            continue;
        }
        if recorded == json!(MASKED) {
            report.machine += 1;
            continue;
        }
        match varies.class(&call.function, &field) {
            Some(Class::Time) => report.varies += 1,
            Some(Class::Machine) => report.machine += 1,
            Some(Class::Allowed) => report.allowed += 1,
            None => report
                .differences
                .push(difference(call, &field, recorded, here)),
        }
    }
}

/// The leaves of a value, by path.
fn spread(
    path: &str,
    recorded: &Value,
    here: &Value,
    partial: bool,
    fields: &mut Vec<(String, Value, Value)>,
) {
    match (recorded, here) {
        (Value::Object(a), Value::Object(b)) => {
            for (name, inner) in a {
                let other = b.get(name).cloned().unwrap_or_default();
                spread(&format!("{path}.{name}"), inner, &other, partial, fields);
            }
            if !partial {
                for (name, other) in b.iter().filter(|(name, _)| !a.contains_key(*name)) {
                    fields.push((format!("{path}.{name}"), Value::Null, other.clone()));
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (i, (inner, other)) in a.iter().zip(b).enumerate() {
                spread(&format!("{path}[{i}]"), inner, other, partial, fields);
            }
        }
        _ => fields.push((path.to_owned(), recorded.clone(), here.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(value: Value, granularity: Option<u64>) -> Call {
        Call {
            function: "nvmlDeviceGetMemoryInfo_v2".to_owned(),
            version: Some(2),
            on: "gpu/0".to_owned(),
            args: BTreeMap::new(),
            code: Some(0),
            failure: None,
            granularity,
            value: value.as_object().cloned().unwrap_or_default(),
        }
    }

    fn report(recorded: &Call, ours: &Call, partial: bool) -> Report {
        let mut report = Report::default();
        let varies = Varies::builtin().expect("the list");
        compare_call(&mut report, recorded, ours, partial, &varies);
        report
    }

    #[test]
    fn fields_are_equal_vary_or_differ() {
        let recorded = call(json!({"total": 100, "free": 90, "reserved": 5}), None);
        let mut ours = call(json!({"total": 101, "free": 80, "reserved": 5}), None);
        let found = report(&recorded, &ours, false);
        assert_eq!(
            (found.equal, found.varies, found.differences.len()),
            (2, 1, 1)
        );
        assert_eq!(
            found.differences[0].to_string(),
            "nvmlDeviceGetMemoryInfo_v2 v2 gpu/0: total was 100, the fake says 101"
        );
        // A code that differs is one difference, whatever the values.
        ours.code = Some(3);
        let found = report(&recorded, &ours, false);
        assert_eq!(
            found.differences[0].to_string(),
            "nvmlDeviceGetMemoryInfo_v2 v2 gpu/0: code was NVML_SUCCESS, the fake says NVML_ERROR_NOT_SUPPORTED"
        );
        assert_eq!(found.differences.len(), 1);
    }

    #[test]
    fn a_capture_shows_a_part_and_rounds() {
        let recorded = call(json!({"total": 1000}), Some(10));
        let ours = call(json!({"total": 1009, "reserved": 80}), None);
        assert!(report(&recorded, &ours, true).clean());
        assert_eq!(
            report(&recorded, &ours, false).differences.len(),
            1,
            "`reserved` was not recorded"
        );
        let ours = call(json!({"total": 1010}), None);
        assert_eq!(report(&recorded, &ours, true).differences.len(), 1);
    }

    #[test]
    fn what_was_taken_out_does_not_differ() {
        let recorded = call(json!({"total": MASKED}), None);
        let found = report(&recorded, &call(json!({"total": 7}), None), false);
        assert_eq!((found.machine, found.differences.len()), (1, 0));
    }

    #[test]
    fn many_of_one_kind_are_one_line() {
        let (a, b) = (
            call(json!({"total": 1}), None),
            call(json!({"total": 2}), None),
        );
        let mut found = report(&a, &b, false);
        found.differences.push(Difference {
            on: "gpu/1".to_owned(),
            ..found.differences[0].clone()
        });
        assert_eq!(found.grouped().len(), 1);
        assert_eq!(found.grouped()[0].1, 1);
    }
}
