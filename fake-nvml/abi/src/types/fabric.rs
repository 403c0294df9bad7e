//! Structs of NVLink, fabric and platform.

use super::structs;
use crate::status::Return;

structs! {
    /// `nvmlPdi_v1_t`.
    version 1 struct Pdi = nvmlPdi_v1_t {
        version: u32,
        value: u64,
    }

    /// `nvmlGpuFabricInfo_t`.
    struct FabricInfo = nvmlGpuFabricInfo_t {
        cluster_uuid = clusterUuid: [u8; 16],
        status: Return,
        clique_id = cliqueId: u32,
        state: u8,
    }

    /// `nvmlGpuFabricInfo_v2_t`.
    version 2 struct FabricInfoV2 = nvmlGpuFabricInfo_v2_t {
        version: u32,
        cluster_uuid = clusterUuid: [u8; 16],
        status: Return,
        clique_id = cliqueId: u32,
        state: u8,
        health_mask = healthMask: u32,
    }

    /// `nvmlGpuFabricInfo_v3_t`.
    version 3 struct FabricInfoV3 = nvmlGpuFabricInfo_v3_t {
        version: u32,
        cluster_uuid = clusterUuid: [u8; 16],
        status: Return,
        clique_id = cliqueId: u32,
        state: u8,
        health_mask = healthMask: u32,
        health_summary = healthSummary: u8,
    }

    /// `nvmlC2cModeInfo_v1_t`.
    struct C2cModeInfo = nvmlC2cModeInfo_v1_t {
        is_c2c_enabled = isC2cEnabled: u32,
    }


    /// `nvmlGpuFabricClique_v1_t`.
    struct FabricClique {
        id: u32,
        kind: u8,
    }

    /// `nvmlGpuFabricInfo_v4_t`: has no version field.
    struct FabricInfoV4 {
        cluster_uuid: [u8; 16],
        status: Return,
        cliques: [FabricClique; 64],
        num_cliques: u32,
        state: u8,
        health_mask: u32,
        health_summary: u8,
    }
}
