//! What sysfs says of a GPU as a PCI device.
//! Pure: a machine in, texts and bytes out. Readers are named in facts/nvml.md 3.4: nvpci, lspci, the DRA driver.

use std::fmt::Write as _;

use gpu_model::{Gpu, Machine, MiB};

const CLASS_3D: u32 = 0x03_0200;
const REVISION: u8 = 0xa1;
/// Sizes of the bars besides the memory window.
const REGISTERS: u64 = 16 << 20;
const LAST: u64 = 32 << 20;

/// Flags of a resource, as the kernel prints them.
mod flags {
    /// 32 bits, not prefetchable.
    pub(super) const REGISTERS: u64 = 0x4_0200;
    /// 64 bits, prefetchable.
    pub(super) const WINDOW: u64 = 0x14_220c;
}

/// The IOMMU group of a GPU: each has one of its own.
pub(crate) fn iommu_group(gpu: &Gpu) -> u32 {
    30 + gpu.index.0
}

/// The files of a GPU in `/sys/bus/pci/devices/<address>`.
pub(crate) fn files(machine: &Machine, gpu: &Gpu, cpus: &str) -> Vec<(&'static str, Vec<u8>)> {
    let spec = machine.spec(gpu);
    let (vendor, device) = (spec.pci_device_id & 0xffff, spec.pci_device_id >> 16);
    let subsystem = spec.pci_subsystem_id.unwrap_or(0);
    let (subvendor, subdevice) = (subsystem & 0xffff, subsystem >> 16);
    let line = |text: String| format!("{text}\n").into_bytes();
    let bars = Bars::of(gpu, spec.bar1_total.map_or(0, MiB::bytes));
    let alias =
        format!("pci:v{vendor:08X}d{device:08X}sv{subvendor:08X}sd{subdevice:08X}bc03sc02i00");
    let mut files = vec![
        ("vendor", line(format!("0x{vendor:04x}"))),
        ("device", line(format!("0x{device:04x}"))),
        ("subsystem_vendor", line(format!("0x{subvendor:04x}"))),
        ("subsystem_device", line(format!("0x{subdevice:04x}"))),
        ("class", line(format!("0x{CLASS_3D:06x}"))),
        ("revision", line(format!("0x{REVISION:02x}"))),
        ("modalias", line(alias.clone())),
        ("numa_node", line(gpu.numa_node.to_string())),
        // All of the host's: it has no nodes of its own for ours.
        ("local_cpulist", line(cpus.to_owned())),
        ("enable", line("1".into())),
        ("irq", line(gpu.irq().to_string())),
        ("msi_bus", line("1".into())),
        ("d3cold_allowed", line("1".into())),
        ("power_state", line("D0".into())),
        ("dma_mask_bits", line("47".into())),
        ("consistent_dma_mask_bits", line("47".into())),
        ("driver_override", line("(null)".into())),
        ("config", config(spec.pci_device_id, subsystem, &bars, spec.pcie)),
        ("resource", bars.text().into_bytes()),
        (
            "uevent",
            format!(
                "DRIVER=nvidia\nPCI_CLASS={CLASS_3D:X}\nPCI_ID={vendor:04X}:{device:04X}\nPCI_SUBSYS_ID={subvendor:04X}:{subdevice:04X}\n\
                 PCI_SLOT_NAME={:#}\nMODALIAS={alias}\n",
                gpu.pci
            )
            .into_bytes(),
        ),
    ];
    if let Some(pcie) = spec.pcie
        && let Some(speed) = speed(pcie.generation)
    {
        for (name, text) in [
            ("current_link_speed", speed.to_owned()),
            ("max_link_speed", speed.to_owned()),
            ("current_link_width", pcie.width.to_string()),
            ("max_link_width", pcie.width.to_string()),
        ] {
            files.push((name, line(text)));
        }
    }
    files
}

fn speed(generation: u32) -> Option<&'static str> {
    [
        "2.5 GT/s PCIe",
        "5.0 GT/s PCIe",
        "8.0 GT/s PCIe",
        "16.0 GT/s PCIe",
        "32.0 GT/s PCIe",
        "64.0 GT/s PCIe",
    ]
    .get(generation.checked_sub(1)? as usize)
    .copied()
}

/// Where the card's memory stands on the bus: registers, the window to its memory, and the window's neighbour.
struct Bars {
    registers: u64,
    window: u64,
    window_size: u64,
}

impl Bars {
    fn of(gpu: &Gpu, window_size: u64) -> Self {
        let number = u64::from(gpu.index.0);
        Self {
            registers: 0x9000_0000 + number * REGISTERS,
            // As far apart as no card's window is long.
            window: 0x2000_0000_0000 + number * 0x80_0000_0000,
            window_size,
        }
    }

    /// `resource`: six bars, the ROM, and what bridges have.
    fn text(&self) -> String {
        let mut text = String::new();
        let mut bar = |start: u64, size: u64, flags: u64| {
            let end = if size == 0 { 0 } else { start + size - 1 };
            let (start, flags) = if size == 0 { (0, 0) } else { (start, flags) };
            let _ = writeln!(text, "0x{start:016x} 0x{end:016x} 0x{flags:016x}");
        };
        bar(self.registers, REGISTERS, flags::REGISTERS);
        bar(self.window, self.window_size, flags::WINDOW);
        bar(0, 0, 0);
        bar(self.window + self.window_size, LAST, flags::WINDOW);
        for _ in 4..13 {
            bar(0, 0, 0);
        }
        text
    }
}

/// `config`: the standard 256 bytes of configuration space.
fn config(id: u32, subsystem: u32, bars: &Bars, pcie: Option<gpu_model::Pcie>) -> Vec<u8> {
    /// Memory and bus master on, interrupt by messages; the list of capabilities is there.
    const COMMAND_AND_STATUS: [u8; 4] = [0x06, 0x04, 0x10, 0x00];
    /// A bar of 64 bits, prefetchable.
    const WIDE: u32 = 0xc;
    const PCIE_AT: usize = 0x78;
    const PCIE: u8 = 0x10;
    /// An endpoint that speaks version 2 of the capability.
    const ENDPOINT: u16 = 0x0002;
    let mut config = vec![0_u8; 256];
    let mut put = |at: usize, bytes: &[u8]| config[at..at + bytes.len()].copy_from_slice(bytes);
    put(0x00, &id.to_le_bytes());
    put(0x04, &COMMAND_AND_STATUS);
    put(0x08, &[REVISION, 0x00, 0x02, 0x03]);
    let low = |address: u64| (address & 0xffff_ffff) as u32;
    let mut wide = |at: usize, address: u64| {
        put(at, &(low(address) | WIDE).to_le_bytes());
        put(at + 4, &low(address >> 32).to_le_bytes());
    };
    wide(0x14, bars.window);
    wide(0x1c, bars.window + bars.window_size);
    put(0x10, &low(bars.registers).to_le_bytes());
    put(0x2c, &subsystem.to_le_bytes());
    put(0x3d, &[1]);
    if let Some(pcie) = pcie {
        // Speed and width now and at most; both are the card's highest.
        let link = pcie.generation & 0xf | (pcie.width & 0x3f) << 4;
        put(0x34, &[PCIE_AT as u8]);
        put(PCIE_AT, &[PCIE, 0]);
        put(PCIE_AT + 2, &ENDPOINT.to_le_bytes());
        put(PCIE_AT + 0x0c, &link.to_le_bytes());
        put(PCIE_AT + 0x12, &(link as u16).to_le_bytes());
    }
    config
}
