//! How GPUs are joined: to each other, to processors, to memory nodes.
//! Not the fabric that a GPU registers with (`details`).
//! Values are those of nvml.h's topology and NVLink calls.

use std::ffi::{c_uint, c_ulong};
use std::mem;

use nvml_wrapper_sys::bindings as sys;

use crate::error::Result;
use crate::gpu::Device;
use crate::library::{call, chars};
use crate::types::{LinkCapability, LinkEnd};

/// Links that nvml.h knows of on any GPU.
pub const LINKS: u32 = 18;

impl Device<'_> {
    /// The link is up.
    ///
    /// # Errors
    /// What the library answers: NOT_SUPPORTED without NVLink, INVALID_ARGUMENT behind the last link.
    pub fn link_active(&self, link: u32) -> Result<bool> {
        let mut active = 0;
        // SAFETY: the handle came from this library; the out pointer is a live integer.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetNvLinkState(self.raw, link, &mut active)
            )
        }?;
        Ok(active == 1)
    }

    /// The link can do this.
    ///
    /// # Errors
    /// What the library answers.
    pub fn link_can(&self, link: u32, capability: LinkCapability) -> Result<bool> {
        let mut can = 0;
        // SAFETY: the handle came from this library; the enumerator is one of nvml.h; the out pointer is a live integer.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetNvLinkCapability(self.raw, link, capability as c_uint, &mut can)
            )
        }?;
        Ok(can == 1)
    }

    /// What is at the other end of a link.
    ///
    /// # Errors
    /// What the library answers.
    pub fn link_end(&self, link: u32) -> Result<LinkEnd> {
        let mut kind = 0;
        // SAFETY: the handle came from this library; the out pointer is a live integer.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetNvLinkRemoteDeviceType(self.raw, link, &mut kind)
            )
        }?;
        // SAFETY: plain integers and arrays, for which all zeroes is a value.
        let mut info: sys::nvmlPciInfo_t = unsafe { mem::zeroed() };
        // SAFETY: the handle came from this library; the out pointer is a live struct of the layout that `_v2` writes.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetNvLinkRemotePciInfo_v2(self.raw, link, &mut info)
            )
        }?;
        const SWITCH: c_uint = 2;
        Ok(LinkEnd {
            bus_id: chars(&info.busId),
            switch: kind == SWITCH,
        })
    }

    /// What a path to another GPU has to cross: 0 one board, 10 one bridge, 20 several, 30 a host bridge, 40 a node, 50 the system.
    ///
    /// # Errors
    /// What the library answers.
    pub fn common_ancestor(&self, other: &Device<'_>) -> Result<u32> {
        let mut level = 0;
        // SAFETY: both handles came from this library; the out pointer is a live integer.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetTopologyCommonAncestor(self.raw, other.raw, &mut level)
            )
        }?;
        Ok(level)
    }

    /// The processors next to it, a bit each.
    ///
    /// # Errors
    /// What the library answers.
    pub fn cpu_affinity(&self) -> Result<Vec<u64>> {
        let mut words: [c_ulong; 64] = [0; 64];
        // SAFETY: the handle came from this library; the buffer has as many words as the call is told.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetCpuAffinity(self.raw, 64, words.as_mut_ptr())
            )
        }?;
        Ok(words.to_vec())
    }

    /// The memory nodes next to it, a bit each.
    ///
    /// # Errors
    /// What the library answers.
    pub fn memory_affinity(&self) -> Result<Vec<u64>> {
        const NODE: c_uint = 0;
        let mut words: [c_ulong; 16] = [0; 16];
        // SAFETY: the handle came from this library; the buffer has as many words as the call is told.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetMemoryAffinity(self.raw, 16, words.as_mut_ptr(), NODE)
            )
        }?;
        Ok(words.to_vec())
    }
}
