//! Calls on a device handle, which may be a GPU or a MIG device.
//! Not partitions (`mig`).
//! Handles come from `library`; values go out in the types of `types`.

use std::ffi::{c_uint, c_ulonglong};
use std::mem;

use nvml_wrapper_sys::bindings as sys;

use crate::error::{Code, Result};
use crate::library::{Nvml, call, chars, text};
use crate::types::{Attributes, Clock, ComputeMode, Memory, PciInfo, Utilization};

/// A GPU or a MIG device.
#[derive(Debug, Clone, Copy)]
pub struct Device<'n> {
    pub(crate) nvml: &'n Nvml,
    pub(crate) raw: sys::nvmlDevice_t,
}

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident = $function:ident;)*) => {
        impl Device<'_> {$(
            $(#[$doc])*
            ///
            /// # Errors
            /// What the library answers.
            pub fn $name(&self) -> Result<String> {
                // SAFETY: the handle came from this library; `text` passes a buffer and its true length.
                text(|buffer, length| unsafe { call!(self.nvml, $function(self.raw, buffer, length)) })
            }
        )*}
    };
}

pub(crate) use texts;

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident$(($given:ident: $type:ty))? = $function:ident($($arg:expr),*);)*) => {
        impl Device<'_> {$(
            $(#[$doc])*
            ///
            /// # Errors
            /// What the library answers.
            pub fn $name(&self $(, $given: $type)?) -> Result<u32> {
                let mut value: c_uint = 0;
                // SAFETY: the handle came from this library; the out pointer is a live integer; other arguments are enumerators of nvml.h.
                unsafe { call!(self.nvml, $function(self.raw, $($arg,)* &mut value)) }?;
                Ok(value)
            }
        )*}
    };
}

pub(crate) use numbers;

texts! {
    /// Its marketing name.
    name = nvmlDeviceGetName;
    /// `GPU-…` or `MIG-…`.
    uuid = nvmlDeviceGetUUID;
    /// The board's serial number.
    serial = nvmlDeviceGetSerial;
    /// The video BIOS version.
    vbios = nvmlDeviceGetVbiosVersion;
    /// The board part number.
    board_part = nvmlDeviceGetBoardPartNumber;
}

numbers! {
    /// Its index; for a MIG device, among those of its GPU.
    index = nvmlDeviceGetIndex();
    /// N of `/dev/nvidiaN`.
    minor = nvmlDeviceGetMinorNumber();
    /// Degrees Celsius.
    temperature = nvmlDeviceGetTemperature(0);
    /// Percent.
    fan_speed = nvmlDeviceGetFanSpeed();
    /// Milliwatts drawn.
    power_usage = nvmlDeviceGetPowerUsage();
    /// Milliwatts allowed now.
    power_limit = nvmlDeviceGetPowerManagementLimit();
    /// Milliwatts enforced.
    enforced_power_limit = nvmlDeviceGetEnforcedPowerLimit();
    /// Milliwatts allowed by default.
    default_power_limit = nvmlDeviceGetPowerManagementDefaultLimit();
    /// N of P-state PN.
    performance_state = nvmlDeviceGetPerformanceState();
    /// 1 when the driver stays loaded.
    persistence_mode = nvmlDeviceGetPersistenceMode();
    /// 1 when a display is attached.
    display_mode = nvmlDeviceGetDisplayMode();
    /// 1 when a display is used.
    display_active = nvmlDeviceGetDisplayActive();
    /// Brand enumerator.
    brand = nvmlDeviceGetBrand();
    /// Architecture enumerator: 7 Ampere, 8 Ada, 9 Hopper.
    architecture = nvmlDeviceGetArchitecture();
    /// PCIe generation now.
    pcie_generation = nvmlDeviceGetCurrPcieLinkGeneration();
    /// PCIe generation at most.
    pcie_generation_max = nvmlDeviceGetMaxPcieLinkGeneration();
    /// PCIe lanes now.
    pcie_width = nvmlDeviceGetCurrPcieLinkWidth();
    /// PCIe lanes at most.
    pcie_width_max = nvmlDeviceGetMaxPcieLinkWidth();
    /// How many MIG devices it can have: 0 when MIG is off.
    max_mig_devices = nvmlDeviceGetMaxMigDeviceCount();
    /// 1 for a MIG device.
    is_mig = nvmlDeviceIsMigDeviceHandle();
    /// GPU instance of a MIG device.
    gpu_instance_id = nvmlDeviceGetGpuInstanceId();
    /// Compute instance of a MIG device.
    compute_instance_id = nvmlDeviceGetComputeInstanceId();
    /// A clock in MHz.
    clock(clock: Clock) = nvmlDeviceGetClockInfo(clock as c_uint);
    /// The highest value of a clock in MHz.
    max_clock(clock: Clock) = nvmlDeviceGetMaxClockInfo(clock as c_uint);
}

