//! GPU instances and compute instances: profiles, placements, life and death.
//! Not MIG devices as devices (`gpu`): those are handles like a GPU's.
//! Profiles are asked for by enumerator, instances by the ids that profiles give.

use std::ffi::c_uint;
use std::{mem, ptr};

use nvml_wrapper_sys::bindings as sys;

use crate::error::{Code, Error, Result};
use crate::gpu::Device;
use crate::library::{Nvml, call, chars, list};
use crate::types::{
    ComputeInstanceInfo, ComputeInstanceProfile, GpuInstanceInfo, GpuInstanceProfile, Placement,
};

/// Enumerators of GPU instance profiles are tried up to here; the library answers INVALID_ARGUMENT earlier.
const GPU_PROFILES: c_uint = 32;
const COMPUTE_PROFILES: c_uint = 16;

/// A handle of a GPU instance.
#[derive(Debug, Clone, Copy)]
pub struct GpuInstance<'n> {
    nvml: &'n Nvml,
    raw: sys::nvmlGpuInstance_t,
}

/// A handle of a compute instance.
#[derive(Debug, Clone, Copy)]
pub struct ComputeInstance<'n> {
    nvml: &'n Nvml,
    raw: sys::nvmlComputeInstance_t,
}

/// The profiles of these enumerators: what there is not is passed over, and where the header ends they end.
fn profiles<T>(most: c_uint, mut ask: impl FnMut(c_uint) -> Result<T>) -> Result<Vec<T>> {
    let mut found = Vec::new();
    for enumerator in 0..most {
        match ask(enumerator) {
            Ok(profile) => found.push(profile),
            Err(Error::Call { code, .. }) if code == Code::NOT_SUPPORTED => {}
            Err(Error::Call { code, .. }) if code == Code::INVALID_ARGUMENT => break,
            Err(e) => return Err(e),
        }
    }
    Ok(found)
}

/// The handles of a profile's instances, of which there are at most so many.
fn handles<T>(
    most: u32,
    fill: impl FnOnce(*mut *mut T, *mut c_uint) -> Result<()>,
) -> Result<Vec<*mut T>> {
    // nvml.h: the buffer needs `instanceCount` entries of the profile.
    let mut count: c_uint = most;
    let mut buffer = vec![ptr::null_mut(); most.max(1) as usize];
    fill(buffer.as_mut_ptr(), &mut count)?;
    buffer.truncate(count as usize);
    Ok(buffer)
}

impl<'n> Device<'n> {
    /// All profiles that this GPU offers, in the header's order.
    ///
    /// # Errors
    /// What the library answers, other than that a profile does not exist.
    pub fn gpu_instance_profiles(&self) -> Result<Vec<GpuInstanceProfile>> {
        const VERSION: c_uint =
            mem::size_of::<sys::nvmlGpuInstanceProfileInfo_v2_t>() as c_uint | 2 << 24;
        profiles(GPU_PROFILES, |enumerator| {
            // SAFETY: plain integers and arrays, for which all zeroes is a value.
            let mut info: sys::nvmlGpuInstanceProfileInfo_v2_t = unsafe { mem::zeroed() };
            info.version = VERSION;
            // SAFETY: the handle came from this library; the struct announces its own size and version.
            unsafe {
                call!(
                    self.nvml,
                    nvmlDeviceGetGpuInstanceProfileInfoV(self.raw, enumerator, &mut info)
                )
            }?;
            Ok(GpuInstanceProfile {
                enumerator,
                id: info.id,
                name: chars(&info.name),
                p2p: info.isP2pSupported != 0,
                slices: info.sliceCount,
                instances: info.instanceCount,
                multiprocessors: info.multiprocessorCount,
                copy_engines: info.copyEngineCount,
                decoders: info.decoderCount,
                encoders: info.encoderCount,
                jpeg: info.jpegCount,
                ofa: info.ofaCount,
                memory_mib: info.memorySizeMB,
            })
        })
    }

    /// Every placement of a profile, taken or not.
    ///
    /// # Errors
    /// What the library answers.
    pub fn possible_placements(&self, profile: u32) -> Result<Vec<Placement>> {
        let raw = list(0, |count, places: *mut sys::nvmlGpuInstancePlacement_t| {
            // SAFETY: the handle came from this library; `count` says how many structs the buffer has, which is none for NULL.
            unsafe {
                call!(
                    self.nvml,
                    nvmlDeviceGetGpuInstancePossiblePlacements_v2(self.raw, profile, places, count)
                )
            }
        })?;
        let place = |p: sys::nvmlGpuInstancePlacement_t| Placement {
            start: p.start,
            size: p.size,
        };
        Ok(raw.into_iter().map(place).collect())
    }

