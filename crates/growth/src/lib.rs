//! Finds work that grows faster than its input, for tests.
//!
//! An input is doubled again and again in one dimension: its lines, its names, how deep it is nested. Where time or memory triples
//! when the input doubles, and triples again when it doubles once more, something looks at every pair.
//!
//! Time and memory are those of the whole process, so that work counts on whichever thread it is done. These tests therefore
//! need a test program of their own.
//!
//! `GROWTH_ONLY=NAME` tries one dimension, with each measurement on standard error; an empty name means all.

use std::{
    fmt::Write,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// An input that has this many of something.
pub type Grown = fn(usize) -> String;

/// The largest inputs that are usually tried, in bytes.
const LARGEST: usize = 64 << 10;

/// Work that takes less than this is not compared: that would measure the machine.
const FLOOR: Duration = Duration::from_millis(40);

/// Work that needs less memory than this is not compared, in bytes.
const SMALL: usize = 1 << 20;

/// An input is not doubled again when the work took this long.
const LONG: Duration = Duration::from_millis(300);

/// What some work took.
#[derive(Clone, Copy)]
struct Cost {
    /// Of the processor, by all threads of this process.
    time: Duration,
    /// At most at one time, in bytes.
    memory: usize,
}

/// Does some work for inputs that grow in one dimension each.
///
/// # Panics
/// When time or memory triples twice in a row where an input doubles.
pub fn check(dimensions: &[(&str, Grown)], work: impl Fn(&str)) {
    check_up_to(LARGEST, dimensions, work);
}

/// Does the same with larger inputs, for work that takes little for each part of its input, or whose input others send.
///
/// # Panics
/// When time or memory triples twice in a row where an input doubles.
pub fn check_up_to(largest: usize, dimensions: &[(&str, Grown)], work: impl Fn(&str)) {
    // Time and memory are counted for the whole process.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    #[expect(clippy::disallowed_methods, reason = "the variable is for who runs one dimension by hand")]
    let only = std::env::var("GROWTH_ONLY").ok();
    let mut wrong = String::new();
    for (name, grown) in
        dimensions.iter().filter(|(name, _)| only.as_deref().is_none_or(|only| only.is_empty() || only == *name))
    {
        let (mut size, mut before, mut is_suspect) = (100, None, false);
        loop {
            let input = grown(size);
            let mut cost = cost(&input, &work);
            if let Some(half) = before
                && has_tripled(half, cost)
            {
                // Again, so that what another process did meanwhile is not held against the work.
                before = Some(best_of_three(&grown(size / 2), &work).or(half));
                cost = best_of_three(&input, &work).or(cost);
            }
            let report = format!("{:?} and {} bytes for {size}, {} bytes", cost.time, cost.memory, input.len());
            if only.is_some() {
                #[expect(clippy::disallowed_methods, reason = "for who runs one dimension by hand")]
                std::io::Write::write_all(&mut std::io::stderr(), format!("{name}: {report}\n").as_bytes())
                    .unwrap_or_default();
            }
            // Once may be a step, such as a table that no longer fits a cache. What grows does so again.
            let has_tripled = before.is_some_and(|before| has_tripled(before, cost));
            if has_tripled && (is_suspect || cost.time > LONG * 10) {
                let half = before.map(|before| format!("{:?} and {} bytes", before.time, before.memory));
                _ = writeln!(wrong, "{name}: {report}; {} for half of it", half.unwrap_or_default());
                break;
            }
            is_suspect = has_tripled;
            let is_long = cost.time > LONG && before.is_some();
            if !is_suspect && (input.len() * 2 > largest || size > largest || is_long) {
                break;
            }
            before = Some(cost);
            size *= 2;
        }
    }
    assert!(wrong.is_empty(), "these grow faster than their input:\n{wrong}");
}

impl Cost {
    /// The smaller of each.
    fn or(self, other: Self) -> Self {
        Self { time: self.time.min(other.time), memory: self.memory.min(other.memory) }
    }
}

fn has_tripled(before: Cost, after: Cost) -> bool {
    after.time > FLOOR && after.time > before.time.max(FLOOR / 4) * 3
        || after.memory > SMALL && after.memory > before.memory.max(SMALL / 4) * 3
}

/// Other processes only make work slower.
fn best_of_three(input: &str, work: impl Fn(&str)) -> Cost {
    (0..2).fold(cost(input, &work), |best, _| best.or(cost(input, &work)))
}

fn cost(input: &str, work: impl Fn(&str)) -> Cost {
    ALLOCATOR.reset_peak_usage();
    let held = ALLOCATOR.current_usage();
    let begin = clock::now();
    work(input);
    let time = clock::since(begin);
    let memory = ALLOCATOR.peak_usage().saturating_sub(held);
    Cost { time, memory }
}

#[cfg(unix)]
mod clock {
    use std::time::Duration;

    use rustix::time::{ClockId, Timespec, clock_gettime};

    pub(super) fn now() -> Timespec {
        clock_gettime(ClockId::ProcessCPUTime)
    }

    pub(super) fn since(begin: Timespec) -> Duration {
        Duration::try_from(now() - begin).unwrap_or_default()
    }
}

/// Elsewhere the time of the wall, in which other processes count, too.
#[cfg(not(unix))]
mod clock {
    use std::time::{Duration, Instant};

    pub(super) fn now() -> Instant {
        Instant::now()
    }

    pub(super) fn since(begin: Instant) -> Duration {
        begin.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::{Grown, check};

    const LETTERS: &[(&str, Grown)] = &[("letters", |n| "a".repeat(n))];

    fn compare(text: &str, with: usize) -> usize {
        text.bytes().map(|byte| text.bytes().take(with).filter(|other| *other == byte).count()).sum()
    }

    #[test]
    fn what_grows_as_its_input_passes() {
        check(LETTERS, |text| assert_eq!(compare(text, 100), text.len() * 100));
    }

    #[test]
    #[should_panic(expected = "letters: ")]
    fn time_for_all_pairs_is_found() {
        check(LETTERS, |text| assert_eq!(compare(text, text.len()), text.len() * text.len()));
    }

    #[test]
    #[should_panic(expected = "letters: ")]
    fn memory_for_all_pairs_is_found() {
        check(LETTERS, |text| assert!(!vec![0_u8; text.len() * text.len() / 10].is_empty()));
    }
}
