//! Structs of enumeration, look-up and identity.

use core::ffi::c_char;

use super::{length, structs};

structs! {
    /// `nvmlPciInfo_t` before NVML 5 (`nvmlDeviceGetPciInfo`): the legacy bus id and no subsystem.
    struct PciInfoV1 {
        bus_id_legacy: [c_char; length::PCI_BUS_ID_LEGACY],
        domain: u32,
        bus: u32,
        device: u32,
        pci_device_id: u32,
    }

    /// `nvmlPciInfo_t` of `nvmlDeviceGetPciInfo_v2`. The reserved words that followed are left as they are.
    struct PciInfoV2 {
        bus_id_legacy: [c_char; length::PCI_BUS_ID_LEGACY],
        domain: u32,
        bus: u32,
        device: u32,
        pci_device_id: u32,
        pci_subsystem_id: u32,
    }

    /// `nvmlPciInfo_t`.
    struct PciInfo = nvmlPciInfo_t {
        bus_id_legacy = busIdLegacy: [c_char; length::PCI_BUS_ID_LEGACY],
        domain: u32,
        bus: u32,
        device: u32,
        pci_device_id = pciDeviceId: u32,
        pci_subsystem_id = pciSubSystemId: u32,
        bus_id = busId: [c_char; length::PCI_BUS_ID],
    }

    /// `nvmlPciInfoExt_v1_t`.
    version 1 struct PciInfoExt = nvmlPciInfoExt_v1_t {
        version: u32,
        domain: u32,
        bus: u32,
        device: u32,
        pci_device_id = pciDeviceId: u32,
        pci_subsystem_id = pciSubSystemId: u32,
        base_class = baseClass: u32,
        sub_class = subClass: u32,
        bus_id = busId: [c_char; length::PCI_BUS_ID],
    }

    /// `nvmlUUID_v1_t`; the union of the header is taken as its longer member.
    version 1 struct Uuid = nvmlUUID_v1_t {
        version: u32,
        kind = type_: u32,
        value: [u8; length::UUID_ASCII],
    }

    /// `nvmlDeviceAddressingMode_v1_t`.
    version 1 struct AddressingMode = nvmlDeviceAddressingMode_v1_t {
        version: u32,
        value: u32,
    }

    /// `nvmlSystemDriverBranchInfo_v1_t`.
    version 1 struct DriverBranch = nvmlSystemDriverBranchInfo_v1_t {
        version: u32,
        branch: [c_char; length::SYSTEM_DRIVER_VERSION],
    }
}
