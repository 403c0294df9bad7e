//! Lists and maps that are longer than the API takes.

use oracle::counted;

use crate::problem::Report;
use crate::tree::{Node, Value};

/// Says so where the list or map `key` of `node` has more than `most` entries, at the first that is too many.
pub(crate) fn at_most(
    report: &mut Report<'_>,
    file: usize,
    node: &Node,
    key: &str,
    most: usize,
    help: &str,
) {
    let Some(list) = node.get(key) else { return };
    let (count, place) = match &list.value {
        Value::List(items) => (items.len(), items.get(most).map(|it| it.place)),
        Value::Map(entries) => (entries.len(), entries.get(most).map(|(key, _)| key.place)),
        _ => return,
    };
    if let Some(place) = place {
        report
            .say(
                file,
                "limit",
                place,
                format!(
                    "{key:?} has {}, at most {most} are taken",
                    counted(count, "entry")
                ),
            )
            .help(help);
    }
}
