//! Structs of events.

use super::structs;
use crate::handle::Device;

structs! {
    /// `nvmlEventData_t` before NVML 11 (`nvmlEventSetWait`): no instance ids.
    struct EventDataV1 {
        device: Device,
        event_type: u64,
        event_data: u64,
    }

    /// `nvmlEventData_t`.
    struct EventData = nvmlEventData_t {
        device: Device,
        event_type = eventType: u64,
        event_data = eventData: u64,
        gpu_instance_id = gpuInstanceId: u32,
        compute_instance_id = computeInstanceId: u32,
    }
}
