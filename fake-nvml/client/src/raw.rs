//! Calls by name, for programs that walk a library by a table instead of by types.
//! Not for changing anything: a name that is no getter is refused here, at the only door.
//! Meant for a process of its own that may hang or die of what an unknown driver does; the caller gives buffers, gets them back filled.

use std::ffi::{CString, OsStr, c_void};

use libloading::Library;

/// Room behind each buffer, so that a struct that has grown in a newer driver spoils nothing, and is noticed.
const SLACK: usize = 64 * 1024;
/// What the slack is filled with.
const FILL: u8 = 0xa5;
/// Parameters that a function can have: those of the registers, which a callee with fewer leaves unread.
pub const MOST: usize = 6;

/// A loaded library that is asked by function name.
#[derive(Debug)]
pub struct Raw {
    library: Library,
}

/// One argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg {
    /// A number or a handle.
    Number(u64),
    /// The address of these bytes, which the function may change.
    Bytes(Vec<u8>),
}

/// Why a function was not called, or what it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    /// It returned this code.
    Code(u32),
    /// The library does not have it.
    Absent,
    /// It returned this code, and has written beyond a buffer: its structs are not those of the table.
    Overrun(u32),
}

/// A function that is not called by way of this module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Its name does not say that it only reads.
    #[error("{0} is no getter: only what reads is called")]
    NoGetter(String),
    /// Too many arguments.
    #[error("{0} arguments: at most {MOST} are passed")]
    Arguments(usize),
}

/// Whether a function only reads, by its name: `nvmlDeviceGet…`, `nvmlSystemGet…`, `…Is…`. Beginning and ending are no changes.
pub fn only_reads(name: &str) -> bool {
    if ["nvmlInitWithFlags", "nvmlShutdown"].contains(&name) {
        return true;
    }
    let Some(rest) = name.strip_prefix("nvml") else {
        return false;
    };
    let rest = ["Device", "System", "GpuInstance", "ComputeInstance"]
        .iter()
        .find_map(|what| rest.strip_prefix(what))
        .unwrap_or(rest);
    ["Get", "Is"].iter().any(|verb| rest.starts_with(verb))
}

impl Raw {
    /// Loads a library; nothing is called yet.
    ///
    /// # Errors
    /// What the loader says.
    pub fn open(path: &OsStr) -> Result<Self, libloading::Error> {
        // SAFETY: loading runs the library's initialisers; the path is an NVML library by the word of who starts the program, and
        // whoever can name another one can run code here anyway.
        let library = unsafe { Library::new(path) }?;
        Ok(Self { library })
    }

    /// Calls a getter. Bytes come back as the function left them.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn call(&self, name: &str, args: &mut [Arg]) -> Result<Called, Refused> {
        if !only_reads(name) {
            return Err(Refused::NoGetter(name.to_owned()));
        }
        if args.len() > MOST {
            return Err(Refused::Arguments(args.len()));
        }
        type Function = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> u32;
        let Ok(symbol) = CString::new(name) else {
            return Ok(Called::Absent);
        };
        // SAFETY: NVML's getters take integers and pointers, at most six, and return an int: on the C ABIs of x86-64 and arm64 all
        // are passed in integer registers, so this type calls each of them.
        let Ok(function) = (unsafe { self.library.get::<Function>(symbol.as_bytes_with_nul()) })
        else {
            return Ok(Called::Absent);
        };
        let mut rooms: Vec<Option<Vec<u64>>> = args.iter().map(Self::room).collect();
        let mut words = [0usize; MOST];
        for ((word, arg), room) in words.iter_mut().zip(args.iter()).zip(&mut rooms) {
            *word = match (arg, room) {
                (Arg::Number(number), _) => *number as usize,
                (Arg::Bytes(_), Some(room)) => room.as_mut_ptr().cast::<c_void>() as usize,
                (Arg::Bytes(_), None) => 0,
            };
        }
        let [a, b, c, d, e, f] = words;
        // SAFETY: the function is a getter of NVML by its name; each pointer is to live memory of ours with 64 KiB behind what the
        // function is told to fill, more than any struct of NVML has.
        let code = unsafe { function(a, b, c, d, e, f) };
        let mut overrun = false;
        for (arg, room) in args.iter_mut().zip(&rooms) {
            if let (Arg::Bytes(bytes), Some(room)) = (arg, room) {
                let mut all = room.iter().flat_map(|word| word.to_ne_bytes());
                for (to, from) in bytes.iter_mut().zip(&mut all) {
                    *to = from;
                }
                overrun |= all.any(|byte| byte != FILL);
            }
        }
        Ok(if overrun {
            Called::Overrun(code)
        } else {
            Called::Code(code)
        })
    }

    /// Aligned room for one argument with slack behind it.
    fn room(arg: &Arg) -> Option<Vec<u64>> {
        let Arg::Bytes(bytes) = arg else { return None };
        let mut all = bytes.clone();
        all.resize(bytes.len().next_multiple_of(8) + SLACK, FILL);
        let words = all.chunks_exact(8).map(|chunk| {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            u64::from_ne_bytes(word)
        });
        Some(words.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_getters_pass() {
        for name in [
            "nvmlDeviceGetName",
            "nvmlSystemGetDriverVersion",
            "nvmlDeviceIsMigDeviceHandle",
            "nvmlGpuInstanceGetInfo",
            "nvmlComputeInstanceGetInfo_v2",
            "nvmlGetVgpuVersion",
            "nvmlInitWithFlags",
            "nvmlShutdown",
        ] {
            assert!(only_reads(name), "{name}");
        }
        for name in [
            "nvmlDeviceSetMigMode",
            "nvmlDeviceCreateGpuInstance",
            "nvmlGpuInstanceDestroy",
            "nvmlDeviceClearEccErrorCounts",
            "nvmlDeviceResetGpuLockedClocks",
            "nvmlEventSetCreate",
            "nvmlDeviceRegisterEvents",
            "nvmlGpuInstanceCreateComputeInstance",
            "nvmlSystemSetNvlinkBwMode",
            "nvmlDeviceFreezeNvLinkUtilizationCounter",
            "nvmlDeviceDiscoverGpus",
            "nvmlDeviceRemoveGpu_v2",
            "system",
            "getenv",
        ] {
            assert!(!only_reads(name), "{name}");
        }
    }

    /// The C library stands in for a driver that writes more than it should.
    #[test]
    fn what_is_no_getter_is_not_called() {
        let library = Raw::open(OsStr::new("libc.so.6")).expect("the C library");
        let refused = library
            .call("abort", &mut [])
            .expect_err("it would be the end");
        assert_eq!(
            refused.to_string(),
            "abort is no getter: only what reads is called"
        );
        let absent = library.call("nvmlDeviceGetName", &mut [Arg::Number(1)]);
        assert_eq!(absent, Ok(Called::Absent));
    }
}
