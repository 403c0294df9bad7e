//! What a GPU does now: performance, memory, utilisation, temperature, power, clocks, fabric.

use nvml_client::{Clock, Device, Fabric, Result, Sessions, Threshold};

use super::identity::absent;
use super::tree::Node;
use super::{Dialect, Section, Topic, mig};
use crate::value::{self, DEPRECATED, active, number, or_word, switch, with};

/// Fields by number (`NVML_FI_DEV_*`, as of nvml.h 13.0.87: 251 to 253 had another meaning for a while).
pub(crate) mod field {
    pub(crate) const SW_POWER_CAP: u32 = 74;
    pub(crate) const SYNC_BOOST: u32 = 76;
    pub(crate) const MEMORY_TEMP: u32 = 82;
    pub(crate) const POWER_AVERAGE: u32 = 185;
    pub(crate) const POWER_INSTANT: u32 = 186;
    pub(crate) const SHUTDOWN_TLIMIT: u32 = 193;
    pub(crate) const SLOWDOWN_TLIMIT: u32 = 194;
    pub(crate) const MEM_MAX_TLIMIT: u32 = 195;
    pub(crate) const GPU_MAX_TLIMIT: u32 = 196;
    pub(crate) const SW_THERM_SLOWDOWN: u32 = 269;
    pub(crate) const HW_THERM_SLOWDOWN: u32 = 270;
    pub(crate) const HW_POWER_BRAKE: u32 = 271;
}

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

pub(super) fn before_memory(gpu: &Device<'_>, dialect: Dialect, all: &mut Vec<Section>) {
    all.push((
        None,
        Node::value("Fan Speed", "fan_speed", with(gpu.fan_speed(), "%")),
    ));
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
                let shown = match &reasons {
                    Ok(mask) => active(mask & bit != 0),
                    Err(e) => value::missing(e).into(),
                };
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
    performance(Node::value(
        "Sparse Operation Mode",
        "sparse_operation_mode",
        "N/A",
    ));
    for node in [
        mig::memory("FB Memory Usage", "fb_memory_usage", gpu.memory(), true),
        mig::memory("BAR1 Memory Usage", "bar1_memory_usage", gpu.bar1(), false),
        mig::memory(
            "Conf Compute Protected Memory Usage",
            "cc_protected_memory_usage",
            gpu.protected_memory(),
            false,
        ),
    ] {
        all.push((Some(Topic::Memory), node));
    }
    all.push((
        Some(Topic::Compute),
        Node::value(
            "Compute Mode",
            "compute_mode",
            or_word(gpu.compute_mode(), |m| m.text().into()),
        ),
    ));
    all.push((Some(Topic::Utilization), utilization(gpu)));
    for (topic, text, xml, sessions) in [
        (
            Topic::EncoderStats,
            "Encoder Stats",
            "encoder_stats",
            gpu.encoder_sessions(),
        ),
        (
            Topic::FbcStats,
            "FBC Stats",
            "fbc_stats",
            gpu.capture_sessions(),
        ),
    ] {
        all.push((Some(topic), self::sessions(text, xml, sessions)));
    }
}

fn utilization(gpu: &Device<'_>) -> Node {
    let rates = gpu.utilization();
    let rate = |pick: fn(&nvml_client::Utilization) -> u32| match &rates {
        Ok(rates) => format!("{} %", pick(rates)),
        Err(e) => value::missing(e).into(),
    };
    let engine = |got: Result<(u32, u32)>| or_word(got, |(percent, _)| format!("{percent} %"));
    Node::group(
        "Utilization",
        "utilization",
        vec![
            Node::value("GPU", "gpu_util", rate(|u| u.gpu)),
            Node::value("Memory", "memory_util", rate(|u| u.memory)),
            Node::value("Encoder", "encoder_util", engine(gpu.encoder_utilization())),
            Node::value("Decoder", "decoder_util", engine(gpu.decoder_utilization())),
            Node::value("JPEG", "jpeg_util", engine(gpu.jpeg_utilization())),
            Node::value("OFA", "ofa_util", engine(gpu.ofa_utilization())),
        ],
    )
}

fn sessions(text: &'static str, xml: &'static str, sessions: Result<Sessions>) -> Node {
    let show = |pick: fn(&Sessions) -> u32| match &sessions {
        Ok(sessions) => pick(sessions).to_string(),
        Err(e) => value::missing(e).into(),
    };
    Node::group(
        text,
        xml,
        vec![
            Node::value("Active Sessions", "session_count", show(|s| s.count)),
            Node::value("Average FPS", "average_fps", show(|s| s.fps)),
            Node::value("Average Latency", "average_latency", show(|s| s.latency)),
        ],
    )
}

