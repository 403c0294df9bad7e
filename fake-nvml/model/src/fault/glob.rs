//! Names with `*` in them.
use serde::{Deserialize, Serialize};

/// A name, in which `*` stands for any text and `?` for any one character.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Glob(pub String);

impl Glob {
    /// Whether it stands for more than one name.
    pub fn is_pattern(&self) -> bool {
        self.0.contains(['*', '?'])
    }

    /// Whether `name` is meant.
    pub fn matches(&self, name: &str) -> bool {
        let (pattern, name) = (self.0.as_bytes(), name.as_bytes());
        // The last `*` and what of the name it has swallowed: where to go on when the rest does not fit.
        let (mut p, mut n, mut star) = (0, 0, None);
        while let Some(&byte) = name.get(n) {
            match pattern.get(p) {
                Some(b'*') => {
                    star = Some((p, n));
                    p += 1;
                }
                Some(&wanted) if wanted == b'?' || wanted == byte => {
                    p += 1;
                    n += 1;
                }
                _ => match star {
                    Some((at, from)) => {
                        star = Some((at, from + 1));
                        p = at + 1;
                        n = from + 1;
                    }
                    None => return false,
                },
            }
        }
        pattern
            .get(p..)
            .is_none_or(|rest| rest.iter().all(|&b| b == b'*'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, name, fits) in [
            ("nvmlDeviceGetName", "nvmlDeviceGetName", true),
            ("nvmlDeviceGetName", "nvmlDeviceGetNames", false),
            ("nvmlDeviceGet*", "nvmlDeviceGetUUID", true),
            ("*Mig*", "nvmlDeviceSetMigMode", true),
            ("*Mig", "nvmlDeviceSetMigMode", false),
            ("*a*b*c", "xxaybzzbc", true),
            ("*a*b*c", "xxaybzzb", false),
            ("nvmlInit?v2", "nvmlInit_v2", true),
            ("nvmlInit?", "nvmlInit", false),
            ("*", "", true),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(
                Glob(pattern.to_owned()).matches(name),
                fits,
                "{pattern} {name}"
            );
        }
    }
}
