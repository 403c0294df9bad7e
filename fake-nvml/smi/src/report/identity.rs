//! What a GPU is: name, modes, versions, place on the bus.

use nvml_client::{Device, Inforom, Result, field};

use super::tree::{Node, modes};
use super::{Dialect, Section, Topic, mig};
use crate::side;
use crate::value::{self, DEPRECATED, number, or_word, part, switch, text};

pub(super) fn sections(gpu: &Device<'_>, dialect: Dialect, all: &mut Vec<Section>) {
    let mut add = |node| all.push((None, node));
    add(Node::value(
        "Product Name",
        "product_name",
        text(gpu.name()),
    ));
    add(Node::value(
        "Product Brand",
        "product_brand",
        or_word(gpu.brand(), |b| value::brand(b).into()),
    ));
    add(Node::value(
        "Product Architecture",
        "product_architecture",
        or_word(gpu.architecture(), |a| value::architecture(a).into()),
    ));
    let display = gpu.display_mode();
    if dialect.since(580) {
        add(Node::value("Display Mode", "display_mode", DEPRECATED));
        add(Node::value(
            "Display Attached",
            "display_attached",
            or_word(display, |d| value::yes(d == 1)),
        ));
    } else {
        add(Node::value(
            "Display Mode",
            "display_mode",
            or_word(display, |d| switch(d == 1)),
        ));
    }
    add(Node::value(
        "Display Active",
        "display_active",
        or_word(gpu.display_active(), |d| switch(d == 1)),
    ));
    add(Node::value(
        "Persistence Mode",
        "persistence_mode",
        or_word(gpu.persistence_mode(), |p| switch(p == 1)),
    ));
    add(Node::value(
        "Addressing Mode",
        "addressing_mode",
        or_word(gpu.addressing_mode(), |m| value::addressing(m).into()),
    ));
    add(modes(
        "MIG Mode",
        "mig_mode",
        ["current_mig", "pending_mig"],
        gpu.mig_mode(),
    ));
    mig::devices(gpu, dialect, all);
    for (name, xml, shown) in [
        (
            "Accounting Mode",
            "accounting_mode",
            or_word(gpu.accounting_mode(), |m| switch(m == 1)),
        ),
        (
            "Accounting Mode Buffer Size",
            "accounting_mode_buffer_size",
            number(gpu.accounting_buffer()),
        ),
    ] {
        all.push((Some(Topic::Accounting), Node::value(name, xml, shown)));
    }
    numbers(gpu, dialect, all);
    all.push((None, pci(gpu)));
}

