//! Drivers of different families: what they are called and which struct versions they take,
//! and which functions they have. One library is built; what `gpu-host` takes out of the copies that it lays is tried here, since this
//! crate's tests have the library at hand.
#![allow(unsafe_code, reason = "C functions are called")]

#[path = "../../host/src/family.rs"]
#[allow(dead_code, unreachable_pub, reason = "it is gpu-host's")]
mod family;
mod support;

use std::ffi::{CStr, c_char};

use gpu_model::Options;
use gpu_model::driver::{Driver, functions};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use nvml_wrapper_sys::bindings::{
    nvmlComputeInstanceProfileInfo_v2_t, nvmlComputeInstanceProfileInfo_v3_t, nvmlDevice_t,
    nvmlGpuInstance_t, nvmlGpuInstanceProfileInfo_v2_t, nvmlGpuInstanceProfileInfo_v3_t,
};
use object::{Object, ObjectSymbol};
use support::{Node, Nvml, ask, call};

/// Each family: a driver of it, NVML's own version, CUDA's, and whether it knows version 3 of the profile structs (CUDA 12.3).
const FAMILIES: [(&str, &str, i32, bool); 7] = [
    ("535.161.08", "12.535.161.08", 12_020, false),
    ("550.90.07", "12.550.90.07", 12_040, true),
    ("570.172.08", "12.570.172.08", 12_080, true),
    ("580.95.05", "13.580.95.05", 13_000, true),
    ("595.45.04", "13.595.45.04", 13_020, true),
    ("615.71.05", "13.615.71.05", 13_040, true),
    ("616.1", "13.616.1", 13_050, true),
];

const VERSION_MISMATCH: u32 = 25;

fn node(driver_version: &str) -> Node {
    let options = Options {
        driver_version: driver_version.to_owned(),
        mig: true,
        ..Options::default()
    };
    Node::with("1xA100-SXM4-40GB", &options)
}

fn text(call: impl FnOnce(*mut c_char, u32) -> u32) -> String {
    let mut room = [0 as c_char; 96];
    assert_eq!(call(room.as_mut_ptr(), 96), 0);
    // SAFETY: zeroed but for what the call wrote.
    let text = unsafe { CStr::from_ptr(room.as_ptr()) };
    text.to_str().expect("UTF-8").to_owned()
}

#[test]
fn versions_are_those_of_the_family() {
    for (driver, nvml_version, cuda, _) in FAMILIES {
        let nvml = node(driver).init();
        assert_eq!(
            text(|out, len| call!(nvml, nvmlSystemGetDriverVersion(out, len))),
            driver
        );
        assert_eq!(
            text(|out, len| call!(nvml, nvmlSystemGetNVMLVersion(out, len))),
            nvml_version
        );
        assert_eq!(
            ask!(nvml, nvmlSystemGetCudaDriverVersion_v2() -> i32),
            Ok(cuda),
            "{driver}"
        );
    }
}

/// What a profile query says to a struct that announces version `number`.
fn profile<T>(number: u32, query: impl FnOnce(*mut T) -> u32) -> u32 {
    // SAFETY: a plain C struct, for which zeros are valid; the first field is the version.
    unsafe {
        let mut info: T = core::mem::zeroed();
        (&raw mut info)
            .cast::<u32>()
            .write(size_of::<T>() as u32 | number << 24);
        query(&raw mut info)
    }
}

fn gpu_instance(nvml: &Nvml, device: nvmlDevice_t) -> nvmlGpuInstance_t {
    ask!(nvml, nvmlDeviceCreateGpuInstance(device, 9) -> nvmlGpuInstance_t).expect("an empty card")
}

