//! What is wrong with a GPU: errors, repairs, retired and replaced memory.

use nvml_client::{Device, Location, SramErrors};

use super::tree::{Node, modes};
use super::{Dialect, Section, Topic};
use crate::value::{self, number, or_word, part, yes};

pub(super) fn sections(gpu: &Device<'_>, dialect: Dialect, all: &mut Vec<Section>) {
    all.push((
        None,
        modes(
            "DRAM Encryption Mode",
            "dram_encryption_mode",
            ["current_dram_encryption", "pending_dram_encryption"],
            gpu.dram_encryption(),
        ),
    ));
    all.push((
        Some(Topic::Ecc),
        modes(
            "ECC Mode",
            "ecc_mode",
            ["current_ecc", "pending_ecc"],
            gpu.ecc_mode(),
        ),
    ));
    all.push((Some(Topic::Ecc), errors(gpu, dialect)));
    for node in retired(gpu) {
        all.push((Some(Topic::PageRetirement), node));
    }
    all.push((Some(Topic::RowRemapper), remapped(gpu, dialect)));
}

fn errors(gpu: &Device<'_>, dialect: Dialect) -> Node {
    let sram = gpu.sram_errors();
    let of = |pick: fn(&SramErrors) -> u64| part(&sram, |s| pick(s).to_string());
    let places = |lifetime: bool, parity: String, secded: String| {
        [
            (
                "SRAM Correctable",
                "sram_correctable",
                number(gpu.memory_errors(false, lifetime, Location::Sram)),
            ),
            (
                "SRAM Uncorrectable Parity",
                "sram_uncorrectable_parity",
                parity,
            ),
            (
                "SRAM Uncorrectable SEC-DED",
                "sram_uncorrectable_secded",
                secded,
            ),
            (
                "DRAM Correctable",
                "dram_correctable",
                number(gpu.memory_errors(false, lifetime, Location::Dram)),
            ),
            (
                "DRAM Uncorrectable",
                "dram_uncorrectable",
                number(gpu.memory_errors(true, lifetime, Location::Dram)),
            ),
        ]
        .map(|(text, xml, shown)| Node::value(text, xml, shown))
    };
    let exceeded = part(&sram, |s| yes(s.threshold_exceeded));
    let mut nodes = vec![
        Node::group(
            "Volatile",
            "volatile",
            places(false, of(|s| s.volatile_parity), of(|s| s.volatile_secded)).into(),
        ),
        Node::group(
            "Aggregate",
            "aggregate",
            places(true, of(|s| s.aggregate_parity), of(|s| s.aggregate_secded))
                .into_iter()
                .chain([Node::value(
                    "SRAM Threshold Exceeded",
                    "sram_threshold_exceeded",
                    exceeded,
                )])
                .collect(),
        ),
        Node::group(
            "Aggregate Uncorrectable SRAM Sources",
            "aggregate_uncorrectable_sram_sources",
            vec![
                Node::value("SRAM L2", "sram_l2", of(|s| s.l2)),
                Node::value("SRAM SM", "sram_sm", of(|s| s.sm)),
                Node::value(
                    "SRAM Microcontroller",
                    "sram_microcontroller",
                    of(|s| s.microcontroller),
                ),
                Node::value("SRAM PCIE", "sram_pcie", of(|s| s.pcie)),
                Node::value("SRAM Other", "sram_other", of(|s| s.other)),
            ],
        ),
    ];
    if dialect.since(580) {
        let pending = gpu.repairs_pending();
        let repair = |pick: fn(&(bool, bool)) -> bool| {
            part(&pending, |both| {
                if pick(both) {
                    "GPU requires reset"
                } else {
                    "No"
                }
                .into()
            })
        };
        nodes.extend([
            Node::value(
                "Channel Repair Pending",
                "channel_repair_pending",
                repair(|p| p.0),
            ),
            Node::value("TPC Repair Pending", "tpc_repair_pending", repair(|p| p.1)),
        ]);
    }
    if dialect.since(590) {
        nodes.push(Node::value(
            "Unrepairable Memory",
            "unrepairable_memory",
            "N/A",
        ));
    }
    Node::group("ECC Errors", "ecc_errors", nodes)
}

