//! Finds the unwind table of a piece of code, for the unwinder that is linked into this library.
//! Not an unwinder: that is the compiler's. Newer ones ask libc's `_dl_find_object` (glibc 2.35) for the table, which older systems
//! do not have; this answers in its place, from what `dl_iterate_phdr` tells, as the unwinder itself did before.
//! Used only when something of ours panics.

use core::ffi::{c_int, c_void};

/// `struct dl_find_object` of <dlfcn.h>; room for its reserved fields included.
#[repr(C)]
struct Found {
    flags: u64,
    map_start: *const c_void,
    map_end: *const c_void,
    link_map: *const c_void,
    eh_frame: *const c_void,
    reserved: [u64; 7],
}

// Hidden, so that it answers the code in this library and nobody else's.
core::arch::global_asm!(
    ".pushsection .text.fakegpu_dl_find_object, \"ax\", @progbits",
    ".globl _dl_find_object",
    ".hidden _dl_find_object",
    ".type _dl_find_object, @function",
    "_dl_find_object:",
    #[cfg(target_arch = "x86_64")]
    "jmp {find}",
    #[cfg(target_arch = "aarch64")]
    "b {find}",
    ".size _dl_find_object, . - _dl_find_object",
    ".popsection",
    find = sym find,
);

struct Search {
    code: usize,
    found: Option<Found>,
}

/// 0 and the object that holds `code`, or -1.
unsafe extern "C" fn find(code: *const c_void, out: *mut Found) -> c_int {
    let mut search = Search {
        code: code as usize,
        found: None,
    };
    // SAFETY: `look` takes the search for what it is, and runs only during the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    match search.found {
        Some(found) => {
            // SAFETY: the unwinder passes room for one object.
            unsafe { out.write(found) };
            0
        }
        None => -1,
    }
}

unsafe extern "C" fn look(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    search: *mut c_void,
) -> c_int {
    // SAFETY: the linker passes an object that stays as it is during the call, with this many headers; `find` passed the search.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
    // SAFETY: the headers belong to a loaded object; it stays mapped, since `dl_iterate_phdr` holds the linker's lock meanwhile.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let start = |header: &libc::Elf64_Phdr| info.dlpi_addr.wrapping_add(header.p_vaddr) as usize;
    let holds = |header: &&libc::Elf64_Phdr| {
        header.p_type == libc::PT_LOAD
            && search.code.wrapping_sub(start(header)) < header.p_memsz as usize
    };
    let Some(load) = headers.iter().find(holds) else {
        return 0;
    };
    let table = headers
        .iter()
        .find(|header| header.p_type == libc::PT_GNU_EH_FRAME);
    search.found = table.map(|table| Found {
        flags: 0,
        map_start: start(load) as *const c_void,
        map_end: (start(load) + load.p_memsz as usize) as *const c_void,
        link_map: core::ptr::null(),
        eh_frame: start(table) as *const c_void,
        reserved: [0; 7],
    });
    1
}
