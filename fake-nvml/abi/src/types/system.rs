//! Structs of system events and of what belongs to no device.

use core::ffi::c_char;

use super::PciInfo;
use super::structs;
use crate::handle::EventSet;

structs! {
    /// `nvmlSystemEventSetCreateRequest_v1_t`.
    version 1 struct SystemEventSetCreate = nvmlSystemEventSetCreateRequest_v1_t {
        version: u32,
        set: EventSet,
    }

    /// `nvmlSystemEventSetFreeRequest_v1_t`.
    version 1 struct SystemEventSetFree = nvmlSystemEventSetFreeRequest_v1_t {
        version: u32,
        set: EventSet,
    }

    /// `nvmlSystemRegisterEventRequest_v1_t`.
    version 1 struct SystemRegisterEvents = nvmlSystemRegisterEventRequest_v1_t {
        version: u32,
        event_types = eventTypes: u64,
        set: EventSet,
    }

    /// `nvmlSystemEventSetWaitRequest_v1_t`.
    version 1 struct SystemEventSetWait = nvmlSystemEventSetWaitRequest_v1_t {
        version: u32,
        timeoutms: u32,
        set: EventSet,
        data: *mut SystemEventData,
        data_size = dataSize: u32,
        num_event = numEvent: u32,
    }

    /// `nvmlSystemEventData_v1_t`.
    struct SystemEventData = nvmlSystemEventData_v1_t {
        event_type = eventType: u64,
        gpu_id = gpuId: u32,
    }

    /// `nvmlExcludedDeviceInfo_t`.
    struct ExcludedDevice = nvmlExcludedDeviceInfo_t {
        pci_info = pciInfo: PciInfo,
        uuid: [c_char; 80],
    }

    /// `nvmlHwbcEntry_t`.
    struct HwbcEntry = nvmlHwbcEntry_t {
        hwbc_id = hwbcId: u32,
        firmware_version = firmwareVersion: [c_char; 32],
    }

    /// `nvmlDeviceCapabilities_v1_t`.
    version 1 struct Capabilities = nvmlDeviceCapabilities_v1_t {
        version: u32,
        cap_mask = capMask: u32,
    }
}
