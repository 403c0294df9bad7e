//! The getters that are asked, from `data/getters.txt`.
//! Not the asking (`ask`, `walk`).
use crate::{
    ask::Wire,
    layout::{self, Type},
};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// A getter and how it is called.
#[derive(Clone, Debug)]
pub struct Getter {
    /// The function.
    pub name: String,
    /// The kinds of targets it is called on.
    pub on: Vec<String>,
    /// Its parameters after the handle.
    pub params: Vec<Param>,
}

/// A parameter.
#[derive(Clone, Debug)]
pub enum Param {
    /// A number that is passed.
    In(String, Vec<u64>),
    /// Room for a value.
    Out(String, Type),
    /// Room for a text, followed by its length or not.
    Text(usize, bool),
    /// A struct whose first field is the version.
    Versioned(u32, Type),
    /// A count, and room for so many.
    List(String, usize, Type),
    /// Room for so many, and the count.
    Listed(String, usize, Type),
    /// Room for as many as the list before.
    Array(String, usize, Type),
    /// Each other GPU.
    Peer,
    /// One field value for each of these ids.
    Fields(Vec<u64>),
}

/// `nvmlFieldValue_t`; timestamp and latency are left out of what is written down.
const FIELD: &str = "{fieldId u32, scopeId u32, timestamp i64, latencyUsec i64, valueType u32, nvmlReturn u32, value u64}";

/// All of them, in the order of the list.
pub fn getters() -> &'static [Getter] {
    static ALL: LazyLock<Vec<Getter>> = LazyLock::new(|| {
        parse(include_str!("../data/getters.txt")).unwrap_or_else(|why| {
            // A test reads the list; a build with a wrong one is never handed out.
            unreachable!("getters.txt: {why}")
        })
    });
    &ALL
}

fn parse(text: &str) -> Result<Vec<Getter>, String> {
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(|line| {
            let mut parts = line.splitn(3, '|').map(str::trim);
            let mut next = || parts.next().ok_or_else(|| format!("`{line}`: three parts"));
            let (name, on, params) = (next()?, next()?, next()?);
            Ok(Getter {
                name: name.to_owned(),
                on: on.split(' ').map(str::to_owned).collect(),
                params: params
                    .split(" ; ")
                    .map(|param| Param::parse(param).map_err(|why| format!("{name}: {why}")))
                    .collect::<Result<_, _>>()?,
            })
        })
        .collect()
}

fn numbers(text: &str) -> Result<Vec<u64>, String> {
    let one = |text: &str| {
        text.trim()
            .parse::<u64>()
            .map_err(|_| format!("`{text}` is no number"))
    };
    match text.split_once("..") {
        Some((from, to)) => Ok((one(from)?..=one(to)?).collect()),
        None => text.split(',').map(one).collect(),
    }
}

impl Param {
    fn parse(text: &str) -> Result<Self, String> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let two = |text: &'_ str| {
            text.split_once(' ')
                .map(|(a, b)| (a.to_owned(), b.to_owned()))
                .ok_or_else(|| format!("`{text}`: two words"))
        };
        let room = |text: &str| {
            text.parse::<usize>()
                .map_err(|_| format!("`{text}` is no room"))
        };
        let many = |rest: &str| {
            let (count, rest) = two(rest)?;
            let (name, ty) = two(&rest)?;
            Ok::<_, String>((name, room(&count)?, Type::parse(&ty)?))
        };
        Ok(match word {
            "in" => {
                let (name, values) = two(rest)?;
                Self::In(name, numbers(&values)?)
            }
            "out" => {
                let (name, ty) = two(rest)?;
                Self::Out(name, Type::parse(&ty)?)
            }
            "text" => Self::Text(room(rest)?, true),
            "bare" => Self::Text(room(rest)?, false),
            "versioned" => {
                let (number, ty) = two(rest)?;
                let number = number
                    .parse()
                    .map_err(|_| format!("`{number}` is no version"))?;
                Self::Versioned(number, Type::parse(&ty)?)
            }
            "list" => many(rest).map(|(name, n, ty)| Self::List(name, n, ty))?,
            "listed" => many(rest).map(|(name, n, ty)| Self::Listed(name, n, ty))?,
            "array" => many(rest).map(|(name, n, ty)| Self::Array(name, n, ty))?,
            "peer" => Self::Peer,
            "fields" => Self::Fields(numbers(rest)?),
            other => return Err(format!("`{other}` is no kind of parameter")),
        })
    }

    /// The name under which an argument of this parameter is written down, and what it may be.
    fn domain(&self, peers: &[u32]) -> Option<(String, Vec<u64>)> {
        match self {
            Self::In(name, values) => Some((name.clone(), values.clone())),
            Self::Peer => Some((
                "peer".to_owned(),
                peers.iter().map(|p| u64::from(*p)).collect(),
            )),
            Self::Fields(ids) => Some(("fieldId".to_owned(), ids.clone())),
            _ => None,
        }
    }
}

