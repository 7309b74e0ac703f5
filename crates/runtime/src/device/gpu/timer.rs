//! Times of commands, by events recorded in the stream before and after each.

use super::api::{Api, Event};

/// The events of commands whose times were not collected yet.
pub struct Timer {
    /// Recorded before a command that is not known to have been issued.
    open: Option<Event>,
    pairs: Vec<(Event, Event)>,
    free: Vec<Event>,
}

impl Timer {
    pub const fn new() -> Self {
        Self { open: None, pairs: Vec::new(), free: Vec::new() }
    }

    /// Records the event before a command.
    pub fn start(&mut self, api: &Api) -> Result<(), String> {
        let event = match self.open.take() {
            Some(event) => event,
            None => self.event(api)?,
        };
        self.open = Some(event);
        record(event, api)
    }

    /// Records the event after the command has been issued.
    pub fn stop(&mut self, api: &Api) -> Result<(), String> {
        let Some(start) = self.open.take() else {
            return Ok(());
        };
        let end = self.event(api)?;
        self.pairs.push((start, end));
        record(end, api)
    }

    fn event(&mut self, api: &Api) -> Result<Event, String> {
        if let Some(event) = self.free.pop() {
            return Ok(event);
        }
        let mut event = std::ptr::null_mut();
        // SAFETY: the pointer is to an event.
        let status = unsafe { (api.create_event)(&raw mut event, 0) };
        api.checked("cannot create an event", status)?;
        Ok(event)
    }

    /// The time in nanoseconds of each command; all must be complete.
    pub fn times(&mut self, api: &Api) -> Result<Vec<u64>, String> {
        let mut times = Vec::with_capacity(self.pairs.len());
        let mut outcome = Ok(());
        for (start, end) in self.pairs.drain(..) {
            let mut millis = 0f32;
            // SAFETY: events that have completed; the pointer is to a number.
            let status = unsafe { (api.elapsed)(&raw mut millis, start, end) };
            if let Err(why) = api.checked("cannot query the time of a command", status) {
                outcome = Err(why);
            }
            times.push((f64::from(millis) * 1e6).round() as u64);
            self.free.extend([start, end]);
        }
        outcome.map(|()| times)
    }

    /// Destroys all events.
    pub fn clear(&mut self, api: &Api) {
        let pairs = self.pairs.drain(..).flat_map(|(start, end)| [start, end]);
        for event in pairs.chain(self.open.take()).chain(self.free.drain(..)) {
            // SAFETY: it was created by this value, and is no longer used.
            unsafe { (api.destroy_event)(event) };
        }
    }
}

fn record(event: Event, api: &Api) -> Result<(), String> {
    // SAFETY: an event of this library; the stream is the default one.
    let status = unsafe { (api.record)(event, std::ptr::null_mut()) };
    api.checked("cannot record an event", status)
}
