//! What other tools say of who used a GPU, and where it differs from the ledger: OpenCost's allocations (JSON), dcgm-exporter's
//! series (text) and any FOCUS file (CSV). They know pods or claims by name; a claim's UID only FOCUS may.
//! Not here: a judgement on amounts, which these tools count otherwise: hours and presence are compared, costs are shown.

use std::collections::BTreeMap;

use serde_json::Value;

/// What a tool says of one pod or claim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// GPU-hours, where it says them.
    pub hours: Option<f64>,
    /// What it cost, as it says.
    pub cost: Option<String>,
    /// In how many series or rows it is named.
    pub rows: u64,
}

/// The tool's words by claim or pod: `claim UID`, `claim NAMESPACE/NAME` or `pod NAMESPACE/NAME`.
pub type Theirs = BTreeMap<String, Said>;

/// A file that no reader here understands.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// None of the three.
    #[error(
        "this is neither OpenCost's allocation JSON (an object with `data`), nor dcgm-exporter's text (lines DCGM_FI_…{{…}} N), nor a FOCUS CSV (a header with BilledCost)"
    )]
    Unknown,
    /// The right kind, and broken.
    #[error("line {line}: {why}")]
    Broken {
        /// From 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
}

/// Reads a file of any of the three kinds.
///
/// # Errors
/// It is of none, or broken.
pub fn read(text: &str) -> Result<Theirs, Unread> {
    let start = text.trim_start();
    if start.starts_with('{') {
        let value: Value = serde_json::from_str(text).map_err(|error| Unread::Broken {
            line: error.line(),
            why: error.to_string(),
        })?;
        return opencost(&value).ok_or(Unread::Unknown);
    }
    let header = start.lines().next().unwrap_or_default();
    if header
        .split(',')
        .any(|column| column.trim_matches('"') == "BilledCost")
    {
        return focus(start);
    }
    if start.lines().any(|line| line.starts_with("DCGM_FI_")) {
        return dcgm(text);
    }
    Err(Unread::Unknown)
}

/// `data` is a list of maps, or one map, from names to allocations.
fn opencost(value: &Value) -> Option<Theirs> {
    let sets = match value.get("data")? {
        Value::Array(sets) => sets.clone(),
        set @ Value::Object(_) => vec![set.clone()],
        _ => return None,
    };
    let mut theirs = Theirs::new();
    for allocation in sets
        .iter()
        .filter_map(Value::as_object)
        .flat_map(serde_json::Map::values)
    {
        let part = |name: &str| allocation["properties"][name].as_str();
        let (Some(namespace), Some(pod)) = (part("namespace"), part("pod")) else {
            continue;
        };
        let said = theirs.entry(format!("pod {namespace}/{pod}")).or_default();
        said.rows += 1;
        let hours = allocation["gpuHours"].as_f64().unwrap_or(0.0);
        said.hours = Some(said.hours.unwrap_or(0.0) + hours);
        said.cost = allocation["gpuCost"].as_f64().map(|cost| cost.to_string());
    }
    Some(theirs)
}

/// Labels of a series name the claim or the pod; how often one does is what sums over series would multiply (dcgm-exporter #353, #587).
fn dcgm(text: &str) -> Result<Theirs, Unread> {
    let mut theirs = Theirs::new();
    for (at, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.starts_with("DCGM_FI_"))
    {
        let broken = || Unread::Broken {
            line: at + 1,
            why: "a series is written NAME{label=\"value\",…} NUMBER".to_owned(),
        };
        let (_, rest) = line.split_once('{').ok_or_else(broken)?;
        let (labels, _) = rest.rsplit_once('}').ok_or_else(broken)?;
        let labels = labels_of(labels).ok_or_else(broken)?;
        let label = |name: &str| labels.get(name).filter(|value| !value.is_empty());
        let claim = label("dra_claim_namespace").zip(label("dra_claim_name"));
        let pod = label("namespace").zip(label("pod"));
        let who = claim.map(|(namespace, name)| format!("claim {namespace}/{name}"));
        let who = who.or_else(|| pod.map(|(namespace, name)| format!("pod {namespace}/{name}")));
        if let Some(who) = who {
            theirs.entry(who).or_default().rows += 1;
        }
    }
    Ok(theirs)
}

/// `name="value"` with `\"`, `\\` and `\n` in values, joined by commas.
fn labels_of(text: &str) -> Option<BTreeMap<String, String>> {
    let mut labels = BTreeMap::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut characters = after.char_indices();
        let end = loop {
            match characters.next()? {
                (_, '\\') => value.push(match characters.next()?.1 {
                    'n' => '\n',
                    other => other,
                }),
                (at, '"') => break at,
                (_, other) => value.push(other),
            }
        };
        labels.insert(name.trim_start_matches(',').trim().to_owned(), value);
        rest = after[end + 1..].trim_start_matches(',').trim();
    }
    Some(labels)
}