/// Serial number to firmware.
fn numbers(gpu: &Device<'_>, dialect: Dialect, all: &mut Vec<Section>) {
    let mut add = |node| all.push((None, node));
    add(Node::group(
        "Driver Model",
        "driver_model",
        vec![
            // Windows has them.
            Node::value("Current", "current_dm", "N/A"),
            Node::value("Pending", "pending_dm", "N/A"),
        ],
    ));
    add(Node::value("Serial Number", "serial", text(gpu.serial())));
    add(Node::value("GPU UUID", "uuid", text(gpu.uuid())));
    if dialect.since(580) {
        add(Node::value(
            "GPU PDI",
            "pdi",
            or_word(gpu.pdi(), |pdi| format!("0x{pdi:016x}")),
        ));
    }
    add(Node::value(
        "Minor Number",
        "minor_number",
        number(gpu.minor()),
    ));
    add(Node::value(
        "VBIOS Version",
        "vbios_version",
        text(gpu.vbios()),
    ));
    add(Node::value(
        "MultiGPU Board",
        "multigpu_board",
        or_word(gpu.multi_gpu_board(), |m| value::yes(m == 1)),
    ));
    add(Node::value(
        "Board ID",
        "board_id",
        or_word(gpu.board_id(), |id| format!("0x{id:x}")),
    ));
    add(Node::value(
        "Board Part Number",
        "board_part_number",
        text(gpu.board_part()),
    ));
    // NVML has no call for these two.
    add(Node::value(
        "GPU Part Number",
        "gpu_part_number",
        side::part_number(gpu).unwrap_or_else(|_| "N/A".into()),
    ));
    add(Node::value("FRU Part Number", "gpu_fru_part_number", "N/A"));
    add(platform(gpu));
    add(Node::group(
        "Inforom Version",
        "inforom_version",
        vec![
            Node::value("Image Version", "img_version", text(gpu.inforom_image())),
            Node::value("OEM Object", "oem_object", text(gpu.inforom(Inforom::Oem))),
            Node::value("ECC Object", "ecc_object", text(gpu.inforom(Inforom::Ecc))),
            Node::value(
                "Power Management Object",
                "pwr_object",
                text(gpu.inforom(Inforom::Power)),
            ),
        ],
    ));
    let flush = gpu.black_box_flush();
    let flush = |show: fn(u64, u64) -> String| part(&flush, |(at, took)| show(*at, *took));
    add(Node::group(
        "Inforom BBX Object Flush",
        "inforom_bbx_flush",
        vec![
            Node::value(
                "Latest Timestamp",
                "latest_timestamp",
                flush(|at, _| {
                    i64::try_from(at)
                        .ok()
                        .and_then(|at| jiff::Timestamp::from_second(at).ok())
                        .map_or_else(
                            || "N/A".into(),
                            |at| at.strftime("%Y/%m/%d %H:%M:%S.000").to_string(),
                        )
                }),
            ),
            Node::value(
                "Latest Duration",
                "latest_duration",
                flush(|_, took| format!("{took} us")),
            ),
        ],
    ));
    add(Node::group(
        "GPU Operation Mode",
        "gpu_operation_mode",
        vec![
            // Only GPUs of the Kepler generation had them.
            Node::value("Current", "current_gom", "N/A"),
            Node::value("Pending", "pending_gom", "N/A"),
        ],
    ));
    add(Node::value(
        "GPU C2C Mode",
        "c2c_mode",
        or_word(gpu.c2c(), switch),
    ));
    add(Node::group(
        "GPU Virtualization Mode",
        "gpu_virtualization_mode",
        vec![
            Node::value(
                "Virtualization Mode",
                "virtualization_mode",
                or_word(gpu.virtualization_mode(), |m| {
                    value::virtualization(m).into()
                }),
            ),
            Node::value(
                "Host VGPU Mode",
                "host_vgpu_mode",
                or_word(gpu.host_vgpu_mode(), |m| {
                    if m == 1 { "SR-IOV" } else { "Non SR-IOV" }.into()
                }),
            ),
            Node::value("vGPU Heterogeneous Mode", "vgpu_heterogeneous_mode", "N/A"),
        ],
    ));
    if !dialect.since(580) {
        add(Node::group(
            "GPU Reset Status",
            "gpu_reset_status",
            vec![
                Node::value("Reset Required", "reset_required", DEPRECATED),
                Node::value(
                    "Drain and Reset Recommended",
                    "drain_and_reset_recommended",
                    DEPRECATED,
                ),
            ],
        ));
    }
    add(Node::value(
        "GPU Recovery Action",
        "gpu_recovery_action",
        or_word(gpu.field(field::RECOVERY_ACTION, 0), |a| {
            value::recovery(a).into()
        }),
    ));
    all.push((
        Some(Topic::GspFirmware),
        Node::value(
            "GSP Firmware Version",
            "gsp_firmware_version",
            text(gpu.gsp_version()),
        ),
    ));
    all.push((
        None,
        Node::group(
            "IBMNPU",
            "ibmnpu",
            vec![Node::value(
                "Relaxed Ordering Mode",
                "relaxed_ordering_mode",
                "N/A",
            )],
        ),
    ));
}

fn platform(gpu: &Device<'_>) -> Node {
    let platform = gpu.platform();
    let place = |show: fn(&nvml_client::Platform) -> String| {
        part(&platform, |p| {
            // Outside a rack only the module has a number.
            if p.chassis_serial.is_empty() {
                "N/A".into()
            } else {
                show(p)
            }
        })
    };
    let module = match &platform {
        Ok(p) => p.module.to_string(),
        Err(_) => number(gpu.module_id()),
    };
    Node::group(
        "Platform Info",
        "platformInfo",
        vec![
            Node::value(
                "Chassis Serial Number",
                "chassis_serial_number",
                place(|p| p.chassis_serial.clone()),
            ),
            Node::value("Slot Number", "slot_number", place(|p| p.slot.to_string())),
            Node::value("Tray Index", "tray_index", place(|p| p.tray.to_string())),
            Node::value("Host ID", "host_id", place(|p| p.host.to_string())),
            Node::value(
                "Peer Type",
                "peer_type",
                place(|p| {
                    if p.peer == 0 {
                        "Direct Connected"
                    } else {
                        "Switch Connected"
                    }
                    .into()
                }),
            ),
            Node::value("Module Id", "module_id", module),
            Node::value(
                "GPU Fabric GUID",
                "gpu_fabric_guid",
                place(|p| format!("0x{:016x}", p.fabric_guid)),
            ),
        ],
    )
}

