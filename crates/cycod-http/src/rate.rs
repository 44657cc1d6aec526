use std::time::{Duration, Instant};

/// So many at once, and one more in each interval.
#[derive(Debug)]
pub struct Rate {
    most: f64,
    interval: Duration,
    left: f64,
    asked: Instant,
}

impl Rate {
    /// Lets `most` through at once, and one more after each interval.
    pub fn new(most: u32, interval: Duration) -> Self {
        Self { most: most.into(), interval, left: most.into(), asked: Instant::now() }
    }

    /// Takes one, if one is left.
    pub fn take(&mut self) -> bool {
        let now = Instant::now();
        let fresh = (now - self.asked).as_secs_f64() / self.interval.as_secs_f64();
        self.asked = now;
        self.left = (self.left + fresh).min(self.most);
        let may = self.left >= 1.0;
        if may {
            self.left -= 1.0;
        }
        may
    }
}
