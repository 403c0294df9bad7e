//! The structs of nvml.h that our functions read or write, field for field, one file per topic.
//! Not all structs of the header: a struct comes with the first function that needs it.
//! Sizes and offsets are compared with the public binding nvml-wrapper-sys in tests. Names of fields are the header's in snake case.

mod accounting;
#[cfg(test)]
pub(crate) mod bindings;
mod clocks;
mod confidential;
mod device;
mod events;
mod fabric;
mod gpm;
mod health;
mod memory;
mod mig;
mod monitors;
mod processes;
mod sessions;
mod system;
mod thermal;
mod vgpu;

pub use accounting::*;
pub use clocks::*;
pub use confidential::*;
pub use device::*;
pub use events::*;
pub use fabric::*;
pub use gpm::*;
pub use health::*;
pub use memory::*;
pub use mig::*;
pub use monitors::*;
pub use processes::*;
pub use sessions::*;
pub use system::*;
pub use thermal::*;
pub use vgpu::*;

/// Text fields of the header have these lengths (`NVML_DEVICE_*_BUFFER_SIZE`).
pub(crate) mod length {
    pub(crate) const PCI_BUS_ID: usize = 32;
    pub(crate) const PCI_BUS_ID_LEGACY: usize = 16;
    pub(crate) const NAME: usize = 96;
    pub(crate) const SYSTEM_DRIVER_VERSION: usize = 80;
    pub(crate) const UUID_ASCII: usize = 41;
    pub(crate) const UUID_BINARY: usize = 16;
}

/// C structs. `= nvmlX_t` names the same struct in the binding and makes a test compare the two; `ours = theirs: type` is a field
/// whose name there differs. `version 2` makes it a struct whose first field says its size and version. A struct without a
/// name in the binding is older or newer than the binding; its size stands in the tests of its file.
macro_rules! structs {
    ($($(#[$doc:meta])* $(version $number:literal)? struct $name:ident $(= $sys:ident)? {
        $($field:ident $(= $theirs:ident)?: $ty:ty,)*
    })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            #[repr(C)]
            #[allow(missing_docs, reason = "fields are those of nvml.h and are explained there")]
            pub struct $name { $(pub $field: $ty,)* }

            impl $crate::hooks::Value for $name {}
            $crate::types::structs!(@versioned $name [$($number)?] [$($sys)?]);
        )*

        #[cfg(test)]
        mod layout {
            use super::*;

            #[test]
            fn is_that_of_the_public_binding() {
                $($crate::types::structs!(@compare $name [$($sys)?] $($field [$($theirs)?])*);)*
            }
        }
    };

    (@versioned $name:ident [] [$($sys:ident)?]) => {};
    (@versioned $name:ident [$number:literal] [$($sys:ident)?]) => {
        impl $crate::out::Versioned for $name {
            const NUMBER: u32 = $number;
            const SINCE: gpu_model::driver::Release = gpu_model::driver::struct_since(concat!("", $(stringify!($sys))?));
        }
    };
    (@compare $name:ident [] $($rest:tt)*) => {};
    (@compare $name:ident [$sys:ident] $($field:ident [$($theirs:ident)?])*) => {{
        use nvml_wrapper_sys::bindings::$sys as Theirs;
        assert_eq!(size_of::<$name>(), size_of::<Theirs>(), "size of {}", stringify!($name));
        assert_eq!(align_of::<$name>(), align_of::<Theirs>(), "alignment of {}", stringify!($name));
        let fields = [$((
            stringify!($field),
            core::mem::offset_of!($name, $field),
            $crate::types::structs!(@offset Theirs $field $($theirs)?),
        )),*];
        for (name, ours, theirs) in fields {
            assert_eq!(ours, theirs, "offset of {}.{name}", stringify!($name));
        }
        let fields = [$(($crate::types::structs!(@name $field $($theirs)?), core::mem::offset_of!($name, $field))),*];
        $crate::types::bindings::compare(stringify!($sys), size_of::<$name>(), align_of::<$name>(), &fields);
    }};
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $theirs:ident) => { stringify!($theirs) };
    (@offset $sys:ident $field:ident) => { core::mem::offset_of!($sys, $field) };
    (@offset $sys:ident $field:ident $theirs:ident) => { core::mem::offset_of!($sys, $theirs) };
}

pub(crate) use structs;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::out::Versioned;

    /// The older layouts are a head of the current ones.
    macro_rules! head {
        ($($old:ident, $size:literal = $new:ident { $($field:ident),* $(,)? })*) => {
            $(
                assert_eq!(size_of::<$old>(), $size, "size of {}", stringify!($old));
                $(assert_eq!(core::mem::offset_of!($old, $field), core::mem::offset_of!($new, $field), "{}.{}", stringify!($old), stringify!($field));)*
            )*
        };
    }

    #[test]
    fn old_layouts_are_heads_of_the_current_ones() {
        head! {
            PciInfoV1, 32 = PciInfo { bus_id_legacy, domain, bus, device, pci_device_id }
            PciInfoV2, 36 = PciInfo { bus_id_legacy, domain, bus, device, pci_device_id, pci_subsystem_id }
            DeviceAttributesV1, 24 = DeviceAttributes { multiprocessor_count, shared_copy_engine_count, shared_decoder_count, shared_encoder_count, shared_jpeg_count, shared_ofa_count }
            ComputeInstanceInfoV1, 24 = ComputeInstanceInfo { device, gpu_instance, id, profile_id }
            EventDataV1, 24 = EventData { device, event_type, event_data }
        }
    }

    #[test]
    fn version_tags_are_size_and_number() {
        // Written out in nvidia-ml-py and go-nvml.
        assert_eq!(MemoryV2::TAG, 0x0200_0028);
        assert_eq!(Temperature::TAG, 0x0100_000c);
        assert_eq!(GpuInstanceProfileV2::TAG, 0x0200_0098);
    }
}
