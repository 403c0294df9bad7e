//! Gives the library the name, the binding and the few needs that clients of NVML count on.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // nvidia-ctk derives its links from the soname.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libnvidia-ml.so.1");
    // Clients dlclose the library while other threads of theirs still hold per-thread data of ours, and some load it anew
    // around every single operation. Kept mapped, the second load is free and nothing can dangle.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // A name that cannot be resolved must stop our build, not a client's process.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,defs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,now");
    // One table of hashes: `gpu-host` cuts names out of it for drivers that did not have them yet.
    println!("cargo:rustc-cdylib-link-arg=-Wl,--hash-style=gnu");
    println!("cargo:rerun-if-changed=src/order.ld");
    let order = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/order.ld");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-T,{}", order.display());
    unwind_from_within();
}

/// The standard library asks for libgcc_s, which small container images do not have; NVIDIA's library does not ask for it either.
/// A linker script under its name puts the same code, from the compiler's static libgcc_eh, into the library itself.
fn unwind_from_within() {
    println!("cargo:rerun-if-env-changed=CC");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let found = Command::new(&compiler)
        .arg("-print-file-name=libgcc_eh.a")
        .output();
    let found = found.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    // A compiler that does not know the file gives back the bare name.
    let Some(archive) = found
        .ok()
        .filter(|path| Path::new(path).is_absolute() && Path::new(path).exists())
    else {
        println!(
            "cargo:warning={compiler:?} has no libgcc_eh.a: libnvidia-ml.so.1 will need libgcc_s.so.1 where it is loaded"
        );
        return;
    };
    let folder = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    std::fs::write(
        Path::new(&folder).join("libgcc_s.so"),
        format!("INPUT({archive})\n"),
    )
    .expect("OUT_DIR can be written");
    println!("cargo:rustc-link-search=native={folder}");
}