impl<'n> Device<'n> {
    pub(crate) fn new(nvml: &'n Nvml, raw: sys::nvmlDevice_t) -> Self {
        Self { nvml, raw }
    }

    /// Where it sits on the bus.
    ///
    /// # Errors
    /// What the library answers.
    pub fn pci(&self) -> Result<PciInfo> {
        // SAFETY: plain integers and arrays, for which all zeroes is a value.
        let mut info: sys::nvmlPciInfo_t = unsafe { mem::zeroed() };
        // SAFETY: the handle came from this library; the out pointer is a live struct of the layout that `_v3` writes.
        unsafe { call!(self.nvml, nvmlDeviceGetPciInfo_v3(self.raw, &mut info)) }?;
        Ok(PciInfo {
            bus_id: chars(&info.busId),
            domain: info.domain,
            bus: info.bus,
            device: info.device,
            device_id: info.pciDeviceId,
            subsystem_id: info.pciSubSystemId,
        })
    }

    /// Its memory.
    ///
    /// # Errors
    /// What the library answers.
    pub fn memory(&self) -> Result<Memory> {
        const VERSION: c_uint = mem::size_of::<sys::nvmlMemory_v2_t>() as c_uint | 2 << 24;
        let mut v2 = sys::nvmlMemory_v2_t {
            version: VERSION,
            total: 0,
            reserved: 0,
            free: 0,
            used: 0,
        };
        // SAFETY: the handle came from this library; the struct announces its own size and version.
        if unsafe { call!(self.nvml, nvmlDeviceGetMemoryInfo_v2(self.raw, &mut v2)) }.is_ok() {
            return Ok(Memory {
                total: v2.total,
                free: v2.free,
                used: v2.used,
                reserved: Some(v2.reserved),
            });
        }
        let mut v1 = sys::nvmlMemory_t {
            total: 0,
            free: 0,
            used: 0,
        };
        // SAFETY: the handle came from this library; the out pointer is a live struct of the v1 layout.
        unsafe { call!(self.nvml, nvmlDeviceGetMemoryInfo(self.raw, &mut v1)) }?;
        Ok(Memory {
            total: v1.total,
            free: v1.free,
            used: v1.used,
            reserved: None,
        })
    }

    /// The window through which the host sees its memory.
    ///
    /// # Errors
    /// What the library answers.
    pub fn bar1(&self) -> Result<Memory> {
        let mut bar1 = sys::nvmlBAR1Memory_t {
            bar1Total: 0,
            bar1Free: 0,
            bar1Used: 0,
        };
        // SAFETY: the handle came from this library; the out pointer is a live struct.
        unsafe { call!(self.nvml, nvmlDeviceGetBAR1MemoryInfo(self.raw, &mut bar1)) }?;
        Ok(Memory {
            total: bar1.bar1Total,
            free: bar1.bar1Free,
            used: bar1.bar1Used,
            reserved: None,
        })
    }

