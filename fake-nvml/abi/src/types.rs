//! The structs of nvml.h that our functions read or write, field for field.
//! Not all structs of the header: a struct comes with the first function that needs it. Sizes and offsets are compared with the
//! public binding nvml-wrapper-sys in tests; `*V1` structs that no current header holds are those of the releases named there.
//! Names of fields are the header's in snake case.

use core::ffi::c_char;

use crate::handle::{Device, GpuInstance};
use crate::out::Versioned;
use crate::status::Return;

/// Text fields of the header have these lengths (`NVML_DEVICE_*_BUFFER_SIZE`).
pub(crate) mod length {
    pub(crate) const PCI_BUS_ID: usize = 32;
    pub(crate) const PCI_BUS_ID_LEGACY: usize = 16;
    pub(crate) const NAME: usize = 96;
    pub(crate) const SYSTEM_DRIVER_VERSION: usize = 80;
    pub(crate) const UUID_ASCII: usize = 41;
    pub(crate) const UUID_BINARY: usize = 16;
}

macro_rules! structs {
    ($($(#[$doc:meta])* $(version $number:literal)? struct $name:ident { $($field:ident: $ty:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            #[repr(C)]
            #[allow(missing_docs, reason = "fields are those of nvml.h and are explained there")]
            pub struct $name { $(pub $field: $ty,)* }

            $(impl Versioned for $name { const NUMBER: u32 = $number; })?
        )*
    };
}

structs! {
    /// `nvmlPciInfo_t` before NVML 5 (`nvmlDeviceGetPciInfo`): the legacy bus id and no subsystem.
    struct PciInfoV1 {
        bus_id_legacy: [c_char; length::PCI_BUS_ID_LEGACY],
        domain: u32,
        bus: u32,
        device: u32,
        pci_device_id: u32,
    }

    /// `nvmlPciInfo_t` of `nvmlDeviceGetPciInfo_v2`. The reserved words that followed are left as they are.
    struct PciInfoV2 {
        bus_id_legacy: [c_char; length::PCI_BUS_ID_LEGACY],
        domain: u32,
        bus: u32,
        device: u32,
        pci_device_id: u32,
        pci_subsystem_id: u32,
    }

    /// `nvmlPciInfo_t`.
    struct PciInfo {
        bus_id_legacy: [c_char; length::PCI_BUS_ID_LEGACY],
        domain: u32,
        bus: u32,
        device: u32,
        pci_device_id: u32,
        pci_subsystem_id: u32,
        bus_id: [c_char; length::PCI_BUS_ID],
    }

    /// `nvmlPciInfoExt_v1_t`.
    version 1 struct PciInfoExt {
        version: u32,
        domain: u32,
        bus: u32,
        device: u32,
        pci_device_id: u32,
        pci_subsystem_id: u32,
        base_class: u32,
        sub_class: u32,
        bus_id: [c_char; length::PCI_BUS_ID],
    }

    /// `nvmlMemory_t`, in bytes.
    struct Memory {
        total: u64,
        free: u64,
        used: u64,
    }

    /// `nvmlMemory_v2_t`, in bytes.
    version 2 struct MemoryV2 {
        version: u32,
        total: u64,
        reserved: u64,
        free: u64,
        used: u64,
    }

    /// `nvmlBAR1Memory_t`, in bytes.
    struct Bar1Memory {
        total: u64,
        free: u64,
        used: u64,
    }

    /// `nvmlUtilization_t`, in percent.
    struct Utilization {
        gpu: u32,
        memory: u32,
    }

    /// `nvmlTemperature_v1_t`.
    version 1 struct Temperature {
        version: u32,
        sensor: u32,
        temperature: i32,
    }

    /// `nvmlDeviceAddressingMode_v1_t`.
    version 1 struct AddressingMode {
        version: u32,
        value: u32,
    }

    /// `nvmlUUID_v1_t`; the union of the header is taken as its longer member.
    version 1 struct Uuid {
        version: u32,
        kind: u32,
        value: [u8; length::UUID_ASCII],
    }

    /// `nvmlSystemDriverBranchInfo_v1_t`.
    version 1 struct DriverBranch {
        version: u32,
        branch: [c_char; length::SYSTEM_DRIVER_VERSION],
    }

    /// `nvmlEccErrorCounts_t`.
    struct EccErrorCounts {
        l1_cache: u64,
        l2_cache: u64,
        device_memory: u64,
        register_file: u64,
    }

    /// `nvmlRowRemapperHistogramValues_t`.
    struct RowRemapperHistogram {
        max: u32,
        high: u32,
        partial: u32,
        low: u32,
        none: u32,
    }

    /// `nvmlFieldValue_t`; the union is taken as its widest member.
    struct FieldValue {
        field_id: u32,
        scope_id: u32,
        timestamp: i64,
        latency_usec: i64,
        value_type: u32,
        nvml_return: Return,
        value: u64,
    }

    /// `nvmlDeviceAttributes_t` of NVML 11.0 (`nvmlDeviceGetAttributes`).
    struct DeviceAttributesV1 {
        multiprocessor_count: u32,
        shared_copy_engine_count: u32,
        shared_decoder_count: u32,
        shared_encoder_count: u32,
        shared_jpeg_count: u32,
        shared_ofa_count: u32,
    }

    /// `nvmlDeviceAttributes_t`.
    struct DeviceAttributes {
        multiprocessor_count: u32,
        shared_copy_engine_count: u32,
        shared_decoder_count: u32,
        shared_encoder_count: u32,
        shared_jpeg_count: u32,
        shared_ofa_count: u32,
        gpu_instance_slice_count: u32,
        compute_instance_slice_count: u32,
        memory_size_mb: u64,
    }

    /// `nvmlGpuInstancePlacement_t` (memory slices) and `nvmlComputeInstancePlacement_t` (compute slices of the GPU instance).
    struct InstancePlacement {
        start: u32,
        size: u32,
    }

    /// `nvmlGpuInstanceProfileInfo_t`.
    struct GpuInstanceProfile {
        id: u32,
        is_p2p_supported: u32,
        slice_count: u32,
        instance_count: u32,
        multiprocessor_count: u32,
        copy_engine_count: u32,
        decoder_count: u32,
        encoder_count: u32,
        jpeg_count: u32,
        ofa_count: u32,
        memory_size_mb: u64,
    }

    /// `nvmlGpuInstanceProfileInfo_v2_t`.
    version 2 struct GpuInstanceProfileV2 {
        version: u32,
        id: u32,
        is_p2p_supported: u32,
        slice_count: u32,
        instance_count: u32,
        multiprocessor_count: u32,
        copy_engine_count: u32,
        decoder_count: u32,
        encoder_count: u32,
        jpeg_count: u32,
        ofa_count: u32,
        memory_size_mb: u64,
        name: [c_char; length::NAME],
    }

    /// `nvmlGpuInstanceProfileInfo_v3_t`.
    version 3 struct GpuInstanceProfileV3 {
        version: u32,
        id: u32,
        slice_count: u32,
        instance_count: u32,
        multiprocessor_count: u32,
        copy_engine_count: u32,
        decoder_count: u32,
        encoder_count: u32,
        jpeg_count: u32,
        ofa_count: u32,
        memory_size_mb: u64,
        name: [c_char; length::NAME],
        capabilities: u32,
    }

    /// `nvmlGpuInstanceInfo_t`.
    struct GpuInstanceInfo {
        device: Device,
        id: u32,
        profile_id: u32,
        placement: InstancePlacement,
    }

    /// `nvmlComputeInstanceProfileInfo_t`.
    struct ComputeInstanceProfile {
        id: u32,
        slice_count: u32,
        instance_count: u32,
        multiprocessor_count: u32,
        shared_copy_engine_count: u32,
        shared_decoder_count: u32,
        shared_encoder_count: u32,
        shared_jpeg_count: u32,
        shared_ofa_count: u32,
    }

    /// `nvmlComputeInstanceProfileInfo_v2_t`.
    version 2 struct ComputeInstanceProfileV2 {
        version: u32,
        id: u32,
        slice_count: u32,
        instance_count: u32,
        multiprocessor_count: u32,
        shared_copy_engine_count: u32,
        shared_decoder_count: u32,
        shared_encoder_count: u32,
        shared_jpeg_count: u32,
        shared_ofa_count: u32,
        name: [c_char; length::NAME],
    }

    /// `nvmlComputeInstanceProfileInfo_v3_t`.
    version 3 struct ComputeInstanceProfileV3 {
        version: u32,
        id: u32,
        slice_count: u32,
        instance_count: u32,
        multiprocessor_count: u32,
        shared_copy_engine_count: u32,
        shared_decoder_count: u32,
        shared_encoder_count: u32,
        shared_jpeg_count: u32,
        shared_ofa_count: u32,
        name: [c_char; length::NAME],
        capabilities: u32,
    }

    /// `nvmlComputeInstanceInfo_t` of NVML 11.0 (`nvmlComputeInstanceGetInfo`): no placement yet.
    struct ComputeInstanceInfoV1 {
        device: Device,
        gpu_instance: GpuInstance,
        id: u32,
        profile_id: u32,
    }

    /// `nvmlComputeInstanceInfo_t`.
    struct ComputeInstanceInfo {
        device: Device,
        gpu_instance: GpuInstance,
        id: u32,
        profile_id: u32,
        placement: InstancePlacement,
    }

    /// `nvmlEventData_t` before NVML 11 (`nvmlEventSetWait`): no instance ids.
    struct EventDataV1 {
        device: Device,
        event_type: u64,
        event_data: u64,
    }

    /// `nvmlEventData_t`.
    struct EventData {
        device: Device,
        event_type: u64,
        event_data: u64,
        gpu_instance_id: u32,
        compute_instance_id: u32,
    }

    /// `nvmlProcessInfo_v1_t`.
    struct ProcessInfoV1 {
        pid: u32,
        used_gpu_memory: u64,
    }

    /// `nvmlProcessInfo_v2_t` and, since it is the same, `nvmlProcessInfo_t` of the `_v3` functions.
    struct ProcessInfo {
        pid: u32,
        used_gpu_memory: u64,
        gpu_instance_id: u32,
        compute_instance_id: u32,
    }

    /// `nvmlProcessDetailList_v1_t`.
    version 1 struct ProcessDetailList {
        version: u32,
        mode: u32,
        num_proc_array_entries: u32,
        proc_array: *mut ProcessDetail,
    }

    /// `nvmlProcessDetail_v1_t`.
    struct ProcessDetail {
        pid: u32,
        used_gpu_memory: u64,
        gpu_instance_id: u32,
        compute_instance_id: u32,
        used_gpu_cc_protected_memory: u64,
    }

    /// `nvmlProcessUtilizationSample_t`.
    struct ProcessUtilizationSample {
        pid: u32,
        time_stamp: u64,
        sm_util: u32,
        mem_util: u32,
        enc_util: u32,
        dec_util: u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvml_wrapper_sys::bindings as sys;

    macro_rules! same {
        ($($ours:ident = $theirs:ident { $($field:ident = $their_field:ident),* $(,)? })*) => {
            $(
                assert_eq!(size_of::<$ours>(), size_of::<sys::$theirs>(), "size of {}", stringify!($ours));
                assert_eq!(align_of::<$ours>(), align_of::<sys::$theirs>(), "alignment of {}", stringify!($ours));
                let fields = [$((stringify!($field), core::mem::offset_of!($ours, $field), core::mem::offset_of!(sys::$theirs, $their_field))),*];
                for (name, ours, theirs) in fields {
                    assert_eq!(ours, theirs, "offset of {}.{name}", stringify!($ours));
                }
            )*
        };
    }

    /// The older layouts are a head of the current ones.
    macro_rules! head {
        ($($old:ident, $size:literal = $new:ident { $($field:ident),* $(,)? })*) => {
            $(
                assert_eq!(size_of::<$old>(), $size, "size of {}", stringify!($old));
                $(assert_eq!(core::mem::offset_of!($old, $field), core::mem::offset_of!($new, $field), "{}.{}", stringify!($old), stringify!($field));)*
            )*
        };
    }

    #[test]
    fn layouts_are_those_of_the_public_binding() {
        same! {
            PciInfo = nvmlPciInfo_t { bus_id_legacy = busIdLegacy, domain = domain, bus = bus, device = device, pci_device_id = pciDeviceId, pci_subsystem_id = pciSubSystemId, bus_id = busId }
            PciInfoExt = nvmlPciInfoExt_v1_t { version = version, domain = domain, bus = bus, device = device, pci_device_id = pciDeviceId, pci_subsystem_id = pciSubSystemId, base_class = baseClass, sub_class = subClass, bus_id = busId }
            Memory = nvmlMemory_t { total = total, free = free, used = used }
            MemoryV2 = nvmlMemory_v2_t { version = version, total = total, reserved = reserved, free = free, used = used }
            Bar1Memory = nvmlBAR1Memory_t { total = bar1Total, free = bar1Free, used = bar1Used }
            Utilization = nvmlUtilization_t { gpu = gpu, memory = memory }
            Temperature = nvmlTemperature_v1_t { version = version, sensor = sensorType, temperature = temperature }
            AddressingMode = nvmlDeviceAddressingMode_v1_t { version = version, value = value }
            Uuid = nvmlUUID_v1_t { version = version, kind = type_, value = value }
            DriverBranch = nvmlSystemDriverBranchInfo_v1_t { version = version, branch = branch }
            EccErrorCounts = nvmlEccErrorCounts_t { l1_cache = l1Cache, l2_cache = l2Cache, device_memory = deviceMemory, register_file = registerFile }
            RowRemapperHistogram = nvmlRowRemapperHistogramValues_t { max = max, high = high, partial = partial, low = low, none = none }
            FieldValue = nvmlFieldValue_t { field_id = fieldId, scope_id = scopeId, timestamp = timestamp, latency_usec = latencyUsec, value_type = valueType, nvml_return = nvmlReturn, value = value }
            DeviceAttributes = nvmlDeviceAttributes_t { multiprocessor_count = multiprocessorCount, shared_copy_engine_count = sharedCopyEngineCount, shared_decoder_count = sharedDecoderCount, shared_encoder_count = sharedEncoderCount, shared_jpeg_count = sharedJpegCount, shared_ofa_count = sharedOfaCount, gpu_instance_slice_count = gpuInstanceSliceCount, compute_instance_slice_count = computeInstanceSliceCount, memory_size_mb = memorySizeMB }
            InstancePlacement = nvmlGpuInstancePlacement_t { start = start, size = size }
            InstancePlacement = nvmlComputeInstancePlacement_t { start = start, size = size }
            GpuInstanceProfile = nvmlGpuInstanceProfileInfo_t { id = id, is_p2p_supported = isP2pSupported, slice_count = sliceCount, instance_count = instanceCount, multiprocessor_count = multiprocessorCount, copy_engine_count = copyEngineCount, decoder_count = decoderCount, encoder_count = encoderCount, jpeg_count = jpegCount, ofa_count = ofaCount, memory_size_mb = memorySizeMB }
            GpuInstanceProfileV2 = nvmlGpuInstanceProfileInfo_v2_t { version = version, id = id, is_p2p_supported = isP2pSupported, slice_count = sliceCount, instance_count = instanceCount, multiprocessor_count = multiprocessorCount, copy_engine_count = copyEngineCount, decoder_count = decoderCount, encoder_count = encoderCount, jpeg_count = jpegCount, ofa_count = ofaCount, memory_size_mb = memorySizeMB, name = name }
            GpuInstanceProfileV3 = nvmlGpuInstanceProfileInfo_v3_t { version = version, id = id, slice_count = sliceCount, instance_count = instanceCount, multiprocessor_count = multiprocessorCount, copy_engine_count = copyEngineCount, decoder_count = decoderCount, encoder_count = encoderCount, jpeg_count = jpegCount, ofa_count = ofaCount, memory_size_mb = memorySizeMB, name = name, capabilities = capabilities }
            GpuInstanceInfo = nvmlGpuInstanceInfo_t { device = device, id = id, profile_id = profileId, placement = placement }
            ComputeInstanceProfile = nvmlComputeInstanceProfileInfo_t { id = id, slice_count = sliceCount, instance_count = instanceCount, multiprocessor_count = multiprocessorCount, shared_copy_engine_count = sharedCopyEngineCount, shared_decoder_count = sharedDecoderCount, shared_encoder_count = sharedEncoderCount, shared_jpeg_count = sharedJpegCount, shared_ofa_count = sharedOfaCount }
            ComputeInstanceProfileV2 = nvmlComputeInstanceProfileInfo_v2_t { version = version, id = id, slice_count = sliceCount, instance_count = instanceCount, multiprocessor_count = multiprocessorCount, shared_copy_engine_count = sharedCopyEngineCount, shared_decoder_count = sharedDecoderCount, shared_encoder_count = sharedEncoderCount, shared_jpeg_count = sharedJpegCount, shared_ofa_count = sharedOfaCount, name = name }
            ComputeInstanceProfileV3 = nvmlComputeInstanceProfileInfo_v3_t { version = version, id = id, slice_count = sliceCount, instance_count = instanceCount, multiprocessor_count = multiprocessorCount, shared_copy_engine_count = sharedCopyEngineCount, shared_decoder_count = sharedDecoderCount, shared_encoder_count = sharedEncoderCount, shared_jpeg_count = sharedJpegCount, shared_ofa_count = sharedOfaCount, name = name, capabilities = capabilities }
            ComputeInstanceInfo = nvmlComputeInstanceInfo_t { device = device, gpu_instance = gpuInstance, id = id, profile_id = profileId, placement = placement }
            EventData = nvmlEventData_t { device = device, event_type = eventType, event_data = eventData, gpu_instance_id = gpuInstanceId, compute_instance_id = computeInstanceId }
            ProcessInfoV1 = nvmlProcessInfo_v1_t { pid = pid, used_gpu_memory = usedGpuMemory }
            ProcessInfo = nvmlProcessInfo_v2_t { pid = pid, used_gpu_memory = usedGpuMemory, gpu_instance_id = gpuInstanceId, compute_instance_id = computeInstanceId }
            ProcessInfo = nvmlProcessInfo_t { pid = pid, used_gpu_memory = usedGpuMemory, gpu_instance_id = gpuInstanceId, compute_instance_id = computeInstanceId }
            ProcessDetailList = nvmlProcessDetailList_v1_t { version = version, mode = mode, num_proc_array_entries = numProcArrayEntries, proc_array = procArray }
            ProcessDetail = nvmlProcessDetail_v1_t { pid = pid, used_gpu_memory = usedGpuMemory, gpu_instance_id = gpuInstanceId, compute_instance_id = computeInstanceId, used_gpu_cc_protected_memory = usedGpuCcProtectedMemory }
            ProcessUtilizationSample = nvmlProcessUtilizationSample_t { pid = pid, time_stamp = timeStamp, sm_util = smUtil, mem_util = memUtil, enc_util = encUtil, dec_util = decUtil }
        }
    }

    #[test]
    fn old_layouts_are_heads_of_the_current_ones() {
        head! {
            PciInfoV1, 32 = PciInfo { bus_id_legacy, domain, bus, device, pci_device_id }
            PciInfoV2, 36 = PciInfo { bus_id_legacy, domain, bus, device, pci_device_id, pci_subsystem_id }
            DeviceAttributesV1, 24 = DeviceAttributes { multiprocessor_count, shared_copy_engine_count, shared_decoder_count, shared_encoder_count, shared_jpeg_count, shared_ofa_count }
            ComputeInstanceInfoV1, 24 = ComputeInstanceInfo { device, gpu_instance, id, profile_id }
            EventDataV1, 24 = EventData { device, event_type, event_data }
        }
    }

    #[test]
    fn version_tags_are_size_and_number() {
        // Written out in nvidia-ml-py and go-nvml.
        assert_eq!(MemoryV2::TAG, 0x0200_0028);
        assert_eq!(Temperature::TAG, 0x0100_000c);
        assert_eq!(GpuInstanceProfileV2::TAG, 0x0200_0098);
    }
}
