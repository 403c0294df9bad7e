//! Options that change a GPU: `-pm`, `-pl`, `-lgc` and their like.

use nvml_client::ComputeMode;

use super::Words;
use crate::failure::Failure;

/// What is to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Mig(bool),
    Persistence(bool),
    Compute(ComputeMode),
    Ecc(bool),
    Accounting(bool),
    /// In milliwatts.
    PowerLimit(u32),
    Clocks(Clocks),
    Reset,
}

/// Clocks in MHz that are chosen; `None` gives them back to the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clocks {
    /// Lowest and highest.
    Gpu(Option<(u32, u32)>),
    /// Lowest and highest.
    Memory(Option<(u32, u32)>),
    /// Memory and graphics.
    Applications(Option<(u32, u32)>),
}

impl Change {
    /// By its option; `None` for an option of another kind.
    pub(super) fn of(option: &str, words: &mut Words) -> Result<Option<Self>, Failure> {
        let mut value = || words.value(option);
        Ok(Some(match option {
            "-mig" | "--multi-instance-gpu" => Self::Mig(on_off(option, &value()?)?),
            "-pm" | "--persistence-mode" => Self::Persistence(on_off(option, &value()?)?),
            "-e" | "--ecc-config" => Self::Ecc(on_off(option, &value()?)?),
            "-am" | "--accounting-mode" => Self::Accounting(on_off(option, &value()?)?),
            "-c" | "--compute-mode" => Self::Compute(compute_mode(&value()?)?),
            "-pl" | "--power-limit" => Self::PowerLimit(milliwatts(option, &value()?)?),
            "-lgc" | "--lock-gpu-clocks" => {
                Self::Clocks(Clocks::Gpu(Some(range(option, &value()?)?)))
            }
            "-rgc" | "--reset-gpu-clocks" => Self::Clocks(Clocks::Gpu(None)),
            "-lmc" | "--lock-memory-clocks" => {
                Self::Clocks(Clocks::Memory(Some(range(option, &value()?)?)))
            }
            "-rmc" | "--reset-memory-clocks" => Self::Clocks(Clocks::Memory(None)),
            "-ac" | "--applications-clocks" => {
                Self::Clocks(Clocks::Applications(Some(pair(option, &value()?)?)))
            }
            "-rac" | "--reset-applications-clocks" => Self::Clocks(Clocks::Applications(None)),
            "-r" | "--gpu-reset" => Self::Reset,
            _ => return Ok(None),
        }))
    }
}

fn on_off(option: &str, value: &str) -> Result<bool, Failure> {
    match value.to_ascii_uppercase().as_str() {
        "0" | "DISABLED" => Ok(false),
        "1" | "ENABLED" => Ok(true),
        _ => Err(invalid(
            option,
            value,
            "Valid values are 0/DISABLED and 1/ENABLED.",
        )),
    }
}

fn compute_mode(value: &str) -> Result<ComputeMode, Failure> {
    match value.to_ascii_uppercase().as_str() {
        "0" | "DEFAULT" => Ok(ComputeMode::Default),
        "1" | "EXCLUSIVE_THREAD" => Ok(ComputeMode::ExclusiveThread),
        "2" | "PROHIBITED" => Ok(ComputeMode::Prohibited),
        "3" | "EXCLUSIVE_PROCESS" => Ok(ComputeMode::ExclusiveProcess),
        _ => Err(Failure::usage(format!(
            "Invalid compute mode: {value}. Valid values are 0/DEFAULT, 1/EXCLUSIVE_THREAD (deprecated), 2/PROHIBITED, 3/EXCLUSIVE_PROCESS."
        ))),
    }
}

/// Watts with or without a fraction.
fn milliwatts(option: &str, value: &str) -> Result<u32, Failure> {
    let watts = value.trim().parse::<f64>().ok();
    watts
        .map(|watts| (watts * 1000.0).round())
        .filter(|milliwatts| (0.0..=f64::from(u32::MAX)).contains(milliwatts))
        .map(|milliwatts| milliwatts as u32)
        .ok_or_else(|| invalid(option, value, "It takes watts, as 250 or 250.5."))
}

/// `1410,1980`, or one clock for both ends.
fn range(option: &str, value: &str) -> Result<(u32, u32), Failure> {
    if let Ok(both) = value.trim().parse() {
        return Ok((both, both));
    }
    pair(option, value)
}

fn pair(option: &str, value: &str) -> Result<(u32, u32), Failure> {
    value
        .split_once(',')
        .and_then(|(first, second)| Some((first.trim().parse().ok()?, second.trim().parse().ok()?)))
        .ok_or_else(|| invalid(option, value, "It takes clocks in MHz, as 1410,1980."))
}

fn invalid(option: &str, value: &str, advice: &str) -> Failure {
    Failure::usage(format!(
        "Invalid value for option {option}: {value}. {advice}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(line: &str) -> Result<Option<Change>, Failure> {
        let mut words = Words(line.split_whitespace().map(str::to_owned).collect());
        let option = words.next().expect("an option");
        Change::of(&option, &mut words)
    }

    #[test]
    fn each_setting_has_a_short_and_a_long_name() {
        for (short, long, expected) in [
            (
                "-pl 250",
                "--power-limit=250.0",
                Change::PowerLimit(250_000),
            ),
            (
                "-lgc 1410",
                "--lock-gpu-clocks=1410,1410",
                Change::Clocks(Clocks::Gpu(Some((1410, 1410)))),
            ),
            (
                "-lmc 405,1593",
                "--lock-memory-clocks 405,1593",
                Change::Clocks(Clocks::Memory(Some((405, 1593)))),
            ),
            (
                "-ac 1593,1155",
                "--applications-clocks=1593,1155",
                Change::Clocks(Clocks::Applications(Some((1593, 1155)))),
            ),
            (
                "-rgc",
                "--reset-gpu-clocks",
                Change::Clocks(Clocks::Gpu(None)),
            ),
            (
                "-rmc",
                "--reset-memory-clocks",
                Change::Clocks(Clocks::Memory(None)),
            ),
            (
                "-rac",
                "--reset-applications-clocks",
                Change::Clocks(Clocks::Applications(None)),
            ),
            ("-e 0", "--ecc-config=DISABLED", Change::Ecc(false)),
            (
                "-am 1",
                "--accounting-mode=ENABLED",
                Change::Accounting(true),
            ),
        ] {
            assert_eq!(change(short).expect(short), Some(expected), "{short}");
            assert_eq!(change(long).expect(long), Some(expected), "{long}");
        }
        assert_eq!(change("-L").expect("no value"), None);
    }

    #[test]
    fn what_is_no_number_is_a_usage_error() {
        for line in [
            "-pl",
            "-pl much",
            "-pl -1",
            "-pl NaN",
            "-pl 1e30",
            "-lgc fast",
            "-lgc 1,2,3",
            "-ac 1593",
            "-e 2",
            "-am yes",
        ] {
            assert_eq!(change(line).expect_err(line).code, 2, "{line}");
        }
    }
}
