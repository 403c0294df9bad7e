//! Drivers: which CUDA release a driver came with, and so which functions and struct versions its NVML has.
//! Not the functions (`nvml-abi`), nor how a library is made to lack some (`gpu-host`).
//! From the tables in `data`, which come from public releases of nvml.h; parsed where they are asked, never kept.
use std::fmt;

/// The branches, ascending.
const DRIVERS: &str = include_str!("../data/drivers.tsv");
const FUNCTIONS: &str = include_str!("../data/functions.tsv");
const STRUCTS: &str = include_str!("../data/structs.tsv");

/// A release of CUDA, as `nvmlSystemGetCudaDriverVersion` says it: 1000 * major + 10 * minor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release(pub u32);

impl Release {
    /// `12.4`. Also runs while this is compiled, so it walks over bytes.
    const fn parse(text: &[u8]) -> Option<Self> {
        let (mut parts, mut part, mut at) = ([0u32; 2], 0, 0);
        while at < text.len() {
            match text[at] {
                b'.' if part == 0 && at > 0 => part = 1,
                digit @ b'0'..=b'9' => parts[part] = parts[part] * 10 + (digit - b'0') as u32,
                _ => return None,
            }
            at += 1;
        }
        if part == 1 {
            Some(Self(parts[0] * 1000 + parts[1] * 10))
        } else {
            None
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

/// Since when something is part of NVML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// The first release whose header has it.
    Release(Release),
    /// No public header says: it counts as always there.
    Unknown,
}

/// A driver's place among all drivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    branch: u32,
    minor: u32,
    release: Release,
}

impl Driver {
    /// The driver of a version, `580.95.05`. What is no number counts as 0, and so as the oldest.
    pub fn of(version: &str) -> Self {
        let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
        let (branch, minor) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        let mut rows = rows(DRIVERS).filter_map(|mut row| {
            let branch: u32 = row.next()?.parse().ok()?;
            Some((branch, Release::parse(row.next()?.as_bytes())?))
        });
        let oldest = rows.next().map_or(Release(0), |(_, release)| release);
        let release = rows
            .take_while(|(since, _)| *since <= branch)
            .last()
            .map_or(oldest, |(_, release)| release);
        Self {
            branch,
            minor,
            release,
        }
    }

    /// The branch: the number before the first dot.
    pub const fn branch(self) -> u32 {
        self.branch
    }

    /// The CUDA release that its branch came with.
    pub const fn cuda(self) -> Release {
        self.release
    }

    /// Whether its NVML has a function.
    pub fn has(self, function: &str) -> bool {
        let Some((since, brought_back)) = row_of(function) else {
            return true;
        };
        since <= self.release || brought_back.is_some_and(|first| self.is_at_least(first))
    }

    /// The functions of later drivers.
    pub fn lacks(self) -> impl Iterator<Item = &'static str> {
        functions().filter(move |name| !self.has(name))
    }

    /// Same branch, and no older than `535.161`.
    fn is_at_least(self, first: &str) -> bool {
        let numbers = first
            .split_once('.')
            .map(|(branch, minor)| (branch.parse::<u32>(), minor.parse::<u32>()));
        matches!(numbers, Some((Ok(branch), Ok(minor))) if self.branch == branch && self.minor >= minor)
    }
}

/// All functions that a public header knows.
pub fn functions() -> impl Iterator<Item = &'static str> {
    rows(FUNCTIONS).filter_map(|mut row| row.next())
}

/// Since when a function is part of NVML.
pub fn since(function: &str) -> Since {
    row_of(function).map_or(Since::Unknown, |(release, _)| Since::Release(release))
}

fn row_of(function: &str) -> Option<(Release, Option<&'static str>)> {
    let mut row = rows(FUNCTIONS).find(|row| row.clone().next() == Some(function))?;
    row.next()?;
    Some((Release::parse(row.next()?.as_bytes())?, row.next()))
}

fn rows(table: &'static str) -> impl Iterator<Item = std::str::Split<'static, char>> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split('\t'))
}

