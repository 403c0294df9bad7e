//! What the tests of the library share: where it lies, a machine for it to show, and short calls through the public binding.
#![allow(unsafe_code, reason = "the binding's functions are C functions")]
#![allow(dead_code, unused_macros, reason = "each test takes what it needs")]
#![allow(unreachable_pub, reason = "each test file is a crate of its own")]

use std::ffi::{CStr, c_char};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Once;

use gpu_model::{Catalog, Machine, NodeSpec, Options};
use gpu_store::Store;
use nvml_wrapper_sys::bindings::{NvmlLib, nvmlDevice_t};

/// The library that cargo built for the tests. It lies in `deps`, beside them; what lies one folder up may be older.
pub fn library() -> PathBuf {
    std::env::current_exe()
        .expect("the test's own path")
        .with_file_name("libnvidia_ml.so")
}

/// A machine in a folder of its own, with a copy of the library beside its state. The dynamic linker takes each copy for a library
/// of its own, so tests of one process do not share inits.
pub struct Node {
    folder: tempfile::TempDir,
    store: Store,
}

impl Node {
    /// A machine of these cards, `2xA100-SXM4-40GB,1xL4`.
    pub fn new(cards: &str) -> Self {
        Self::with(cards, &Options::default())
    }

    /// A machine of these cards with MIG mode on where there is one.
    pub fn mig(cards: &str) -> Self {
        Self::with(
            cards,
            &Options {
                mig: true,
                ..Options::default()
            },
        )
    }

    pub fn with(cards: &str, options: &Options) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let version = &options.driver_version;
        std::fs::copy(
            library(),
            folder.path().join(format!("libnvidia-ml.so.{version}")),
        )
        .expect("a copy of the library");
        let store = Store::create(
            folder.path().join(gpu_store::file_name(version)),
            &machine(cards, options),
        )
        .expect("a state file");
        Self { folder, store }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn library(&self) -> PathBuf {
        let version = self.machine().driver_version;
        self.folder().join(format!("libnvidia-ml.so.{version}"))
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    pub fn machine(&self) -> Machine {
        self.store.read().expect("the state").machine.clone()
    }

    /// The library, loaded and not initialised.
    pub fn load(&self) -> Nvml {
        see_everything();
        // SAFETY: the library's constructors do nothing.
        let lib = unsafe { NvmlLib::new(self.library()) }.expect("the library loads");
        Nvml { lib }
    }

    /// The library, loaded and initialised.
    pub fn init(&self) -> Nvml {
        let nvml = self.load();
        assert_eq!(call!(nvml, nvmlInit_v2()), 0);
        nvml
    }
}

pub fn machine(cards: &str, options: &Options) -> Machine {
    let catalog = Catalog::builtin();
    let cards: NodeSpec = cards.parse().expect("a list of cards");
    Machine::build(&cards.resolve(&catalog).expect("known models"), options)
}

/// Tests run without device nodes.
pub fn see_everything() {
    static ONCE: Once = Once::new();
    // SAFETY: the first thing that each test does before it calls the library; only the library and std read the environment.
    ONCE.call_once(|| unsafe { std::env::set_var("FAKEGPU_VISIBLE", "all") });
}

/// The library through the public binding.
pub struct Nvml {
    lib: NvmlLib,
}

impl Deref for Nvml {
    type Target = NvmlLib;

    fn deref(&self) -> &NvmlLib {
        &self.lib
    }
}

impl Nvml {
    /// The library at this place, loaded and not initialised.
    pub fn open(library: &Path) -> Self {
        // SAFETY: the library's constructors do nothing.
        let lib = unsafe { NvmlLib::new(library) }.expect("the library loads");
        Self { lib }
    }

    pub fn device(&self, index: u32) -> nvmlDevice_t {
        ask!(self, nvmlDeviceGetHandleByIndex_v2(index) -> nvmlDevice_t).expect("a GPU")
    }

    pub fn uuid(&self, device: nvmlDevice_t) -> Result<String, u32> {
        text(|out, length| call!(self, nvmlDeviceGetUUID(device, out, length)))
    }

    pub fn name(&self, device: nvmlDevice_t) -> Result<String, u32> {
        text(|out, length| call!(self, nvmlDeviceGetName(device, out, length)))
    }
}

/// What a call writes into a text buffer.
pub fn text(call: impl FnOnce(*mut c_char, u32) -> u32) -> Result<String, u32> {
    let mut buffer = [0 as c_char; 96];
    match call(buffer.as_mut_ptr(), 96) {
        // SAFETY: zeroed but for what the call wrote, so a NUL is in it.
        0 => Ok(unsafe { CStr::from_ptr(buffer.as_ptr()) }
            .to_str()
            .expect("UTF-8")
            .to_owned()),
        code => Err(code),
    }
}

/// A call that gives a return code.
macro_rules! call {
    ($nvml:expr, $function:ident($($arg:expr),* $(,)?)) => {{
        // SAFETY: the arguments have the types of the binding, and pointers among them point to live values or are NULL.
        #[allow(clippy::macro_metavars_in_unsafe, reason = "the arguments are written in the tests")]
        unsafe { $nvml.$function($($arg),*) }
    }};
}

/// A call whose last argument is the place for its answer.
macro_rules! ask {
    ($nvml:expr, $function:ident($($arg:expr),* $(,)?) -> $type:ty) => {{
        // SAFETY: a plain C struct or number, for which zeros are valid; the arguments are as in `call`.
        #[allow(clippy::macro_metavars_in_unsafe, reason = "the arguments are written in the tests")]
        unsafe {
            let mut out: $type = core::mem::zeroed();
            match $nvml.$function($($arg,)* &mut out) {
                0 => Ok(out),
                code => Err(code),
            }
        }
    }};
}

#[allow(unused_imports, reason = "each test takes what it needs")]
pub(crate) use {ask, call};

/// Set for a test process that is to be an ordinary user.
pub const STAY_ORDINARY: &str = "NVML_TEST_STAY_ORDINARY";

/// Only root may change a GPU. A test that an ordinary user runs becomes root of a user namespace of its own, as `fakegpu run` does;
/// this must happen before the test harness starts its threads.
#[used]
// SAFETY: `.init_array` holds pointers to functions that the loader calls with (argc, argv, envp), which this one leaves unread.
#[unsafe(link_section = ".init_array")]
static BECOME_ROOT: extern "C" fn() = become_root;

extern "C" fn become_root() {
    // SAFETY: numbers only, and the process has one thread.
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    if std::env::var_os(STAY_ORDINARY).is_some() {
        // Root becomes nobody. Where no such user is (in a namespace with root alone), it becomes a user that is not mapped.
        // SAFETY: numbers only, and the process has one thread.
        if unsafe { libc::setuid(65_534) } != 0 {
            // SAFETY: as above.
            unsafe { libc::unshare(libc::CLONE_NEWUSER) };
        }
        return;
    }
    // SAFETY: a number, and the process has one thread.
    if uid == 0 || unsafe { libc::unshare(libc::CLONE_NEWUSER) } != 0 {
        return;
    }
    // Should any of these fail, the tests that need root say so by failing.
    let _ = std::fs::write("/proc/self/setgroups", "deny");
    let _ = std::fs::write("/proc/self/uid_map", format!("0 {uid} 1"));
    let _ = std::fs::write("/proc/self/gid_map", format!("0 {gid} 1"));
}
