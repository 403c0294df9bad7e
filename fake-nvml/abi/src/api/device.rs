//! Which devices there are and what they are: enumeration, look-up, identity.
//! Not what they do (`monitors`), nor partitions (`mig`).
//! From the view; look-ups see only what this process may see.

use gpu_model::{GpuUuid, MigUuid, PciAddress};

use crate::handle::Device;
use crate::macros::api;
use crate::out::{In, InText, Out, OutText, field};
use crate::status::{Result, Status};
use crate::types::{AddressingMode, PciInfo, PciInfoExt, PciInfoV1, PciInfoV2, Uuid, length};
use crate::view::{GpuView, Target, View};

/// `NVML_UUID_TYPE_ASCII`.
const UUID_ASCII: u32 = 1;
/// `NVML_UUID_TYPE_BINARY`.
const UUID_BINARY: u32 = 2;
/// PCI class of a display controller, and its subclass "3D controller".
const PCI_CLASS: (u32, u32) = (3, 2);

fn handle(gpu: &GpuView) -> Result<Device> {
    if gpu.is_lost() {
        Err(Status::GpuIsLost)
    } else {
        Ok(gpu.handle())
    }
}

fn by_index(view: &View, index: u32, device: &Out<Device>) -> Result {
    device.check()?;
    device.put(handle(view.at(index).ok_or(Status::InvalidArgument)?)?)
}

fn by_pci(view: &View, bus_id: &InText, device: &Out<Device>) -> Result {
    device.check()?;
    let address: PciAddress = bus_id.get()?.parse().map_err(|_| Status::InvalidArgument)?;
    let gpu = view
        .listed()
        .find(|gpu| view.state(gpu).pci == address)
        .ok_or(Status::NotFound)?;
    device.put(handle(gpu)?)
}

/// A GPU by its UUID, a MIG device by its own (`MIG-<uuid>`) or by its parent's and its ids (`MIG-GPU-<uuid>/<gi>/<ci>`).
fn by_uuid(view: &View, uuid: &str) -> Result<Device> {
    if let Ok(uuid) = uuid.parse::<GpuUuid>() {
        return handle(view.by_uuid(&uuid).ok_or(Status::NotFound)?);
    }
    if let Some(place) = uuid.strip_prefix("MIG-GPU-") {
        return by_place(view, place);
    }
    let uuid = uuid.parse().map_err(|_| Status::InvalidArgument)?;
    by_mig_uuid(view, uuid)
}

fn by_mig_uuid(view: &View, uuid: MigUuid) -> Result<Device> {
    let uuid = uuid.to_string();
    for gpu in view.listed() {
        if gpu.has_mig(&uuid)
            && let Some(mig) = view.visible_migs(gpu).find(|mig| mig.uuid == uuid)
        {
            handle(gpu)?;
            return Ok(gpu.mig_handle(mig));
        }
    }
    Err(Status::NotFound)
}

fn by_place(view: &View, place: &str) -> Result<Device> {
    let parts: Vec<_> = place.split('/').collect();
    let [uuid, gi, ci] = parts.as_slice() else {
        return Err(Status::InvalidArgument);
    };
    let uuid: GpuUuid = format!("GPU-{uuid}")
        .parse()
        .map_err(|_| Status::InvalidArgument)?;
    let (gi, ci): (u32, u32) = gi
        .parse()
        .ok()
        .zip(ci.parse().ok())
        .ok_or(Status::InvalidArgument)?;
    let gpu = view.by_uuid(&uuid).ok_or(Status::NotFound)?;
    handle(gpu)?;
    let mut migs = view.visible_migs(gpu);
    let mig = migs
        .find(|mig| (mig.gi(), mig.ci()) == (gi, ci))
        .ok_or(Status::NotFound)?;
    Ok(gpu.mig_handle(mig))
}

fn pci(view: &View, gpu: &GpuView) -> PciInfo {
    let (state, spec) = (view.state(gpu), view.spec(gpu));
    let legacy = format!(
        "{:04X}:{:02X}:{:02X}.0",
        state.pci.domain, state.pci.bus, state.pci.device
    );
    PciInfo {
        bus_id_legacy: field(&legacy),
        domain: state.pci.domain,
        bus: state.pci.bus.into(),
        device: state.pci.device.into(),
        pci_device_id: spec.pci_device_id,
        pci_subsystem_id: spec.pci_subsystem_id.unwrap_or(0),
        bus_id: field(&gpu.pci),
    }
}

