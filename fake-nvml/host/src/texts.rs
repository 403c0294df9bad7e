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

/// `/proc/driver/nvidia/params`: all settings of driver 580, as it starts with them.
pub(crate) const PARAMS: &str = "\
ResmanDebugLevel: 4294967295
RmLogonRC: 1
ModifyDeviceFiles: 1
DeviceFileUID: 0
DeviceFileGID: 0
DeviceFileMode: 438
InitializeSystemMemoryAllocations: 1
UsePageAttributeTable: 4294967295
EnableMSI: 1
EnablePCIeGen3: 0
MemoryPoolSize: 0
KMallocHeapMaxSize: 0
VMallocHeapMaxSize: 0
IgnoreMMIOCheck: 0
EnableStreamMemOPs: 0
EnableUserNUMAManagement: 1
NvLinkDisable: 0
RmProfilingAdminOnly: 1
PreserveVideoMemoryAllocations: 0
EnableS0ixPowerManagement: 0
S0ixPowerManagementVideoMemoryThreshold: 256
DynamicPowerManagement: 3
DynamicPowerManagementVideoMemoryThreshold: 200
RegisterPCIDriver: 1
EnablePCIERelaxedOrderingMode: 0
EnableResizableBar: 0
EnableGpuFirmware: 18
EnableGpuFirmwareLogs: 2
RmNvlinkBandwidthLinkCount: 0
EnableDbgBreakpoint: 0
OpenRmEnableUnsupportedGpus: 1
DmaRemapPeerMmio: 1
ImexChannelCount: 2048
CreateImexChannel0: 0
GrdmaPciTopoCheckOverride: 0
CoherentGPUMemoryMode: \"\"
RegistryDwords: \"\"
RegistryDwordsPerDevice: \"\"
RmMsg: \"\"
GpuBlacklist: \"\"
TemporaryFilePath: \"\"
ExcludedGpus: \"\"
";

/// `registry`, of the driver and of each GPU: no settings of a registry.
pub(crate) const REGISTRY: &str = "Binary: \"\"\n";

/// What a folder of `/proc/driver/nvidia` that is otherwise empty says.
pub(crate) const README: &str = "This folder is empty: no patches and no warnings.\n";

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
        gpu.irq(),
        gpu.uuid,
        spec.vbios.as_deref().unwrap_or("??.??.??.??.??"),
        gpu.pci,
        gpu.minor,
        machine.driver_version,
    )
}

/// GPUs that the driver's own table of capability numbers has room for.
pub(crate) const TABLE_GPUS: u32 = 32;

/// The number of `capabilities/fabric-imex-mgmt`: seen on drivers 570 to 580.
pub(crate) const FABRIC_IMEX: u32 = 4323;

/// `/proc/driver/nvidia-caps/mig-minors`: all GPUs of the driver's table; where a node has more, the formula goes on.
pub(crate) fn mig_minors(machine: &Machine) -> String {
    use gpu_model::{CiId, GiId};
    let mut text = format!("config {}\nmonitor {}\n", caps::CONFIG, caps::MONITOR);
    let gpus = machine
        .gpus
        .iter()
        .map(|g| g.minor.0 + 1)
        .max()
        .unwrap_or(0)
        .max(TABLE_GPUS);
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

/// The driver's modules, and how many use each.
pub(crate) const MODULES: [(&str, u32); 3] =
    [("nvidia_uvm", 0), ("nvidia_modeset", 0), ("nvidia", 2)];

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_begin_with_the_driver() {
        let text = modules("ext4 1 0 - Live 0x0\nnvidia 1 0 - Live 0x0\n");
        assert_eq!(text.lines().filter(|l| l.starts_with("nvidia ")).count(), 1);
        assert!(text.ends_with("ext4 1 0 - Live 0x0\n"));
    }
}