    /// How many more of a profile fit now.
    ///
    /// # Errors
    /// What the library answers.
    pub fn remaining_capacity(&self, profile: u32) -> Result<u32> {
        let mut count = 0;
        // SAFETY: the handle came from this library; the out pointer is a live integer.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetGpuInstanceRemainingCapacity(self.raw, profile, &mut count)
            )
        }?;
        Ok(count)
    }

    /// Makes a GPU instance, where asked at this placement.
    ///
    /// # Errors
    /// What the library answers.
    pub fn create_gpu_instance(
        &self,
        profile: u32,
        placement: Option<Placement>,
    ) -> Result<GpuInstance<'n>> {
        let mut raw: sys::nvmlGpuInstance_t = ptr::null_mut();
        match placement {
            // SAFETY: the handle came from this library; the out pointer is a live handle variable.
            None => unsafe {
                call!(
                    self.nvml,
                    nvmlDeviceCreateGpuInstance(self.raw, profile, &mut raw)
                )
            }?,
            Some(p) => {
                let at = sys::nvmlGpuInstancePlacement_t {
                    start: p.start,
                    size: p.size,
                };
                // SAFETY: as above; the placement outlives the call.
                unsafe {
                    call!(
                        self.nvml,
                        nvmlDeviceCreateGpuInstanceWithPlacement(self.raw, profile, &at, &mut raw)
                    )
                }?;
            }
        }
        Ok(GpuInstance {
            nvml: self.nvml,
            raw,
        })
    }

    /// The GPU instances of a profile.
    ///
    /// # Errors
    /// What the library answers.
    pub fn gpu_instances(&self, profile: &GpuInstanceProfile) -> Result<Vec<GpuInstance<'n>>> {
        let raw = handles(profile.instances, |buffer, count| {
            // SAFETY: the handle came from this library; the buffer has as many entries as the profile has instances.
            unsafe {
                call!(
                    self.nvml,
                    nvmlDeviceGetGpuInstances(self.raw, profile.id, buffer, count)
                )
            }
        })?;
        let nvml = self.nvml;
        Ok(raw
            .into_iter()
            .map(|raw| GpuInstance { nvml, raw })
            .collect())
    }

    /// The GPU instance of this id.
    ///
    /// # Errors
    /// What the library answers.
    pub fn gpu_instance(&self, id: u32) -> Result<GpuInstance<'n>> {
        let mut raw: sys::nvmlGpuInstance_t = ptr::null_mut();
        // SAFETY: the handle came from this library; the out pointer is a live handle variable.
        unsafe {
            call!(
                self.nvml,
                nvmlDeviceGetGpuInstanceById(self.raw, id, &mut raw)
            )
        }?;
        Ok(GpuInstance {
            nvml: self.nvml,
            raw,
        })
    }
}

impl<'n> GpuInstance<'n> {
    /// What it is and where it lies.
    ///
    /// # Errors
    /// What the library answers.
    pub fn info(&self) -> Result<GpuInstanceInfo> {
        // SAFETY: integers and a handle, for which all zeroes is a value.
        let mut info: sys::nvmlGpuInstanceInfo_t = unsafe { mem::zeroed() };
        // SAFETY: the handle came from this library; the out pointer is a live struct.
        unsafe { call!(self.nvml, nvmlGpuInstanceGetInfo(self.raw, &mut info)) }?;
        Ok(GpuInstanceInfo {
            id: info.id,
            profile: info.profileId,
            placement: Placement {
                start: info.placement.start,
                size: info.placement.size,
            },
        })
    }

    /// Ends it.
    ///
    /// # Errors
    /// What the library answers, as that compute instances are left.
    pub fn destroy(self) -> Result<()> {
        // SAFETY: the handle came from this library and is given up here.
        unsafe { call!(self.nvml, nvmlGpuInstanceDestroy(self.raw)) }
    }

    /// All profiles of compute instances that it offers (engines shared), in the header's order.
    ///
    /// # Errors
    /// What the library answers, other than that a profile does not exist.
    pub fn compute_instance_profiles(&self) -> Result<Vec<ComputeInstanceProfile>> {
        const VERSION: c_uint =
            mem::size_of::<sys::nvmlComputeInstanceProfileInfo_v2_t>() as c_uint | 2 << 24;
        const SHARED_ENGINES: c_uint = 0;
        profiles(COMPUTE_PROFILES, |enumerator| {
            // SAFETY: plain integers and arrays, for which all zeroes is a value.
            let mut info: sys::nvmlComputeInstanceProfileInfo_v2_t = unsafe { mem::zeroed() };
            info.version = VERSION;
            // SAFETY: the handle came from this library; the struct announces its own size and version.
            unsafe {
                call!(
                    self.nvml,
                    nvmlGpuInstanceGetComputeInstanceProfileInfoV(
                        self.raw,
                        enumerator,
                        SHARED_ENGINES,
                        &mut info
                    )
                )
            }?;
            Ok(ComputeInstanceProfile {
                enumerator,
                id: info.id,
                name: chars(&info.name),
                slices: info.sliceCount,
                instances: info.instanceCount,
                multiprocessors: info.multiprocessorCount,
                copy_engines: info.sharedCopyEngineCount,
                decoders: info.sharedDecoderCount,
                encoders: info.sharedEncoderCount,
                jpeg: info.sharedJpegCount,
                ofa: info.sharedOfaCount,
            })
        })
    }

