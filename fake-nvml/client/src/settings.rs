//! What an administrator sets on a GPU: modes, the power limit, clocks.
//! Not MIG mode, which answers with more than yes or no (`gpu`).
//! Every setter is one call of nvml.h, for root; NO_PERMISSION and NOT_SUPPORTED come out as such.

use std::ffi::c_uint;

use crate::error::Result;
use crate::gpu::Device;
use crate::library::call;
use crate::types::ComputeMode;

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($($given:ident: $type:ty),*) = $function:ident($($arg:expr),*);)*) => {
        impl Device<'_> {$(
            $(#[$doc])*
            ///
            /// # Errors
            /// What the library answers.
            pub fn $name(&self $(, $given: $type)*) -> Result<()> {
                // SAFETY: the handle came from this library; the other arguments are numbers, and enumerators of nvml.h where it has them.
                unsafe { call!(self.nvml, $function(self.raw $(, $arg)*)) }
            }
        )*}
    };
}

setters! {
    /// Keeps the driver loaded, or not.
    set_persistence_mode(on: bool) = nvmlDeviceSetPersistenceMode(on.into());
    /// Says who may make contexts.
    set_compute_mode(mode: ComputeMode) = nvmlDeviceSetComputeMode(mode as c_uint);
    /// ECC after the next reset.
    set_ecc_mode(on: bool) = nvmlDeviceSetEccMode(on.into());
    /// Keeps accounts of processes, or not.
    set_accounting_mode(on: bool) = nvmlDeviceSetAccountingMode(on.into());
    /// The power limit in milliwatts.
    set_power_limit(milliwatts: u32) = nvmlDeviceSetPowerManagementLimit(milliwatts);
    /// Holds the graphics clock in a range of MHz.
    lock_gpu_clocks(min: u32, max: u32) = nvmlDeviceSetGpuLockedClocks(min, max);
    /// Lets the graphics clock go.
    reset_gpu_clocks() = nvmlDeviceResetGpuLockedClocks();
    /// Holds the memory clock in a range of MHz.
    lock_memory_clocks(min: u32, max: u32) = nvmlDeviceSetMemoryLockedClocks(min, max);
    /// Lets the memory clock go.
    reset_memory_clocks() = nvmlDeviceResetMemoryLockedClocks();
    /// The clocks that applications run at, in MHz.
    set_application_clocks(memory: u32, graphics: u32) = nvmlDeviceSetApplicationsClocks(memory, graphics);
    /// Applications run at the default clocks again.
    reset_application_clocks() = nvmlDeviceResetApplicationsClocks();
}
