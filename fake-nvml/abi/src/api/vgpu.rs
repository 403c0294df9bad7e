//! Virtual GPUs: the machine is no host of any and no guest with one.
//! Not partitions (`mig`).
//! So there is no type and no virtual GPU: what asks about one gets the header's error for one that does not exist, what asks a card
//! about them NOT_SUPPORTED, as on a machine without the vGPU manager.

use crate::absent::{self, Announced, absent};
use crate::handle::Device;
use crate::macros::api;
use crate::out::{Out, OutArray, OutText};
use crate::status::Result;
use crate::types::GridLicensableFeaturesHead;
use crate::view::View;

/// No licence is needed, so there are no features to license.
fn features(view: &View, device: Device, out: &Out<GridLicensableFeaturesHead>) -> Result {
    view.whole(device)?;
    out.put(GridLicensableFeaturesHead {
        is_grid_license_supported: 0,
        licensable_features_count: 0,
    })
}

api! {
    table LICENCES;

    /// As `nvmlDeviceGetGridLicensableFeatures_v4`.
    view fn nvmlDeviceGetGridLicensableFeatures(device: Device, out: Out<GridLicensableFeaturesHead>) |view| { features(view, device, &out) }

    /// As `nvmlDeviceGetGridLicensableFeatures_v4`.
    view fn nvmlDeviceGetGridLicensableFeatures_v2(device: Device, out: Out<GridLicensableFeaturesHead>) |view| { features(view, device, &out) }

    /// As `nvmlDeviceGetGridLicensableFeatures_v4`.
    view fn nvmlDeviceGetGridLicensableFeatures_v3(device: Device, out: Out<GridLicensableFeaturesHead>) |view| { features(view, device, &out) }

    /// Features of virtual GPUs that can be licensed: none on bare metal.
    view fn nvmlDeviceGetGridLicensableFeatures_v4(device: Device, out: Out<GridLicensableFeaturesHead>) |view| { features(view, device, &out) }
}

