//! Loading the library, and the calls that belong to the whole system.
//! Not the calls on a device (`gpu`, `mig`).
//! The library is searched by the loader first, then in driver roots; every handle borrows the loaded one.

use std::ffi::{CStr, CString, c_char, c_uint};
use std::ptr;

use nvml_wrapper_sys::bindings::{self as sys, NvmlLib};

use crate::error::{Code, Error, Result, check};
use crate::gpu::Device;

/// Calls one function of the library: `call!(nvml, nvmlFoo(a, b))`.
///
/// Each use stands in an `unsafe` block whose comment says why the arguments fit.
macro_rules! call {
    ($nvml:expr, $function:ident ( $($arg:expr),* $(,)? )) => {
        match $nvml.lib().$function.as_ref() {
            Ok(function) => $crate::error::check(stringify!($function), function($($arg),*)),
            Err(_) => Err($crate::error::Error::Function { function: stringify!($function) }),
        }
    };
}
pub(crate) use call;

/// Where the library may lie, below each root: the loader's own choice first.
const FOLDERS: [&str; 6] = [
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "usr/lib64",
    "lib64",
    "lib/x86_64-linux-gnu",
    "lib/aarch64-linux-gnu",
];
const ROOTS: [&str; 3] = ["/run/nvidia/driver", "/driver-root", "/"];

/// The loaded and initialised library; shut down when dropped.
#[derive(Debug)]
pub struct Nvml {
    lib: Lib,
}

struct Lib(NvmlLib);

impl std::fmt::Debug for Lib {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("libnvidia-ml.so.1")
    }
}

impl Nvml {
    /// Loads `libnvidia-ml.so.1` as the loader finds it, else from a driver root, and initialises it; no GPU is no error.
    ///
    /// # Errors
    /// [`Error::Library`] when there is none; what `nvmlInitWithFlags` answers otherwise.
    pub fn init() -> Result<Self> {
        let beside = std::env::current_exe()
            .ok()
            .and_then(|exe| Some(exe.parent()?.parent()?.parent()?.to_owned()));
        let roots = beside.into_iter().chain(ROOTS.iter().map(Into::into));
        let places = roots.flat_map(|root: std::path::PathBuf| {
            FOLDERS
                .iter()
                .map(move |folder| root.join(folder).join("libnvidia-ml.so.1"))
                .collect::<Vec<_>>()
        });
        let mut tried = Vec::new();
        for place in
            std::iter::once("libnvidia-ml.so.1".into()).chain(places.filter(|p| p.exists()))
        {
            // SAFETY: loading runs the library's initialisers; `libnvidia-ml.so.1` is NVIDIA's public library or a stand-in for it,
            // and whoever can put another one on the loader's path can run code here anyway.
            match unsafe { NvmlLib::new(&place) } {
                Ok(lib) => return Self::start(lib),
                Err(e) => tried.push(format!("{}: {e}", place.display())),
            }
        }
        Err(Error::Library {
            tried: tried.join("; "),
        })
    }

    fn start(lib: NvmlLib) -> Result<Self> {
        const NO_GPUS: c_uint = 1;
        let init = lib
            .nvmlInitWithFlags
            .as_ref()
            .map_err(|_| Error::Function {
                function: "nvmlInitWithFlags",
            })?;
        // SAFETY: takes a plain integer.
        check("nvmlInitWithFlags", unsafe { init(NO_GPUS) })?;
        Ok(Self { lib: Lib(lib) })
    }

    pub(crate) fn lib(&self) -> &NvmlLib {
        &self.lib.0
    }

    /// The driver's version, as `580.95.05`.
    ///
    /// # Errors
    /// What the library answers.
    pub fn driver_version(&self) -> Result<String> {
        // SAFETY: `text` passes a buffer and its true length.
        text(|buffer, length| unsafe { call!(self, nvmlSystemGetDriverVersion(buffer, length)) })
    }

    /// NVML's own version, as `13.580.95.05`.
    ///
    /// # Errors
    /// What the library answers.
    pub fn nvml_version(&self) -> Result<String> {
        // SAFETY: `text` passes a buffer and its true length.
        text(|buffer, length| unsafe { call!(self, nvmlSystemGetNVMLVersion(buffer, length)) })
    }

    /// The CUDA version that the driver serves: major and minor.
    ///
    /// # Errors
    /// What the library answers.
    pub fn cuda_version(&self) -> Result<(i32, i32)> {
        let mut version = 0;
        // SAFETY: the out pointer is a live integer.
        unsafe { call!(self, nvmlSystemGetCudaDriverVersion_v2(&mut version)) }?;
        Ok((version / 1000, version % 1000 / 10))
    }

    /// How many GPUs there are.
    ///
    /// # Errors
    /// What the library answers.
    pub fn count(&self) -> Result<u32> {
        let mut count = 0;
        // SAFETY: the out pointer is a live integer.
        unsafe { call!(self, nvmlDeviceGetCount_v2(&mut count)) }?;
        Ok(count)
    }

