//! Functions that have one answer on every card of the catalogue: what they ask about is not there.
//! Not stubs: arguments are checked as the header says, and the answer is the one that real cards of these kinds give.
//! In: the arguments. Out: the header's error for a bad one, else the answer that the kind of function has.

use gpu_model::driver::{Release, struct_since};

use crate::out::{In, InText, Out, OutAny, OutArray, OutText};
use crate::session;
use crate::status::{Result, Status};

/// Versions of a struct that nobody here reads or writes.
pub trait Versions {
    /// What the first field may hold, and since which CUDA release.
    const KNOWN: &'static [(u32, Release)];
}

/// Room for a struct of which only the version is looked at.
#[repr(transparent)]
pub struct Announced<T>(OutAny, core::marker::PhantomData<T>);

impl<T> Copy for Announced<T> {}

impl<T> Clone for Announced<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Announced<T> {
    /// The struct, as one of any version.
    pub(crate) const fn place(self) -> OutAny {
        self.0
    }
}

/// What can be said of an argument without doing anything with it.
pub trait Argument {
    /// INVALID_ARGUMENT for NULL where the header wants a place, ARGUMENT_VERSION_MISMATCH for a struct of no known version.
    fn check(&self) -> Result;
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl Argument for $number {
            fn check(&self) -> Result {
                Ok(())
            }
        })*
    };
}

numbers!(u32 i32 u64);

impl<T: Copy> Argument for Out<T> {
    fn check(&self) -> Result {
        Out::check(self)
    }
}

impl<T: Copy> Argument for In<T> {
    fn check(&self) -> Result {
        self.out().check()
    }
}

/// An array may be NULL: that asks for the number of its items.
impl<T> Argument for OutArray<T> {
    fn check(&self) -> Result {
        Ok(())
    }
}

impl Argument for OutText {
    fn check(&self) -> Result {
        OutText::check(self)
    }
}

impl Argument for InText {
    fn check(&self) -> Result {
        self.get().map(drop)
    }
}

impl<T: Versions> Argument for Announced<T> {
    fn check(&self) -> Result {
        let announced = self.0.version()?;
        let known = T::KNOWN
            .iter()
            .any(|&(tag, since)| tag == announced && (tag >> 24 == 1 || since <= session::cuda()));
        if known {
            Ok(())
        } else {
            Err(Status::ArgumentVersionMismatch)
        }
    }
}

