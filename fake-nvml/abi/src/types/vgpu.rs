//! Structs of virtual GPUs and their licences.

use super::structs;

structs! {
    /// `nvmlGridLicensableFeatures_t` without its features, of which there are none.
    struct GridLicensableFeaturesHead {
        is_grid_license_supported: i32,
        licensable_features_count: u32,
    }

    /// `nvmlVgpuVersion_t`.
    struct VgpuVersion = nvmlVgpuVersion_t {
        min_version = minVersion: u32,
        max_version = maxVersion: u32,
    }
}
