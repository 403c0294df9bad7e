//! Identities: of machines, GPUs, instances, profiles and PCI functions.
//! Not here: how UUIDs are made (`uuid`), how instance ids follow from placements (`geometry`).
//! They are made by the engine and parsed at the rim (command lines, NVML strings).
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

number!(
    /// Position of a GPU in NVML's order (ascending PCI address), starting at 0.
    GpuIndex(u32)
);
number!(
    /// The minor number of `/dev/nvidia<minor>`.
    Minor(u32)
);
number!(
    /// A profile id as the driver reports it and people type it (`19` for `1g.5gb` on an A100), not the `nvml.h` enumerator.
    ProfileId(u32)
);
number!(
    /// A GPU instance id, equal to the driver's swizz id.
    GiId(u32)
);
number!(
    /// A compute instance id, unique within its GPU instance.
    CiId(u32)
);
number!(
    /// A process id, as its own PID namespace counts.
    Pid(u32)
);
number!(
    /// A serial number given to each instance at its creation and never used again on that machine.
    /// It tells a stale handle from a handle to an instance that was made anew under the same id.
    Birth(u64)
);

/// A UUID's sixteen bytes, printed in the usual 8-4-4-4-12 form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Bytes16(pub(crate) [u8; 16]);

impl fmt::Display for Bytes16 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Bytes16 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Bytes16 {
    fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.len() != 36 {
            return None;
        }
        let mut out = [0u8; 16];
        let mut nibbles = 0usize;
        for (i, byte) in bytes.iter().enumerate() {
            if matches!(i, 8 | 13 | 18 | 23) {
                if *byte != b'-' {
                    return None;
                }
                continue;
            }
            let digit = u8::try_from(char::from(*byte).to_digit(16)?).ok()?;
            let cell = out.get_mut(nibbles / 2)?;
            *cell = (*cell << 4) | digit;
            nibbles += 1;
        }
        Some(Self(out))
    }
}

/// A text that is not the identity it was taken for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct BadId {
    /// What was given.
    pub text: String,
    /// What was expected, with an example.
    pub expected: &'static str,
}

macro_rules! uuid {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $expected:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub(crate) Bytes16);

        impl $name {
            /// From the sixteen bytes.
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Bytes16(bytes))
            }

            /// The sixteen bytes.
            pub const fn bytes(&self) -> &[u8; 16] {
                &self.0.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                text.strip_prefix($prefix)
                    .and_then(Bytes16::parse)
                    .map(Self)
                    .ok_or_else(|| BadId { text: text.to_owned(), expected: $expected })
            }
        }
    };
}

uuid!(
    /// `GPU-xxxxxxxx-xxxx-5xxx-xxxx-xxxxxxxxxxxx`.
    GpuUuid, "GPU-", "a GPU UUID such as GPU-9dd5c1c2-7b29-5a36-8c5c-1f1d0f1f5a3b"
);
uuid!(
    /// `MIG-xxxxxxxx-xxxx-5xxx-xxxx-xxxxxxxxxxxx` (R470 and newer).
    MigUuid, "MIG-", "a MIG UUID such as MIG-c7384736-a75d-5afc-978f-d2f1294409fd"
);
uuid!(
    /// The identity of one fake machine (one state file), printed as a bare UUID.
    MachineId, "", "a machine id such as 6b0c5f0e-9a5e-5a3c-8f57-0d2f6a3f9b11"
);

/// A PCI function; the function number is always 0 for a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PciAddress {
    /// PCI domain (segment).
    pub domain: u32,
    /// Bus number.
    pub bus: u8,
    /// Device number.
    pub device: u8,
}

impl fmt::Display for PciAddress {
    /// NVML's form, `%08X:%02X:%02X.0`; `{:#}` gives sysfs' form, `%04x:%02x:%02x.0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            write!(
                f,
                "{:04x}:{:02x}:{:02x}.0",
                self.domain, self.bus, self.device
            )
        } else {
            write!(
                f,
                "{:08X}:{:02X}:{:02X}.0",
                self.domain, self.bus, self.device
            )
        }
    }
}

impl FromStr for PciAddress {
    type Err = BadId;

    /// Reads `domain:bus:device.function`, `domain:bus:device` and `bus:device.function`: the three forms of
    /// `nvmlDeviceGetHandleByPciBusId_v2`, hexadecimal, any case, any width.
    fn from_str(text: &str) -> Result<Self, BadId> {
        let parse = || {
            let (place, function) = match text.split_once('.') {
                Some((place, function)) => (place, Some(function)),
                None => (text, None),
            };
            if let Some(function) = function {
                u8::from_str_radix(function, 16).ok()?;
            }
            let parts: Vec<&str> = place.split(':').collect();
            let (domain, bus, device) = match parts.as_slice() {
                [domain, bus, device] => (u32::from_str_radix(domain, 16).ok()?, bus, device),
                [bus, device] if function.is_some() => (0, bus, device),
                _ => return None,
            };
            Some(Self {
                domain,
                bus: u8::from_str_radix(bus, 16).ok()?,
                device: u8::from_str_radix(device, 16).ok()?,
            })
        };
        parse().ok_or_else(|| BadId {
            text: text.to_owned(),
            expected: "a PCI address such as 00000000:07:00.0",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_read_as_printed() {
        let text = "MIG-c7384736-a75d-5afc-978f-d2f1294409fd";
        let uuid: MigUuid = text.parse().expect("a UUID");
        assert_eq!(uuid.to_string(), text);
        assert_eq!("MIG-C7384736-A75D-5AFC-978F-D2F1294409FD".parse(), Ok(uuid));
        for bad in [
            "",
            "MIG-",
            "GPU-c7384736-a75d-5afc-978f-d2f1294409fd",
            "MIG-c7384736-a75d-5afc-978f-d2f1294409f",
            "MIG-c7384736-a75d-5afc-978f-d2f1294409fdd",
            "MIG-c7384736xa75d-5afc-978f-d2f1294409fd",
            "MIG-g7384736-a75d-5afc-978f-d2f1294409fd",
            "MIG-c7384736-a75d-5afc-978f-d2f129440\u{e9}d",
        ] {
            assert!(bad.parse::<MigUuid>().is_err(), "{bad}");
        }
    }

    #[test]
    fn pci_addresses_are_read_in_three_forms() {
        let address = PciAddress {
            domain: 0,
            bus: 0x8f,
            device: 0,
        };
        for text in [
            "00000000:8F:00.0",
            "0000:8f:00.0",
            "0:8f:0",
            "8f:0.0",
            "8F:00.0",
        ] {
            assert_eq!(text.parse(), Ok(address), "{text}");
        }
        for bad in [
            "",
            "8f",
            "8f:00",
            "0:0:8f:0.0",
            "0:fff:0.0",
            "0:8g:0.0",
            "0:8f:0.x",
        ] {
            assert!(bad.parse::<PciAddress>().is_err(), "{bad}");
        }
        assert_eq!(
            format!("{address} {address:#}"),
            "00000000:8F:00.0 0000:8f:00.0"
        );
    }
}
