//! Things of this process that a client holds by a handle: event sets, samples.
//! Not the handles (`handle`), nor what the things are (`event_set`, `gpm_samples`).
//! Each thing has a slot and a stamp, so that a handle of one that has ended is not taken for a later one in its place.

use crate::handle::STAMP_MASK;
use crate::status::{Result, Status};

/// Slots for things of one kind.
pub(crate) struct Slots<T> {
    slots: Vec<Option<(u32, T)>>,
    /// The stamp that was given out last.
    last: u32,
}

impl<T> Slots<T> {
    pub(crate) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            last: 0,
        }
    }

    /// Takes a thing in and gives its slot and stamp.
    pub(crate) fn put(&mut self, thing: T) -> Result<(u16, u32)> {
        let free = self.slots.iter().position(Option::is_none);
        let slot = free.unwrap_or(self.slots.len());
        let number = u16::try_from(slot).map_err(|_| Status::Memory)?;
        self.last = (self.last + 1) & STAMP_MASK;
        let thing = Some((self.last, thing));
        match self.slots.get_mut(slot) {
            Some(free) => *free = thing,
            None => self.slots.push(thing),
        }
        Ok((number, self.last))
    }

    /// The thing of a slot and a stamp; INVALID_ARGUMENT if there is none (any more).
    pub(crate) fn get(&mut self, slot: u16, stamp: u32) -> Result<&mut T> {
        match self.slots.get_mut(usize::from(slot)) {
            Some(Some((known, thing))) if *known == stamp => Ok(thing),
            _ => Err(Status::InvalidArgument),
        }
    }

    /// Ends a thing.
    pub(crate) fn free(&mut self, slot: u16, stamp: u32) -> Result {
        self.get(slot, stamp)?;
        self.slots[usize::from(slot)] = None;
        Ok(())
    }

    /// Ends all.
    pub(crate) fn clear(&mut self) {
        self.slots.clear();
    }
}

#[test]
fn a_handle_dies_with_its_thing() {
    let mut slots = Slots::new();
    let (one, other) = (slots.put('a').expect("room"), slots.put('b').expect("room"));
    assert_eq!(slots.get(one.0, one.1), Ok(&mut 'a'));
    assert_eq!(slots.free(one.0, one.1), Ok(()));
    let later = slots.put('c').expect("room");
    assert_eq!(later.0, one.0, "the free slot is taken first");
    assert_eq!(slots.get(one.0, one.1), Err(Status::InvalidArgument));
    assert_eq!(slots.free(one.0, one.1), Err(Status::InvalidArgument));
    assert_eq!(slots.get(later.0, later.1), Ok(&mut 'c'));
    assert_eq!(slots.get(7, other.1), Err(Status::InvalidArgument));
    slots.clear();
    assert_eq!(slots.get(other.0, other.1), Err(Status::InvalidArgument));
}
