//! Gives the library the name and the binding that clients of NVML count on.

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
}
