//! What the public crate `nvml-wrapper` sees of this machine's GPUs, as text. It changes nothing.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;

fn main() -> ExitCode {
    match show() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nvml-wrapper-view: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What a getter gives, or the error's name.
fn told<T: std::fmt::Debug>(result: Result<T, NvmlError>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("<{error:?}>"),
    }
}

fn show() -> Result<(), NvmlError> {
    let nvml = Nvml::init()?;
    println!("driver {}", nvml.sys_driver_version()?);
    println!("NVML {}", nvml.sys_nvml_version()?);
    println!("CUDA {}", nvml.sys_cuda_driver_version()?);
    for index in 0..nvml.device_count()? {
        let card = nvml.device_by_index(index)?;
        println!("\nGPU {index}: {} {}", card.name()?, card.uuid()?);
        let memory = card.memory_info()?;
        println!(
            "  memory {} MiB, used {} MiB",
            memory.total >> 20,
            memory.used >> 20
        );
        println!("  brand {}", told(card.brand()));
        println!("  architecture {}", told(card.architecture()));
        println!(
            "  compute capability {}",
            told(card.cuda_compute_capability())
        );
        println!("  compute mode {}", told(card.compute_mode()));
        println!(
            "  PCI {}",
            told(
                card.pci_info()
                    .map(|pci| (pci.bus_id, pci.pci_device_id, pci.pci_sub_system_id))
            )
        );
        println!(
            "  PCIe {} x{}",
            told(card.max_pcie_link_gen()),
            told(card.max_pcie_link_width())
        );
        println!(
            "  ECC {}",
            told(
                card.is_ecc_enabled()
                    .map(|ecc| (ecc.currently_enabled, ecc.pending_enabled))
            )
        );
        println!(
            "  limits {} {}",
            told(card.power_management_limit_default()),
            told(card.power_management_limit_constraints())
        );
        println!(
            "  clocks {} {} MHz at most",
            told(card.max_clock_info(Clock::Graphics)),
            told(card.max_clock_info(Clock::Memory))
        );
        println!(
            "  temperature is known: {}",
            card.temperature(TemperatureSensor::Gpu).is_ok()
        );
        println!(
            "  utilization {}",
            told(
                card.utilization_rates()
                    .map(|rates| (rates.gpu, rates.memory))
            )
        );
        println!("  fans {}", told(card.num_fans()));
        println!(
            "  MIG {}",
            told(card.mig_mode().map(|mode| (mode.current, mode.pending)))
        );
        println!(
            "  processes {}",
            told(card.running_compute_processes().map(|list| list.len()))
        );
        for part in 0..card.mig_device_count().unwrap_or(0) {
            match card.mig_device_by_index(part) {
                Ok(mig) => println!(
                    "  part {part}: {} {} {} MiB",
                    told(mig.name()),
                    told(mig.uuid()),
                    told(mig.memory_info().map(|memory| memory.total >> 20))
                ),
                Err(NvmlError::NotFound) => {}
                Err(error) => println!("  part {part}: <{error:?}>"),
            }
        }
    }
    Ok(())
}
