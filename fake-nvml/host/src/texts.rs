//! The texts of the files in `/proc` and `/sys`, as the driver and the kernel write them.
//! Pure: a machine in, text out. Forms are those of driver 580 on x86_64.

use std::fmt::Write as _;

use gpu_model::{Gpu, Machine, Minor, caps};

/// `/proc/driver/nvidia/version`.
pub(crate) fn version(machine: &Machine) -> String {
    let arch = std::env::consts::ARCH;
    format!(
        "NVRM version: NVIDIA UNIX Open Kernel Module for {arch}  {}  Release Build  (fakegpu)  \nGCC version:  none\n",
        machine.driver_version
    )
}

/// `/proc/driver/nvidia/params`: the settings that tools look at.
pub(crate) const PARAMS: &str = "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\n\
                                 EnableUserNUMAManagement: 1\nEnableGpuFirmware: 18\nRegistryDwords: \"\"\nRmMsg: \"\"\n";

/// `/proc/driver/nvidia/gpus/<address>/power`.
pub(crate) const POWER: &str =
    "Runtime D3 status:          Disabled by default\nVideo Memory:               Active\n";

/// `/proc/driver/nvidia/gpus/<address>/information`.
pub(crate) fn information(machine: &Machine, gpu: &Gpu) -> String {
    let spec = machine.spec(gpu);
    format!(
        "Model: \t\t {}\nIRQ:   \t\t {}\nGPU UUID: \t {}\nVideo BIOS: \t {}\nBus Type: \t PCIe\nDMA Size: \t 47 bits\n\
         DMA Mask: \t 0x7fffffffffff\nBus Location: \t {:#}\nDevice Minor: \t {}\nGPU Firmware: \t {}\nGPU Excluded:\t No\n",
        spec.name,
        100 + gpu.index.0,
        gpu.uuid,
        spec.vbios.as_deref().unwrap_or("??.??.??.??.??"),
        gpu.pci,
        gpu.minor,
        machine.driver_version,
    )
}

/// `/proc/driver/nvidia-caps/mig-minors`: the driver lists every GPU it could have, at least 32.
pub(crate) fn mig_minors(machine: &Machine) -> String {
    use gpu_model::{CiId, GiId};
    const GPUS: u32 = 32;
    let mut text = format!("config {}\nmonitor {}\n", caps::CONFIG, caps::MONITOR);
    let gpus = machine
        .gpus
        .iter()
        .map(|g| g.minor.0 + 1)
        .max()
        .unwrap_or(0)
        .max(GPUS);
    for gpu in 0..gpus {
        for gi in 0..caps::GPU_INSTANCES {
            let _ = writeln!(
                text,
                "gpu{gpu}/gi{gi}/access {}",
                caps::gi(Minor(gpu), GiId(gi))
            );
            for ci in 0..caps::COMPUTE_INSTANCES {
                let _ = writeln!(
                    text,
                    "gpu{gpu}/gi{gi}/ci{ci}/access {}",
                    caps::ci(Minor(gpu), GiId(gi), CiId(ci))
                );
            }
        }
    }
    text
}

