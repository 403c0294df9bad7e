//! NVLink: links, their speed and errors, the fabric they make.
//! Not who can reach whom (`topology`).
//! From the catalogue; links of a card lead to switches, as on the boards that the catalogue's cards with NVLink sit on.

use crate::absent::{self, Announced, absent};
use crate::handle::Device;
use crate::macros::api;
use crate::out::{In, Out, OutAny, field};
use crate::status::{Result, Status};
use crate::types::{
    C2cModeInfo, FabricClique, FabricInfo, FabricInfoV2, FabricInfoV3, FabricInfoV4, PciInfo, Pdi,
};
use crate::view::{GpuView, View};
use gpu_model::NvLink;

/// `NVML_NVLINK_MAX_LINKS`.
const MAX_LINKS: u32 = 18;
/// `NVML_NVLINK_DEVICE_TYPE_SWITCH`.
const SWITCH: u32 = 2;
/// Counters of errors, `nvmlNvLinkErrorCounter_t`.
const ERROR_COUNTERS: u32 = 5;
/// The first bus of the switches, and how many there are: a stand-in, since the state has cards only.
const SWITCHES: (u32, u32) = (0xC4, 6);
/// `NVML_GPU_FABRIC_STATE_COMPLETED`.
const COMPLETED: u8 = 3;

/// The link of a card; NOT_SUPPORTED without it, INVALID_ARGUMENT beyond what any card has.
fn link_of(view: &View, device: Device, link: u32) -> Result<(&GpuView, &NvLink)> {
    let gpu = view.whole(device)?;
    if link >= MAX_LINKS {
        return Err(Status::InvalidArgument);
    }
    let nvlink = view.spec(gpu).nvlink.as_ref().ok_or(Status::NotSupported)?;
    if link < nvlink.links {
        Ok((gpu, nvlink))
    } else {
        Err(Status::NotSupported)
    }
}

/// Whether a link of a card is up.
pub(super) fn is_up(view: &View, gpu: &GpuView, link: u32) -> bool {
    let nvlink = view.spec(gpu).nvlink.as_ref();
    nvlink.is_some_and(|nvlink| link < nvlink.links) && view.state(gpu).health.link_up(link)
}

/// The links of a card that are up, a bit for each.
pub(super) fn up(view: &View, gpu: &GpuView) -> u32 {
    let up = (0..MAX_LINKS).filter(|&link| is_up(view, gpu, link));
    up.fold(0, |links, link| links | 1 << link)
}

/// A link that is up; NOT_SUPPORTED if it is down, as of what lies behind it nothing is known then.
fn active(view: &View, device: Device, link: u32) -> Result<(&GpuView, &NvLink)> {
    let found = link_of(view, device, link)?;
    if is_up(view, found.0, link) {
        Ok(found)
    } else {
        Err(Status::NotSupported)
    }
}

/// `nvmlNvlinkVersion_t` of the generation that the catalogue names.
pub(super) const fn version(generation: u32) -> u32 {
    match generation {
        1 => 1,
        2 => 2,
        3 => 4,
        4 => 6,
        5 => 7,
        6 => 8,
        _ => 0,
    }
}

/// The PCI device of the switches of a generation (pci.ids); 0 where it is not known.
const fn switch_id(generation: u32) -> u32 {
    match generation {
        3 => 0x1AF1_10DE,
        4 => 0x22A3_10DE,
        _ => 0,
    }
}

fn remote(view: &View, device: Device, link: u32, out: &Out<PciInfo>) -> Result {
    let (gpu, nvlink) = active(view, device, link)?;
    out.check()?;
    let domain = view.state(gpu).pci.domain;
    let bus = SWITCHES.0 + link % SWITCHES.1;
    out.put(PciInfo {
        bus_id_legacy: field(&format!("{domain:04X}:{bus:02X}:00.0")),
        domain,
        bus,
        device: 0,
        pci_device_id: switch_id(nvlink.version),
        pci_subsystem_id: 0,
        bus_id: field(&format!("{domain:08X}:{bus:02X}:00.0")),
    })
}

fn in_fabric(view: &View, device: Device) -> Result {
    match view.spec(view.whole(device)?).board.fabric {
        Some(true) => Ok(()),
        _ => Err(Status::NotSupported),
    }
}