/// Kinds of functions by their first parameter and their answer:
/// - `device`: a GPU or MIG device; NOT_SUPPORTED
/// - `gpu_instance`, `event_set`: such a handle; NOT_SUPPORTED
/// - `system`: no handle; NOT_SUPPORTED
/// - `vgpu`: a virtual GPU, 0 is INVALID_ARGUMENT; NOT_FOUND
/// - `vgpu_type`: a type of virtual GPUs; INVALID_ARGUMENT, since there are none
macro_rules! absent {
    (table $table:ident; $($(#[$doc:meta])* $kind:ident fn $name:ident ($($arg:ident: $ty:ty),* $(,)?);)*) => {
        $($crate::absent::absent!(@$kind [$(#[$doc])*] $name ($($arg: $ty),*));)*
        /// The functions of this file, which all have one answer.
        #[allow(dead_code, reason = "read by the coverage test")]
        pub(crate) const $table: &[&str] = &[$(stringify!($name)),*];
    };
    (@device [$(#[$doc:meta])*] $name:ident ($($arg:ident: $ty:ty),*)) => {
        $crate::macros::api!(@fns $(#[$doc])* view fn $name(device: $crate::handle::Device, $($arg: $ty),*) |view| {
            view.device(device)?;
            $($crate::absent::Argument::check(&$arg)?;)*
            Err($crate::status::Status::NotSupported)
        });
    };
    (@gpu_instance [$(#[$doc:meta])*] $name:ident ($($arg:ident: $ty:ty),*)) => {
        $crate::macros::api!(@fns $(#[$doc])* view fn $name(gpu_instance: $crate::handle::GpuInstance, $($arg: $ty),*) |view| {
            view.gpu_instance(gpu_instance)?;
            $($crate::absent::Argument::check(&$arg)?;)*
            Err($crate::status::Status::NotSupported)
        });
    };
    (@event_set [$(#[$doc:meta])*] $name:ident ($($arg:ident: $ty:ty),*)) => {
        $crate::macros::api!(@fns $(#[$doc])* session fn $name(set: $crate::handle::EventSet, $($arg: $ty),*) |_session| {
            $crate::event_set::check(set)?;
            $($crate::absent::Argument::check(&$arg)?;)*
            Err($crate::status::Status::NotSupported)
        });
    };
    (@system [$(#[$doc:meta])*] $name:ident ($($arg:ident: $ty:ty),*)) => {
        $crate::macros::api!(@fns $(#[$doc])* view fn $name($($arg: $ty),*) |_view| {
            $($crate::absent::Argument::check(&$arg)?;)*
            Err($crate::status::Status::NotSupported)
        });
    };
    (@vgpu [$(#[$doc:meta])*] $name:ident ($($arg:ident: $ty:ty),*)) => {
        $crate::macros::api!(@fns $(#[$doc])* view fn $name(vgpu: u32, $($arg: $ty),*) |_view| {
            if vgpu == 0 {
                return Err($crate::status::Status::InvalidArgument);
            }
            $($crate::absent::Argument::check(&$arg)?;)*
            Err($crate::status::Status::NotFound)
        });
    };
    (@vgpu_type [$(#[$doc:meta])*] $name:ident ($($arg:ident: $ty:ty),*)) => {
        $crate::macros::api!(@fns $(#[$doc])* view fn $name(_kind: u32, $($arg: $ty),*) |_view| {
            $($crate::absent::Argument::check(&$arg)?;)*
            Err($crate::status::Status::InvalidArgument)
        });
    };
}

pub(crate) use absent;

macro_rules! versions {
    ($($name:ident { $($version:literal $sys:ident $size:literal),+ })*) => {
        $(
            #[doc = concat!("Versions of `", $(stringify!($sys), "` `",)+ "`.")]
            #[derive(Clone, Copy, Debug)]
            pub enum $name {}

            impl Versions for $name {
                const KNOWN: &'static [(u32, Release)] = &[$(($size | $version << 24, struct_since(stringify!($sys)))),+];
            }
        )*

        #[test]
        fn sizes_are_those_of_the_header() {
            $($(assert_eq!(crate::types::bindings::size(stringify!($sys)), Some($size), stringify!($sys));)+)*
        }
    };
}

versions! {
    SupportedBwModes { 1 nvmlNvlinkSupportedBwModes_v1_t 28 }
    GetBwMode { 1 nvmlNvlinkGetBwMode_v1_t 12 }
    SetBwMode { 1 nvmlNvlinkSetBwMode_v1_t 12 }
    NvLinkInfo { 1 nvmlNvLinkInfo_v1_t 8, 2 nvmlNvLinkInfo_v2_t 1612 }
    CurrentClockFreqs { 1 nvmlDeviceCurrentClockFreqs_v1_t 2052 }
    PerfModes { 1 nvmlDevicePerfModes_v1_t 2052 }
    ClockOffset { 1 nvmlClockOffset_v1_t 24 }
    CoolerInfo { 1 nvmlCoolerInfo_v1_t 16 }
    FanSpeedInfo { 1 nvmlFanSpeedInfo_v1_t 12 }
    DramEncryption { 1 nvmlDramEncryptionInfo_v1_t 8 }
    RusdSettings { 1 nvmlRusdSettings_v1_t 16 }
    HeterogeneousMode { 1 nvmlVgpuHeterogeneousMode_v1_t 8 }
    PlacementId { 1 nvmlVgpuPlacementId_v1_t 8 }
    PlacementList { 1 nvmlVgpuPlacementList_v1_t 24, 2 nvmlVgpuPlacementList_v2_t 32 }
    RuntimeState { 1 nvmlVgpuRuntimeState_v1_t 16 }
    TypeBar1Info { 1 nvmlVgpuTypeBar1Info_v1_t 16 }
    TypeIdInfo { 1 nvmlVgpuTypeIdInfo_v1_t 16 }
    TypeMaxInstance { 1 nvmlVgpuTypeMaxInstance_v1_t 12 }
    ActiveVgpuInfo { 1 nvmlActiveVgpuInstanceInfo_v1_t 16 }
    SchedulerState { 1 nvmlVgpuSchedulerState_v1_t 24 }
    SchedulerStateInfo { 1 nvmlVgpuSchedulerStateInfo_v1_t 24 }
    SchedulerLogInfo { 1 nvmlVgpuSchedulerLogInfo_v1_t 9632 }
    CreatablePlacements { 1 nvmlVgpuCreatablePlacementInfo_v1_t 32 }
    VgpusUtilization { 1 nvmlVgpuInstancesUtilizationInfo_v1_t 32 }
    VgpuProcessesUtilization { 1 nvmlVgpuProcessesUtilizationInfo_v1_t 24 }
    PowerProfiles { 1 nvmlWorkloadPowerProfileProfilesInfo_v1_t 11256 }
    CurrentPowerProfiles { 1 nvmlWorkloadPowerProfileCurrentProfiles_v1_t 100 }
    RequestedPowerProfiles { 1 nvmlWorkloadPowerProfileRequestedProfiles_v1_t 36 }
    PowerSmoothingProfile { 1 nvmlPowerSmoothingProfile_v1_t 24 }
    PowerSmoothingState { 1 nvmlPowerSmoothingState_v1_t 8 }
    GetKeyRotation { 1 nvmlConfComputeGetKeyRotationThresholdInfo_v1_t 16 }
    SetKeyRotation { 1 nvmlConfComputeSetKeyRotationThresholdInfo_v1_t 16 }
    PlatformInfo { 1 nvmlPlatformInfo_v1_t 44, 2 nvmlPlatformInfo_v2_t 44 }
}
