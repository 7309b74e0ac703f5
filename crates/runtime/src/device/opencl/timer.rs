//! Times of commands, by the events of a queue with profiling enabled.

use super::api::{self, Api, Event};

/// The events of commands whose times were not collected yet.
pub struct Timer {
    events: Vec<Event>,
    /// For each command the number of events up to its end.
    ends: Vec<usize>,
}

impl Timer {
    pub const fn new() -> Self {
        Self { events: Vec::new(), ends: Vec::new() }
    }

    /// The location for the command's next event.
    pub fn next_event(&mut self) -> *mut Event {
        self.events.push(std::ptr::null_mut());
        self.events.last_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut)
    }

    /// Ends a command; if the queue did not accept it, its events are dropped.
    pub fn end(&mut self, taken: bool, api: &Api) {
        if taken {
            self.ends.push(self.events.len());
        } else {
            let end = self.ends.last().copied().unwrap_or(0);
            release(self.events.drain(end..), api);
        }
    }

    /// The time in nanoseconds of each command; all must be complete.
    pub fn times(&mut self, api: &Api) -> Result<Vec<u64>, String> {
        let mut times = Vec::with_capacity(self.ends.len());
        let mut from = 0;
        let mut outcome = Ok(());
        for &to in &self.ends {
            let mut sum = 0;
            for event in self.events.get(from..to).unwrap_or_default() {
                match nanos(*event, api) {
                    Ok(nanos) => sum += nanos,
                    Err(status) => {
                        let why = api::describe(status);
                        outcome = Err(format!("cannot query the time of a command: {why}"));
                    }
                }
            }
            times.push(sum);
            from = to;
        }
        self.clear(api);
        outcome.map(|()| times)
    }

    /// Releases all events.
    pub fn clear(&mut self, api: &Api) {
        self.ends.clear();
        release(self.events.drain(..), api);
    }
}

fn release(events: impl Iterator<Item = Event>, api: &Api) {
    for event in events.filter(|event| !event.is_null()) {
        // SAFETY: it came from the queue, and is no longer used.
        unsafe { (api.release_event)(event) };
    }
}

/// The time from a command's start on the device to its end.
fn nanos(event: Event, api: &Api) -> Result<u64, api::Status> {
    let mut ends = [0u64; 2];
    for (what, end) in [api::PROFILING_START, api::PROFILING_END].into_iter().zip(&mut ends) {
        let into = std::ptr::from_mut(end).cast();
        // SAFETY: an event of this library; the buffer holds a word.
        let status = unsafe { (api.event_time)(event, what, 8, into, std::ptr::null_mut()) };
        api::checked(status)?;
    }
    let [start, end] = ends;
    Ok(end.saturating_sub(start))
}