    /// Every placement of a compute instance profile, taken or not.
    ///
    /// # Errors
    /// What the library answers.
    pub fn possible_placements(&self, profile: u32) -> Result<Vec<Placement>> {
        let raw = list(
            0,
            |count, places: *mut sys::nvmlComputeInstancePlacement_t| {
                // SAFETY: the handle came from this library; `count` says how many structs the buffer has, which is none for NULL.
                unsafe {
                    call!(
                        self.nvml,
                        nvmlGpuInstanceGetComputeInstancePossiblePlacements(
                            self.raw, profile, places, count
                        )
                    )
                }
            },
        )?;
        let place = |p: sys::nvmlComputeInstancePlacement_t| Placement {
            start: p.start,
            size: p.size,
        };
        Ok(raw.into_iter().map(place).collect())
    }

    /// How many more compute instances of a profile fit now.
    ///
    /// # Errors
    /// What the library answers.
    pub fn remaining_capacity(&self, profile: u32) -> Result<u32> {
        let mut count = 0;
        // SAFETY: the handle came from this library; the out pointer is a live integer.
        unsafe {
            call!(
                self.nvml,
                nvmlGpuInstanceGetComputeInstanceRemainingCapacity(self.raw, profile, &mut count)
            )
        }?;
        Ok(count)
    }

    /// Makes a compute instance, where asked at this placement.
    ///
    /// # Errors
    /// What the library answers.
    pub fn create_compute_instance(
        &self,
        profile: u32,
        placement: Option<Placement>,
    ) -> Result<ComputeInstance<'n>> {
        let mut raw: sys::nvmlComputeInstance_t = ptr::null_mut();
        match placement {
            // SAFETY: the handle came from this library; the out pointer is a live handle variable.
            None => unsafe {
                call!(
                    self.nvml,
                    nvmlGpuInstanceCreateComputeInstance(self.raw, profile, &mut raw)
                )
            }?,
            Some(p) => {
                let at = sys::nvmlComputeInstancePlacement_t {
                    start: p.start,
                    size: p.size,
                };
                // SAFETY: as above; the placement outlives the call.
                unsafe {
                    call!(
                        self.nvml,
                        nvmlGpuInstanceCreateComputeInstanceWithPlacement(
                            self.raw, profile, &at, &mut raw
                        )
                    )
                }?;
            }
        }
        Ok(ComputeInstance {
            nvml: self.nvml,
            raw,
        })
    }

    /// The compute instances of a profile.
    ///
    /// # Errors
    /// What the library answers.
    pub fn compute_instances(
        &self,
        profile: &ComputeInstanceProfile,
    ) -> Result<Vec<ComputeInstance<'n>>> {
        let raw = handles(profile.instances, |buffer, count| {
            // SAFETY: the handle came from this library; the buffer has as many entries as the profile has instances.
            unsafe {
                call!(
                    self.nvml,
                    nvmlGpuInstanceGetComputeInstances(self.raw, profile.id, buffer, count)
                )
            }
        })?;
        let nvml = self.nvml;
        Ok(raw
            .into_iter()
            .map(|raw| ComputeInstance { nvml, raw })
            .collect())
    }

    /// The compute instance of this id.
    ///
    /// # Errors
    /// What the library answers.
    pub fn compute_instance(&self, id: u32) -> Result<ComputeInstance<'n>> {
        let mut raw: sys::nvmlComputeInstance_t = ptr::null_mut();
        // SAFETY: the handle came from this library; the out pointer is a live handle variable.
        unsafe {
            call!(
                self.nvml,
                nvmlGpuInstanceGetComputeInstanceById(self.raw, id, &mut raw)
            )
        }?;
        Ok(ComputeInstance {
            nvml: self.nvml,
            raw,
        })
    }
}

impl ComputeInstance<'_> {
    /// What it is and where it lies.
    ///
    /// # Errors
    /// What the library answers.
    pub fn info(&self) -> Result<ComputeInstanceInfo> {
        // SAFETY: integers and handles, for which all zeroes is a value.
        let mut info: sys::nvmlComputeInstanceInfo_t = unsafe { mem::zeroed() };
        // SAFETY: the handle came from this library; the out pointer is a live struct of the `_v2` layout.
        unsafe {
            call!(
                self.nvml,
                nvmlComputeInstanceGetInfo_v2(self.raw, &mut info)
            )
        }?;
        Ok(ComputeInstanceInfo {
            id: info.id,
            profile: info.profileId,
            placement: Placement {
                start: info.placement.start,
                size: info.placement.size,
            },
        })
    }

    /// Ends it.
    ///
    /// # Errors
    /// What the library answers, as that a process uses it.
    pub fn destroy(self) -> Result<()> {
        // SAFETY: the handle came from this library and is given up here.
        unsafe { call!(self.nvml, nvmlComputeInstanceDestroy(self.raw)) }
    }
}
