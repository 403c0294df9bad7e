//! Ways of drawing power that only newer boards have: profiles, smoothing, modes.
//! Not draw and limits (`monitors`, `policy`).
//! Captures up to Hopper show N/A for all of them; of Blackwell's the catalogue has no values.

use crate::absent::{self, Announced, absent};
use crate::out::{In, Out};

absent! {
    table POWER_ABSENT;

    /// For Blackwell and newer.
    device fn nvmlDeviceWorkloadPowerProfileGetProfilesInfo(info: Announced<absent::PowerProfiles>);
    /// As `nvmlDeviceWorkloadPowerProfileGetProfilesInfo`.
    device fn nvmlDeviceWorkloadPowerProfileGetCurrentProfiles(profiles: Announced<absent::CurrentPowerProfiles>);
    /// As `nvmlDeviceWorkloadPowerProfileGetProfilesInfo`.
    device fn nvmlDeviceWorkloadPowerProfileSetRequestedProfiles(profiles: Announced<absent::RequestedPowerProfiles>);
    /// As `nvmlDeviceWorkloadPowerProfileGetProfilesInfo`.
    device fn nvmlDeviceWorkloadPowerProfileClearRequestedProfiles(profiles: Announced<absent::RequestedPowerProfiles>);
    /// As `nvmlDeviceWorkloadPowerProfileGetProfilesInfo`.
    device fn nvmlDeviceWorkloadPowerProfileUpdateProfiles_v1(update: In<[u32; 9]>);
    /// Power smoothing: for Blackwell and newer.
    device fn nvmlDevicePowerSmoothingActivatePresetProfile(profile: Announced<absent::PowerSmoothingProfile>);
    /// As `nvmlDevicePowerSmoothingActivatePresetProfile`.
    device fn nvmlDevicePowerSmoothingUpdatePresetProfileParam(profile: Announced<absent::PowerSmoothingProfile>);
    /// As `nvmlDevicePowerSmoothingActivatePresetProfile`.
    device fn nvmlDevicePowerSmoothingSetState(state: Announced<absent::PowerSmoothingState>);
    /// A matter of desktops.
    device fn nvmlDeviceGetPowerMizerMode_v1(mode: Out<[u32; 3]>);
    /// As `nvmlDeviceGetPowerMizerMode_v1`.
    device fn nvmlDeviceSetPowerMizerMode_v1(mode: In<[u32; 3]>);
    /// Not known of any card.
    device fn nvmlDeviceGetAdaptiveTgpModeInfo_v1(info: Out<[u32; 5]>);
    /// As `nvmlDeviceGetAdaptiveTgpModeInfo_v1`.
    device fn nvmlDeviceSetAdaptiveTgpMode_v1(mode: u32);
    /// Samples of performance counters: not known of any card.
    device fn nvmlDevicePerfMetricsGetSamples_v1(samples: Out<u32>);
}
