//! The caller's memory: where results go and where arguments come from.
//! Not a general pointer kit: each type is one parameter form of nvml.h, and only a C caller makes one.
//! NULL is INVALID_ARGUMENT, a short buffer INSUFFICIENT_SIZE, an unknown struct version ARGUMENT_VERSION_MISMATCH; nothing is
//! written beyond the size that the caller announced.

use core::ffi::{CStr, c_char};

use gpu_model::driver::Release;

use crate::session;
use crate::status::{Result, Status};

/// Room for one `T`.
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Copy for Out<T> {}

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Copy> Out<T> {
    /// INVALID_ARGUMENT for NULL: for calls that must refuse before they change anything.
    pub(crate) fn check(&self) -> Result {
        if self.0.is_null() {
            Err(Status::InvalidArgument)
        } else {
            Ok(())
        }
    }

    /// Writes `value`.
    #[inline]
    pub(crate) fn put(&self, value: T) -> Result {
        self.check()?;
        // SAFETY: not NULL, and the caller of the C function vouches for room for a T, as nvml.h asks. Unaligned writes, since a
        // packed struct of the caller's may hold the place.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Reads what the caller put there: a count that is an input too, or the version of a struct.
    #[inline]
    pub(crate) fn get(&self) -> Result<T> {
        self.check()?;
        // SAFETY: as in `put`; parameters that are read are documented as input and output.
        Ok(unsafe { self.0.read_unaligned() })
    }
}

impl<T> Out<T> {
    /// The array that lies behind a struct, as its last member.
    pub(crate) fn behind<U>(&self) -> OutArray<U> {
        OutArray(self.0.wrapping_add(1).cast())
    }
}

/// A struct whose first field is the version that says how large the caller thinks it is.
pub trait Versioned: Copy {
    /// The number of this version in its name, `_v2` is 2.
    const NUMBER: u32;
    /// The CUDA release whose NVML has this version first; a first version is as old as the function that takes it.
    const SINCE: Release;
    /// What the caller must have put in the first field (`NVML_STRUCT_VERSION`).
    const TAG: u32 = size_of::<Self>() as u32 | Self::NUMBER << 24;

    /// The driver of the machine takes what is announced as this struct.
    fn is_announced(tag: u32) -> bool {
        tag == Self::TAG && (Self::NUMBER == 1 || Self::SINCE <= session::cuda())
    }
}

impl<T: Versioned> Out<T> {
    /// ARGUMENT_VERSION_MISMATCH unless the caller announced exactly this struct and the machine's driver knows it.
    pub(crate) fn check_version(&self) -> Result {
        if T::is_announced(self.version()?) {
            Ok(())
        } else {
            Err(Status::ArgumentVersionMismatch)
        }
    }

    fn version(&self) -> Result<u32> {
        Out(self.0.cast::<u32>()).get()
    }
}

/// A struct of which several versions exist; the first field tells which one the caller passed.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct OutAny(*mut u32);

impl OutAny {
    /// The version that the caller put in the first field.
    pub(crate) fn version(&self) -> Result<u32> {
        Out(self.0).get()
    }

    /// The struct as a `T`, if that is what the caller announced and the machine's driver knows it.
    pub(crate) fn open<T: Versioned>(&self) -> Result<Option<Out<T>>> {
        Ok(T::is_announced(self.version()?).then_some(Out(self.0.cast())))
    }
}

/// Room for many `T`; how many, another parameter says.
#[repr(transparent)]
pub struct OutArray<T>(*mut T);

impl<T> Copy for OutArray<T> {}

impl<T> Clone for OutArray<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> OutArray<T> {
    /// The array that a struct of the caller's points to.
    pub(crate) const fn of(place: *mut T) -> Self {
        Self(place)
    }
}

impl<T: Copy> OutArray<T> {
    /// True if the caller passed no array.
    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// The place of item `index`; the caller of this function has checked that the announced length covers it.
    pub(crate) fn at(&self, index: usize) -> Result<Out<T>> {
        if self.0.is_null() {
            return Err(Status::InvalidArgument);
        }
        Ok(Out(self.0.wrapping_add(index)))
    }

    /// Writes `values` from the start on, at most `room` of them.
    pub(crate) fn fill(&self, room: usize, values: impl Iterator<Item = T>) -> Result {
        for (index, value) in values.take(room).enumerate() {
            self.at(index)?.put(value)?;
        }
        Ok(())
    }
}

/// A list of the header's most common form: `count` says how many items there is room for and is told how many there are;
/// INSUFFICIENT_SIZE if they do not fit, nothing is written then.
pub(crate) fn list<T: Copy>(
    count: &Out<u32>,
    room: &OutArray<T>,
    total: u32,
    values: impl Iterator<Item = T>,
) -> Result {
    let announced = count.get()?;
    count.put(total)?;
    if total == 0 {
        return Ok(());
    }
    if announced < total {
        return Err(Status::InsufficientSize);
    }
    room.fill(total as usize, values)
}

/// One `T` to read.
#[repr(transparent)]
pub struct In<T>(*const T);

impl<T> Copy for In<T> {}

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Copy> In<T> {
    /// What the caller passed.
    pub(crate) fn get(&self) -> Result<T> {
        self.out().get()
    }

    /// The same place, for what can be asked of it (its version).
    pub(crate) fn out(&self) -> Out<T> {
        Out(self.0.cast_mut())
    }
}

/// Room for a C string of the length that another parameter gives.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct OutText(*mut c_char);

impl OutText {
    /// True if the caller passed no room.
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// What a call that succeeded wrote.
    pub(crate) fn written(self) -> String {
        // SAFETY: asked after a success only, which means that `put` wrote a text and its NUL.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_string_lossy().into_owned()
    }

    /// Writes `text` and a NUL; INSUFFICIENT_SIZE if they do not fit into `length` bytes.
    #[inline]
    pub(crate) fn put(&self, text: &str, length: u32) -> Result {
        if self.0.is_null() {
            return Err(Status::InvalidArgument);
        }
        if text.len() >= length as usize {
            return Err(Status::InsufficientSize);
        }
        // SAFETY: not NULL, the caller vouches for `length` bytes, and text and NUL fit as just checked. Source and destination
        // do not overlap: the text is ours.
        unsafe {
            self.0
                .copy_from_nonoverlapping(text.as_ptr().cast(), text.len());
            self.0.add(text.len()).write(0);
        }
        Ok(())
    }
}

impl OutText {
    /// INVALID_ARGUMENT for NULL.
    pub(crate) fn check(&self) -> Result {
        if self.0.is_null() {
            Err(Status::InvalidArgument)
        } else {
            Ok(())
        }
    }
}

/// A C string to read.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct InText(*const c_char);

impl InText {
    /// The text; INVALID_ARGUMENT if it is NULL or not UTF-8.
    pub(crate) fn get(&self) -> Result<&str> {
        if self.0.is_null() {
            return Err(Status::InvalidArgument);
        }
        // SAFETY: not NULL, and nvml.h asks for a NUL-terminated string that stays as it is during the call.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map_err(|_| Status::InvalidArgument)
    }
}

/// A C string of ours, as a function returns it.
#[repr(transparent)]
pub struct Text(*const c_char);

impl Text {
    pub(crate) const fn of(text: &'static CStr) -> Self {
        Self(text.as_ptr())
    }
}

/// `text` in a fixed field of a struct, cut where the field ends and always closed by a NUL.
pub(crate) fn field<const N: usize>(text: &str) -> [c_char; N] {
    let mut field = [0; N];
    for (to, from) in field.iter_mut().take(N - 1).zip(text.bytes()) {
        *to = from as c_char;
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_fits_or_nothing_is_written() {
        let mut room = [1 as c_char; 8];
        let out = OutText(room.as_mut_ptr());
        assert_eq!(out.put("abc", 3), Err(Status::InsufficientSize));
        assert_eq!(room, [1; 8]);
        assert_eq!(out.put("abc", 4), Ok(()));
        assert_eq!(room.map(|c| c as u8), *b"abc\0\x01\x01\x01\x01");
        assert_eq!(
            OutText(core::ptr::null_mut()).put("abc", 4),
            Err(Status::InvalidArgument)
        );
    }

    #[test]
    fn a_field_is_cut_and_closed() {
        assert_eq!(field::<4>("abcdef").map(|c| c as u8), *b"abc\0");
        assert_eq!(field::<4>("a").map(|c| c as u8), *b"a\0\0\0");
    }

    #[test]
    fn an_array_takes_no_more_than_its_room() {
        let mut room = [0u32; 4];
        let out = OutArray(room.as_mut_ptr());
        assert_eq!(out.fill(2, 1..), Ok(()));
        assert_eq!(room, [1, 2, 0, 0]);
    }
}