api! {
    table NVLINK;

    /// Whether a link is up.
    view fn nvmlDeviceGetNvLinkState(device: Device, link: u32, out: Out<u32>) |view| {
        let (gpu, _) = link_of(view, device, link)?;
        out.put(is_up(view, gpu, link).into())
    }

    /// The version of NVLink, as an `nvmlNvlinkVersion_t`.
    view fn nvmlDeviceGetNvLinkVersion(device: Device, link: u32, out: Out<u32>) |view| {
        out.put(version(active(view, device, link)?.1.version))
    }

    /// What a link can do: all that the header asks about, as captures of such cards have it.
    view fn nvmlDeviceGetNvLinkCapability(device: Device, link: u32, capability: u32, out: Out<u32>) |view| {
        const CAPABILITIES: u32 = 6;
        link_of(view, device, link)?;
        if capability >= CAPABILITIES {
            return Err(Status::InvalidArgument);
        }
        out.put(1)
    }

    /// As `nvmlDeviceGetNvLinkRemotePciInfo_v2`.
    view fn nvmlDeviceGetNvLinkRemotePciInfo(device: Device, link: u32, out: Out<PciInfo>) |view| { remote(view, device, link, &out) }

    /// The switch at the other end of a link (its address is a stand-in).
    view fn nvmlDeviceGetNvLinkRemotePciInfo_v2(device: Device, link: u32, out: Out<PciInfo>) |view| { remote(view, device, link, &out) }

    /// What is at the other end of a link: a switch.
    view fn nvmlDeviceGetNvLinkRemoteDeviceType(device: Device, link: u32, out: Out<u32>) |view| {
        active(view, device, link)?;
        out.put(SWITCH)
    }

    /// Errors of a link: none.
    view fn nvmlDeviceGetNvLinkErrorCounter(device: Device, link: u32, counter: u32, out: Out<u64>) |view| {
        link_of(view, device, link)?;
        if counter >= ERROR_COUNTERS {
            return Err(Status::InvalidArgument);
        }
        out.put(0)
    }

    /// Sets the errors of a link to zero, which they are.
    session fn nvmlDeviceResetNvLinkErrorCounters(device: Device, link: u32) |session| {
        link_of(&*crate::view::latest()?, device, link)?;
        session.may_change()
    }

    /// The fabric that a card is registered with; NOT_SUPPORTED on cards that do not register.
    view fn nvmlDeviceGetGpuFabricInfo(device: Device, out: Out<FabricInfo>) |view| {
        in_fabric(view, device)?;
        out.put(FabricInfo { cluster_uuid: [0; 16], status: 0, clique_id: 0, state: COMPLETED })
    }

    /// `nvmlDeviceGetGpuFabricInfo` with its health, of which single nodes tell nothing.
    view fn nvmlDeviceGetGpuFabricInfoV(device: Device, out: OutAny) |view| {
        view.device(device)?;
        let (cluster_uuid, status, clique_id, state) = ([0; 16], 0, 0, COMPLETED);
        if let Some(out) = out.open::<FabricInfoV2>()? {
            in_fabric(view, device)?;
            return out.put(FabricInfoV2 { cluster_uuid, status, clique_id, state, health_mask: 0, ..out.get()? });
        }
        if let Some(out) = out.open::<FabricInfoV3>()? {
            in_fabric(view, device)?;
            return out.put(FabricInfoV3 { cluster_uuid, status, clique_id, state, health_mask: 0, health_summary: 0, ..out.get()? });
        }
        Err(Status::ArgumentVersionMismatch)
    }

    /// `nvmlDeviceGetGpuFabricInfoV` with all cliques.
    view fn nvmlDeviceGetGpuFabricInfo_v4(device: Device, out: Out<FabricInfoV4>) |view| {
        in_fabric(view, device)?;
        out.put(FabricInfoV4 {
            cluster_uuid: [0; 16],
            status: 0,
            cliques: [FabricClique { id: 0, kind: 0 }; 64],
            num_cliques: 1,
            state: COMPLETED,
            health_mask: 0,
            health_summary: 0,
        })
    }

    /// Whether the link to the CPU is on; NOT_SUPPORTED where there can be none.
    view fn nvmlDeviceGetC2cModeInfoV(device: Device, out: Out<C2cModeInfo>) |view| {
        let on = view.spec(view.whole(device)?).board.c2c.ok_or(Status::NotSupported)?;
        out.put(C2cModeInfo { is_c2c_enabled: on.into() })
    }

    /// The identifier of the device that UUIDs are made from.
    view fn nvmlDeviceGetPdi(device: Device, out: Out<Pdi>) |view| {
        let gpu = view.whole(device)?;
        out.check_version()?;
        out.put(Pdi { value: view.state(gpu).pdi(), ..out.get()? })
    }

    /// The bandwidth mode of all links: 0, full, where there are cards that know modes (Hopper and newer).
    view fn nvmlSystemGetNvlinkBwMode(out: Out<u32>) |view| {
        out.check()?;
        let knows = |gpu: &GpuView| view.spec(gpu).nvlink.is_some() && view.spec(gpu).architecture >= gpu_model::Architecture::Hopper;
        if !view.listed().any(knows) {
            return Err(Status::NotSupported);
        }
        out.put(0)
    }
}

