//! The fields, by what rows are about.

use nvml_client::{Clock, Code, Inforom, Platform, Result, SramErrors, field};

use super::{Field, Look, Row, stamp};
use crate::value::{self, DEPRECATED, active, mib, none, switch, watts, yes};

macro_rules! fields {
    ($(#[$doc:meta])* $table:ident: $($($name:literal)|+ $([$unit:literal])? $(~$bare:ident)? = |$row:pat_param| $get:expr;)*) => {
        $(#[$doc])*
        pub(super) static $table: &[Field] = &[$(Field {
            names: &[$($name),+],
            unit: concat!($($unit)?),
            look: { let _look = Look::Plain; $(let _look = Look::$bare;)? _look },
            get: |$row| Ok($get),
        }),*];
    };
}

fields! {
    /// `--query-gpu`.
    GPU:
    "timestamp" = |r| stamp(r.nvml);
    "driver_version" = |r| r.nvml.driver_version()?;
    "kmd_version" = |r| r.nvml.driver_version()?;
    "vgpu_driver_capability.heterogenous_multivGPU" = |_| none()?;
    "count" = |r| r.nvml.count()?.to_string();
    "name" | "gpu_name" = |r| r.gpu.name()?;
    "serial" | "gpu_serial" = |r| r.gpu.serial()?;
    "uuid" | "gpu_uuid" = |r| r.gpu.uuid()?;
    "pci.bus_id" | "gpu_bus_id" = |r| r.gpu.pci()?.bus_id;
    "pci.domain" = |r| format!("0x{:04X}", r.gpu.pci()?.domain);
    "pci.bus" = |r| format!("0x{:02X}", r.gpu.pci()?.bus);
    "pci.device" = |r| format!("0x{:02X}", r.gpu.pci()?.device);
    "pci.baseClass" = |r| format!("0x{:X}", r.gpu.pci_class()?.base);
    "pci.subClass" = |r| format!("0x{:X}", r.gpu.pci_class()?.sub);
    "pci.device_id" = |r| format!("0x{:08X}", r.gpu.pci()?.device_id);
    "pci.sub_device_id" = |r| format!("0x{:08X}", r.gpu.pci()?.subsystem_id);
    "vgpu_device_capability.fractional_multiVgpu" = |_| none()?;
    "vgpu_device_capability.heterogeneous_timeSlice_profile" = |_| none()?;
    "vgpu_device_capability.heterogeneous_timeSlice_sizes" = |_| none()?;
    "vgpu_device_capability.homogeneous_placements" = |_| none()?;
    "vgpu_device_capability.MIG_timeSlice" = |_| none()?;
    "vgpu_device_capability.MIG_timeSlice_mode" = |_| none()?;
    "pcie.link.gen.current" = |r| r.gpu.pcie_generation()?.to_string();
    "pcie.link.gen.gpucurrent" = |r| r.gpu.pcie_generation()?.to_string();
    "pcie.link.gen.max" = |r| r.gpu.pcie_generation_max()?.to_string();
    "pcie.link.gen.gpumax" = |r| r.gpu.pcie_generation_of_gpu()?.to_string();
    "pcie.link.gen.hostmax" = |_| none()?;
    "pcie.link.width.current" = |r| r.gpu.pcie_width()?.to_string();
    "pcie.link.width.max" = |r| r.gpu.pcie_width_max()?.to_string();
    "index" = |r| r.gpu.index()?.to_string();
    "display_mode" = |r| if r.dialect.since(580) { deprecated() } else { switch(r.gpu.display_mode()? == 1) };
    "display_attached" = |r| yes(r.gpu.display_mode()? == 1);
    "display_active" = |r| switch(r.gpu.display_active()? == 1);
    "persistence_mode" = |r| switch(r.gpu.persistence_mode()? == 1);
    "addressing_mode" = |r| value::addressing(r.gpu.addressing_mode()?).into();
    "accounting.mode" = |r| switch(r.gpu.accounting_mode()? == 1);
    "accounting.buffer_size" = |r| r.gpu.accounting_buffer()?.to_string();
    "driver_model.current" = |_| none()?;
    "driver_model.pending" = |_| none()?;
    "vbios_version" = |r| r.gpu.vbios()?;
    "inforom.img" | "inforom.image" = |r| r.gpu.inforom_image()?;
    "inforom.oem" = |r| r.gpu.inforom(Inforom::Oem)?;
    "inforom.ecc" = |r| r.gpu.inforom(Inforom::Ecc)?;
    "inforom.pwr" | "inforom.power" = |r| r.gpu.inforom(Inforom::Power)?;
    "inforom.checksum_validation" = |_| none()?;
    "gpu_recovery_action" = |r| value::recovery(r.gpu.field(field::RECOVERY_ACTION, 0)?).into();
    "gom.current" | "gpu_operation_mode.current" = |_| none()?;
    "gom.pending" | "gpu_operation_mode.pending" = |_| none()?;
    "fan.speed" ["%"] = |r| r.gpu.fan_speed()?.to_string();
    "pstate" = |r| format!("P{}", r.gpu.performance_state()?);
    "clocks_event_reasons.supported" | "clocks_throttle_reasons.supported" = |r| format!("0x{:016X}", r.gpu.clock_reasons_supported()?);
    "clocks_event_reasons.active" | "clocks_throttle_reasons.active" = |r| format!("0x{:016X}", r.gpu.clock_reasons()?);
    "clocks_event_reasons.gpu_idle" | "clocks_throttle_reasons.gpu_idle" = |r| reason(r, 0x1)?;
    "clocks_event_reasons.applications_clocks_setting" | "clocks_throttle_reasons.applications_clocks_setting" = |r| reason(r, 0x2)?;
    "clocks_event_reasons.sw_power_cap" | "clocks_throttle_reasons.sw_power_cap" = |r| reason(r, 0x4)?;
    "clocks_event_reasons.hw_slowdown" | "clocks_throttle_reasons.hw_slowdown" = |r| reason(r, 0x8)?;
    "clocks_event_reasons.hw_thermal_slowdown" | "clocks_throttle_reasons.hw_thermal_slowdown" = |r| reason(r, 0x40)?;
    "clocks_event_reasons.hw_power_brake_slowdown" | "clocks_throttle_reasons.hw_power_brake_slowdown" = |r| reason(r, 0x80)?;
    "clocks_event_reasons.sw_thermal_slowdown" | "clocks_throttle_reasons.sw_thermal_slowdown" = |r| reason(r, 0x20)?;
    "clocks_event_reasons.sync_boost" | "clocks_throttle_reasons.sync_boost" = |r| reason(r, 0x10)?;
    "clocks_event_reasons_counters.sw_power_cap" ["us"] = |r| r.gpu.field(field::SW_POWER_CAP, 0)?.to_string();
    "clocks_event_reasons_counters.sync_boost" ["us"] = |r| r.gpu.field(field::SYNC_BOOST, 0)?.to_string();
    "clocks_event_reasons_counters.sw_thermal_slowdown" ["us"] = |r| r.gpu.field(field::SW_THERM_SLOWDOWN, 0)?.to_string();
    "clocks_event_reasons_counters.hw_thermal_slowdown" ["us"] = |r| r.gpu.field(field::HW_THERM_SLOWDOWN, 0)?.to_string();
    "clocks_event_reasons_counters.hw_power_brake_slowdown" ["us"] = |r| r.gpu.field(field::HW_POWER_BRAKE, 0)?.to_string();
    "memory.total" ["MiB"] = |r| mib(r.gpu.memory()?.total).to_string();
    "memory.reserved" ["MiB"] = |r| mib(r.gpu.memory()?.reserved.unwrap_or(0)).to_string();
    "memory.used" ["MiB"] = |r| mib(r.gpu.memory()?.used).to_string();
    "memory.free" ["MiB"] = |r| mib(r.gpu.memory()?.free).to_string();
    "compute_mode" = |r| r.gpu.compute_mode()?.text().into();
    "compute_cap" = |r| { let (major, minor) = r.gpu.compute_capability()?; format!("{major}.{minor}") };
    "utilization.gpu" ["%"] = |r| r.gpu.utilization()?.gpu.to_string();
    "utilization.memory" ["%"] = |r| r.gpu.utilization()?.memory.to_string();
    "utilization.encoder" ["%"] = |r| r.gpu.encoder_utilization()?.0.to_string();
    "utilization.decoder" ["%"] = |r| r.gpu.decoder_utilization()?.0.to_string();
    "utilization.jpeg" ["%"] = |r| r.gpu.jpeg_utilization()?.0.to_string();
    "utilization.ofa" ["%"] = |r| r.gpu.ofa_utilization()?.0.to_string();
    "encoder.stats.sessionCount" = |r| r.gpu.encoder_sessions()?.count.to_string();
    "encoder.stats.averageFps" = |r| r.gpu.encoder_sessions()?.fps.to_string();
    "encoder.stats.averageLatency" = |r| r.gpu.encoder_sessions()?.latency.to_string();
    "dramEncryption.mode.current" = |r| switch(r.gpu.dram_encryption()?.0);
    "dramEncryption.mode.pending" = |r| switch(r.gpu.dram_encryption()?.1);
    "ecc.mode.current" = |r| switch(r.gpu.ecc_mode()?.0);
    "ecc.mode.pending" = |r| switch(r.gpu.ecc_mode()?.1);
    "ecc.errors.uncorrected.volatile.sram.parity" = |r| sram(r, |s| s.volatile_parity)?;
    "ecc.errors.uncorrected.volatile.sram.secded" = |r| sram(r, |s| s.volatile_secded)?;
    "ecc.errors.uncorrected.aggregate.sram.parity" = |r| sram(r, |s| s.aggregate_parity)?;
    "ecc.errors.uncorrected.aggregate.sram.secded" = |r| sram(r, |s| s.aggregate_secded)?;
    "ecc.errors.uncorrected.aggregate.sram.thresholdExceeded" = |r| yes(r.gpu.sram_errors()?.threshold_exceeded);
    "ecc.errors.uncorrected.aggregate.sram.l2" = |r| sram(r, |s| s.l2)?;
    "ecc.errors.uncorrected.aggregate.sram.sm" = |r| sram(r, |s| s.sm)?;
    "ecc.errors.uncorrected.aggregate.sram.mcu" = |r| sram(r, |s| s.microcontroller)?;
    "ecc.errors.uncorrected.aggregate.sram.pcie" = |r| sram(r, |s| s.pcie)?;
    "ecc.errors.uncorrected.aggregate.sram.other" = |r| sram(r, |s| s.other)?;
    "retired_pages.single_bit_ecc.count" | "retired_pages.sbe" = |r| r.gpu.retired_pages(false)?.len().to_string();
    "retired_pages.double_bit.count" | "retired_pages.dbe" = |r| r.gpu.retired_pages(true)?.len().to_string();
    "retired_pages.pending" = |r| yes(r.gpu.retired_pages_pending()? == 1);
    "remapped_rows.correctable" = |r| r.gpu.remapped_rows()?.corrected.to_string();
    "remapped_rows.correctable_inactive" = |_| none()?;
    "remapped_rows.uncorrectable" = |r| r.gpu.remapped_rows()?.uncorrected.to_string();
    "remapped_rows.uncorrectable_inactive" = |_| none()?;
    "remapped_rows.pending" = |r| yes(r.gpu.remapped_rows()?.pending);
    "remapped_rows.failure" = |r| yes(r.gpu.remapped_rows()?.failed);
    "remapped_rows.histogram.max" = |r| r.gpu.remap_histogram()?.max.to_string();
    "remapped_rows.histogram.high" = |r| r.gpu.remap_histogram()?.high.to_string();
    "remapped_rows.histogram.partial" = |r| r.gpu.remap_histogram()?.partial.to_string();
    "remapped_rows.histogram.low" = |r| r.gpu.remap_histogram()?.low.to_string();
    "remapped_rows.histogram.none" = |r| r.gpu.remap_histogram()?.none.to_string();
    "temperature.gpu" = |r| r.gpu.temperature()?.to_string();
    "temperature.gpu.tlimit" = |r| r.gpu.margin_temperature()?.to_string();
    "temperature.memory" ~Bare = |r| r.gpu.field(field::MEMORY_TEMP, 0)?.to_string();
    "power.management" = |r| if r.dialect.since(590) { deprecated() } else if r.gpu.power_management()? == 1 { "Enabled".into() } else { "Disabled".into() };
    "power.draw" ["W"] = |r| watts(r.gpu.power_usage()?.into());
    "power.draw.average" ["W"] = |r| watts(r.gpu.field(field::POWER_AVERAGE, 0)?);
    "power.draw.instant" ["W"] = |r| watts(r.gpu.field(field::POWER_INSTANT, 0)?);
    "power.limit" ["W"] = |r| watts(r.gpu.power_limit()?.into());
    "enforced.power.limit" ["W"] = |r| watts(r.gpu.enforced_power_limit()?.into());
    "power.default_limit" ["W"] = |r| watts(r.gpu.default_power_limit()?.into());
    "power.min_limit" ["W"] = |r| watts(r.gpu.power_limit_range()?.0.into());
    "power.max_limit" ["W"] = |r| watts(r.gpu.power_limit_range()?.1.into());
    "edpp_multiplier" ["%"] = |_| none()?;
    "module.power.draw.average" ["W"] = |r| watts(r.gpu.field(field::POWER_AVERAGE, MODULE)?);
    "module.power.draw.instant" ["W"] = |r| watts(r.gpu.field(field::POWER_INSTANT, MODULE)?);
    "module.power.limit" ["W"] = |_| none()?;
    "module.enforced.power.limit" ["W"] = |_| none()?;
    "module.power.default_limit" ["W"] = |_| none()?;
    "module.power.min_limit" ["W"] = |_| none()?;
    "module.power.max_limit" ["W"] = |_| none()?;
    "clocks.current.graphics" | "clocks.gr" ["MHz"] = |r| mhz(r.gpu.clock(Clock::Graphics))?;
    "clocks.current.sm" | "clocks.sm" ["MHz"] = |r| mhz(r.gpu.clock(Clock::Sm))?;
    "clocks.current.memory" | "clocks.mem" ["MHz"] = |r| mhz(r.gpu.clock(Clock::Memory))?;
    "clocks.current.video" | "clocks.video" ["MHz"] = |r| mhz(r.gpu.clock(Clock::Video))?;
    "clocks.applications.graphics" | "clocks.applications.gr" ["MHz"] = |r| application(r, Clock::Graphics, false)?;
    "clocks.applications.memory" | "clocks.applications.mem" ["MHz"] = |r| application(r, Clock::Memory, false)?;
    "clocks.default_applications.graphics" | "clocks.default_applications.gr" ["MHz"] = |r| application(r, Clock::Graphics, true)?;
    "clocks.default_applications.memory" | "clocks.default_applications.mem" ["MHz"] = |r| application(r, Clock::Memory, true)?;
    "clocks.max.graphics" | "clocks.max.gr" ["MHz"] = |r| mhz(r.gpu.max_clock(Clock::Graphics))?;
    "clocks.max.sm" ["MHz"] = |r| mhz(r.gpu.max_clock(Clock::Sm))?;
    "clocks.max.memory" | "clocks.max.mem" ["MHz"] = |r| mhz(r.gpu.max_clock(Clock::Memory))?;
    "mig.mode.current" = |r| switch(r.gpu.mig_mode()?.0);
    "mig.mode.pending" = |r| switch(r.gpu.mig_mode()?.1);
    "gsp.mode.current" = |r| switch(r.gpu.gsp_mode()?.0 == 1);
    "gsp.mode.default" = |r| switch(r.gpu.gsp_mode()?.1 == 1);
    "c2c.mode" = |r| switch(r.gpu.c2c()?);
    "protected_memory.total" ["MiB"] = |r| mib(r.gpu.protected_memory()?.total).to_string();
    "protected_memory.used" ["MiB"] = |r| mib(r.gpu.protected_memory()?.used).to_string();
    "protected_memory.free" ["MiB"] = |r| mib(r.gpu.protected_memory()?.free).to_string();
    "fabric.state" ~Bare = |r| value::fabric_state(r.gpu.fabric()?.state).into();
    "fabric.status" ~Bare = |r| fabric(r)?.status.map_or("Success", Code::text).into();
    "fabric.cliqueId" ~Bare = |r| fabric(r)?.clique.to_string();
    "fabric.clusterUuid" ~Bare = |r| value::uuid(&fabric(r)?.cluster);
    "platform.chassis_serial_number" = |r| rack(r)?.chassis_serial;
    "platform.slot_number" = |r| rack(r)?.slot.to_string();
    "platform.tray_index" = |r| rack(r)?.tray.to_string();
    "platform.host_id" = |r| rack(r)?.host.to_string();
    "platform.peer_type" = |r| if rack(r)?.peer == 0 { "Direct Connected".into() } else { "Switch Connected".into() };
    "platform.module_id" = |r| r.gpu.module_id()?.to_string();
    "platform.gpu_fabric_guid" = |r| format!("0x{:016X}", rack(r)?.fabric_guid);
    "hostname" = |_| none()?;
}

fields! {
    /// `--query-compute-apps`.
    COMPUTE_APPS:
    "timestamp" = |r| stamp(r.nvml);
    "gpu_name" = |r| r.gpu.name()?;
    "gpu_bus_id" = |r| r.gpu.pci()?.bus_id;
    "gpu_serial" = |r| r.gpu.serial()?;
    "gpu_uuid" = |r| r.gpu.uuid()?;
    "pid" = |r| r.process.map(|p| p.pid.to_string()).unwrap_or_default();
    "process_name" | "name" = |r| r.process.map(|p| p.name.clone()).unwrap_or_default();
    "used_gpu_memory" | "used_memory" ["MiB"] = |r| known(r.process.and_then(|p| p.memory).map(mib))?;
}

fields! {
    /// `--query-accounted-apps`.
    ACCOUNTED_APPS:
    "timestamp" = |r| stamp(r.nvml);
    "gpu_name" = |r| r.gpu.name()?;
    "gpu_bus_id" = |r| r.gpu.pci()?.bus_id;
    "gpu_serial" = |r| r.gpu.serial()?;
    "gpu_uuid" = |r| r.gpu.uuid()?;
    "vgpu_instance" = |_| none()?;
    "pid" = |r| r.account.map(|(pid, _)| pid.to_string()).unwrap_or_default();
    "gpu_utilization" | "gpu_util" ["%"] = |r| known(r.account.and_then(|(_, a)| a.gpu))?;
    "mem_utilization" | "mem_util" ["%"] = |r| known(r.account.and_then(|(_, a)| a.memory))?;
    "max_memory_usage" ["MiB"] = |r| known(r.account.and_then(|(_, a)| a.max_memory).map(mib))?;
    "time" ["ms"] = |r| known(r.account.map(|(_, a)| a.milliseconds))?;
}

fields! {
    /// `--query-retired-pages`.
    RETIRED_PAGES:
    "timestamp" = |r| stamp(r.nvml);
    "gpu_name" = |r| r.gpu.name()?;
    "gpu_bus_id" = |r| r.gpu.pci()?.bus_id;
    "gpu_serial" = |r| r.gpu.serial()?;
    "gpu_uuid" = |r| r.gpu.uuid()?;
    "retired_pages.address" = |r| known(r.page.and_then(|(address, _)| address).map(|a| format!("0x{a:016x}")))?;
    "retired_pages.cause" = |r| known(r.page.map(|(_, cause)| cause))?;
}

fields! {
    /// `--query-remapped-rows`.
    REMAPPED_ROWS:
    "gpu_name" = |r| r.gpu.name()?;
    "gpu_bus_id" = |r| r.gpu.pci()?.bus_id;
    "gpu_serial" = |r| r.gpu.serial()?;
    "gpu_uuid" = |r| r.gpu.uuid()?;
    "remapped_rows.correctable" = |r| r.gpu.remapped_rows()?.corrected.to_string();
    "remapped_rows.uncorrectable" = |r| r.gpu.remapped_rows()?.uncorrected.to_string();
    "remapped_rows.pending" = |r| u32::from(r.gpu.remapped_rows()?.pending).to_string();
    "remapped_rows.failure" = |r| u32::from(r.gpu.remapped_rows()?.failed).to_string();
    "remapped_rows.histogram.max" = |r| r.gpu.remap_histogram()?.max.to_string();
    "remapped_rows.histogram.high" = |r| r.gpu.remap_histogram()?.high.to_string();
    "remapped_rows.histogram.partial" = |r| r.gpu.remap_histogram()?.partial.to_string();
    "remapped_rows.histogram.low" = |r| r.gpu.remap_histogram()?.low.to_string();
    "remapped_rows.histogram.none" = |r| r.gpu.remap_histogram()?.none.to_string();
}

fields! {
    /// `--query-supported-clocks`.
    SUPPORTED_CLOCKS:
    "timestamp" = |r| stamp(r.nvml);
    "gpu_name" = |r| r.gpu.name()?;
    "gpu_bus_id" = |r| r.gpu.pci()?.bus_id;
    "gpu_serial" = |r| r.gpu.serial()?;
    "gpu_uuid" = |r| r.gpu.uuid()?;
    "memory" | "mem" ["MHz"] = |r| r.clocks.0.to_string();
    "graphics" | "gr" ["MHz"] = |r| r.clocks.1.to_string();
}

/// Scope of a field: the module with its processor.
const MODULE: u32 = 1;

/// A value that the driver may not have.
fn known(value: Option<impl ToString>) -> Result<String> {
    value.map_or_else(none, |value| Ok(value.to_string()))
}

fn deprecated() -> String {
    format!("[{DEPRECATED}]")
}

fn reason(row: &Row<'_>, bit: u64) -> Result<String> {
    Ok(active(row.gpu.clock_reasons()? & bit != 0))
}

fn sram(row: &Row<'_>, pick: fn(&SramErrors) -> u64) -> Result<String> {
    row.gpu
        .sram_errors()
        .map(|errors| pick(&errors).to_string())
}

fn mhz(clock: Result<u32>) -> Result<String> {
    clock.map(|mhz| mhz.to_string())
}

fn application(row: &Row<'_>, clock: Clock, default: bool) -> Result<String> {
    if row.dialect.since(590) {
        return Ok(deprecated());
    }
    mhz(if default {
        row.gpu.default_application_clock(clock)
    } else {
        row.gpu.application_clock(clock)
    })
}

/// Of a GPU that takes part in a fabric.
fn fabric(row: &Row<'_>) -> Result<nvml_client::Fabric> {
    match row.gpu.fabric()? {
        fabric if fabric.state == 0 => none(),
        fabric => Ok(fabric),
    }
}

/// Of a GPU in a rack.
fn rack(row: &Row<'_>) -> Result<Platform> {
    match row.gpu.platform()? {
        platform if platform.chassis_serial.is_empty() => none(),
        platform => Ok(platform),
    }
}
