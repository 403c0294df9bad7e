//! What the board is made of and what it cannot do.
//! Not its identity (`device`).
//! From the catalogue; what no card of it has is NOT_SUPPORTED, as captures of such cards show it.

use crate::absent::{self, Announced, absent};
use crate::handle::Device;
use crate::macros::api;
use crate::out::{In, Out, OutText};
use crate::status::Status;
use crate::types::Capabilities;

/// `NVML_GSP_FIRMWARE_VERSION_BUF_SIZE`.
const GSP_VERSION: u32 = 64;
/// `NVML_BUS_TYPE_PCIE`.
const PCIE: u32 = 2;

api! {
    table BOARD;

    /// The version of the firmware on the card: the driver's.
    view fn nvmlDeviceGetGspFirmwareVersion(device: Device, version: OutText) |view| {
        view.whole(device)?;
        version.put(&view.machine().driver_version, GSP_VERSION)
    }

    /// The firmware on the card is used, as by default.
    view fn nvmlDeviceGetGspFirmwareMode(device: Device, enabled: Out<u32>, default: Out<u32>) |view| {
        view.whole(device)?;
        default.check()?;
        enabled.put(1)?;
        default.put(1)
    }

    /// CUDA cores; NOT_SUPPORTED if the catalogue does not know them.
    view fn nvmlDeviceGetNumGpuCores(device: Device, count: Out<u32>) |view| {
        count.put(view.spec(view.whole(device)?).board.cuda_cores.ok_or(Status::NotSupported)?)
    }

    /// The width of the way to the memory, in bits; NOT_SUPPORTED if the catalogue does not know it.
    view fn nvmlDeviceGetMemoryBusWidth(device: Device, width: Out<u32>) |view| {
        width.put(view.spec(view.whole(device)?).board.memory_bus_width.ok_or(Status::NotSupported)?)
    }

    /// The highest speed of a PCI Express lane, as an `NVML_PCIE_LINK_MAX_SPEED_*`, which counts as generations do.
    view fn nvmlDeviceGetPcieLinkMaxSpeed(device: Device, speed: Out<u32>) |view| {
        speed.put(view.spec(view.whole(device)?).pcie.ok_or(Status::NotSupported)?.generation)
    }

    /// PCI Express.
    view fn nvmlDeviceGetBusType(device: Device, kind: Out<u32>) |view| {
        view.card(device)?;
        kind.put(PCIE)
    }

    /// The card's interrupt: a stand-in, the same as in `/proc/driver/nvidia/gpus`.
    view fn nvmlDeviceGetIrqNum(device: Device, number: Out<u32>) |view| {
        number.put(view.state(view.whole(device)?).irq())
    }

    /// Mains.
    view fn nvmlDeviceGetPowerSource(device: Device, source: Out<u32>) |view| {
        view.whole(device)?;
        source.put(0)
    }

    /// Nothing: no memory of the GPU is shown as the system's (EGM).
    view fn nvmlDeviceGetCapabilities(device: Device, out: Out<Capabilities>) |view| {
        view.card(device)?;
        out.check_version()?;
        out.put(Capabilities { cap_mask: 0, ..out.get()? })
    }

    /// The infoROM is sound; NOT_SUPPORTED if the catalogue knows of none.
    view fn nvmlDeviceValidateInforom(device: Device) |view| {
        view.spec(view.whole(device)?).inforom.as_ref().map(drop).ok_or(Status::NotSupported)
    }
}

absent! {
    table BOARD_ABSENT;

    /// When a driver took the card the state does not keep, and nobody has shown it.
    device fn nvmlDeviceGetGpuUptime_v1(uptime: Out<u32>);
    /// GPUs whose memory is a NUMA node sit on boards with NVIDIA's own CPUs.
    device fn nvmlDeviceGetNumaNodeId(node: Out<u32>);
    /// Nobody has shown the checksum of one of these boards.
    device fn nvmlDeviceGetInforomConfigurationChecksum(checksum: Out<u32>);
    /// The black box recorder: captures show it on few boards, and only moments of theirs.
    device fn nvmlDeviceGetLastBBXFlushTime(timestamp: Out<u64>, duration: Out<u64>);
    /// As `nvmlDeviceGetLastBBXFlushTime`.
    device fn nvmlDeviceGetBBXTimeData_v1(data: Out<u32>);
    /// Operation modes ended with Kepler.
    device fn nvmlDeviceGetGpuOperationMode(current: Out<u32>, pending: Out<u32>);
    /// As `nvmlDeviceGetGpuOperationMode`.
    device fn nvmlDeviceSetGpuOperationMode(mode: u32);
    /// Driver models are a matter of Windows.
    device fn nvmlDeviceGetDriverModel(current: Out<u32>, pending: Out<u32>);
    /// As `nvmlDeviceGetDriverModel`.
    device fn nvmlDeviceGetDriverModel_v2(current: Out<u32>, pending: Out<u32>);
    /// As `nvmlDeviceGetDriverModel`.
    device fn nvmlDeviceSetDriverModel(model: u32, flags: u32);
    /// No bridge chips.
    device fn nvmlDeviceGetBridgeChipInfo(hierarchy: Out<u8>);
    /// Permissions of single functions are no longer kept apart.
    device fn nvmlDeviceGetAPIRestriction(api: u32, restricted: Out<u32>);
    /// As `nvmlDeviceGetAPIRestriction`.
    device fn nvmlDeviceSetAPIRestriction(api: u32, restricted: u32);
    /// Memory is not encrypted on any card that was captured.
    device fn nvmlDeviceGetDramEncryptionMode(current: Announced<absent::DramEncryption>, pending: Announced<absent::DramEncryption>);
    /// As `nvmlDeviceGetDramEncryptionMode`.
    device fn nvmlDeviceSetDramEncryptionMode(mode: Announced<absent::DramEncryption>);
    /// Limits of memory by name space: not known of any card.
    device fn nvmlDeviceGetMemoryLimits_v1(limits: Out<[u64; 4]>);
    /// As `nvmlDeviceGetMemoryLimits_v1`.
    device fn nvmlDeviceSetMemoryLimits_v1(limits: In<[u64; 3]>);
    /// What the driver shows in shared memory: not known of any card.
    device fn nvmlDeviceSetRusdSettings_v1(settings: Announced<absent::RusdSettings>);
    /// A name for the host, kept on the card: for Blackwell and newer.
    device fn nvmlDeviceGetHostname_v1(hostname: Out<[u8; 64]>);
    /// As `nvmlDeviceGetHostname_v1`.
    device fn nvmlDeviceSetHostname_v1(hostname: In<[u8; 64]>);
    /// Registers of links and boards (PRM): for Blackwell and newer, unpublished.
    device fn nvmlDeviceReadWritePRM_v1(buffer: Out<u32>);
    /// As `nvmlDeviceReadWritePRM_v1`.
    device fn nvmlDeviceReadPRMCounters_v1(list: Out<u32>);
}
