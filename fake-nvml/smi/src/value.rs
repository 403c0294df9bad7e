//! How single values are worded, in tables, reports and queries alike.
//! Not where they come from (`nvml-client`).
//! A value that the driver does not have is a word too: which one depends on its answer.

use nvml_client::{Code, Error, Result};

/// The answer that the tool gives for values it no longer shows.
pub(crate) const DEPRECATED: &str = "Requested functionality has been deprecated";

/// The word for a value that there is none of; queries put it in brackets.
pub(crate) fn missing(error: &Error) -> &'static str {
    match error {
        Error::Function { .. } => "N/A",
        // A driver that does not know a struct's version does not have the value.
        Error::Call { code, .. } if code.0 == ARGUMENT_VERSION_MISMATCH => "N/A",
        Error::Call { code, .. } if *code == Code::NOT_SUPPORTED || *code == Code::NOT_FOUND => {
            "N/A"
        }
        other => other.text(),
    }
}

const ARGUMENT_VERSION_MISMATCH: u32 = 25;

/// The value, or the word for none.
pub(crate) fn or_word<T>(got: Result<T>, show: impl FnOnce(T) -> String) -> String {
    match got {
        Ok(value) => show(value),
        Err(e) => missing(&e).to_owned(),
    }
}

/// A part of the value, or the word for none: for an answer that several lines are about.
pub(crate) fn part<T>(got: &Result<T>, show: impl FnOnce(&T) -> String) -> String {
    match got {
        Ok(value) => show(value),
        Err(e) => missing(e).to_owned(),
    }
}

/// What no NVML has, or none that we know the meaning of.
pub(crate) fn none<T>() -> Result<T> {
    Err(Error::Call {
        function: "",
        code: Code::NOT_SUPPORTED,
    })
}

pub(crate) fn text(got: Result<String>) -> String {
    or_word(got, |text| text)
}

pub(crate) fn number<T: ToString>(got: Result<T>) -> String {
    or_word(got, |number| number.to_string())
}

/// With a unit behind it.
pub(crate) fn with<T: ToString>(got: Result<T>, unit: &str) -> String {
    or_word(got, |number| format!("{} {unit}", number.to_string()))
}

pub(crate) fn switch(on: bool) -> String {
    if on { "Enabled" } else { "Disabled" }.into()
}

pub(crate) fn yes(yes: bool) -> String {
    if yes { "Yes" } else { "No" }.into()
}

pub(crate) fn active(active: bool) -> String {
    if active { "Active" } else { "Not Active" }.into()
}

/// MiB, as the tool rounds them: down.
pub(crate) fn mib(bytes: u64) -> u64 {
    bytes >> 20
}

/// Watts with two decimals out of milliwatts.
pub(crate) fn watts(milliwatts: i64) -> String {
    format!("{}.{:02}", milliwatts / 1000, milliwatts % 1000 / 10)
}

/// A UUID out of its bytes.
pub(crate) fn uuid(bytes: &[u8; 16]) -> String {
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

pub(crate) fn architecture(number: u32) -> &'static str {
    match number {
        2 => "Kepler",
        3 => "Maxwell",
        4 => "Pascal",
        5 => "Volta",
        6 => "Turing",
        7 => "Ampere",
        8 => "Ada Lovelace",
        9 => "Hopper",
        10 => "Blackwell",
        13 => "Rubin",
        _ => "Unknown",
    }
}

pub(crate) fn brand(number: u32) -> &'static str {
    match number {
        1 => "Quadro",
        2 => "Tesla",
        3 => "NVS",
        4 => "GRID",
        5 => "GeForce",
        6 => "Titan",
        12 => "Quadro RTX",
        13 => "NVIDIA RTX",
        14 => "NVIDIA",
        15 => "GeForce RTX",
        16 => "Titan RTX",
        _ => "Unknown",
    }
}

pub(crate) fn addressing(mode: u32) -> &'static str {
    match mode {
        1 => "HMM",
        2 => "ATS",
        _ => "None",
    }
}

pub(crate) fn virtualization(mode: u32) -> &'static str {
    match mode {
        1 => "Pass-Through",
        2 => "VGPU",
        3 => "Host VGPU",
        4 => "Host VSGA",
        _ => "None",
    }
}

/// `nvmlDeviceGpuRecoveryAction_t`.
pub(crate) fn recovery(action: i64) -> &'static str {
    match action {
        1 => "Reset",
        2 => "Reboot",
        3 => "Drain P2P",
        4 => "Drain and Reset",
        _ => "None",
    }
}

pub(crate) fn fabric_state(state: u8) -> &'static str {
    match state {
        1 => "Not Started",
        2 => "In Progress",
        3 => "Completed",
        _ => "N/A",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watts_have_two_decimals() {
        assert_eq!(watts(400_000), "400.00");
        assert_eq!(watts(68_927), "68.92");
    }

    #[test]
    fn a_uuid_has_its_dashes() {
        assert_eq!(uuid(&[0; 16]), "00000000-0000-0000-0000-000000000000");
    }
}
