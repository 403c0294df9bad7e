//! Lists of public reports that no scenario plays, each with the reason: `not-run.yaml` beside feature files.

use std::collections::BTreeSet;
use std::sync::Arc;

use report::Unplayed;

use crate::source::{SourceError, SourceFile};

/// Name of such a list.
const FILE: &str = "not-run.yaml";

/// What the lists in the folders of these files name, in order.
pub(crate) fn beside(files: &[Arc<SourceFile>]) -> Result<Vec<Unplayed>, Vec<SourceError>> {
    let folders: BTreeSet<_> = files.iter().map(|file| &file.folder).collect();
    let (mut all, mut errors) = (Vec::new(), Vec::new());
    for path in folders.into_iter().map(|folder| folder.join(FILE)) {
        if !path.is_file() {
            continue;
        }
        let read = std::fs::read_to_string(&path)
            .map_err(|error| error.to_string())
            .and_then(|text| parse(&text));
        match read {
            Ok(list) => all.extend(list),
            Err(reason) => errors.push(SourceError::Unreadable {
                path: path.display().to_string(),
                reason,
            }),
        }
    }
    if errors.is_empty() {
        Ok(all)
    } else {
        Err(errors)
    }
}

fn parse(text: &str) -> Result<Vec<Unplayed>, String> {
    let list: Vec<Unplayed> = serde_yaml_ng::from_str(text).map_err(|error| error.to_string())?;
    let mut seen = BTreeSet::new();
    for it in &list {
        if it.number.is_empty() || it.title.is_empty() || it.reason.is_empty() {
            return Err(format!("{:?} lacks its number, title or reason", it.number));
        }
        if !seen.insert(&it.number) {
            return Err(format!("{} is there twice", it.number));
        }
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_a_reason_for_each() {
        let list = parse("- {number: a-1, title: t, reason: r}\n").expect("a list");
        assert_eq!(list[0].reason, "r");
        for (text, says) in [
            ("- {number: a-1, title: t}\n", "reason"),
            ("- {number: a-1, title: t, reason: ''}\n", "lacks"),
            ("- {number: a-1, title: t, reason: r, why: x}\n", "why"),
            (
                "- {number: a-1, title: t, reason: r}\n- {number: a-1, title: t, reason: r}\n",
                "twice",
            ),
        ] {
            let error = parse(text).expect_err("refused");
            assert!(error.contains(says), "{error}");
        }
    }
}
