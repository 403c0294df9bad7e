//! Structs of MIG devices, GPU instances and compute instances.

use core::ffi::c_char;

use super::{length, structs};
use crate::handle::{Device, GpuInstance};

structs! {
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
    struct DeviceAttributes = nvmlDeviceAttributes_t {
        multiprocessor_count = multiprocessorCount: u32,
        shared_copy_engine_count = sharedCopyEngineCount: u32,
        shared_decoder_count = sharedDecoderCount: u32,
        shared_encoder_count = sharedEncoderCount: u32,
        shared_jpeg_count = sharedJpegCount: u32,
        shared_ofa_count = sharedOfaCount: u32,
        gpu_instance_slice_count = gpuInstanceSliceCount: u32,
        compute_instance_slice_count = computeInstanceSliceCount: u32,
        memory_size_mb = memorySizeMB: u64,
    }

    /// `nvmlGpuInstancePlacement_t` (memory slices) and `nvmlComputeInstancePlacement_t` (compute slices of the GPU instance).
    struct InstancePlacement = nvmlGpuInstancePlacement_t {
        start: u32,
        size: u32,
    }

    /// `nvmlGpuInstanceProfileInfo_t`.
    struct GpuInstanceProfile = nvmlGpuInstanceProfileInfo_t {
        id: u32,
        is_p2p_supported = isP2pSupported: u32,
        slice_count = sliceCount: u32,
        instance_count = instanceCount: u32,
        multiprocessor_count = multiprocessorCount: u32,
        copy_engine_count = copyEngineCount: u32,
        decoder_count = decoderCount: u32,
        encoder_count = encoderCount: u32,
        jpeg_count = jpegCount: u32,
        ofa_count = ofaCount: u32,
        memory_size_mb = memorySizeMB: u64,
    }

    /// `nvmlGpuInstanceProfileInfo_v2_t`.
    version 2 struct GpuInstanceProfileV2 = nvmlGpuInstanceProfileInfo_v2_t {
        version: u32,
        id: u32,
        is_p2p_supported = isP2pSupported: u32,
        slice_count = sliceCount: u32,
        instance_count = instanceCount: u32,
        multiprocessor_count = multiprocessorCount: u32,
        copy_engine_count = copyEngineCount: u32,
        decoder_count = decoderCount: u32,
        encoder_count = encoderCount: u32,
        jpeg_count = jpegCount: u32,
        ofa_count = ofaCount: u32,
        memory_size_mb = memorySizeMB: u64,
        name: [c_char; length::NAME],
    }

    /// `nvmlGpuInstanceProfileInfo_v3_t`.
    version 3 struct GpuInstanceProfileV3 = nvmlGpuInstanceProfileInfo_v3_t {
        version: u32,
        id: u32,
        slice_count = sliceCount: u32,
        instance_count = instanceCount: u32,
        multiprocessor_count = multiprocessorCount: u32,
        copy_engine_count = copyEngineCount: u32,
        decoder_count = decoderCount: u32,
        encoder_count = encoderCount: u32,
        jpeg_count = jpegCount: u32,
        ofa_count = ofaCount: u32,
        memory_size_mb = memorySizeMB: u64,
        name: [c_char; length::NAME],
        capabilities: u32,
    }

    /// `nvmlGpuInstanceInfo_t`.
    struct GpuInstanceInfo = nvmlGpuInstanceInfo_t {
        device: Device,
        id: u32,
        profile_id = profileId: u32,
        placement: InstancePlacement,
    }

    /// `nvmlComputeInstanceProfileInfo_t`.
    struct ComputeInstanceProfile = nvmlComputeInstanceProfileInfo_t {
        id: u32,
        slice_count = sliceCount: u32,
        instance_count = instanceCount: u32,
        multiprocessor_count = multiprocessorCount: u32,
        shared_copy_engine_count = sharedCopyEngineCount: u32,
        shared_decoder_count = sharedDecoderCount: u32,
        shared_encoder_count = sharedEncoderCount: u32,
        shared_jpeg_count = sharedJpegCount: u32,
        shared_ofa_count = sharedOfaCount: u32,
    }

    /// `nvmlComputeInstanceProfileInfo_v2_t`.
    version 2 struct ComputeInstanceProfileV2 = nvmlComputeInstanceProfileInfo_v2_t {
        version: u32,
        id: u32,
        slice_count = sliceCount: u32,
        instance_count = instanceCount: u32,
        multiprocessor_count = multiprocessorCount: u32,
        shared_copy_engine_count = sharedCopyEngineCount: u32,
        shared_decoder_count = sharedDecoderCount: u32,
        shared_encoder_count = sharedEncoderCount: u32,
        shared_jpeg_count = sharedJpegCount: u32,
        shared_ofa_count = sharedOfaCount: u32,
        name: [c_char; length::NAME],
    }

    /// `nvmlComputeInstanceProfileInfo_v3_t`.
    version 3 struct ComputeInstanceProfileV3 = nvmlComputeInstanceProfileInfo_v3_t {
        version: u32,
        id: u32,
        slice_count = sliceCount: u32,
        instance_count = instanceCount: u32,
        multiprocessor_count = multiprocessorCount: u32,
        shared_copy_engine_count = sharedCopyEngineCount: u32,
        shared_decoder_count = sharedDecoderCount: u32,
        shared_encoder_count = sharedEncoderCount: u32,
        shared_jpeg_count = sharedJpegCount: u32,
        shared_ofa_count = sharedOfaCount: u32,
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
    struct ComputeInstanceInfo = nvmlComputeInstanceInfo_t {
        device: Device,
        gpu_instance = gpuInstance: GpuInstance,
        id: u32,
        profile_id = profileId: u32,
        placement: InstancePlacement,
    }
}