#[test]
fn a_driver_refuses_struct_versions_that_came_later() {
    for (driver, _, _, knows) in FAMILIES {
        let nvml = node(driver).init();
        let device = nvml.device(0);
        let expected = if knows { 0 } else { VERSION_MISMATCH };
        let of_gpu = profile(2, |info: *mut nvmlGpuInstanceProfileInfo_v2_t| {
            call!(nvml, nvmlDeviceGetGpuInstanceProfileInfoV(device, 0, info))
        });
        assert_eq!(of_gpu, 0, "{driver}: version 2 is older than all");
        let of_gpu = profile(3, |info: *mut nvmlGpuInstanceProfileInfo_v3_t| {
            call!(
                nvml,
                nvmlDeviceGetGpuInstanceProfileInfoV(device, 0, info.cast())
            )
        });
        assert_eq!(of_gpu, expected, "{driver}");
        let gi = gpu_instance(&nvml, device);
        let of_gi = profile(2, |info: *mut nvmlComputeInstanceProfileInfo_v2_t| {
            call!(
                nvml,
                nvmlGpuInstanceGetComputeInstanceProfileInfoV(gi, 0, 0, info)
            )
        });
        assert_eq!(of_gi, 0, "{driver}: version 2 is older than all");
        let of_gi = profile(3, |info: *mut nvmlComputeInstanceProfileInfo_v3_t| {
            call!(
                nvml,
                nvmlGpuInstanceGetComputeInstanceProfileInfoV(gi, 0, 0, info.cast())
            )
        });
        assert_eq!(of_gi, expected, "{driver}");
    }
}

/// The names that a library of this driver exports, as `nm -D` sees them and as `dlsym` finds them.
fn exports(driver: &str) -> (Vec<String>, Vec<&'static str>) {
    let built = std::fs::read(support::library()).expect("the library");
    let cut = family::cut(&built, driver).expect("linked as it must be");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("libnvidia-ml.so.1");
    std::fs::write(&path, &cut).expect("a copy");
    let file = object::File::parse(&*cut).expect("still an ELF file");
    let defined = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition());
    let mut seen: Vec<String> = defined
        .map(|symbol| symbol.name().expect("a name").to_owned())
        .collect();
    seen.sort();
    // SAFETY: the library's constructors do nothing.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }
        .expect("it loads with all symbols bound");
    let found = functions().filter(|name| {
        // SAFETY: the symbol is not used.
        unsafe { library.get::<*const ()>(name.as_bytes()) }.is_ok()
    });
    (seen, found.collect())
}

#[test]
fn a_driver_has_the_functions_of_its_header_and_no_others() {
    // As counted in the headers of CUDA 12.2, 12.4, 12.8, 13.0, 13.2, 13.4, 13.5; 535.161 and 570.172 have two and one of later ones.
    let counts = [329, 347, 374, 398, 410, 428, 436];
    for ((driver, ..), count) in FAMILIES.into_iter().zip(counts) {
        let (seen, found) = exports(driver);
        let has: Vec<_> = functions()
            .filter(|name| Driver::of(driver).has(name))
            .collect();
        assert_eq!(found, has, "{driver}");
        assert_eq!(seen, has, "{driver}");
        assert_eq!(has.len(), count, "{driver}");
    }
}

#[test]
fn what_was_cut_still_works() {
    let node = node("535.161.08");
    let built = std::fs::read(support::library()).expect("the library");
    let cut = family::cut(&built, "535.161.08").expect("linked as it must be");
    assert_eq!(
        family::cut(&cut, "535.161.08").as_deref(),
        Ok(&*cut),
        "nothing is left to cut"
    );
    let path = node.library();
    std::fs::remove_file(&path).expect("the whole one goes");
    std::fs::write(&path, &cut).expect("the cut one comes");
    support::see_everything();
    // SAFETY: the library's constructors do nothing.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.expect("it loads");
    // SAFETY: both are `nvmlReturn_t f(void)` in nvml.h.
    unsafe {
        let call = |name: &[u8]| {
            library
                .get::<unsafe extern "C" fn() -> u32>(name)
                .expect("exported")()
        };
        assert_eq!(call(b"nvmlInit_v2"), 0);
        assert_eq!(call(b"nvmlShutdown"), 0);
    }
}
