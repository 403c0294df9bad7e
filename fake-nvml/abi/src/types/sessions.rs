//! Structs of encoder and frame buffer capture sessions.

use super::structs;

structs! {
    /// `nvmlEncoderSessionInfo_t`.
    struct EncoderSession = nvmlEncoderSessionInfo_t {
        session_id = sessionId: u32,
        pid: u32,
        vgpu_instance = vgpuInstance: u32,
        codec_type = codecType: u32,
        h_resolution = hResolution: u32,
        v_resolution = vResolution: u32,
        average_fps = averageFps: u32,
        average_latency = averageLatency: u32,
    }

    /// `nvmlFBCStats_t`.
    struct FbcStats = nvmlFBCStats_t {
        sessions_count = sessionsCount: u32,
        average_fps = averageFPS: u32,
        average_latency = averageLatency: u32,
    }

    /// `nvmlFBCSessionInfo_t`.
    struct FbcSession = nvmlFBCSessionInfo_t {
        session_id = sessionId: u32,
        pid: u32,
        vgpu_instance = vgpuInstance: u32,
        display_ordinal = displayOrdinal: u32,
        session_type = sessionType: u32,
        session_flags = sessionFlags: u32,
        h_max_resolution = hMaxResolution: u32,
        v_max_resolution = vMaxResolution: u32,
        h_resolution = hResolution: u32,
        v_resolution = vResolution: u32,
        average_fps = averageFPS: u32,
        average_latency = averageLatency: u32,
    }
}