/// A number that stands bare in XML and with `0x` in text.
fn hex(name: &'static str, xml: &'static str, digits: &str) -> [Node; 2] {
    let word = if digits == "N/A" {
        digits.to_owned()
    } else {
        format!("0x{digits}")
    };
    [
        Node::value(name, "", word),
        Node::value("", xml, digits.to_owned()),
    ]
}

fn pci(gpu: &Device<'_>) -> Node {
    let pci = gpu.pci();
    let place = |show: fn(&nvml_client::PciInfo) -> String| part(&pci, show);
    let class = gpu.pci_class();
    let class =
        |pick: fn(&nvml_client::PciClass) -> u32| part(&class, |c| format!("{:x}", pick(c)));
    let mut nodes = Vec::new();
    nodes.extend(hex("Bus", "pci_bus", &place(|p| format!("{:02X}", p.bus))));
    nodes.extend(hex(
        "Device",
        "pci_device",
        &place(|p| format!("{:02X}", p.device)),
    ));
    nodes.extend(hex(
        "Domain",
        "pci_domain",
        &place(|p| format!("{:04X}", p.domain)),
    ));
    nodes.extend(hex("Base Classcode", "pci_base_class", &class(|c| c.base)));
    nodes.extend(hex("Sub Classcode", "pci_sub_class", &class(|c| c.sub)));
    nodes.extend(hex(
        "Device Id",
        "pci_device_id",
        &place(|p| format!("{:08X}", p.device_id)),
    ));
    nodes.push(Node::value(
        "Bus Id",
        "pci_bus_id",
        place(|p| p.bus_id.clone()),
    ));
    nodes.extend(hex(
        "Sub System Id",
        "pci_sub_system_id",
        &place(|p| format!("{:08X}", p.subsystem_id)),
    ));
    let current = number(gpu.pcie_generation());
    let lanes = |width: Result<u32>| or_word(width, |w| format!("{w}x"));
    nodes.push(Node::group(
        "GPU Link Info",
        "pci_gpu_link_info",
        vec![
            Node::group(
                "PCIe Generation",
                "pcie_gen",
                vec![
                    Node::value("Max", "max_link_gen", number(gpu.pcie_generation_max())),
                    Node::value("Current", "current_link_gen", current.clone()),
                    Node::value("Device Current", "device_current_link_gen", current),
                    Node::value(
                        "Device Max",
                        "max_device_link_gen",
                        number(gpu.pcie_generation_of_gpu()),
                    ),
                    Node::value("Host Max", "max_host_link_gen", "N/A"),
                ],
            ),
            Node::group(
                "Link Width",
                "link_widths",
                vec![
                    Node::value("Max", "max_link_width", lanes(gpu.pcie_width_max())),
                    Node::value("Current", "current_link_width", lanes(gpu.pcie_width())),
                ],
            ),
        ],
    ));
    nodes.push(Node::group(
        "Bridge Chip",
        "pci_bridge_chip",
        vec![
            Node::value("Type", "bridge_chip_type", "N/A"),
            Node::value("Firmware", "bridge_chip_fw", "N/A"),
        ],
    ));
    nodes.extend([
        Node::value(
            "Replays Since Reset",
            "replay_counter",
            number(gpu.pcie_replays()),
        ),
        Node::value(
            "Replay Number Rollovers",
            "replay_rollover_counter",
            number(gpu.field(field::REPLAY_ROLLOVER, 0)),
        ),
        Node::value(
            "Tx Throughput",
            "tx_util",
            value::with(gpu.pcie_sent(), "KB/s"),
        ),
        Node::value(
            "Rx Throughput",
            "rx_util",
            value::with(gpu.pcie_received(), "KB/s"),
        ),
        Node::value("Atomic Caps Outbound", "atomic_caps_outbound", "N/A"),
        Node::value("Atomic Caps Inbound", "atomic_caps_inbound", "N/A"),
    ]);
    Node::group("PCI", "pci", nodes)
}
