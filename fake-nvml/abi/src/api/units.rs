//! S-class units, excluded and detached GPUs: what a machine could have beside its cards, and does not.
//! Not the cards (`device`).
//! No state: there are no units and no excluded GPUs, so no handle and no index of one is valid.

use crate::absent::absent;
use crate::handle::Device;
use crate::macros::api;
use crate::out::{Out, OutArray, OutText};
use crate::status::Status;
use crate::types::{ExcludedDevice, HwbcEntry};

/// An `nvmlUnit_t`: any, since there are none.
type Unit = usize;

api! {
    table UNITS;

    /// INVALID_ARGUMENT: there is no unit.
    view fn nvmlUnitGetHandleByIndex(_index: u32, unit: Out<Unit>) |_view| {
        unit.check()?;
        Err(Status::InvalidArgument)
    }

    /// INVALID_ARGUMENT: there is no unit.
    view fn nvmlUnitGetUnitInfo(_unit: Unit, _info: OutText) |_view| { Err(Status::InvalidArgument) }

    /// INVALID_ARGUMENT: there is no unit.
    view fn nvmlUnitGetLedState(_unit: Unit, _state: OutText) |_view| { Err(Status::InvalidArgument) }

    /// INVALID_ARGUMENT: there is no unit.
    view fn nvmlUnitSetLedState(_unit: Unit, _color: u32) |_view| { Err(Status::InvalidArgument) }

    /// INVALID_ARGUMENT: there is no unit.
    view fn nvmlUnitGetPsuInfo(_unit: Unit, _psu: OutText) |_view| { Err(Status::InvalidArgument) }

    /// INVALID_ARGUMENT: there is no unit.
    view fn nvmlUnitGetTemperature(_unit: Unit, _kind: u32, _degrees: Out<u32>) |_view| { Err(Status::InvalidArgument) }

    /// INVALID_ARGUMENT: there is no unit.
    view fn nvmlUnitGetFanSpeedInfo(_unit: Unit, _speeds: OutText) |_view| { Err(Status::InvalidArgument) }

    /// INVALID_ARGUMENT: there is no unit.
    view fn nvmlUnitGetDevices(_unit: Unit, _count: Out<u32>, _devices: OutArray<Device>) |_view| { Err(Status::InvalidArgument) }

    /// INVALID_ARGUMENT: no GPU is excluded.
    view fn nvmlGetExcludedDeviceInfoByIndex(_index: u32, info: Out<ExcludedDevice>) |_view| {
        info.check()?;
        Err(Status::InvalidArgument)
    }

    /// Host interface cards of units: none.
    view fn nvmlSystemGetHicVersion(count: Out<u32>, _entries: OutArray<HwbcEntry>) |_view| { count.put(0) }
}

absent! {
    table UNITS_ABSENT;

    /// Records of the firmware (CPER): none are kept.
    system fn nvmlSystemGetCPER_v1(cper: Out<u64>);
}
