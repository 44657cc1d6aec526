use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    time::{Duration, Instant},
};

use cycod_diagnostic::{Code, Refusal};

/// How long to wait after the first failure; doubled by each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The longest pause between attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The longest pause that a call waits for; it is refused while a longer one lasts.
const WORTH_WAITING: Duration = Duration::from_secs(1);

/// When a server may be tried again: rarely, if it keeps failing.
#[derive(Debug, Default)]
pub(crate) struct Health {
    failures: u32,
    until: Option<Instant>,
}

impl Health {
    /// How long to wait before the next attempt, or a refusal when nobody should wait that long.
    pub(crate) fn admit(&self, server: &str, now: Instant) -> Result<Duration, Refusal> {
        let pause = self.until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
        if pause <= WORTH_WAITING {
            return Ok(pause);
        }
        let why = format!(
            "the server `{server}` failed {} times in a row and is left alone for {} s more",
            self.failures,
            pause.as_secs().max(1)
        );
        Err(Refusal::new(Code::RemoteUnreachable, why).place(server).attempt(format!("cycod mcp test {server}")))
    }

    /// The server did not start, or ended by itself.
    pub(crate) fn failed(&mut self, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        let doubled = FIRST_PAUSE.saturating_mul(1 << (self.failures - 1).min(16)).min(LONGEST_PAUSE);
        // Several programs that lost one server must not come back to it at the same moment.
        let spread = 0.75 + 0.5 * (RandomState::new().build_hasher().finish() % 1_000) as f64 / 1_000.0;
        self.until = Some(now + doubled.mul_f64(spread));
    }

    /// The server answered.
    pub(crate) fn succeeded(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_until_calls_are_refused() {
        let (mut health, now) = (Health::default(), Instant::now());
        assert_eq!(health.admit("s", now), Ok(Duration::ZERO));
        let mut last = Duration::ZERO;
        for _ in 0..2 {
            health.failed(now);
            let pause = health.admit("s", now).unwrap();
            assert!(pause > last, "{pause:?} after {last:?}");
            last = pause;
        }
        (0..3).for_each(|_| health.failed(now));
        let refusal = health.admit("s", now).unwrap_err();
        assert!(refusal.why.contains("failed 5 times in a row"), "{refusal}");
        assert_eq!(health.admit("s", now + LONGEST_PAUSE), Ok(Duration::ZERO));
        (0..100).for_each(|_| health.failed(now));
        assert_eq!(health.admit("s", now + LONGEST_PAUSE * 2), Ok(Duration::ZERO));
        health.succeeded();
        assert_eq!(health.admit("s", now), Ok(Duration::ZERO));
    }
}