impl Getter {
    /// The number in the version of its struct.
    pub fn version(&self) -> Option<u32> {
        self.params.iter().find_map(|param| match param {
            Param::Versioned(number, _) => Some(*number),
            _ => None,
        })
    }

    /// Every combination of arguments, by name.
    pub fn arguments(&self, peers: &[u32]) -> Vec<Vec<(String, u64)>> {
        let mut all = vec![Vec::new()];
        for (name, values) in self.params.iter().filter_map(|p| p.domain(peers)) {
            all = all
                .iter()
                .flat_map(|before| {
                    values.iter().map(|value| {
                        let mut next = before.clone();
                        next.push((name.clone(), *value));
                        next
                    })
                })
                .collect();
        }
        all
    }

    /// The arguments as the worker passes them.
    pub fn wire(&self, arguments: &[(String, u64)]) -> Vec<Wire> {
        let mut given = arguments.iter().map(|(_, value)| *value);
        let mut next = || given.next().unwrap_or_default();
        let zeros = |size: usize| Wire::Bytes(layout::hex(&vec![0; size]));
        let mut wires = Vec::new();
        for param in &self.params {
            match param {
                Param::In(..) => wires.push(Wire::Number(next())),
                Param::Peer => wires.push(Wire::Gpu(next())),
                Param::Out(_, ty) => wires.push(zeros(ty.size())),
                Param::Text(room, with_length) => {
                    wires.push(zeros(*room));
                    if *with_length {
                        wires.push(Wire::Number(*room as u64));
                    }
                }
                Param::Versioned(number, ty) => {
                    let tag = ty.size() as u32 | number << 24;
                    let mut bytes = tag.to_le_bytes().to_vec();
                    bytes.resize(ty.size(), 0);
                    wires.push(Wire::Bytes(layout::hex(&bytes)));
                }
                Param::List(_, room, ty) => {
                    wires.push(Wire::Bytes(layout::hex(&(*room as u32).to_le_bytes())));
                    wires.push(zeros(room * ty.size()));
                }
                Param::Listed(_, room, ty) => {
                    wires.push(zeros(room * ty.size()));
                    wires.push(Wire::Bytes(layout::hex(&(*room as u32).to_le_bytes())));
                }
                Param::Array(_, room, ty) => wires.push(zeros(room * ty.size())),
                Param::Fields(_) => {
                    wires.push(Wire::Number(1));
                    let mut bytes = (next() as u32).to_le_bytes().to_vec();
                    bytes.resize(40, 0);
                    wires.push(Wire::Bytes(layout::hex(&bytes)));
                }
            }
        }
        wires
    }

    /// What the function has written, by name.
    pub fn value(&self, returned: &[Vec<u8>]) -> Map<String, Value> {
        let mut rooms = returned.iter();
        let mut next = || rooms.next().map(Vec::as_slice).unwrap_or_default();
        let count_of = |bytes: &[u8], most: usize| {
            let word = bytes
                .get(..4)
                .and_then(|b| b.try_into().ok())
                .unwrap_or_default();
            (u32::from_le_bytes(word) as usize).min(most)
        };
        let items = |bytes: &[u8], ty: &Type, count: usize| -> Value {
            bytes
                .chunks(ty.size().max(1))
                .take(count)
                .map(|item| ty.decode(item))
                .collect()
        };
        let mut value = Map::new();
        let mut listed = 0;
        for param in &self.params {
            match param {
                Param::In(..) | Param::Peer => {}
                Param::Out(name, ty) => spread(&mut value, name, ty.decode(next())),
                Param::Text(..) => {
                    value.insert("text".to_owned(), json!(layout::text(next())));
                }
                Param::Versioned(_, ty) => {
                    let mut decoded = ty.decode(next());
                    if let Some(object) = decoded.as_object_mut() {
                        object.remove("version");
                    }
                    // Two structs in one call: the pending state follows the current one.
                    let again = if value.is_empty() { "" } else { "pending" };
                    spread(&mut value, again, decoded);
                }
                Param::List(name, room, ty) => {
                    listed = count_of(next(), *room);
                    value.insert(name.clone(), items(next(), ty, listed));
                }
                Param::Listed(name, room, ty) => {
                    let bytes = next();
                    listed = count_of(next(), *room);
                    value.insert(name.clone(), items(bytes, ty, listed));
                }
                Param::Array(name, room, ty) => {
                    value.insert(name.clone(), items(next(), ty, listed.min(*room)));
                }
                Param::Fields(_) => {
                    let mut decoded = Type::parse(FIELD).map(|ty| ty.decode(next()));
                    if let Ok(Value::Object(object)) = &mut decoded {
                        for (name, field) in std::mem::take(object) {
                            if ["valueType", "nvmlReturn", "value"].contains(&name.as_str()) {
                                value.insert(name, field);
                            }
                        }
                    }
                }
            }
        }
        value
    }
}