fn focus(text: &str) -> Result<Theirs, Unread> {
    let mut records = records(text)?.into_iter();
    let (_, header) = records.next().ok_or(Unread::Unknown)?;
    let column = |name: &str| header.iter().position(|it| it == name);
    let (cost, uid, resource) = (
        column("BilledCost"),
        column("x_ClaimUid"),
        column("ResourceId"),
    );
    let (quantity, unit) = (column("ConsumedQuantity"), column("ConsumedUnit"));
    let mut theirs = Theirs::new();
    for (line, record) in records {
        if record.len() != header.len() {
            return Err(Unread::Broken {
                line,
                why: format!(
                    "it has {} fields, the header {}",
                    record.len(),
                    header.len()
                ),
            });
        }
        let field =
            |at: Option<usize>| at.and_then(|at| record.get(at)).filter(|it| !it.is_empty());
        let Some(who) = field(uid).or(field(resource)) else {
            continue;
        };
        let said = theirs.entry(format!("claim {who}")).or_default();
        said.rows += 1;
        said.cost = field(cost).cloned().or(said.cost.take());
        let per_hour = match field(unit).map(|unit| unit.to_lowercase()) {
            Some(unit) if unit.contains("second") => 3600.0,
            Some(unit) if unit.contains("hour") => 1.0,
            _ => continue,
        };
        if let Some(quantity) = field(quantity).and_then(|it| it.parse::<f64>().ok()) {
            said.hours = Some(said.hours.unwrap_or(0.0) + quantity / per_hour);
        }
    }
    Ok(theirs)
}

/// The records of a CSV file (RFC 4180), each with its first line.
fn records(text: &str) -> Result<Vec<(usize, Vec<String>)>, Unread> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let (mut line, mut begun, mut quoted) = (1, 1, false);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        line += usize::from(character == '\n');
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            other if quoted => field.push(other),
            ',' => record.push(std::mem::take(&mut field)),
            '\n' => {
                record.push(std::mem::take(&mut field));
                records.push((begun, std::mem::take(&mut record)));
                begun = line;
            }
            '\r' => {}
            other => field.push(other),
        }
    }
    if quoted {
        return Err(Unread::Broken {
            line: begun,
            why: "a quoted field has no end".to_owned(),
        });
    }
    if !field.is_empty() || !record.is_empty() {
        record.push(field);
        records.push((begun, record));
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opencost_knows_pods_and_hours() {
        let text = r#"{"code": 200, "data": [{"a": {"properties": {"namespace": "team", "pod": "p"}, "gpuHours": 2.5, "gpuCost": 1.25},
            "__idle__": {"properties": {}, "gpuHours": 1}}, {"a": {"properties": {"namespace": "team", "pod": "p"}, "gpuHours": 0.5, "gpuCost": 0.25}}]}"#;
        let theirs = read(text).expect("read");
        assert_eq!(theirs.len(), 1);
        assert_eq!(
            theirs["pod team/p"],
            Said {
                hours: Some(3.0),
                cost: Some("0.25".to_owned()),
                rows: 2
            }
        );
    }

    #[test]
    fn dcgm_exporter_names_a_claim_once_for_each_series() {
        let text = "# HELP x\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-1\",pod=\"p\",namespace=\"team\",dra_claim_name=\"c\",dra_claim_namespace=\"team\"} 5\n\
            DCGM_FI_DEV_FB_USED{gpu=\"0\",pod=\"p,\\\"q\\\"\",namespace=\"team\"} 7\nDCGM_FI_DEV_FB_USED{gpu=\"1\"} 7\n";
        let theirs = read(text).expect("read");
        let names: Vec<&str> = theirs.keys().map(String::as_str).collect();
        assert_eq!(names, ["claim team/c", "pod team/p,\"q\""]);
        assert!(matches!(
            read("DCGM_FI_X 1\n"),
            Err(Unread::Broken { line: 1, .. })
        ));
    }

    #[test]
    fn focus_knows_uids_and_hours() {
        let text = "BilledCost,x_ClaimUid,ConsumedQuantity,ConsumedUnit,ChargeDescription\r\n1.50,u-1,7200,Seconds,\"a \"\"b\"\", c\"\r\n0.5,u-1,1,Hours,\r\n2,,1,Hours,idle\r\n";
        let theirs = read(text).expect("read");
        assert_eq!(theirs.len(), 1);
        assert_eq!(theirs["claim u-1"].hours, Some(3.0));
        assert!(matches!(
            read("BilledCost,x\n1\n"),
            Err(Unread::Broken { line: 2, .. })
        ));
        assert!(matches!(
            read("BilledCost,x\n\"1,2\n"),
            Err(Unread::Broken { line: 2, .. })
        ));
        assert!(matches!(read("what is this"), Err(Unread::Unknown)));
        assert!(matches!(read("{\"x\": 1}"), Err(Unread::Unknown)));
    }
}
