//! What a hub tells at once: that something has changed.

use std::time::Duration;

use crate::{SyncError, TeamHub};

/// The longest line of a stream.
const LONGEST_LINE: usize = 4096;

/// What has changed at a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HubEvent {
    /// The stream is open: from here on, no event is lost.
    Open,
    /// There is a new release or root.
    Release,
    /// What is proposed, reviewed or withdrawn.
    Proposals,
    /// What waits for a member's decision.
    Approvals,
    /// Something else.
    Other,
}

/// Where a client is in the events of a hub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventPosition {
    /// The number of the last event that was seen.
    pub(crate) seen: Option<String>,
}

/// Takes the lines of a stream, and returns the events that are whole.
#[derive(Debug, Default)]
pub(crate) struct EventLines {
    rest: Vec<u8>,
    event: Option<HubEvent>,
    id: Option<String>,
}

impl EventLines {
    /// Takes some bytes. Returns nothing if they are no events.
    pub(crate) fn take(&mut self, bytes: &[u8], position: &mut EventPosition) -> Option<Vec<HubEvent>> {
        let mut events = Vec::new();
        self.rest.extend_from_slice(bytes);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line[..end]).into_owned();
            match line.trim_end_matches('\r').split_once(':') {
                Some(("event", name)) => {
                    self.event = Some(match name.trim() {
                        "hello" => HubEvent::Open,
                        "release" => HubEvent::Release,
                        "proposals" => HubEvent::Proposals,
                        "approvals" => HubEvent::Approvals,
                        _ => HubEvent::Other,
                    });
                }
                Some(("id", id)) if id.trim().bytes().all(|byte| byte.is_ascii_digit()) => {
                    self.id = Some(id.trim().to_owned());
                }
                Some(_) => {}
                None => {
                    if let Some(event) = self.event.take() {
                        events.push(event);
                        position.seen = self.id.take().or_else(|| position.seen.take());
                    }
                }
            }
        }
        (self.rest.len() <= LONGEST_LINE).then_some(events)
    }
}

impl TeamHub {
    /// Waits until something else waits for the member's decision, again and again, as [`TeamHub::follow`] does for releases. A hub of
    /// an earlier version sends only other events.
    ///
    /// # Errors
    /// When the hub can't be reached, or refuses.
    pub fn follow_approvals(&self, longest: Duration, on: &mut dyn FnMut(HubEvent) -> bool) -> Result<(), SyncError> {
        let (mut lines, mut position) = (EventLines::default(), EventPosition::default());
        let mut on_bytes = |bytes: &[u8]| match lines.take(bytes, &mut position) {
            Some(events) => Ok(events.into_iter().all(&mut *on)),
            None => Err("the hub sends something else than events"),
        };
        let header = Some(("cycod-follows", "approvals"));
        self.web().follow("events", header, longest, &mut on_bytes).map_err(|error| self.away(&error))
    }

    /// Waits for events of the hub, each of which `on` gets, until that returns false, the stream ends, or `longest` is over.
    /// The next call continues at the position, so that no event is lost in between. At the beginning, a client that has another
    /// release than the one with the tag `has` gets [`HubEvent::Release`].
    ///
    /// # Errors
    /// When the hub can't be reached, or refuses.
    pub fn follow(
        &self,
        has: Option<&str>,
        position: &mut EventPosition,
        longest: Duration,
        on: &mut dyn FnMut(HubEvent) -> bool,
    ) -> Result<(), SyncError> {
        let mut lines = EventLines::default();
        let seen = position.seen.clone();
        let mut on_bytes = |bytes: &[u8]| match lines.take(bytes, position) {
            Some(events) => Ok(events.into_iter().all(&mut *on)),
            None => Err("the hub sends something else than events"),
        };
        let header = match &seen {
            Some(seen) => Some(("last-event-id", seen.as_str())),
            None => has.map(|tag| ("if-none-match", tag)),
        };
        self.web().follow("events", header, longest, &mut on_bytes).map_err(|error| self.away(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_whole_however_they_arrive() {
        let text = b"event: hello\nid: 7\ndata: {}\n\n:\n\nevent: proposals\ndata: {}\n\nid: 9\r\nevent: release\r\n\r\nid: x\nevent: new\n\nevent: re";
        let all = [HubEvent::Open, HubEvent::Proposals, HubEvent::Release, HubEvent::Other];
        for size in 1..text.len() {
            let (mut lines, mut position) = (EventLines::default(), EventPosition::default());
            let mut events = Vec::new();
            for chunk in text.chunks(size) {
                events.extend(lines.take(chunk, &mut position).expect("events"));
            }
            assert_eq!((events.as_slice(), position.seen.as_deref()), (&all[..], Some("9")), "{size}");
        }
        assert_eq!(EventLines::default().take(&[b'x'; LONGEST_LINE + 1], &mut EventPosition::default()), None);
    }
}
