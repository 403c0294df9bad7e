//! What a call is made on: the system, a GPU, a MIG device, an instance.
//! Not a handle: those live in the worker's process and mean nothing elsewhere.
use std::{fmt, str::FromStr};

/// On what a getter is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// No handle.
    System,
    /// The GPU of this index.
    Gpu(u32),
    /// The MIG device at this index of a GPU.
    Mig(u32, u32),
    /// The GPU instance of this id on a GPU.
    Gi(u32, u32),
    /// The compute instance of this id in a GPU instance.
    Ci(u32, u32, u32),
}

impl Target {
    /// The word for its kind in the list of getters.
    pub fn kind(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Gpu(_) => "gpu",
            Self::Mig(..) => "mig",
            Self::Gi(..) => "gi",
            Self::Ci(..) => "ci",
        }
    }

    /// The GPU it is on.
    pub fn gpu(self) -> Option<u32> {
        match self {
            Self::System => None,
            Self::Gpu(gpu) | Self::Mig(gpu, _) | Self::Gi(gpu, _) | Self::Ci(gpu, ..) => Some(gpu),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => f.write_str("system"),
            Self::Gpu(gpu) => write!(f, "gpu/{gpu}"),
            Self::Mig(gpu, index) => write!(f, "gpu/{gpu}/mig/{index}"),
            Self::Gi(gpu, id) => write!(f, "gpu/{gpu}/gi/{id}"),
            Self::Ci(gpu, gi, id) => write!(f, "gpu/{gpu}/gi/{gi}/ci/{id}"),
        }
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is none of system, gpu/0, gpu/0/mig/0, gpu/0/gi/1, gpu/0/gi/1/ci/0")
        };
        let parts: Vec<&str> = text.split('/').collect();
        let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
        Ok(match parts.as_slice() {
            ["system"] => Self::System,
            ["gpu", gpu] => Self::Gpu(number(gpu)?),
            ["gpu", gpu, "mig", index] => Self::Mig(number(gpu)?, number(index)?),
            ["gpu", gpu, "gi", id] => Self::Gi(number(gpu)?, number(id)?),
            ["gpu", gpu, "gi", gi, "ci", id] => Self::Ci(number(gpu)?, number(gi)?, number(id)?),
            _ => return Err(wrong()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_and_read() {
        for target in [
            Target::System,
            Target::Gpu(3),
            Target::Mig(0, 6),
            Target::Gi(1, 9),
            Target::Ci(1, 9, 0),
        ] {
            assert_eq!(target.to_string().parse(), Ok(target));
        }
        for text in ["", "gpu", "gpu/x", "gpu/0/gi", "mig/0", "gpu/0/mig/1/ci/2"] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }
}
