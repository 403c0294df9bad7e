//! Confidential computing: what cards could do, and that it is off.
//! From the catalogue (capable since Hopper); the fake never protects anything.
//! Certificates and reports are NOT_SUPPORTED: a fake one would be a lie that somebody checks.

use crate::absent::{self, Announced, absent};
use crate::handle::Device;
use crate::macros::api;
use crate::out::{Out, OutText};
use crate::types::{
    ConfComputeCapabilities, ConfComputeMemSize, ConfComputeSettings, ConfComputeSettingsV2,
    ConfComputeState, Memory,
};
use gpu_model::Architecture;

api! {
    table CONFIDENTIAL;

    /// CPU: none known; GPUs: capable if all are of Hopper or newer.
    view fn nvmlSystemGetConfComputeCapabilities(out: Out<ConfComputeCapabilities>) |view| {
        let capable = view.listed().len() > 0 && view.listed().all(|gpu| view.spec(gpu).architecture >= Architecture::Hopper);
        out.put(ConfComputeCapabilities { cpu_caps: 0, gpus_caps: capable.into() })
    }

    /// Off.
    view fn nvmlSystemGetConfComputeState(out: Out<ConfComputeState>) |_view| {
        out.put(ConfComputeState { environment: 0, cc_feature: 0, dev_tools_mode: 0 })
    }

    /// Off.
    view fn nvmlSystemGetConfComputeSettings(out: Out<ConfComputeSettings>) |_view| {
        out.check_version()?;
        out.put(ConfComputeSettings { environment: 0, cc_feature: 0, dev_tools_mode: 0, multi_gpu_mode: 0, ..out.get()? })
    }

    /// Off; no GPU stands behind a trusted interface (TDISP).
    view fn nvmlSystemGetConfComputeSettings_v2(out: Out<ConfComputeSettingsV2>) |_view| {
        out.check_version()?;
        out.put(ConfComputeSettingsV2 { environment: 0, cc_feature: 0, dev_tools_mode: 0, multi_gpu_mode: 0, tdisp_state: 0, ..out.get()? })
    }

    /// No memory is protected.
    view fn nvmlDeviceGetConfComputeMemSizeInfo(device: Device, out: Out<ConfComputeMemSize>) |view| {
        let gpu = view.whole(device)?;
        out.put(ConfComputeMemSize { protected_mem_size_kib: 0, unprotected_mem_size_kib: view.spec(gpu).memory_total.0 * 1024 })
    }

    /// No memory is protected.
    view fn nvmlDeviceGetConfComputeProtectedMemoryUsage(device: Device, out: Out<Memory>) |view| {
        view.card(device)?;
        out.put(Memory { total: 0, free: 0, used: 0 })
    }
}

absent! {
    table CONFIDENTIAL_ABSENT;

    /// Only with confidential computing on.
    system fn nvmlSystemGetConfComputeGpusReadyState(accepting: Out<u32>);
    /// As `nvmlSystemGetConfComputeGpusReadyState`.
    system fn nvmlSystemSetConfComputeGpusReadyState(accepting: u32);
    /// As `nvmlSystemGetConfComputeGpusReadyState`.
    system fn nvmlSystemGetConfComputeKeyRotationThresholdInfo(info: Announced<absent::GetKeyRotation>);
    /// As `nvmlSystemGetConfComputeGpusReadyState`.
    system fn nvmlSystemSetConfComputeKeyRotationThresholdInfo(info: Announced<absent::SetKeyRotation>);
    /// As `nvmlSystemGetConfComputeGpusReadyState`.
    device fn nvmlDeviceSetConfComputeUnprotectedMemSize(kib: u64);
    /// No certificate.
    device fn nvmlDeviceGetConfComputeGpuCertificate(certificate: OutText);
    /// No report.
    device fn nvmlDeviceGetConfComputeGpuAttestationReport(report: OutText);
}
