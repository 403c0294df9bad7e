//! Our layouts against those of public bindings: nvml.h under a C compiler, and nvidia-ml-py under ctypes.
//! Not nvml-wrapper-sys, which the compiler itself compares (`structs!`).
//! From the tables in `data`, which `data/derive.py` writes; `tests/layouts.rs` derives them anew where it can.

use std::collections::BTreeMap;

const HEADER: &str = include_str!("../../data/layouts-header.tsv");
const PYTHON: &str = include_str!("../../data/layouts-nvidia-ml-py.tsv");

#[derive(Debug, PartialEq, Eq)]
struct Layout<'t> {
    size: usize,
    align: usize,
    offsets: BTreeMap<&'t str, usize>,
}

/// The layout of a struct in one of the tables.
fn find<'t>(table: &'t str, name: &str) -> Option<Layout<'t>> {
    let row = table
        .lines()
        .find(|line| line.split('\t').next() == Some(name))?;
    let mut cells = row.split('\t').skip(1);
    let mut number = || {
        cells
            .next()
            .and_then(|cell| cell.parse().ok())
            .expect("a number")
    };
    let (size, align) = (number(), number());
    let field = |cell: &'t str| {
        let mut parts = cell.split(':');
        let offset =
            |part: Option<&str>| part.and_then(|part| part.parse().ok()).expect("an offset");
        (parts.next().expect("a field"), offset(parts.next()))
    };
    Some(Layout {
        size,
        align,
        offsets: cells.map(field).collect(),
    })
}

/// The size of a struct of nvml.h.
pub(crate) fn size(name: &str) -> Option<usize> {
    find(HEADER, name).map(|layout| layout.size)
}

/// nvidia-ml-py calls most structs `c_…`.
fn find_python(name: &str) -> Option<Layout<'static>> {
    find(PYTHON, &format!("c_{name}")).or_else(|| find(PYTHON, name))
}

/// Compares a struct of ours, its fields under their names in nvml.h, with both tables.
pub(super) fn compare(name: &str, size: usize, align: usize, fields: &[(&str, usize)]) {
    let header = find(HEADER, name);
    assert!(header.is_some(), "nvml.h has no {name}");
    for (table, layout) in [("nvml.h", header), ("nvidia-ml-py", find_python(name))] {
        let Some(layout) = layout else { continue };
        assert_eq!(
            (size, align),
            (layout.size, layout.align),
            "size and alignment of {name} in {table}"
        );
        for (field, offset) in fields {
            // Rust keeps `type` for itself.
            if let Some(theirs) = layout.offsets.get(field.trim_end_matches('_')) {
                assert_eq!(offset, theirs, "offset of {name}.{field} in {table}");
            } else {
                assert_eq!(table, "nvidia-ml-py", "{name} of {table} has no {field}");
            }
        }
    }
}

/// The two bindings know most structs both, and agree on all but a few of the Python ones.
#[test]
fn the_two_bindings_agree() {
    let mut common = 0;
    let mut differ = Vec::new();
    for line in HEADER.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split('\t').next().expect("a name");
        if let (Some(header), Some(python)) = (find(HEADER, name), find_python(name)) {
            common += 1;
            let moved = |(field, offset): (&&str, &usize)| {
                header
                    .offsets
                    .get(field)
                    .is_some_and(|theirs| theirs != offset)
            };
            if header.size != python.size || python.offsets.iter().any(moved) {
                differ.push(name);
            }
        }
    }
    assert_eq!(differ, OTHERWISE_IN_PYTHON);
    assert!(common > 100, "only {common}: the tables are cut short");
}

/// Found by this test: an older version of the struct, a shorter one, and more room for the opaque data at the end.
const OTHERWISE_IN_PYTHON: [&str; 5] = [
    "nvmlGpuFabricInfoV_t",
    "nvmlGridLicensableFeature_t",
    "nvmlGridLicensableFeatures_t",
    "nvmlVgpuMetadata_t",
    "nvmlVgpuPgpuMetadata_t",
];