/// The first release whose header has a struct version (`nvmlMemory_v2` or `nvmlMemory_v2_t`); 0 if none says. For constants: it reads the
/// table while the caller is compiled.
pub const fn struct_since(name: &str) -> Release {
    let (table, name) = (STRUCTS.as_bytes(), name.as_bytes());
    let name_end = match name {
        [.., b'_', b't'] => name.len() - 2,
        _ => name.len(),
    };
    let mut line = 0;
    while line < table.len() {
        let mut end = line;
        while end < table.len() && table[end] != b'\n' {
            end += 1;
        }
        let mut same = 0;
        while same < name_end && line + same < end && table[line + same] == name[same] {
            same += 1;
        }
        if same == name_end && line + same < end && table[line + same] == b'\t' {
            let (_, rest) = table.split_at(line + same + 1);
            let (release, _) = rest.split_at(end - line - same - 1);
            return match Release::parse(release) {
                Some(release) => release,
                None => Release(0),
            };
        }
        line = end + 1;
    }
    Release(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuda(version: &str) -> String {
        Driver::of(version).cuda().to_string()
    }

    #[test]
    fn a_branch_came_with_a_release_of_cuda() {
        assert_eq!(cuda("535.161.08"), "12.2");
        assert_eq!(cuda("550.90.07"), "12.4");
        assert_eq!(cuda("570.172.08"), "12.8");
        assert_eq!(cuda("580.95.05"), "13.0");
        assert_eq!(cuda("595.45.04"), "13.2");
        assert_eq!(cuda("615.71.05"), "13.4");
        assert_eq!(cuda("572.1"), "12.8", "between two branches");
        assert_eq!(cuda("700.1"), "13.5", "newer than the newest");
        assert_eq!(cuda("390.1"), "11.0", "older than the oldest");
        assert_eq!(Driver::of("580.95.05").cuda().0, 13_000);
    }

    #[test]
    fn functions_come_with_releases_and_some_come_back() {
        let (old, new) = (Driver::of("535.54.03"), Driver::of("615.71.05"));
        assert!(old.has("nvmlDeviceGetName") && new.has("nvmlDeviceGetName"));
        assert!(
            !Driver::of("580.95.05").has("nvmlEventSetWait_v3") && new.has("nvmlEventSetWait_v3")
        );
        assert!(!old.has("nvmlDeviceGetSramEccErrorStatus"));
        assert!(Driver::of("535.183.01").has("nvmlDeviceGetSramEccErrorStatus"));
        assert!(
            !Driver::of("545.200").has("nvmlDeviceGetSramEccErrorStatus"),
            "another branch"
        );
        assert!(old.has("nvmlOfNoHeader"), "what is unknown counts as there");
        assert_eq!(since("nvmlOfNoHeader"), Since::Unknown);
        assert_eq!(since("nvmlDeviceGetPdi"), Since::Release(Release(13_000)));
    }

    /// The number of functions of each header, as counted in it.
    #[test]
    fn each_family_has_as_many_functions_as_its_header() {
        let count = |version: &str| functions().count() - Driver::of(version).lacks().count();
        let counts = [
            "520.1", "535.54", "550.54", "570.86", "580.65", "595.45", "615.71", "616.1",
        ]
        .map(count);
        // 13.0.39 and 13.2.51 had two and one fewer than the later headers of their releases.
        assert_eq!(
            counts,
            [292, 327, 347, 373, 398, 410, 428, 436],
            "{counts:?}"
        );
    }

    #[test]
    fn struct_versions_come_with_releases() {
        const AT_COMPILE_TIME: Release = struct_since("nvmlPlatformInfo_v2_t");
        assert_eq!(AT_COMPILE_TIME, Release(12_080));
        assert_eq!(struct_since("nvmlGpuFabricInfo_v3"), Release(13_000));
        assert_eq!(
            struct_since("nvmlGpuInstanceProfileInfo_v3_t"),
            Release(12_030)
        );
        assert_eq!(struct_since("nvmlMemory_v2_t"), Release(11_080));
        assert_eq!(struct_since("nvmlMemory_v"), Release(0), "a part of a name");
        assert_eq!(struct_since("nvmlNothing_v1"), Release(0));
    }
}