pub(super) fn after_errors(gpu: &Device<'_>, dialect: Dialect, all: &mut Vec<Section>) {
    all.push((Some(Topic::Temperature), temperature(gpu)));
    all.push((
        Some(Topic::SupportedTargetTemp),
        Node::group(
            "",
            "supported_gpu_target_temp",
            vec![
                Node::value("", "gpu_target_temp_min", "N/A"),
                Node::value("", "gpu_target_temp_max", "N/A"),
            ],
        ),
    ));
    power(gpu, dialect, all);
    clocks(gpu, dialect, all);
    all.push((None, fabric(gpu.fabric(), dialect)));
    all.push((Some(Topic::SupportedClocks), supported_clocks(gpu)));
}

fn temperature(gpu: &Device<'_>) -> Node {
    let degrees = |id| with(gpu.field(id, 0), "C");
    let threshold = |t| with(gpu.threshold(t), "C");
    let margin = gpu.margin_temperature();
    // A card speaks either of degrees or, from Ada on, of distances to its limit.
    const ADA: u32 = 8;
    let distances = margin.is_ok() || gpu.architecture().is_ok_and(|a| a >= ADA);
    let mut nodes = vec![
        Node::value("GPU Current Temp", "gpu_temp", with(gpu.temperature(), "C")),
        Node::value("GPU T.Limit Temp", "gpu_temp_tlimit", with(margin, "C")),
    ];
    if distances {
        nodes.extend([
            Node::value(
                "GPU Shutdown T.Limit Temp",
                "gpu_temp_max_tlimit_threshold",
                degrees(field::SHUTDOWN_TLIMIT),
            ),
            Node::value(
                "GPU Slowdown T.Limit Temp",
                "gpu_temp_slow_tlimit_threshold",
                degrees(field::SLOWDOWN_TLIMIT),
            ),
            Node::value(
                "GPU Max Operating T.Limit Temp",
                "gpu_temp_max_gpu_tlimit_threshold",
                degrees(field::GPU_MAX_TLIMIT),
            ),
        ]);
    } else {
        nodes.extend([
            Node::value(
                "GPU Shutdown Temp",
                "gpu_temp_max_threshold",
                threshold(Threshold::Shutdown),
            ),
            Node::value(
                "GPU Slowdown Temp",
                "gpu_temp_slow_threshold",
                threshold(Threshold::Slowdown),
            ),
            Node::value(
                "GPU Max Operating Temp",
                "gpu_temp_max_gpu_threshold",
                threshold(Threshold::GpuMax),
            ),
        ]);
    }
    nodes.extend([
        Node::value("GPU Target Temperature", "gpu_target_temperature", "N/A"),
        Node::value(
            "Memory Current Temp",
            "memory_temp",
            degrees(field::MEMORY_TEMP),
        ),
        if distances {
            Node::value(
                "Memory Max Operating T.Limit Temp",
                "gpu_temp_max_mem_tlimit_threshold",
                degrees(field::MEM_MAX_TLIMIT),
            )
        } else {
            Node::value(
                "Memory Max Operating Temp",
                "gpu_temp_max_mem_threshold",
                threshold(Threshold::MemoryMax),
            )
        },
    ]);
    Node::group("Temperature", "temperature", nodes)
}

fn power(gpu: &Device<'_>, dialect: Dialect, all: &mut Vec<Section>) {
    const MEMORY: u32 = 2;
    let watts = |got: Result<u32>| or_word(got, |w| format!("{} W", value::watts(w.into())));
    let drawn = |id, scope| or_word(gpu.field(id, scope), |w| format!("{} W", value::watts(w)));
    let state = || {
        // Gone from the text with 580, from XML later.
        let shown = if dialect.since(595) {
            DEPRECATED.to_owned()
        } else {
            or_word(gpu.performance_state(), |p| format!("P{p}"))
        };
        Node::value("", "power_state", shown)
    };
    let range = gpu.power_limit_range();
    let (low, high) = match range {
        Ok((low, high)) => (Ok(low), Ok(high)),
        Err(_) => (absent(), absent()),
    };
    let limits = |current, requested, default, min, max| {
        [
            Node::value("Current Power Limit", "current_power_limit", current),
            Node::value("Requested Power Limit", "requested_power_limit", requested),
            Node::value("Default Power Limit", "default_power_limit", default),
            Node::value("Min Power Limit", "min_power_limit", min),
            Node::value("Max Power Limit", "max_power_limit", max),
        ]
    };
    let draw = |average, instant| {
        [
            Node::value("Average Power Draw", "average_power_draw", average),
            Node::value("Instantaneous Power Draw", "instant_power_draw", instant),
        ]
    };
    let mut add = |text, xml, nodes| all.push((Some(Topic::Power), Node::group(text, xml, nodes)));
    add(
        "GPU Power Readings",
        "gpu_power_readings",
        [state()]
            .into_iter()
            .chain(draw(
                drawn(field::POWER_AVERAGE, 0),
                drawn(field::POWER_INSTANT, 0),
            ))
            .chain(limits(
                watts(gpu.enforced_power_limit()),
                watts(gpu.power_limit()),
                watts(gpu.default_power_limit()),
                watts(low),
                watts(high),
            ))
            .collect(),
    );
    add(
        "GPU Memory Power Readings",
        "gpu_memory_power_readings",
        draw(
            drawn(field::POWER_AVERAGE, MEMORY),
            drawn(field::POWER_INSTANT, MEMORY),
        )
        .into(),
    );
    // Modules that carry a processor as well are read by scope 1, which no capture of one here shows in full.
    let none = || "N/A".to_owned();
    add(
        "Module Power Readings",
        "module_power_readings",
        [state()]
            .into_iter()
            .chain(draw(none(), none()))
            .chain(limits(none(), none(), none(), none(), none()))
            .collect(),
    );
    all.push((
        Some(Topic::PowerSmoothing),
        Node::value("Power Smoothing", "power_smoothing", "N/A"),
    ));
    all.push((
        Some(Topic::PowerProfiles),
        Node::group(
            "Workload Power Profiles",
            "power_profiles",
            vec![
                Node::value(
                    "Requested Profiles",
                    "power_profile_requested_profiles",
                    "N/A",
                ),
                Node::value(
                    "Enforced Profiles",
                    "power_profile_enforced_profiles",
                    "N/A",
                ),
            ],
        ),
    ));
    if dialect.since(595) {
        all.push((
            Some(Topic::Power),
            Node::value("EDPp Multiplier", "edpp_multiplier", "N/A"),
        ));
    }
}