absent! {
    table VGPU;

    /// Not a host of virtual GPUs.
    device fn nvmlDeviceGetActiveVgpus(vgpu_count: Out<u32>, vgpu_instances: OutArray<u8>);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceGetCreatableVgpus(vgpu_count: Out<u32>, vgpu_type_ids: OutArray<u8>);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceGetHostVgpuMode(host_vgpu_mode: Out<u32>);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceGetPgpuMetadataString(pgpu_metadata: OutText, buffer_size: Out<u32>);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceGetSupportedVgpus(vgpu_count: Out<u32>, vgpu_type_ids: OutArray<u8>);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceGetVgpuCapabilities(capability: u32, cap_result: Out<u32>);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceGetVgpuHeterogeneousMode(heterogeneous_mode: Announced<absent::HeterogeneousMode>);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceGetVgpuInstancesUtilizationInfo(vgpu_util_info: Announced<absent::VgpusUtilization>);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceGetVgpuMetadata(pgpu_metadata: Out<u8>, buffer_size: Out<u32>);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceGetVgpuProcessUtilization(last_seen_time_stamp: u64, vgpu_process_samples_count: Out<u32>, utilization_samples: OutArray<u8>);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceGetVgpuProcessesUtilizationInfo(vgpu_proc_util_info: Announced<absent::VgpuProcessesUtilization>);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceGetVgpuSchedulerCapabilities(capabilities: Out<u8>);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceGetVgpuSchedulerLog(scheduler_log: Out<u8>);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceGetVgpuSchedulerLog_v2(scheduler_log_info: Out<u8>);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceGetVgpuSchedulerState(scheduler_state: Out<u8>);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceGetVgpuSchedulerState_v2(scheduler_state_info: Out<u8>);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceGetVgpuTypeCreatablePlacements(vgpu_type_id: u32, placement_list: Announced<absent::PlacementList>);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceGetVgpuTypeSupportedPlacements(vgpu_type_id: u32, placement_list: Announced<absent::PlacementList>);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceGetVgpuUtilization(last_seen_time_stamp: u64, sample_val_type: Out<u32>, vgpu_instance_samples_count: Out<u32>, utilization_samples: OutArray<u8>);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceSetVgpuCapabilities(capability: u32, state: u32);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceSetVgpuHeterogeneousMode(heterogeneous_mode: Announced<absent::HeterogeneousMode>);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceSetVgpuSchedulerState(scheduler_state: Out<u8>);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceSetVgpuSchedulerState_v2(scheduler_state: Out<u8>);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceSetVirtualizationMode(virtual_mode: u32);
    /// Not a host of virtual GPUs.
    device fn nvmlDeviceVgpuForceGspUnload();
    /// Not a host of virtual GPUs.
    device fn nvmlVgpuTypeGetMaxInstances(vgpu_type_id: u32, vgpu_instance_count: Out<u32>);
    /// Not a host of virtual GPUs.
    gpu_instance fn nvmlGpuInstanceGetActiveVgpus(vgpu_instance_info: Announced<absent::ActiveVgpuInfo>);
    /// Not a host of virtual GPUs.
    gpu_instance fn nvmlGpuInstanceGetCreatableVgpus(vgpus: Announced<absent::TypeIdInfo>);
    /// Not a host of virtual GPUs.
    gpu_instance fn nvmlGpuInstanceGetVgpuHeterogeneousMode(heterogeneous_mode: Announced<absent::HeterogeneousMode>);
    /// Not a host of virtual GPUs.
    gpu_instance fn nvmlGpuInstanceGetVgpuSchedulerLog(scheduler_log_info: Announced<absent::SchedulerLogInfo>);
    /// Not a host of virtual GPUs.
    gpu_instance fn nvmlGpuInstanceGetVgpuSchedulerLog_v2(scheduler_log_info: Out<u8>);
    /// Not a host of virtual GPUs.
    gpu_instance fn nvmlGpuInstanceGetVgpuSchedulerState(scheduler_state_info: Announced<absent::SchedulerStateInfo>);
    /// Not a host of virtual GPUs.
    gpu_instance fn nvmlGpuInstanceGetVgpuSchedulerState_v2(scheduler_state_info: Out<u8>);
    /// Not a host of virtual GPUs.
    gpu_instance fn nvmlGpuInstanceGetVgpuTypeCreatablePlacements(creatable_placement_info: Announced<absent::CreatablePlacements>);
    /// Not a host of virtual GPUs.
    gpu_instance fn nvmlGpuInstanceSetVgpuHeterogeneousMode(heterogeneous_mode: Announced<absent::HeterogeneousMode>);
    /// Not a host of virtual GPUs.
    gpu_instance fn nvmlGpuInstanceSetVgpuSchedulerState(scheduler: Announced<absent::SchedulerState>);
    /// Not a host of virtual GPUs.
    gpu_instance fn nvmlGpuInstanceSetVgpuSchedulerState_v2(scheduler_state: Out<u8>);
    /// No such type of virtual GPUs.
    vgpu_type fn nvmlVgpuTypeGetBAR1Info(bar1_info: Announced<absent::TypeBar1Info>);
    /// No such type of virtual GPUs.
    vgpu_type fn nvmlVgpuTypeGetCapabilities(capability: u32, cap_result: Out<u32>);
    /// No such type of virtual GPUs.
    vgpu_type fn nvmlVgpuTypeGetClass(vgpu_type_class: OutText, size: Out<u32>);
    /// No such type of virtual GPUs.
    vgpu_type fn nvmlVgpuTypeGetDeviceID(device_id: Out<u64>, subsystem_id: Out<u64>);
    /// No such type of virtual GPUs.
    vgpu_type fn nvmlVgpuTypeGetFbReservation(fb_reservation: Out<u64>);
    /// No such type of virtual GPUs.
    vgpu_type fn nvmlVgpuTypeGetFrameRateLimit(frame_rate_limit: Out<u32>);
    /// No such type of virtual GPUs.
    vgpu_type fn nvmlVgpuTypeGetFramebufferSize(fb_size: Out<u64>);
    /// No such type of virtual GPUs.
    vgpu_type fn nvmlVgpuTypeGetGpuInstanceProfileId(gpu_instance_profile_id: Out<u32>);
    /// No such type of virtual GPUs.
    vgpu_type fn nvmlVgpuTypeGetGspHeapSize(gsp_heap_size: Out<u64>);
    /// No such type of virtual GPUs.
    vgpu_type fn nvmlVgpuTypeGetLicense(vgpu_type_license_string: OutText, size: u32);
    /// No such type of virtual GPUs.
    vgpu_type fn nvmlVgpuTypeGetMaxInstancesPerVm(vgpu_instance_count_per_vm: Out<u32>);
    /// No such type of virtual GPUs.
    vgpu_type fn nvmlVgpuTypeGetName(vgpu_type_name: OutText, size: Out<u32>);
    /// No such type of virtual GPUs.
    vgpu_type fn nvmlVgpuTypeGetNumDisplayHeads(num_display_heads: Out<u32>);
    /// No such type of virtual GPUs.
    vgpu_type fn nvmlVgpuTypeGetResolution(display_index: u32, xdim: Out<u32>, ydim: Out<u32>);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceClearAccountingPids();
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetAccountingMode(mode: Out<u32>);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetAccountingPids(count: Out<u32>, pids: Out<u32>);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetAccountingStats(pid: u32, stats: Out<u8>);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetEccMode(ecc_mode: Out<u32>);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetEncoderCapacity(encoder_capacity: Out<u32>);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetEncoderSessions(session_count: Out<u32>, session_info: OutArray<u8>);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetEncoderStats(session_count: Out<u32>, average_fps: Out<u32>, average_latency: Out<u32>);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetFBCSessions(session_count: Out<u32>, session_info: OutArray<u8>);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetFBCStats(fbc_stats: Out<u8>);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetFbUsage(fb_usage: Out<u64>);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetFrameRateLimit(frame_rate_limit: Out<u32>);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetGpuInstanceId(gpu_instance_id: Out<u32>);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetGpuPciId(vgpu_pci_id: OutText, length: Out<u32>);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetLicenseInfo(license_info: Out<u8>);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetLicenseInfo_v2(license_info: Out<u8>);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetLicenseStatus(licensed: Out<u32>);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetMdevUUID(mdev_uuid: OutText, size: u32);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetMetadata(vgpu_metadata: Out<u8>, buffer_size: Out<u32>);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetPlacementId(placement: Announced<absent::PlacementId>);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetRuntimeStateSize(state: Announced<absent::RuntimeState>);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetType(vgpu_type_id: Out<u8>);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetUUID(uuid: OutText, size: u32);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetVmDriverVersion(version: OutText, length: u32);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceGetVmID(vm_id: OutText, size: u32, vm_id_type: Out<u32>);
    /// No such virtual GPU.
    vgpu fn nvmlVgpuInstanceSetEncoderCapacity(encoder_capacity: u32);
    /// Not a host of virtual GPUs.
    system fn nvmlGetVgpuCompatibility(vgpu_metadata: Out<u8>, pgpu_metadata: Out<u8>, compatibility_info: Out<u8>);
    /// Not a host of virtual GPUs.
    system fn nvmlGetVgpuDriverCapabilities(capability: u32, cap_result: Out<u32>);
    /// Not a host of virtual GPUs.
    system fn nvmlGetVgpuVersion(supported: Out<u8>, current: Out<u8>);
    /// Not a host of virtual GPUs.
    system fn nvmlSetVgpuVersion(vgpu_version: Out<u8>);
    /// Not a host of virtual GPUs.
    system fn nvmlVgpuTypeGetMaxInstancesPerGpuInstance(max_instance: Announced<absent::TypeMaxInstance>);
}