    /// The GPU of this index.
    ///
    /// # Errors
    /// What the library answers.
    pub fn by_index(&self, index: u32) -> Result<Device<'_>> {
        let mut raw: sys::nvmlDevice_t = ptr::null_mut();
        // SAFETY: the out pointer is a live handle variable.
        unsafe { call!(self, nvmlDeviceGetHandleByIndex_v2(index, &mut raw)) }?;
        Ok(Device::new(self, raw))
    }

    /// The GPU or MIG device of this UUID.
    ///
    /// # Errors
    /// What the library answers.
    pub fn by_uuid(&self, uuid: &str) -> Result<Device<'_>> {
        let uuid = CString::new(uuid).unwrap_or_default();
        let mut raw: sys::nvmlDevice_t = ptr::null_mut();
        // SAFETY: the string ends in NUL and outlives the call; the out pointer is a live handle variable.
        unsafe { call!(self, nvmlDeviceGetHandleByUUID(uuid.as_ptr(), &mut raw)) }?;
        Ok(Device::new(self, raw))
    }

    /// The GPU with this serial number.
    ///
    /// # Errors
    /// What the library answers.
    pub fn by_serial(&self, serial: &str) -> Result<Device<'_>> {
        let serial = CString::new(serial).unwrap_or_default();
        let mut raw: sys::nvmlDevice_t = ptr::null_mut();
        // SAFETY: the string ends in NUL and outlives the call; the out pointer is a live handle variable.
        unsafe { call!(self, nvmlDeviceGetHandleBySerial(serial.as_ptr(), &mut raw)) }?;
        Ok(Device::new(self, raw))
    }

    /// The GPU at this PCI address.
    ///
    /// # Errors
    /// What the library answers.
    pub fn by_pci(&self, address: &str) -> Result<Device<'_>> {
        let address = CString::new(address).unwrap_or_default();
        let mut raw: sys::nvmlDevice_t = ptr::null_mut();
        // SAFETY: the string ends in NUL and outlives the call; the out pointer is a live handle variable.
        unsafe {
            call!(
                self,
                nvmlDeviceGetHandleByPciBusId_v2(address.as_ptr(), &mut raw)
            )
        }?;
        Ok(Device::new(self, raw))
    }

    /// All GPUs that can be opened, in index order.
    ///
    /// # Errors
    /// What `nvmlDeviceGetCount_v2` answers.
    pub fn devices(&self) -> Result<Vec<Device<'_>>> {
        Ok((0..self.count()?)
            .filter_map(|i| self.by_index(i).ok())
            .collect())
    }
}

impl Drop for Nvml {
    fn drop(&mut self) {
        // SAFETY: no argument; every handle borrows `self`, so none outlives this.
        let _ = unsafe { call!(self, nvmlShutdown()) };
    }
}

/// Fetches a list that may be longer than the first buffer.
pub(crate) fn list<T>(
    first: c_uint,
    mut fill: impl FnMut(*mut c_uint, *mut T) -> Result<()>,
) -> Result<Vec<T>> {
    let mut count = first;
    // Entries come and go between two calls: a list that outgrows each buffer is given up after a few.
    let mut tries = 5;
    loop {
        tries -= 1;
        let room = count as usize;
        let mut buffer: Vec<T> = Vec::with_capacity(room);
        // With a count of 0 the header asks for NULL, and some drivers take nothing else.
        let place = if room == 0 {
            std::ptr::null_mut()
        } else {
            buffer.as_mut_ptr()
        };
        match fill(&mut count, place) {
            // What was counted and not yet fetched.
            Ok(()) if room == 0 && count > 0 && tries > 0 => {}
            Ok(()) => {
                // SAFETY: the call filled `count` entries, never more than there was room for.
                unsafe { buffer.set_len((count as usize).min(room)) };
                return Ok(buffer);
            }
            Err(Error::Call {
                code: Code::INSUFFICIENT_SIZE,
                ..
            }) if tries > 0 => count = count.max(1) * 2,
            Err(e) => return Err(e),
        }
    }
}

/// Fetches a string that NVML writes into a buffer.
pub(crate) fn text(fill: impl FnOnce(*mut c_char, c_uint) -> Result<()>) -> Result<String> {
    let mut buffer: [c_char; 128] = [0; 128];
    fill(buffer.as_mut_ptr(), 127)?;
    Ok(chars(&buffer))
}

/// A NUL-terminated array of a C struct as a string.
pub(crate) fn chars(buffer: &[c_char]) -> String {
    let bytes: Vec<u8> = buffer
        .iter()
        .map(|c| c.to_ne_bytes()[0])
        .chain([0])
        .collect();
    CStr::from_bytes_until_nul(&bytes)
        .map(|c| c.to_string_lossy().into_owned())
        .unwrap_or_default()
}
