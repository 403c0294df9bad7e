//! What a sink is.

use crate::Event;

/// Takes the events of one run, in order. A sink never decides anything and never fails the run: one that cannot
/// write says so once, when asked by [`Sink::finish`].
pub trait Sink: Send {
    /// Takes one event.
    fn on(&mut self, event: &Event);

    /// Called once after the last event.
    ///
    /// # Errors
    /// What the sink could not write.
    fn finish(&mut self) -> Result<(), crate::SinkError> {
        Ok(())
    }
}
