//! Clocks: how fast, at most, and why not faster.

use nvml_client::{Clock, Device, Result, field};

use super::tree::Node;
use super::{Dialect, Section, Topic};
use crate::value::{self, DEPRECATED, active, or_word, part, with};

/// Clock reasons as the report lists them: text, element, bit.
const REASONS: [(&str, &str, u64); 9] = [
    ("Idle", "clocks_event_reason_gpu_idle", 0x1),
    (
        "Applications Clocks Setting",
        "clocks_event_reason_applications_clocks_setting",
        0x2,
    ),
    ("SW Power Cap", "clocks_event_reason_sw_power_cap", 0x4),
    ("HW Slowdown", "clocks_event_reason_hw_slowdown", 0x8),
    (
        "    HW Thermal Slowdown",
        "clocks_event_reason_hw_thermal_slowdown",
        0x40,
    ),
    (
        "    HW Power Brake Slowdown",
        "clocks_event_reason_hw_power_brake_slowdown",
        0x80,
    ),
    ("Sync Boost", "clocks_event_reason_sync_boost", 0x10),
    (
        "SW Thermal Slowdown",
        "clocks_event_reason_sw_thermal_slowdown",
        0x20,
    ),
    (
        "Display Clock Setting",
        "clocks_event_reason_display_clocks_setting",
        0x100,
    ),
];

pub(super) fn performance(gpu: &Device<'_>, dialect: Dialect, all: &mut Vec<Section>) {
    let mut performance = |node| all.push((Some(Topic::Performance), node));
    performance(Node::value(
        "Performance State",
        "performance_state",
        or_word(gpu.performance_state(), |p| format!("P{p}")),
    ));
    let reasons = gpu.clock_reasons();
    performance(Node::group(
        "Clocks Event Reasons",
        "clocks_event_reasons",
        REASONS
            .iter()
            .map(|(name, xml, bit)| {
                let shown = part(&reasons, |mask| active(mask & bit != 0));
                Node::value(name, xml, shown)
            })
            .collect(),
    ));
    if dialect.since(580) {
        let counter = |text, xml, id| Node::value(text, xml, with(gpu.field(id, 0), "us"));
        performance(Node::group(
            "Clocks Event Reasons Counters",
            "clocks_event_reasons_counters",
            vec![
                counter(
                    "SW Power Capping",
                    "clocks_event_reasons_counters_sw_power_cap",
                    field::SW_POWER_CAP,
                ),
                counter(
                    "Sync Boost",
                    "clocks_event_reasons_counters_sync_boost",
                    field::SYNC_BOOST,
                ),
                counter(
                    "SW Thermal Slowdown",
                    "clocks_event_reasons_counters_sw_therm_slowdown",
                    field::SW_THERM_SLOWDOWN,
                ),
                counter(
                    "HW Thermal Slowdown",
                    "clocks_event_reasons_counters_hw_therm_slowdown",
                    field::HW_THERM_SLOWDOWN,
                ),
                counter(
                    "HW Power Braking",
                    "clocks_event_reasons_counters_hw_power_brake",
                    field::HW_POWER_BRAKE,
                ),
            ],
        ));
    }
    // NVML has no call for it. Captures of Hopper (H100, H200, GH200) say that it is off, those of Ampere and Ada nothing.
    const HOPPER: u32 = 9;
    let sparse = if gpu.architecture().is_ok_and(|a| a == HOPPER) {
        "Disabled"
    } else {
        "N/A"
    };
    performance(Node::value(
        "Sparse Operation Mode",
        "sparse_operation_mode",
        sparse,
    ));
}

pub(super) fn sections(gpu: &Device<'_>, dialect: Dialect, all: &mut Vec<Section>) {
    let mhz = |got| with(got, "MHz");
    let applications = |clock, default: bool| {
        if dialect.since(590) {
            return DEPRECATED.to_owned();
        }
        mhz(if default {
            gpu.default_application_clock(clock)
        } else {
            gpu.application_clock(clock)
        })
    };
    let pair = |text, xml, default| {
        Node::group(
            text,
            xml,
            vec![
                Node::value(
                    "Graphics",
                    "graphics_clock",
                    applications(Clock::Graphics, default),
                ),
                Node::value("Memory", "mem_clock", applications(Clock::Memory, default)),
            ],
        )
    };
    let four = |text, xml, get: fn(&Device<'_>, Clock) -> Result<u32>| {
        let one = |text, xml, clock| Node::value(text, xml, mhz(get(gpu, clock)));
        Node::group(
            text,
            xml,
            vec![
                one("Graphics", "graphics_clock", Clock::Graphics),
                one("SM", "sm_clock", Clock::Sm),
                one("Memory", "mem_clock", Clock::Memory),
                one("Video", "video_clock", Clock::Video),
            ],
        )
    };
    let boost = mhz(gpu.max_customer_clock(Clock::Graphics));
    for node in [
        four("Clocks", "clocks", |gpu, clock| gpu.clock(clock)),
        pair("Applications Clocks", "applications_clocks", false),
        pair(
            "Default Applications Clocks",
            "default_applications_clocks",
            true,
        ),
        Node::group(
            "Deferred Clocks",
            "deferred_clocks",
            vec![Node::value("Memory", "mem_clock", "N/A")],
        ),
        four("Max Clocks", "max_clocks", |gpu, clock| {
            gpu.max_clock(clock)
        }),
        Node::group(
            "Max Customer Boost Clocks",
            "max_customer_boost_clocks",
            vec![Node::value("Graphics", "graphics_clock", boost)],
        ),
        Node::group(
            "Clock Policy",
            "clock_policy",
            vec![
                Node::value("Auto Boost", "auto_boost", "N/A"),
                Node::value("Auto Boost Default", "auto_boost_default", "N/A"),
            ],
        ),
    ] {
        all.push((Some(Topic::Clock), node));
    }
    if !dialect.since(580) {
        all.push((
            Some(Topic::Voltage),
            Node::group(
                "Voltage",
                "voltage",
                vec![Node::value("Graphics", "graphics_volt", "N/A")],
            ),
        ));
    }
}

pub(super) fn supported(gpu: &Device<'_>) -> Node {
    let memory = match gpu.supported_memory_clocks() {
        Ok(clocks) if !clocks.is_empty() => clocks,
        Ok(_) => return Node::value("Supported Clocks", "supported_clocks", "N/A"),
        Err(e) => {
            return Node::value("Supported Clocks", "supported_clocks", value::missing(&e));
        }
    };
    let nodes = memory
        .iter()
        .flat_map(|memory| {
            let shown = format!("{memory} MHz");
            let graphics = gpu.supported_graphics_clocks(*memory).unwrap_or_default();
            let mut lines = vec![Node::value("", "value", shown.clone())];
            lines.extend(
                graphics
                    .iter()
                    .map(|mhz| Node::value("", "supported_graphics_clock", format!("{mhz} MHz"))),
            );
            let text = graphics
                .iter()
                .map(|mhz| Node::value("    Graphics", "", format!("{mhz} MHz")));
            [Node::value("Memory", "", shown)]
                .into_iter()
                .chain(text)
                .chain([Node::group("", "supported_mem_clock", lines)])
                .collect::<Vec<_>>()
        })
        .collect();
    Node::group("Supported Clocks", "supported_clocks", nodes)
}