/// The fields of a struct stand beside the other values; with a name they stand below it.
fn spread(value: &mut Map<String, Value>, name: &str, decoded: Value) {
    match decoded {
        Value::Object(fields) if name != "pending" => value.extend(fields),
        other => {
            value.insert(name.to_owned(), other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvml_client::raw::{MOST, only_reads};
    use nvml_wrapper_sys::bindings as sys;

    #[test]
    fn the_list_reads_and_only_reads() {
        let all = parse(include_str!("../data/getters.txt")).expect("the list");
        assert!(all.len() > 150, "{}", all.len());
        for getter in &all {
            assert!(only_reads(&getter.name), "{}", getter.name);
            let handle = usize::from(!getter.on.contains(&"system".to_owned()));
            let arguments = getter.arguments(&[1]);
            let wires = getter.wire(arguments.first().expect("at least one"));
            assert!(wires.len() + handle <= MOST, "{}", getter.name);
            for on in &getter.on {
                assert!(
                    ["system", "gpu", "mig", "gi", "ci"].contains(&on.as_str()),
                    "{on}"
                );
            }
        }
    }

    /// The layouts against the public binding's.
    #[test]
    fn structs_are_as_large_as_the_bindings_say() {
        let size = |name: &str, version: Option<u32>| {
            let getter = getters()
                .iter()
                .find(|g| g.name == name && g.version() == version)
                .unwrap_or_else(|| panic!("{name} {version:?}"));
            getter
                .params
                .iter()
                .find_map(|param| match param {
                    Param::Versioned(_, ty @ Type::Struct(_))
                    | Param::Out(_, ty @ Type::Struct(_))
                    | Param::List(_, _, ty @ Type::Struct(_))
                    | Param::Listed(_, _, ty @ Type::Struct(_)) => Some(ty.size()),
                    _ => None,
                })
                .expect("a struct")
        };
        macro_rules! same {
            ($($name:literal $version:expr => $ty:ident;)*) => {
                $(assert_eq!(size($name, $version), size_of::<sys::$ty>(), $name);)*
            };
        }
        same! {
            "nvmlDeviceGetMemoryInfo" None => nvmlMemory_t;
            "nvmlDeviceGetMemoryInfo_v2" Some(2) => nvmlMemory_v2_t;
            "nvmlDeviceGetPciInfo_v3" None => nvmlPciInfo_t;
            "nvmlDeviceGetPciInfoExt" Some(1) => nvmlPciInfoExt_v1_t;
            "nvmlDeviceGetAttributes_v2" None => nvmlDeviceAttributes_t;
            "nvmlDeviceGetThermalSettings" None => nvmlGpuThermalSettings_t;
            "nvmlDeviceGetDynamicPstatesInfo" None => nvmlGpuDynamicPstatesInfo_t;
            "nvmlDeviceGetClkMonStatus" None => nvmlClkMonStatus_t;
            "nvmlDeviceGetComputeRunningProcesses_v3" None => nvmlProcessInfo_t;
            "nvmlDeviceGetEncoderSessions" None => nvmlEncoderSessionInfo_t;
            "nvmlDeviceGetFBCSessions" None => nvmlFBCSessionInfo_t;
            "nvmlDeviceGetSramEccErrorStatus" Some(1) => nvmlEccSramErrorStatus_v1_t;
            "nvmlDeviceGetGpuFabricInfoV" Some(2) => nvmlGpuFabricInfo_v2_t;
            "nvmlDeviceGetGpuFabricInfoV" Some(3) => nvmlGpuFabricInfo_v3_t;
            "nvmlDeviceGetPlatformInfo" Some(1) => nvmlPlatformInfo_v1_t;
            "nvmlDeviceGetPlatformInfo" Some(2) => nvmlPlatformInfo_v2_t;
            "nvmlDeviceGetNvLinkInfo" Some(2) => nvmlNvLinkInfo_v2_t;
            "nvmlDeviceGetGpuInstanceProfileInfoV" Some(2) => nvmlGpuInstanceProfileInfo_v2_t;
            "nvmlDeviceGetGpuInstanceProfileInfoV" Some(3) => nvmlGpuInstanceProfileInfo_v3_t;
            "nvmlGpuInstanceGetInfo" None => nvmlGpuInstanceInfo_t;
            "nvmlGpuInstanceGetComputeInstanceProfileInfoV" Some(3) => nvmlComputeInstanceProfileInfo_v3_t;
            "nvmlComputeInstanceGetInfo_v2" None => nvmlComputeInstanceInfo_t;
        }
        assert_eq!(
            Type::parse(FIELD).expect("it").size(),
            size_of::<sys::nvmlFieldValue_t>()
        );
    }
}