    /// How busy it is.
    ///
    /// # Errors
    /// What the library answers.
    pub fn utilization(&self) -> Result<Utilization> {
        let mut rates = sys::nvmlUtilization_t { gpu: 0, memory: 0 };
        // SAFETY: the handle came from this library; the out pointer is a live struct.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetUtilizationRates(self.raw, &mut rates)
            )
        }?;
        Ok(Utilization {
            gpu: rates.gpu,
            memory: rates.memory,
        })
    }

    /// Lowest and highest power limit that may be set, in milliwatts.
    ///
    /// # Errors
    /// What the library answers.
    pub fn power_limit_range(&self) -> Result<(u32, u32)> {
        let (mut low, mut high) = (0, 0);
        // SAFETY: the handle came from this library; both out pointers are live integers.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetPowerManagementLimitConstraints(self.raw, &mut low, &mut high)
            )
        }?;
        Ok((low, high))
    }

    /// ECC now and after the next reset.
    ///
    /// # Errors
    /// What the library answers.
    pub fn ecc_mode(&self) -> Result<(bool, bool)> {
        let (mut current, mut pending) = (0, 0);
        // SAFETY: the handle came from this library; both out pointers are live integers.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetEccMode(self.raw, &mut current, &mut pending)
            )
        }?;
        Ok((current == 1, pending == 1))
    }

    /// Errors that ECC found since the last reset (`lifetime`: ever).
    ///
    /// # Errors
    /// What the library answers.
    pub fn ecc_errors(&self, uncorrected: bool, lifetime: bool) -> Result<u64> {
        let mut count: c_ulonglong = 0;
        // SAFETY: the handle came from this library; both enumerators are 0 or 1; the out pointer is a live integer.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetTotalEccErrors(
                    self.raw,
                    uncorrected.into(),
                    lifetime.into(),
                    &mut count
                )
            )
        }?;
        Ok(count)
    }

    /// Major and minor of its CUDA capability.
    ///
    /// # Errors
    /// What the library answers.
    pub fn compute_capability(&self) -> Result<(i32, i32)> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the handle came from this library; both out pointers are live integers.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetCudaComputeCapability(self.raw, &mut major, &mut minor)
            )
        }?;
        Ok((major, minor))
    }

    /// Who may make contexts.
    ///
    /// # Errors
    /// What the library answers.
    pub fn compute_mode(&self) -> Result<ComputeMode> {
        let mut mode: sys::nvmlComputeMode_t = 0;
        // SAFETY: the handle came from this library; the out pointer is a live integer.
        unsafe { call!(self.nvml, nvmlDeviceGetComputeMode(self.raw, &mut mode)) }?;
        Ok(match mode {
            1 => ComputeMode::ExclusiveThread,
            2 => ComputeMode::Prohibited,
            3 => ComputeMode::ExclusiveProcess,
            _ => ComputeMode::Default,
        })
    }

    /// MIG mode now and after the next reset.
    ///
    /// # Errors
    /// What the library answers.
    pub fn mig_mode(&self) -> Result<(bool, bool)> {
        let (mut current, mut pending) = (0, 0);
        // SAFETY: the handle came from this library; both out pointers are live integers.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetMigMode(self.raw, &mut current, &mut pending)
            )
        }?;
        Ok((current == 1, pending == 1))
    }

    /// Switches MIG mode; the value is why it is not effective yet, if so.
    ///
    /// # Errors
    /// What the library answers.
    pub fn set_mig_mode(&self, on: bool) -> Result<Option<Code>> {
        let mut status: sys::nvmlReturn_t = 0;
        // SAFETY: the handle came from this library; the enumerator is 0 or 1; the out pointer is a live integer.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceSetMigMode(self.raw, on.into(), &mut status)
            )
        }?;
        Ok((status != 0).then_some(Code(status)))
    }

    /// The MIG devices of a GPU, in index order.
    ///
    /// # Errors
    /// What `nvmlDeviceGetMaxMigDeviceCount` answers.
    pub fn mig_devices(&self) -> Result<Vec<Device<'n>>> {
        let mut found = Vec::new();
        for index in 0..self.max_mig_devices()? {
            let mut raw: sys::nvmlDevice_t = std::ptr::null_mut();
            // SAFETY: the handle came from this library; the out pointer is a live handle variable.
            if unsafe {
                call!(
                    self.nvml,
                    nvmlDeviceGetMigDeviceHandleByIndex(self.raw, index, &mut raw)
                )
            }
            .is_ok()
            {
                found.push(Device::new(self.nvml, raw));
            }
        }
        Ok(found)
    }

    /// The GPU of a MIG device.
    ///
    /// # Errors
    /// What the library answers.
    pub fn parent(&self) -> Result<Device<'n>> {
        let mut raw: sys::nvmlDevice_t = std::ptr::null_mut();
        // SAFETY: the handle came from this library; the out pointer is a live handle variable.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self.raw, &mut raw)
            )
        }?;
        Ok(Device::new(self.nvml, raw))
    }

    /// What a MIG device has.
    ///
    /// # Errors
    /// What the library answers.
    pub fn attributes(&self) -> Result<Attributes> {
        // SAFETY: plain integers, for which all zeroes is a value.
        let mut a: sys::nvmlDeviceAttributes_t = unsafe { mem::zeroed() };
        // SAFETY: the handle came from this library; the out pointer is a live struct.
        unsafe { call!(self.nvml, nvmlDeviceGetAttributes_v2(self.raw, &mut a)) }?;
        Ok(Attributes {
            multiprocessors: a.multiprocessorCount,
            copy_engines: a.sharedCopyEngineCount,
            decoders: a.sharedDecoderCount,
            encoders: a.sharedEncoderCount,
            jpeg: a.sharedJpegCount,
            ofa: a.sharedOfaCount,
            gpu_instance_slices: a.gpuInstanceSliceCount,
            compute_instance_slices: a.computeInstanceSliceCount,
            memory_mib: a.memorySizeMB,
        })
    }
}