/// `/proc/devices`: the host's own list with the driver's majors in it.
pub(crate) fn devices(host: &str) -> String {
    let ours = |line: &&str| {
        line.split_whitespace()
            .nth(1)
            .is_some_and(|name| name.starts_with("nvidia"))
    };
    let kept: Vec<&str> = host.lines().filter(|line| !ours(line)).collect();
    let taken = |major: u32| {
        kept.iter()
            .any(|l| l.split_whitespace().next() == Some(&major.to_string()))
    };
    // The kernel gives out dynamic majors from 254 down and, when those are used up, from 511 down.
    let mut dynamic = (234..=254)
        .rev()
        .chain((384..=511).rev())
        .filter(|m| !taken(*m));
    let mut next = || dynamic.next().unwrap_or(511);
    let (uvm, switch, caps, imex) = (next(), next(), next(), next());
    let mut characters = vec![
        (195, "nvidia"),
        (195, "nvidia-modeset"),
        (195, "nvidiactl"),
        (uvm, "nvidia-uvm"),
        (switch, "nvidia-nvswitch"),
        (caps, "nvidia-caps"),
        (imex, "nvidia-caps-imex-channels"),
    ];
    characters.sort_by_key(|(major, _)| *major);
    let mut characters = characters.into_iter().peekable();
    let mut text = String::from("Character devices:\n");
    let mut lines = kept.into_iter().skip_while(|l| l.starts_with("Character"));
    for line in lines.by_ref().take_while(|l| !l.trim().is_empty()) {
        let major = line
            .split_whitespace()
            .next()
            .and_then(|m| m.parse().ok())
            .unwrap_or(0);
        while let Some((m, name)) = characters.next_if(|(m, _)| *m < major) {
            let _ = writeln!(text, "{m:3} {name}");
        }
        text.push_str(line);
        text.push('\n');
    }
    for (m, name) in characters {
        let _ = writeln!(text, "{m:3} {name}");
    }
    text.push('\n');
    let mut blocks = lines.peekable();
    if blocks.peek().is_none() {
        text.push_str("Block devices:\n");
    }
    for line in blocks {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// `/proc/modules`: the host's own list behind the driver's modules.
pub(crate) fn modules(host: &str) -> String {
    let mut text = String::from(
        "nvidia_uvm 2166784 0 - Live 0x0000000000000000 (O)\nnvidia_modeset 1720320 0 - Live 0x0000000000000000 (O)\n\
         nvidia 14381056 2 nvidia_uvm,nvidia_modeset, Live 0x0000000000000000 (O)\n",
    );
    for line in host.lines().filter(|l| !l.starts_with("nvidia")) {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// The files of a GPU in `/sys/bus/pci/devices/<address>`.
pub(crate) fn pci_files(machine: &Machine, gpu: &Gpu) -> Vec<(&'static str, Vec<u8>)> {
    const CLASS_3D: u32 = 0x03_0200;
    const REVISION: u8 = 0xa1;
    let spec = machine.spec(gpu);
    let (vendor, device) = (spec.pci_device_id & 0xffff, spec.pci_device_id >> 16);
    let subsystem = spec.pci_subsystem_id.unwrap_or(0);
    let (subvendor, subdevice) = (subsystem & 0xffff, subsystem >> 16);
    let line = |text: String| format!("{text}\n").into_bytes();
    let mut config = vec![0_u8; 256];
    config[0..4].copy_from_slice(&spec.pci_device_id.to_le_bytes());
    config[4..8].copy_from_slice(&[0x46, 0x05, 0x10, 0x00]);
    config[8..12].copy_from_slice(&[REVISION, 0x00, 0x02, 0x03]);
    config[0x2c..0x30].copy_from_slice(&subsystem.to_le_bytes());
    vec![
        ("vendor", line(format!("0x{vendor:04x}"))),
        ("device", line(format!("0x{device:04x}"))),
        ("subsystem_vendor", line(format!("0x{subvendor:04x}"))),
        ("subsystem_device", line(format!("0x{subdevice:04x}"))),
        ("class", line(format!("0x{CLASS_3D:06x}"))),
        ("revision", line(format!("0x{REVISION:02x}"))),
        ("numa_node", line(gpu.numa_node.to_string())),
        ("local_cpulist", line(String::new())),
        ("enable", line("1".into())),
        ("irq", line((100 + gpu.index.0).to_string())),
        ("config", config),
        ("resource", resource(gpu, spec.bar1_total.map_or(0, gpu_model::MiB::bytes)).into_bytes()),
        (
            "uevent",
            format!(
                "DRIVER=nvidia\nPCI_CLASS={CLASS_3D:X}\nPCI_ID={vendor:04X}:{device:04X}\nPCI_SUBSYS_ID={subvendor:04X}:{subdevice:04X}\n\
                 PCI_SLOT_NAME={:#}\n",
                gpu.pci
            )
            .into_bytes(),
        ),
    ]
}

/// Six bars and the ROM, of which the registers, the memory window and its neighbour are there.
fn resource(gpu: &Gpu, bar1: u64) -> String {
    const REGISTERS: u64 = 16 << 20;
    const LAST: u64 = 32 << 20;
    let base = 0x2000_0000_0000 + u64::from(gpu.index.0) * 0x80_0000_0000;
    let registers = 0x9000_0000 + u64::from(gpu.index.0) * REGISTERS;
    let mut text = String::new();
    let mut bar = |start: u64, size: u64, flags: u64| {
        let end = if size == 0 { 0 } else { start + size - 1 };
        let (start, flags) = if size == 0 { (0, 0) } else { (start, flags) };
        let _ = writeln!(text, "0x{start:016x} 0x{end:016x} 0x{flags:016x}");
    };
    bar(registers, REGISTERS, 0x4_0200);
    bar(base, bar1, 0x14_220c);
    bar(0, 0, 0);
    bar(base + bar1, LAST, 0x14_220c);
    for _ in 4..13 {
        bar(0, 0, 0);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "Character devices:\n  1 mem\n136 pts\n254 ndctl\n\nBlock devices:\n  7 loop\n254 virtblk\n";

    #[test]
    fn majors_are_added_in_order_and_none_is_taken_twice() {
        let text = devices(HOST);
        assert_eq!(devices(&text), text, "a second pass changes nothing");
        let characters: Vec<&str> = text.lines().skip(1).take_while(|l| !l.is_empty()).collect();
        let majors: Vec<u32> = characters
            .iter()
            .filter_map(|l| l.split_whitespace().next()?.parse().ok())
            .collect();
        assert!(majors.is_sorted(), "{text}");
        assert!(characters.contains(&"195 nvidiactl"), "{text}");
        assert!(
            characters.iter().any(|l| l.ends_with(" nvidia-caps")),
            "{text}"
        );
        let others: Vec<u32> = majors.iter().copied().filter(|m| *m != 195).collect();
        let mut unique = others.clone();
        unique.dedup();
        assert_eq!(others, unique, "{text}");
        assert!(
            text.ends_with("Block devices:\n  7 loop\n254 virtblk\n"),
            "{text}"
        );
    }

    #[test]
    fn modules_begin_with_the_driver() {
        let text = modules("ext4 1 0 - Live 0x0\nnvidia 1 0 - Live 0x0\n");
        assert_eq!(text.lines().filter(|l| l.starts_with("nvidia ")).count(), 1);
        assert!(text.ends_with("ext4 1 0 - Live 0x0\n"));
    }
}