api! {
    table DEVICE;

    /// As `nvmlDeviceGetCount_v2`.
    view fn nvmlDeviceGetCount(count: Out<u32>) |view| { count.put(view.listed().len() as u32) }

    /// How many GPUs this process sees. MIG devices do not count.
    view fn nvmlDeviceGetCount_v2(count: Out<u32>) |view| { count.put(view.listed().len() as u32) }

    /// As `nvmlDeviceGetHandleByIndex_v2`.
    view fn nvmlDeviceGetHandleByIndex(index: u32, device: Out<Device>) |view| { by_index(view, index, &device) }

    /// The GPU at an index below the count; INVALID_ARGUMENT beyond.
    view fn nvmlDeviceGetHandleByIndex_v2(index: u32, device: Out<Device>) |view| { by_index(view, index, &device) }

    /// A GPU or MIG device by its UUID; NOT_FOUND if this process sees none, INVALID_ARGUMENT if the text is no UUID.
    view fn nvmlDeviceGetHandleByUUID(uuid: InText, device: Out<Device>) |view| {
        device.check()?;
        device.put(by_uuid(view, uuid.get()?)?)
    }

    /// `nvmlDeviceGetHandleByUUID` for a UUID as text or as bytes.
    view fn nvmlDeviceGetHandleByUUIDV(uuid: In<Uuid>, device: Out<Device>) |view| {
        device.check()?;
        uuid.out().check_version()?;
        let uuid = uuid.get()?;
        let found = match uuid.kind {
            UUID_ASCII => {
                let end = uuid.value.iter().position(|byte| *byte == 0).ok_or(Status::InvalidArgument)?;
                let text = core::str::from_utf8(&uuid.value[..end]).map_err(|_| Status::InvalidArgument)?;
                by_uuid(view, text)?
            }
            UUID_BINARY => {
                let bytes = *uuid.value.first_chunk::<{ length::UUID_BINARY }>().ok_or(Status::InvalidArgument)?;
                match view.by_uuid(&GpuUuid::from_bytes(bytes)) {
                    Some(gpu) => handle(gpu)?,
                    None => by_mig_uuid(view, MigUuid::from_bytes(bytes))?,
                }
            }
            _ => return Err(Status::InvalidArgument),
        };
        device.put(found)
    }

    /// A GPU by the serial number of its board (deprecated in the header); NOT_FOUND if this process sees none.
    view fn nvmlDeviceGetHandleBySerial(serial: InText, device: Out<Device>) |view| {
        device.check()?;
        let serial = serial.get()?;
        let gpu = view.listed().find(|gpu| view.state(gpu).serial == serial).ok_or(Status::NotFound)?;
        device.put(handle(gpu)?)
    }

    /// As `nvmlDeviceGetHandleByPciBusId_v2`.
    view fn nvmlDeviceGetHandleByPciBusId(bus_id: InText, device: Out<Device>) |view| { by_pci(view, &bus_id, &device) }

    /// A GPU by its PCI address (`domain:bus:device.function`, `domain:bus:device` or `bus:device.function`); NOT_FOUND if this
    /// process sees none there.
    view fn nvmlDeviceGetHandleByPciBusId_v2(bus_id: InText, device: Out<Device>) |view| { by_pci(view, &bus_id, &device) }

    /// The product's name; for a MIG device with its profile, `NVIDIA A100-SXM4-40GB MIG 1g.5gb`.
    view fn nvmlDeviceGetName(device: Device, name: OutText, length: u32) |view| {
        match view.device(device)? {
            Target::Gpu(gpu) => name.put(&view.spec(gpu).name, length),
            Target::Mig(_, mig) => name.put(&mig.name, length),
        }
    }

    /// The UUID, `GPU-…` or `MIG-…`.
    view fn nvmlDeviceGetUUID(device: Device, uuid: OutText, length: u32) |view| {
        match view.device(device)? {
            Target::Gpu(gpu) => uuid.put(&gpu.uuid, length),
            Target::Mig(_, mig) => uuid.put(&mig.uuid, length),
        }
    }

    /// The number that gives this handle again: of a GPU among those this process sees, of a MIG device among those of its GPU.
    view fn nvmlDeviceGetIndex(device: Device, index: Out<u32>) |view| {
        let number = match view.device(device)? {
            Target::Gpu(gpu) => gpu.index().ok_or(Status::InvalidArgument)?,
            Target::Mig(gpu, mig) => {
                let place = view.visible_migs(gpu).position(|other| core::ptr::eq(other, mig));
                place.ok_or(Status::InvalidArgument)? as u32
            }
        };
        index.put(number)
    }

    /// The minor number of `/dev/nvidia<minor>`.
    view fn nvmlDeviceGetMinorNumber(device: Device, minor: Out<u32>) |view| {
        minor.put(view.state(view.whole(device)?).minor.0)
    }

    /// The PCI address in the layout before NVML 5: no subsystem, no long bus id.
    view fn nvmlDeviceGetPciInfo(device: Device, info: Out<PciInfoV1>) |view| {
        let PciInfo { bus_id_legacy, domain, bus, device, pci_device_id, .. } = pci(view, view.card(device)?);
        info.put(PciInfoV1 { bus_id_legacy, domain, bus, device, pci_device_id })
    }

    /// The PCI address in the layout before NVML 9: no long bus id.
    view fn nvmlDeviceGetPciInfo_v2(device: Device, info: Out<PciInfoV2>) |view| {
        let PciInfo { bus_id_legacy, domain, bus, device, pci_device_id, pci_subsystem_id, .. } = pci(view, view.card(device)?);
        info.put(PciInfoV2 { bus_id_legacy, domain, bus, device, pci_device_id, pci_subsystem_id })
    }

    /// The PCI address and ids; of a MIG device those of its GPU.
    view fn nvmlDeviceGetPciInfo_v3(device: Device, info: Out<PciInfo>) |view| { info.put(pci(view, view.card(device)?)) }

    /// `nvmlDeviceGetPciInfo_v3` with the PCI class.
    view fn nvmlDeviceGetPciInfoExt(device: Device, info: Out<PciInfoExt>) |view| {
        let gpu = view.card(device)?;
        info.check_version()?;
        let PciInfo { domain, bus, device, pci_device_id, pci_subsystem_id, bus_id, .. } = pci(view, gpu);
        let (base_class, sub_class) = PCI_CLASS;
        info.put(PciInfoExt { domain, bus, device, pci_device_id, pci_subsystem_id, base_class, sub_class, bus_id, ..info.get()? })
    }

    /// `nvmlBrandType_t`.
    view fn nvmlDeviceGetBrand(device: Device, brand: Out<u32>) |view| { brand.put(view.spec(view.card(device)?).brand.raw()) }

    /// `nvmlDeviceArchitecture_t`.
    view fn nvmlDeviceGetArchitecture(device: Device, architecture: Out<u32>) |view| {
        architecture.put(view.spec(view.card(device)?).architecture.raw())
    }

    /// The CUDA compute capability.
    view fn nvmlDeviceGetCudaComputeCapability(device: Device, major: Out<u32>, minor: Out<u32>) |view| {
        let capability = view.spec(view.card(device)?).compute_capability;
        major.check()?;
        minor.put(capability.minor)?;
        major.put(capability.major)
    }

    /// How the host addresses the card's memory; NOT_SUPPORTED if the catalogue does not know it.
    view fn nvmlDeviceGetAddressingMode(device: Device, mode: Out<AddressingMode>) |view| {
        let known = view.spec(view.card(device)?).board.addressing_mode;
        mode.check_version()?;
        let value = known.ok_or(Status::NotSupported)? as u32;
        mode.put(AddressingMode { value, ..mode.get()? })
    }

    /// `NVML_GPU_VIRTUALIZATION_MODE_NONE`: bare metal.
    view fn nvmlDeviceGetVirtualizationMode(device: Device, mode: Out<u32>) |view| {
        view.card(device)?;
        mode.put(0)
    }

    /// The serial number of the board.
    view fn nvmlDeviceGetSerial(device: Device, serial: OutText, length: u32) |view| {
        serial.put(&view.state(view.whole(device)?).serial, length)
    }

    /// The part number of the board; NOT_SUPPORTED if the catalogue does not know it.
    view fn nvmlDeviceGetBoardPartNumber(device: Device, number: OutText, length: u32) |view| {
        number.put(view.spec(view.whole(device)?).board_part_number.as_deref().ok_or(Status::NotSupported)?, length)
    }

    /// The VBIOS version; NOT_SUPPORTED if the catalogue does not know it.
    view fn nvmlDeviceGetVbiosVersion(device: Device, version: OutText, length: u32) |view| {
        version.put(view.spec(view.whole(device)?).vbios.as_deref().ok_or(Status::NotSupported)?, length)
    }

    /// The version of the infoROM image; NOT_SUPPORTED if the catalogue does not know it.
    view fn nvmlDeviceGetInforomImageVersion(device: Device, version: OutText, length: u32) |view| {
        let inforom = view.spec(view.whole(device)?).inforom.as_ref().ok_or(Status::NotSupported)?;
        version.put(&inforom.image, length)
    }

    /// The version of an infoROM object (0 OEM, 1 ECC, 2 power); NOT_SUPPORTED if the board has none.
    view fn nvmlDeviceGetInforomVersion(device: Device, object: u32, version: OutText, length: u32) |view| {
        let inforom = view.spec(view.whole(device)?).inforom.as_ref().ok_or(Status::NotSupported)?;
        let text = match object {
            0 => &inforom.oem,
            1 => &inforom.ecc,
            2 => &inforom.power,
            _ => return Err(Status::InvalidArgument),
        };
        version.put(text.as_deref().ok_or(Status::NotSupported)?, length)
    }

    /// An identifier of the board, from its PCI address.
    view fn nvmlDeviceGetBoardId(device: Device, id: Out<u32>) |view| {
        let pci = view.state(view.whole(device)?).pci;
        id.put(pci.domain << 16 | u32::from(pci.bus) << 8)
    }

    /// No: each GPU has a board of its own.
    view fn nvmlDeviceGetMultiGpuBoard(device: Device, multi: Out<u32>) |view| {
        view.whole(device)?;
        multi.put(0)
    }

    /// The position of an SXM module on its baseboard: here the order of the cards.
    view fn nvmlDeviceGetModuleId(device: Device, id: Out<u32>) |view| { id.put(view.state(view.whole(device)?).index.0) }
}