/// One block in text, three in XML.
fn retired(gpu: &Device<'_>) -> [Node; 2] {
    let single = gpu.retired_pages(false);
    let double = gpu.retired_pages(true);
    let total = |pages: &nvml_client::Result<Vec<u64>>| part(pages, |p| p.len().to_string());
    let pending = or_word(gpu.retired_pages_pending(), |p| yes(p == 1));
    let cause = |xml, pages: &nvml_client::Result<Vec<u64>>| {
        let list = match pages {
            Ok(pages) => Node::group(
                "",
                "retired_pagelist",
                pages
                    .iter()
                    .map(|at| Node::value("", "retired_page_address", format!("0x{at:016x}")))
                    .collect(),
            ),
            Err(e) => Node::value("", "retired_pagelist", value::missing(e)),
        };
        Node::group(
            "",
            xml,
            vec![Node::value("", "retired_count", total(pages)), list],
        )
    };
    [
        Node::group(
            "Retired Pages",
            "",
            vec![
                Node::value("Single Bit ECC", "", total(&single)),
                Node::value("Double Bit ECC", "", total(&double)),
                Node::value("Pending Page Blacklist", "", pending.clone()),
            ],
        ),
        Node::group(
            "",
            "retired_pages",
            vec![
                cause("multiple_single_bit_retirement", &single),
                cause("double_bit_retirement", &double),
                Node::value("", "pending_blacklist", pending.clone()),
                Node::value("", "pending_retirement", pending),
            ],
        ),
    ]
}

fn remapped(gpu: &Device<'_>, dialect: Dialect) -> Node {
    let rows = match gpu.remapped_rows() {
        Ok(rows) => rows,
        Err(e) => return Node::value("Remapped Rows", "remapped_rows", value::missing(&e)),
    };
    let banks = gpu.remap_histogram();
    let bank =
        |pick: fn(&nvml_client::Histogram) -> u32| part(&banks, |b| format!("{} bank(s)", pick(b)));
    // 595 tells those of banks that are no longer used.
    let inactive = |text, xml| dialect.since(595).then(|| Node::value(text, xml, "0"));
    let mut nodes = vec![Node::value(
        "Correctable Error",
        "remapped_row_corr",
        rows.corrected.to_string(),
    )];
    nodes.extend(inactive(
        "Correctable Error (Inactive)",
        "remapped_row_corr_inactive",
    ));
    nodes.push(Node::value(
        "Uncorrectable Error",
        "remapped_row_unc",
        rows.uncorrected.to_string(),
    ));
    nodes.extend(inactive(
        "Uncorrectable Error (Inactive)",
        "remapped_row_unc_inactive",
    ));
    nodes.extend([
        Node::value("Pending", "remapped_row_pending", yes(rows.pending)),
        Node::value(
            "Remapping Failure Occurred",
            "remapped_row_failure",
            yes(rows.failed),
        ),
        Node::group(
            "Bank Remap Availability Histogram",
            "row_remapper_histogram",
            vec![
                Node::value("Max", "row_remapper_histogram_max", bank(|b| b.max)),
                Node::value("High", "row_remapper_histogram_high", bank(|b| b.high)),
                Node::value(
                    "Partial",
                    "row_remapper_histogram_partial",
                    bank(|b| b.partial),
                ),
                Node::value("Low", "row_remapper_histogram_low", bank(|b| b.low)),
                Node::value("None", "row_remapper_histogram_none", bank(|b| b.none)),
            ],
        ),
    ]);
    Node::group("Remapped Rows", "remapped_rows", nodes)
}
