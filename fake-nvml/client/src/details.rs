//! What a management tool shows of a whole GPU besides the everyday values of `gpu`: identity, errors, temperatures, clocks, engines.
//! Not links to other GPUs (`links`), processes (`processes`) and values by number (`fields`).
//! Every getter is one call of nvml.h; NOT_SUPPORTED comes out as such.

use std::ffi::{c_uint, c_ulong, c_ulonglong};
use std::mem;

use nvml_wrapper_sys::bindings as sys;

use crate::error::{Code, Result};
use crate::gpu::{Device, numbers, texts};
use crate::library::{call, chars, list, text};
use crate::types::{
    Clock, Fabric, Histogram, Inforom, Location, Memory, PciClass, Platform, Remaps, Sessions,
    SramErrors, Threshold,
};

/// The version word of a struct that announces its size.
fn version<T>(version: c_uint) -> c_uint {
    // No struct of nvml.h is as large as 16 MiB.
    (mem::size_of::<T>() as c_uint) | version << 24
}

macro_rules! structs {
    ($($(#[$doc:meta])* $name:ident -> $out:ty = $function:ident($struct:ident $(, version $version:literal)?) |$s:ident| $value:expr;)*) => {
        impl Device<'_> {$(
            $(#[$doc])*
            ///
            /// # Errors
            /// What the library answers.
            pub fn $name(&self) -> Result<$out> {
                // SAFETY: integers and arrays of integers, for which all zeroes is a value.
                let mut $s: sys::$struct = unsafe { mem::zeroed() };
                $($s.version = version::<sys::$struct>($version);)?
                // SAFETY: the handle came from this library; the out pointer is a live struct of the layout that the function
                // writes, and announces its size where it has a version.
                unsafe { call!(self.nvml, $function(self.raw, &mut $s)) }?;
                Ok($value)
            }
        )*}
    };
}

macro_rules! pairs {
    ($($(#[$doc:meta])* $name:ident = $function:ident;)*) => {
        impl Device<'_> {$(
            $(#[$doc])*
            ///
            /// # Errors
            /// What the library answers.
            pub fn $name(&self) -> Result<(u32, u32)> {
                let (mut first, mut second): (c_uint, c_uint) = (0, 0);
                // SAFETY: the handle came from this library; both out pointers are live integers.
                unsafe { call!(self.nvml, $function(self.raw, &mut first, &mut second)) }?;
                Ok((first, second))
            }
        )*}
    };
}

macro_rules! masks {
    ($($(#[$doc:meta])* $name:ident = $function:ident;)*) => {
        impl Device<'_> {$(
            $(#[$doc])*
            ///
            /// # Errors
            /// What the library answers.
            pub fn $name(&self) -> Result<u64> {
                let mut value: c_ulonglong = 0;
                // SAFETY: the handle came from this library; the out pointer is a live integer.
                unsafe { call!(self.nvml, $function(self.raw, &mut value)) }?;
                Ok(value)
            }
        )*}
    };
}

texts! {
    /// The version of the infoROM image.
    inforom_image = nvmlDeviceGetInforomImageVersion;
}

numbers! {
    /// Boards with several GPUs share it.
    board_id = nvmlDeviceGetBoardId();
    /// 1 on a board with several GPUs.
    multi_gpu_board = nvmlDeviceGetMultiGpuBoard();
    /// Its number in the module.
    module_id = nvmlDeviceGetModuleId();
    /// 1 when the driver keeps accounts of processes.
    accounting_mode = nvmlDeviceGetAccountingMode();
    /// How many ended processes the accounts hold.
    accounting_buffer = nvmlDeviceGetAccountingBufferSize();
    /// 0 none, 1 pass-through, 2 vGPU, 3 and 4 host of vGPUs.
    virtualization_mode = nvmlDeviceGetVirtualizationMode();
    /// 0 non-SR-IOV, 1 SR-IOV.
    host_vgpu_mode = nvmlDeviceGetHostVgpuMode();
    /// PCIe generation of the GPU alone, at most.
    pcie_generation_of_gpu = nvmlDeviceGetGpuMaxPcieLinkGeneration();
    /// Packets sent again since the last reset.
    pcie_replays = nvmlDeviceGetPcieReplayCounter();
    /// KB/s sent to the GPU's peers over PCIe.
    pcie_sent = nvmlDeviceGetPcieThroughput(0);
    /// KB/s received over PCIe.
    pcie_received = nvmlDeviceGetPcieThroughput(1);
    /// 1 when retired pages wait for a reset.
    retired_pages_pending = nvmlDeviceGetRetiredPagesPendingStatus();
    /// The GPU's own NUMA node, where its memory is one.
    numa_node_id = nvmlDeviceGetNumaNodeId();
    /// 1 when power can be managed.
    power_management = nvmlDeviceGetPowerManagementMode();
    /// A temperature in degrees Celsius at which something happens.
    threshold(threshold: Threshold) = nvmlDeviceGetTemperatureThreshold(threshold as c_uint);
    /// The clock that applications run at, in MHz.
    application_clock(clock: Clock) = nvmlDeviceGetApplicationsClock(clock as c_uint);
    /// The clock that applications run at unless told otherwise, in MHz.
    default_application_clock(clock: Clock) = nvmlDeviceGetDefaultApplicationsClock(clock as c_uint);
    /// The highest clock that a customer may choose, in MHz.
    max_customer_clock(clock: Clock) = nvmlDeviceGetMaxCustomerBoostClock(clock as c_uint);
}

pairs! {
    /// Encoders: percent, and over how many microseconds.
    encoder_utilization = nvmlDeviceGetEncoderUtilization;
    /// Decoders: percent, and over how many microseconds.
    decoder_utilization = nvmlDeviceGetDecoderUtilization;
    /// JPEG decoders: percent, and over how many microseconds.
    jpeg_utilization = nvmlDeviceGetJpgUtilization;
    /// Optical flow: percent, and over how many microseconds.
    ofa_utilization = nvmlDeviceGetOfaUtilization;
    /// GSP firmware: 1 in use, 1 in use by default.
    gsp_mode = nvmlDeviceGetGspFirmwareMode;
}

masks! {
    /// Why clocks are not higher, `nvmlClocksEventReason*`.
    clock_reasons = nvmlDeviceGetCurrentClocksEventReasons;
    /// The reasons that it can give.
    clock_reasons_supported = nvmlDeviceGetSupportedClocksEventReasons;
}

structs! {
    /// 0 none, 1 HMM, 2 ATS.
    addressing_mode -> u32 = nvmlDeviceGetAddressingMode(nvmlDeviceAddressingMode_t, version 1) |mode| mode.value;
    /// The per-device identifier.
    pdi -> u64 = nvmlDeviceGetPdi(nvmlPdi_t, version 1) |pdi| pdi.value;
    /// Its class on the bus.
    pci_class -> PciClass = nvmlDeviceGetPciInfoExt(nvmlPciInfoExt_t, version 1) |pci| PciClass { base: pci.baseClass, sub: pci.subClass };
    /// Its place in a rack.
    platform -> Platform = nvmlDeviceGetPlatformInfo(nvmlPlatformInfo_t, version 2) |info| Platform {
        chassis_serial: bytes(&info.chassisSerialNumber),
        slot: info.slotNumber,
        tray: info.trayIndex,
        host: info.hostId,
        peer: info.peerType,
        module: info.moduleId,
        fabric_guid: u64::from_be_bytes(std::array::from_fn(|i| info.ibGuid[i])),
    };
    /// A chip-to-chip link to a processor is in use.
    c2c -> bool = nvmlDeviceGetC2cModeInfoV(nvmlC2cModeInfo_v1_t) |info| info.isC2cEnabled == 1;
    /// Memory that confidential computing protects.
    protected_memory -> Memory = nvmlDeviceGetConfComputeProtectedMemoryUsage(nvmlMemory_t) |memory| Memory {
        total: memory.total,
        free: memory.free,
        used: memory.used,
        reserved: None,
    };
    /// Frame buffer capture.
    capture_sessions -> Sessions = nvmlDeviceGetFBCStats(nvmlFBCStats_t) |stats| Sessions {
        count: stats.sessionsCount,
        fps: stats.averageFPS,
        latency: stats.averageLatency,
    };
    /// Errors of the SRAM, by kind and place.
    sram_errors -> SramErrors = nvmlDeviceGetSramEccErrorStatus(nvmlEccSramErrorStatus_t, version 1) |s| SramErrors {
        volatile_corrected: s.volatileCor,
        volatile_parity: s.volatileUncParity,
        volatile_secded: s.volatileUncSecDed,
        aggregate_corrected: s.aggregateCor,
        aggregate_parity: s.aggregateUncParity,
        aggregate_secded: s.aggregateUncSecDed,
        l2: s.aggregateUncBucketL2,
        sm: s.aggregateUncBucketSm,
        microcontroller: s.aggregateUncBucketMcu,
        pcie: s.aggregateUncBucketPcie,
        other: s.aggregateUncBucketOther,
        threshold_exceeded: s.bThresholdExceeded != 0,
    };
    /// A memory channel, and a TPC, wait for a repair at the next reset.
    repairs_pending -> (bool, bool) = nvmlDeviceGetRepairStatus(nvmlRepairStatus_t, version 1) |status| (
        status.bChannelRepairPending != 0, status.bTpcRepairPending != 0
    );
    /// Banks by how many of their spare rows are left.
    remap_histogram -> Histogram = nvmlDeviceGetRowRemapperHistogram(nvmlRowRemapperHistogramValues_t) |banks| Histogram {
        max: banks.max,
        high: banks.high,
        partial: banks.partial,
        low: banks.low,
        none: banks.none,
    };
    /// Degrees until the GPU slows down.
    margin_temperature -> i32 = nvmlDeviceGetMarginTemperature(nvmlMarginTemperature_t, version 1) |margin| margin.marginTemperature;
}

impl Device<'_> {
    /// A version that the infoROM carries.
    ///
    /// # Errors
    /// What the library answers.
    pub fn inforom(&self, object: Inforom) -> Result<String> {
        // SAFETY: the handle came from this library; the enumerator is one of nvml.h; `text` passes a buffer and its true length.
        text(|buffer, length| unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetInforomVersion(self.raw, object as c_uint, buffer, length)
            )
        })
    }

    /// The version of the GSP's firmware.
    ///
    /// # Errors
    /// What the library answers.
    pub fn gsp_version(&self) -> Result<String> {
        // SAFETY: the handle came from this library; nvml.h asks for a buffer of 64 bytes, `text` has 128.
        text(|buffer, _| unsafe {
            call!(self.nvml, nvmlDeviceGetGspFirmwareVersion(self.raw, buffer))
        })
    }

    /// When the black box was last written to the infoROM: seconds since 1970, and microseconds it took.
    ///
    /// # Errors
    /// What the library answers.
    pub fn black_box_flush(&self) -> Result<(u64, u64)> {
        let (mut at, mut took): (c_ulonglong, c_ulong) = (0, 0);
        // SAFETY: the handle came from this library; both out pointers are live integers.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetLastBBXFlushTime(self.raw, &mut at, &mut took)
            )
        }?;
        Ok((at, took))
    }

    /// Encoder sessions.
    ///
    /// # Errors
    /// What the library answers.
    pub fn encoder_sessions(&self) -> Result<Sessions> {
        let (mut count, mut fps, mut latency) = (0, 0, 0);
        // SAFETY: the handle came from this library; the out pointers are live integers.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetEncoderStats(self.raw, &mut count, &mut fps, &mut latency)
            )
        }?;
        Ok(Sessions {
            count,
            fps,
            latency,
        })
    }

    /// DRAM encryption now and after the next reset.
    ///
    /// # Errors
    /// What the library answers.
    pub fn dram_encryption(&self) -> Result<(bool, bool)> {
        let fresh = || sys::nvmlDramEncryptionInfo_t {
            version: version::<sys::nvmlDramEncryptionInfo_t>(1),
            encryptionState: 0,
        };
        let (mut current, mut pending) = (fresh(), fresh());
        // SAFETY: the handle came from this library; both structs announce their size and version.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetDramEncryptionMode(self.raw, &mut current, &mut pending)
            )
        }?;
        Ok((current.encryptionState == 1, pending.encryptionState == 1))
    }

    /// Errors that ECC found at one place since the last reset (`lifetime`: ever).
    ///
    /// # Errors
    /// What the library answers.
    pub fn memory_errors(
        &self,
        uncorrected: bool,
        lifetime: bool,
        location: Location,
    ) -> Result<u64> {
        let mut count: c_ulonglong = 0;
        // SAFETY: the handle came from this library; the enumerators are those of nvml.h; the out pointer is a live integer.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetMemoryErrorCounter(
                    self.raw,
                    uncorrected.into(),
                    lifetime.into(),
                    location as c_uint,
                    &mut count
                )
            )
        }?;
        Ok(count)
    }

    /// The addresses of retired pages: those with several single-bit errors, or (`double_bit`) one double-bit error.
    ///
    /// # Errors
    /// What the library answers.
    pub fn retired_pages(&self, double_bit: bool) -> Result<Vec<u64>> {
        list(0, |count, addresses| {
            // SAFETY: the handle came from this library; `count` says how many entries the buffer has.
            unsafe {
                call!(
                    self.nvml,
                    nvmlDeviceGetRetiredPages(self.raw, double_bit.into(), count, addresses)
                )
            }
        })
    }

    /// Rows of memory that were replaced.
    ///
    /// # Errors
    /// What the library answers.
    pub fn remapped_rows(&self) -> Result<Remaps> {
        let (mut corrected, mut uncorrected, mut pending, mut failed) = (0, 0, 0, 0);
        // SAFETY: the handle came from this library; the out pointers are live integers.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetRemappedRows(
                    self.raw,
                    &mut corrected,
                    &mut uncorrected,
                    &mut pending,
                    &mut failed
                )
            )
        }?;
        Ok(Remaps {
            corrected,
            uncorrected,
            pending: pending != 0,
            failed: failed != 0,
        })
    }

    /// The memory clocks that can be chosen, in MHz.
    ///
    /// # Errors
    /// What the library answers.
    pub fn supported_memory_clocks(&self) -> Result<Vec<u32>> {
        list(0, |count, mhz| {
            // SAFETY: the handle came from this library; `count` says how many entries the buffer has.
            unsafe {
                call!(
                    self.nvml,
                    nvmlDeviceGetSupportedMemoryClocks(self.raw, count, mhz)
                )
            }
        })
    }

    /// The graphics clocks that go with a memory clock, in MHz.
    ///
    /// # Errors
    /// What the library answers.
    pub fn supported_graphics_clocks(&self, memory: u32) -> Result<Vec<u32>> {
        list(0, |count, mhz| {
            // SAFETY: as above.
            unsafe {
                call!(
                    self.nvml,
                    nvmlDeviceGetSupportedGraphicsClocks(self.raw, memory, count, mhz)
                )
            }
        })
    }

    /// Its membership of an NVLink fabric.
    ///
    /// # Errors
    /// What the library answers.
    pub fn fabric(&self) -> Result<Fabric> {
        // SAFETY: integers and arrays of integers, for which all zeroes is a value.
        let mut info: sys::nvmlGpuFabricInfoV_t = unsafe { mem::zeroed() };
        let mut answer = Ok(());
        // Version 2 is the beginning of version 3.
        for version in [
            version::<sys::nvmlGpuFabricInfo_v3_t>(3),
            version::<sys::nvmlGpuFabricInfo_v2_t>(2),
        ] {
            info.version = version;
            // SAFETY: the handle came from this library; the struct announces a size that it has.
            answer = unsafe { call!(self.nvml, nvmlDeviceGetGpuFabricInfoV(self.raw, &mut info)) };
            if answer.is_ok() {
                break;
            }
        }
        answer?;
        Ok(Fabric {
            state: info.state,
            status: (info.status != 0).then_some(Code(info.status)),
            clique: info.cliqueId,
            cluster: info.clusterUuid,
            health: info.healthMask,
            summary: info.healthSummary,
        })
    }
}

/// A string in an array of bytes.
fn bytes(raw: &[u8]) -> String {
    let raw: Vec<std::ffi::c_char> = raw
        .iter()
        .map(|b| std::ffi::c_char::from_ne_bytes([*b]))
        .collect();
    chars(&raw)
}