absent! {
    table NVLINK_ABSENT;

    /// Utilisation counters went with Volta's successors; field values have taken their place.
    device fn nvmlDeviceSetNvLinkUtilizationControl(link: u32, counter: u32, control: In<[u32; 2]>, reset: u32);
    /// As `nvmlDeviceSetNvLinkUtilizationControl`.
    device fn nvmlDeviceGetNvLinkUtilizationControl(link: u32, counter: u32, control: Out<[u32; 2]>);
    /// As `nvmlDeviceSetNvLinkUtilizationControl`.
    device fn nvmlDeviceGetNvLinkUtilizationCounter(link: u32, counter: u32, received: Out<u64>, sent: Out<u64>);
    /// As `nvmlDeviceSetNvLinkUtilizationControl`.
    device fn nvmlDeviceFreezeNvLinkUtilizationCounter(link: u32, counter: u32, freeze: u32);
    /// As `nvmlDeviceSetNvLinkUtilizationControl`.
    device fn nvmlDeviceResetNvLinkUtilizationCounter(link: u32, counter: u32);
    /// The threshold of the links' low power state: its range is not known.
    device fn nvmlDeviceSetNvLinkDeviceLowPowerThreshold(threshold: In<u32>);
    /// Other modes than the full one are not known.
    system fn nvmlSystemSetNvlinkBwMode(mode: u32);
    /// For Blackwell and newer; the modes are not known.
    device fn nvmlDeviceGetNvlinkSupportedBwModes(modes: Announced<absent::SupportedBwModes>);
    /// As `nvmlDeviceGetNvlinkSupportedBwModes`.
    device fn nvmlDeviceGetNvlinkBwMode(mode: Announced<absent::GetBwMode>);
    /// As `nvmlDeviceGetNvlinkSupportedBwModes`.
    device fn nvmlDeviceSetNvlinkBwMode(mode: Announced<absent::SetBwMode>);
    /// As `nvmlDeviceGetNvlinkSupportedBwModes`.
    device fn nvmlDeviceSetNvlinkBwModeAsync_v1(mode: In<[u32; 3]>);
    /// Encryption of links (NVLE) and firmware of links: for Blackwell and newer.
    device fn nvmlDeviceGetNvLinkInfo(info: Announced<absent::NvLinkInfo>);
    /// As `nvmlDeviceGetNvLinkInfo`.
    device fn nvmlDeviceGetNvLinkInfo_v3(info: Out<[u32; 403]>);
    /// As `nvmlDeviceGetNvLinkInfo`.
    device fn nvmlDeviceGetNvlinkNvlePrivateInfo_v1(info: Out<[u32; 65]>);
    /// As `nvmlDeviceGetNvLinkInfo`.
    device fn nvmlDeviceSetNvlinkNvleReady_v1(ready: In<u8>);
    /// As `nvmlDeviceGetNvLinkInfo`.
    device fn nvmlDeviceSetupNvlinkNvleEncryptionKey_v1(key: In<[u32; 140]>);
    /// How a fabric's addresses are mapped: not known of any card.
    device fn nvmlDeviceGetNvlinkRemapTableInfo_v1(info: Out<[u32; 8194]>);
    /// As `nvmlDeviceGetNvlinkRemapTableInfo_v1`.
    device fn nvmlDeviceLockNvlinkRemapTable_v1(info: Out<[u8; 2]>);
    /// Not known of any card.
    device fn nvmlDeviceGetNvLinkTelemetrySamples_v1(samples: Out<[u64; 2]>);
    /// Chassis, slot and tray: for Blackwell and newer, in racks.
    device fn nvmlDeviceGetPlatformInfo(info: Announced<absent::PlatformInfo>);
}
