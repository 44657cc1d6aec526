//! Answers of reads that count for a while, so that the same question is not asked again.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use cycod_run::ToolOutcome;
use cycod_store::{Digest, digest};
use rmcp::model::JsonObject;
use serde_json::json;

/// The most answers that are kept of one server.
const MOST: usize = 256;

/// The most bytes of all answers that are kept of one server.
const MOST_BYTES: usize = 16 << 20;

/// The answers of one server.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    kept: HashMap<Digest, Kept>,
    bytes: usize,
    /// How often all were dropped. An answer to a question from before counts no more.
    pub(crate) generation: u64,
}

#[derive(Debug)]
struct Kept {
    at: Instant,
    until: Instant,
    bytes: usize,
    outcome: ToolOutcome,
}

/// What an answer is kept under: the tool, its arguments, and the version that the server announced.
pub(crate) fn key(tool: &str, arguments: &JsonObject, version: Option<&str>) -> Digest {
    digest(&json!([tool, arguments, version]))
}

impl Answers {
    /// An answer that still counts, and its age.
    pub(crate) fn get(&self, key: &Digest, now: Instant) -> Option<(ToolOutcome, Duration)> {
        let kept = self.kept.get(key).filter(|kept| now < kept.until)?;
        Some((kept.outcome.clone(), now.saturating_duration_since(kept.at)))
    }

    /// Keeps an answer to a question of `generation`. One that takes all the room is not kept.
    pub(crate) fn keep(&mut self, key: Digest, outcome: &ToolOutcome, time: Duration, now: Instant, generation: u64) {
        let bytes = size(outcome);
        let Some(until) = now.checked_add(time) else { return };
        if generation != self.generation || bytes > MOST_BYTES / 4 {
            return;
        }
        self.take(&key);
        if self.kept.len() >= MOST || self.bytes + bytes > MOST_BYTES {
            self.make_room(bytes, now);
        }
        self.bytes += bytes;
        self.kept.insert(key, Kept { at: now, until, bytes, outcome: outcome.clone() });
    }

    /// Drops all: the server may answer differently now.
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
        self.bytes = 0;
        self.generation += 1;
    }

    /// Drops what no longer counts, then the oldest half if that was not enough.
    fn make_room(&mut self, bytes: usize, now: Instant) {
        self.kept.retain(|_, kept| now < kept.until);
        if self.kept.len() >= MOST || self.kept.values().map(|kept| kept.bytes).sum::<usize>() + bytes > MOST_BYTES {
            let mut ages: Vec<_> = self.kept.iter().map(|(key, kept)| (kept.at, *key)).collect();
            ages.sort_unstable();
            let mut room = self.kept.values().map(|kept| kept.bytes).sum::<usize>();
            for (at, (_, key)) in ages.iter().enumerate() {
                if at >= ages.len().div_ceil(2) && room + bytes <= MOST_BYTES {
                    break;
                }
                room -= self.kept.remove(key).map_or(0, |kept| kept.bytes);
            }
        }
        self.bytes = self.kept.values().map(|kept| kept.bytes).sum();
    }

    fn take(&mut self, key: &Digest) {
        if let Some(kept) = self.kept.remove(key) {
            self.bytes -= kept.bytes;
        }
    }
}

/// About how much memory an answer takes.
fn size(outcome: &ToolOutcome) -> usize {
    let json = |json: &Option<serde_json::Value>| json.as_ref().map_or(0, |json| json.to_string().len());
    outcome.output.len() + outcome.error.len() + json(&outcome.blocks) + json(&outcome.structured) + 256
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(bytes: usize) -> ToolOutcome {
        ToolOutcome { output: vec![b'x'; bytes], ..ToolOutcome::default() }
    }

    fn numbered(number: usize) -> Digest {
        key("t", &JsonObject::from_iter([("n".to_owned(), json!(number))]), Some("1"))
    }

    #[test]
    fn an_answer_counts_for_its_time_and_its_version() {
        let (mut answers, now, time) = (Answers::default(), Instant::now(), Duration::from_secs(1));
        answers.keep(numbered(1), &answer(3), time, now, 0);
        let (outcome, age) = answers.get(&numbered(1), now + time / 2).expect("it still counts");
        assert_eq!((outcome.output, age), (b"xxx".to_vec(), time / 2));
        assert!(answers.get(&numbered(1), now + time).is_none());
        let arguments = JsonObject::from_iter([("n".to_owned(), json!(1))]);
        assert!(answers.get(&key("t", &arguments, Some("2")), now).is_none());
        answers.clear();
        assert!(answers.get(&numbered(1), now).is_none());
        // What was asked before counts no more.
        answers.keep(numbered(1), &answer(3), time, now, 0);
        assert!(answers.get(&numbered(1), now).is_none());
    }

    #[test]
    fn the_room_is_bounded() {
        let (mut answers, now, time) = (Answers::default(), Instant::now(), Duration::from_secs(60));
        for number in 0..3_000 {
            answers.keep(numbered(number), &answer(number * 100), time, now + Duration::from_millis(number as u64), 0);
            assert!(answers.kept.len() <= MOST && answers.bytes <= MOST_BYTES, "{number}: {}", answers.bytes);
        }
        assert!(answers.get(&numbered(2_999), now).is_some());
        answers.keep(numbered(9_999), &answer(MOST_BYTES), time, now, 0);
        assert!(answers.get(&numbered(9_999), now).is_none());
    }
}
