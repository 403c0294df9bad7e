//! A lock that survives fork.
//! Not a general mutex: it spins, because what it guards is short and seldom contended (init, a new view, a write, event sets).
//! `std::sync::Mutex` cannot be taken in one atfork handler and released in another; this one can, so a child never inherits a
//! lock that a thread held which does not exist in it.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicBool, Ordering};

pub(crate) struct ForkLock<T> {
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through `Guard`, of which `held` admits one at a time.
unsafe impl<T: Send> Sync for ForkLock<T> {}

impl<T> ForkLock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self {
            held: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    pub(crate) fn lock(&self) -> Guard<'_, T> {
        self.acquire();
        Guard(self)
    }

    fn acquire(&self) {
        let mut turns = 0u32;
        while self.held.swap(true, Ordering::Acquire) {
            turns += 1;
            match turns {
                ..64 => core::hint::spin_loop(),
                64..256 => std::thread::yield_now(),
                _ => std::thread::sleep(core::time::Duration::from_micros(50)),
            }
        }
    }

    fn release(&self) {
        self.held.store(false, Ordering::Release);
    }
}

/// Access to the value while the lock is held.
pub(crate) struct Guard<'a, T>(&'a ForkLock<T>);

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard is the only one of its lock.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard is the only one of its lock, and it is borrowed exclusively.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// What the atfork handlers need of each lock.
pub(crate) trait AcrossFork: Sync {
    fn take(&self);
    fn give(&self);
}

impl<T: Send> AcrossFork for ForkLock<T> {
    fn take(&self) {
        self.acquire();
    }

    fn give(&self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time() {
        static LOCK: ForkLock<u64> = ForkLock::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        *LOCK.lock() += 1;
                    }
                });
            }
        });
        assert_eq!(*LOCK.lock(), 40_000);
    }
}
