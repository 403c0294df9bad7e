//! Values by number: `NVML_FI_DEV_*`, and the driver's time that each of them carries.
//! Not what has a getter of its own (`gpu`, `details`).
//! Every kind of number comes out as a whole one; units are those of nvml.h.

use std::ffi::c_int;
use std::mem;

use nvml_wrapper_sys::bindings as sys;

use crate::error::{Code, Error, Result};
use crate::gpu::Device;
use crate::library::call;

/// The numbers that are asked for, by their names in nvml.h without `NVML_FI_DEV_`.
pub mod field {
    use nvml_wrapper_sys::bindings::field_id as sys;

    /// ECC is on.
    pub const ECC_CURRENT: u32 = sys::NVML_FI_DEV_ECC_CURRENT;
    /// Nanoseconds below the wanted clocks for the power limit.
    pub const SW_POWER_CAP: u32 = sys::NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP;
    /// The same for the clocks of a group of GPUs.
    pub const SYNC_BOOST: u32 = sys::NVML_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST;
    /// Degrees Celsius of the memory.
    pub const MEMORY_TEMP: u32 = sys::NVML_FI_DEV_MEMORY_TEMP;
    /// MB/s of a link.
    pub const LINK_SPEED: u32 = sys::NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON;
    /// How often the count of PCIe replays began anew.
    pub const REPLAY_ROLLOVER: u32 = sys::NVML_FI_DEV_PCIE_REPLAY_ROLLOVER_COUNTER;
    /// Milliwatts over the last second; scopes are nvml.h's `NVML_POWER_SCOPE_*`.
    pub const POWER_AVERAGE: u32 = sys::NVML_FI_DEV_POWER_AVERAGE;
    /// Milliwatts now.
    pub const POWER_INSTANT: u32 = sys::NVML_FI_DEV_POWER_INSTANT;
    /// Lowest limit in milliwatts that can be set.
    pub const POWER_MIN_LIMIT: u32 = sys::NVML_FI_DEV_POWER_MIN_LIMIT;
    /// Highest limit.
    pub const POWER_MAX_LIMIT: u32 = sys::NVML_FI_DEV_POWER_MAX_LIMIT;
    /// Limit as shipped.
    pub const POWER_DEFAULT_LIMIT: u32 = sys::NVML_FI_DEV_POWER_DEFAULT_LIMIT;
    /// Limit in force.
    pub const POWER_CURRENT_LIMIT: u32 = sys::NVML_FI_DEV_POWER_CURRENT_LIMIT;
    /// Limit that was asked for.
    pub const POWER_REQUESTED_LIMIT: u32 = sys::NVML_FI_DEV_POWER_REQUESTED_LIMIT;
    /// Distance at which the GPU turns off.
    pub const SHUTDOWN_TLIMIT: u32 = sys::NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT;
    /// Distance at which it slows down.
    pub const SLOWDOWN_TLIMIT: u32 = sys::NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT;
    /// Distance at which the memory is at its limit.
    pub const MEM_MAX_TLIMIT: u32 = sys::NVML_FI_DEV_TEMPERATURE_MEM_MAX_TLIMIT;
    /// Distance at which the GPU is at its limit.
    pub const GPU_MAX_TLIMIT: u32 = sys::NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT;
    /// What the driver asks for after a fault.
    pub const RECOVERY_ACTION: u32 = sys::NVML_FI_DEV_GET_GPU_RECOVERY_ACTION;
    // nvml.h 13.0.87 gave these three new numbers; the binding is older than that.
    /// The same as `SW_POWER_CAP` for heat, slowed by the driver.
    pub const SW_THERM_SLOWDOWN: u32 = 269;
    /// For heat, slowed by the card.
    pub const HW_THERM_SLOWDOWN: u32 = 270;
    /// For a power brake.
    pub const HW_POWER_BRAKE: u32 = 271;
}

impl Device<'_> {
    /// A value by its number (`NVML_FI_DEV_*`) and scope, as a whole number.
    ///
    /// # Errors
    /// What the library answers, for the call or for the field.
    pub fn field(&self, id: u32, scope: u32) -> Result<i64> {
        const FUNCTION: &str = "nvmlDeviceGetFieldValues";
        // SAFETY: integers and a union of numbers, for which all zeroes is a value.
        let mut value: sys::nvmlFieldValue_t = unsafe { mem::zeroed() };
        value.fieldId = id;
        value.scopeId = scope;
        let one: c_int = 1;
        // SAFETY: the handle came from this library; the buffer has the one entry that the count says.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetFieldValues(self.raw, one, &mut value)
            )
        }?;
        crate::error::check(FUNCTION, value.nvmlReturn)?;
        // SAFETY: the call has written the union and said of which type its value is.
        unsafe { whole(FUNCTION, value.valueType, &value.value) }
    }

    /// The driver's time, in microseconds since 1970: fields carry it, whether or not they have a value.
    #[must_use]
    pub fn time(&self) -> Option<i64> {
        // SAFETY: integers and a union of numbers, for which all zeroes is a value.
        let mut value: sys::nvmlFieldValue_t = unsafe { mem::zeroed() };
        value.fieldId = field::ECC_CURRENT;
        // SAFETY: the handle came from this library; the buffer has the one entry that the count says.
        let _ = unsafe { call!(self.nvml, nvmlDeviceGetFieldValues(self.raw, 1, &mut value)) };
        (value.timestamp > 0).then_some(value.timestamp)
    }
}

/// A number of any of nvml.h's types as a whole one; NOT_SUPPORTED for a newer type, and for a double, which nothing asked for here is.
///
/// # Safety
/// The union was written by a call that said this type.
pub(crate) unsafe fn whole(
    function: &'static str,
    kind: sys::nvmlValueType_t,
    value: &sys::nvmlValue_t,
) -> Result<i64> {
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    // SAFETY: every bit pattern is a value of every member; the type says which one was written.
    Ok(unsafe {
        match kind {
            sys::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_INT => i64::from(value.uiVal),
            sys::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_LONG => whole(value.ulVal),
            sys::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_LONG_LONG => whole(value.ullVal),
            sys::nvmlValueType_enum_NVML_VALUE_TYPE_SIGNED_LONG_LONG => value.sllVal,
            sys::nvmlValueType_enum_NVML_VALUE_TYPE_SIGNED_INT => i64::from(value.siVal),
            sys::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_SHORT => i64::from(value.usVal),
            _ => {
                return Err(Error::Call {
                    function,
                    code: Code::NOT_SUPPORTED,
                });
            }
        }
    })
}