fn clocks(gpu: &Device<'_>, dialect: Dialect, all: &mut Vec<Section>) {
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

fn fabric(got: Result<Fabric>, dialect: Dialect) -> Node {
    // A GPU that takes no part in a fabric has nothing to say of one.
    let fabric = got.ok().filter(|f| f.state != 0);
    let show = |word: fn(&Fabric) -> String| fabric.as_ref().map_or_else(|| "N/A".to_owned(), word);
    // Each property has a few bits of the mask; 0 is "not supported".
    let health = |shift: u32, bits: u32, words: &[&str]| {
        let number = fabric.map_or(0, |f| f.health >> shift & ((1 << bits) - 1));
        words
            .get(number as usize)
            .copied()
            .unwrap_or("N/A")
            .to_owned()
    };
    let truth = ["N/A", "True", "False"];
    let mut lines = Vec::new();
    if dialect.since(580) {
        lines.push(Node::value(
            "Summary",
            "summary",
            match fabric.map_or(0, |f| f.summary) {
                1 => "Healthy",
                2 => "Unhealthy",
                3 => "Limited Capacity",
                _ => "N/A",
            },
        ));
    }
    lines.extend([
        Node::value(
            "Bandwidth",
            "bandwidth",
            health(0, 2, &["N/A", "Degraded", "Full"]),
        ),
        Node::value(
            "Route Recovery in progress",
            "route_recovery_in_progress",
            health(2, 2, &truth),
        ),
        Node::value("Route Unhealthy", "route_unhealthy", health(4, 2, &truth)),
        Node::value(
            "Access Timeout Recovery",
            "access_timeout_recovery",
            health(6, 2, &truth),
        ),
    ]);
    if dialect.since(580) {
        lines.push(Node::value(
            "Incorrect Configuration",
            "incorrect_configuration",
            health(
                8,
                4,
                &[
                    "N/A",
                    "None",
                    "Incorrect System Guid",
                    "Incorrect Chassis Serial Number",
                    "No Partition",
                    "Insufficient Nvlinks",
                ],
            ),
        ));
    }
    // Not in a capture of 580.105.08, in one of 580.142.
    if dialect.since_minor(580, 142) {
        lines.push(Node::value(
            "Partition Assigned",
            "partition_assigned",
            "N/A",
        ));
    }
    Node::group(
        "Fabric",
        "fabric",
        vec![
            Node::value(
                "State",
                "state",
                show(|f| value::fabric_state(f.state).into()),
            ),
            Node::value(
                "Status",
                "status",
                show(|f| f.status.map_or("Success", nvml_client::Code::text).into()),
            ),
            Node::value("CliqueId", "cliqueId", show(|f| f.clique.to_string())),
            Node::value(
                "ClusterUUID",
                "clusterUuid",
                show(|f| value::uuid(&f.cluster)),
            ),
            Node::group("Health", "health", lines),
        ],
    )
}

fn supported_clocks(gpu: &Device<'_>) -> Node {
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

/// Enabled or Disabled of two modes: now and after the next reset.
pub(super) fn modes(
    text: &'static str,
    xml: &'static str,
    elements: [&'static str; 2],
    got: Result<(bool, bool)>,
) -> Node {
    let show = |pick: fn(&(bool, bool)) -> bool| match &got {
        Ok(both) => switch(pick(both)),
        Err(e) => value::missing(e).into(),
    };
    Node::group(
        text,
        xml,
        vec![
            Node::value("Current", elements[0], show(|m| m.0)),
            Node::value("Pending", elements[1], show(|m| m.1)),
        ],
    )
}

/// A count, or the word for none.
pub(super) fn count(got: Result<u64>) -> String {
    number(got)
}
