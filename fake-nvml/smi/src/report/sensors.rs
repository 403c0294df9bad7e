//! What a GPU does now: memory, utilisation, temperature, power.
//! Not its clocks (`clocks`) and its place in a fabric (`fabric`), which stand among these.

use nvml_client::{Device, Result, Sessions, Threshold, field};

use super::tree::Node;
use super::{Dialect, Section, Topic, clocks, fabric, mig};
use crate::value::{self, DEPRECATED, none, or_word, part, with};

pub(super) fn before_memory(gpu: &Device<'_>, dialect: Dialect, all: &mut Vec<Section>) {
    all.push((
        None,
        Node::value("Fan Speed", "fan_speed", with(gpu.fan_speed(), "%")),
    ));
    clocks::performance(gpu, dialect, all);
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
    all.push((Some(Topic::Utilization), utilization(gpu, dialect)));
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

fn utilization(gpu: &Device<'_>, dialect: Dialect) -> Node {
    let rates = gpu.utilization();
    let rate =
        |pick: fn(&nvml_client::Utilization) -> u32| part(&rates, |r| format!("{} %", pick(r)));
    let engine = |got: Result<(u32, u32)>| or_word(got, |(percent, _)| format!("{percent} %"));
    // `Gpu` in a capture of 545, `GPU` in those of 580; where it changed is not known.
    let name = if dialect.since(550) { "GPU" } else { "Gpu" };
    Node::group(
        "Utilization",
        "utilization",
        vec![
            Node::value(name, "gpu_util", rate(|u| u.gpu)),
            Node::value("Memory", "memory_util", rate(|u| u.memory)),
            Node::value("Encoder", "encoder_util", engine(gpu.encoder_utilization())),
            Node::value("Decoder", "decoder_util", engine(gpu.decoder_utilization())),
            Node::value("JPEG", "jpeg_util", engine(gpu.jpeg_utilization())),
            Node::value("OFA", "ofa_util", engine(gpu.ofa_utilization())),
        ],
    )
}

fn sessions(text: &'static str, xml: &'static str, sessions: Result<Sessions>) -> Node {
    let show = |pick: fn(&Sessions) -> u32| part(&sessions, |s| pick(s).to_string());
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
    clocks::sections(gpu, dialect, all);
    all.push((None, fabric::section(gpu.fabric(), dialect)));
    all.push((Some(Topic::SupportedClocks), clocks::supported(gpu)));
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
    const MODULE: u32 = 1;
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
        Err(_) => (none(), none()),
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
        // With this space at its end, in every capture.
        "GPU Memory Power Readings ",
        "gpu_memory_power_readings",
        draw(
            drawn(field::POWER_AVERAGE, MEMORY),
            drawn(field::POWER_INSTANT, MEMORY),
        )
        .into(),
    );
    let of_module = |id| drawn(id, MODULE);
    add(
        "Module Power Readings",
        "module_power_readings",
        [state()]
            .into_iter()
            .chain(draw(
                of_module(field::POWER_AVERAGE),
                of_module(field::POWER_INSTANT),
            ))
            .chain(limits(
                of_module(field::POWER_CURRENT_LIMIT),
                of_module(field::POWER_REQUESTED_LIMIT),
                of_module(field::POWER_DEFAULT_LIMIT),
                of_module(field::POWER_MIN_LIMIT),
                of_module(field::POWER_MAX_LIMIT),
            ))
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
