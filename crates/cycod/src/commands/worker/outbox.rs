//! The events of a run that the hub doesn't have yet.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

use cycod_engine::{Event, Sink, event_json};
use serde_json::Value as Json;

/// How many events may wait while the hub answers; then the run waits, as for a slow reader.
const EVENTS: usize = 64;

/// How many bytes may wait while it doesn't answer; then the run waits.
const BYTES: usize = 32 << 20;

/// What an event takes besides the bytes in it, about.
const OVERHEAD: usize = 200;

/// Takes events from the run, and gives them in order to the thread that reports them.
#[derive(Default)]
pub(super) struct Outbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    events: VecDeque<Json>,
    bytes: usize,
    is_hub_away: bool,
    has_ended: bool,
}

/// What comes next out of an outbox.
pub(super) enum Next {
    Event(Json),
    Nothing,
    /// There are no more events.
    End,
}

impl Outbox {
    /// The next event, for which this waits as long as it is told.
    pub(super) fn next(&self, longest: Duration) -> Next {
        let is_idle = |state: &mut State| state.events.is_empty() && !state.has_ended;
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(state, longest, is_idle);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let Some(event) = state.events.pop_front() else {
            return if state.has_ended { Next::End } else { Next::Nothing };
        };
        state.bytes -= size(&event);
        drop(state);
        self.changed.notify_all();
        Next::Event(event)
    }

    /// Waits for more events, at most so long, and not when there are no more or the run waits for room.
    pub(super) fn settle(&self, longest: Duration) {
        let may_grow = |state: &mut State| !state.has_ended && state.events.len() < EVENTS;
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_timeout_while(state, longest, may_grow));
    }

    /// Notes whether the hub takes events. While it doesn't, the run needn't wait for it: what waits here is all that the hub
    /// hasn't heard.
    pub(super) fn note_hub(&self, is_away: bool) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_hub_away = is_away;
        self.changed.notify_all();
    }

    fn put(&self, event: Json) {
        let is_full =
            |state: &mut State| if state.is_hub_away { state.bytes >= BYTES } else { state.events.len() >= EVENTS };
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.changed.wait_while(state, is_full).unwrap_or_else(PoisonError::into_inner);
        state.bytes += size(&event);
        state.events.push_back(event);
        drop(state);
        self.changed.notify_all();
    }
}

/// How many bytes of output an event has.
pub(super) fn size_of_output(event: &Json) -> usize {
    event["bytes"].as_str().map_or(0, str::len)
}

fn size(event: &Json) -> usize {
    size_of_output(event) + OVERHEAD
}

/// Puts the events of a run into an outbox, and says when there are no more.
pub(super) struct Sending<'o>(pub(super) &'o Outbox);

impl Sink for Sending<'_> {
    fn event(&mut self, event: &Event<'_>) {
        event_json(event).into_iter().for_each(|event| self.0.put(event));
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).has_ended = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc::channel, thread};

    use serde_json::json;

    use super::*;

    const SOON: Duration = Duration::from_millis(300);

    fn event(number: usize, bytes: usize) -> Json {
        json!({"e": "out", "n": number, "bytes": "x".repeat(bytes)})
    }

    /// Puts events until one has to wait; returns how many were put.
    fn put_until_full(outbox: &Outbox, bytes: usize) -> usize {
        thread::scope(|scope| {
            let (told, hears) = channel();
            scope.spawn(move || {
                let mut number = 0;
                loop {
                    outbox.put(event(number, bytes));
                    number += 1;
                    if told.send(number).is_err() {
                        return;
                    }
                }
            });
            let mut count = 0;
            while let Ok(number) = hears.recv_timeout(SOON) {
                count = number;
            }
            drop(hears);
            // What waits may go on, and then ends.
            let Next::Event(first) = outbox.next(SOON) else { panic!("an event") };
            assert_eq!(first["n"], 0);
            count
        })
    }

    #[test]
    fn a_run_waits_for_a_hub_that_answers_and_not_for_one_that_is_away() {
        let outbox = Outbox::default();
        assert_eq!(put_until_full(&outbox, 10), EVENTS);
        let outbox = Outbox::default();
        outbox.note_hub(true);
        let most = BYTES.div_ceil((1 << 20) + OVERHEAD);
        assert_eq!(put_until_full(&outbox, 1 << 20), most);
        // The hub is back: nothing more comes in until most of it is gone, and all comes out in order.
        outbox.note_hub(false);
        thread::scope(|scope| {
            scope.spawn(|| Sending(&outbox).0.put(event(most + 1, 0)));
            let mut last = 0;
            while let Next::Event(event) = outbox.next(SOON) {
                assert_eq!(event["n"], last + 1);
                last += 1;
            }
            assert_eq!(last, most + 1);
            assert!(matches!(outbox.next(SOON), Next::End));
        });
        assert_eq!(outbox.state.into_inner().expect("no panic").bytes, 0);
    }
}
