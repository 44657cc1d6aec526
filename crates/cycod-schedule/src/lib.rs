//! When a tool starts by the clock: a cron expression in a time zone, and what follows when a start is missed or the last run
//! hasn't ended.
//!
//! ```text
//!  Schedule ── times ──► ScheduleTimes ── after ──► the next instant
//!  (text, signed)        (read, in a zone)
//! ```
//!
//! The time zones are in the program, so that every machine finds the same instants. Where a clock is set forward or back, a
//! schedule with one minute and one hour starts once a day: a time that doesn't exist is replaced by the first one after it, and
//! of a time that exists twice, the first one counts. A schedule with several minutes or hours, such as `*/15 * * * *`, follows
//! the clock: it leaves out what doesn't exist, and starts at both of what exists twice.
//!
//! Nothing here asks a clock: the caller gives the time.

use std::{fmt, str::FromStr};

use croner::{
    Cron,
    errors::CronError,
    parser::{CronParser, Seconds, Year},
};
use jiff::{
    SignedDuration, Timestamp, Zoned,
    civil::DateTime,
    tz::{TimeZone, TimeZoneDatabase},
};
use serde::{Deserialize, Serialize};

/// The longest cron expression.
const MOST_CRON: usize = 200;

/// What a schedule does about starts that it missed, because no hub was there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MissedRuns {
    /// Starts once, for the last of them.
    #[default]
    Last,
    /// Starts for each of them, one after the other.
    All,
    /// Starts for none of them.
    Skip,
}

/// What a schedule does at its time while the run before has not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OverlappingRuns {
    /// Leaves the start out.
    #[default]
    Skip,
    /// Starts another run.
    Allow,
}

/// A word that names no rule of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is none of {known}")]
pub struct UnknownRule {
    word: String,
    known: &'static str,
}

impl FromStr for MissedRuns {
    type Err = UnknownRule;

    fn from_str(word: &str) -> Result<Self, UnknownRule> {
        match word {
            "last" => Ok(Self::Last),
            "all" => Ok(Self::All),
            "skip" => Ok(Self::Skip),
            _ => Err(UnknownRule { word: word.to_owned(), known: "`last`, `all` and `skip`" }),
        }
    }
}

impl FromStr for OverlappingRuns {
    type Err = UnknownRule;

    fn from_str(word: &str) -> Result<Self, UnknownRule> {
        match word {
            "skip" => Ok(Self::Skip),
            "allow" => Ok(Self::Allow),
            _ => Err(UnknownRule { word: word.to_owned(), known: "`skip` and `allow`" }),
        }
    }
}

impl fmt::Display for MissedRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Last => "last",
            Self::All => "all",
            Self::Skip => "skip",
        })
    }
}

impl fmt::Display for OverlappingRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Skip => "skip",
            Self::Allow => "allow",
        })
    }
}

/// When something starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// A cron expression with five fields, or a word such as `@daily`.
    pub cron: String,
    /// The name of a time zone, as in `Europe/Berlin`.
    pub zone: String,
    /// What happens about starts that were missed.
    #[serde(default)]
    pub missed: MissedRuns,
    /// What happens while the run before has not ended.
    #[serde(default)]
    pub overlap: OverlappingRuns,
}

/// Why a schedule can't be one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// The cron expression can't be read.
    #[error("`{cron}` is no cron expression of five fields, such as `0 3 * * 1-5`: {why}")]
    Cron {
        /// The expression.
        cron: String,
        /// Why.
        why: String,
    },
    /// There is no such time zone.
    #[error("there is no time zone `{0}`: write a name such as `Europe/Berlin` or `UTC`")]
    Zone(String),
    /// No instant fits.
    #[error("`{0}` never comes")]
    Never(String),
}

/// The instants of a schedule.
#[derive(Clone, Debug)]
pub struct ScheduleTimes {
    cron: Cron,
    zone: TimeZone,
}

impl Schedule {
    /// Reads it.
    ///
    /// # Errors
    /// When the expression or the zone is wrong.
    pub fn times(&self) -> Result<ScheduleTimes, ScheduleError> {
        let wrong = |why: String| ScheduleError::Cron { cron: self.cron.clone(), why };
        if self.cron.len() > MOST_CRON {
            return Err(wrong(format!("it has more than {MOST_CRON} bytes")));
        }
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let cron = parser.parse(&self.cron).map_err(|error| wrong(why_no_cron(&error)))?;
        let zone = TimeZoneDatabase::bundled().get(&self.zone);
        let zone = zone.map_err(|_| ScheduleError::Zone(self.zone.clone()))?;
        let times = ScheduleTimes { cron, zone };
        match times.after(Timestamp::UNIX_EPOCH) {
            Some(_) => Ok(times),
            None => Err(ScheduleError::Never(self.cron.clone())),
        }
    }
}

/// What is wrong with a cron expression.
fn why_no_cron(error: &CronError) -> String {
    const RANGES: &str = "minutes are 0-59, hours 0-23, days 1-31, months 1-12 and days of the week 0-7";
    match error {
        CronError::ComponentError(message) => {
            format!("{} ({RANGES})", message.trim_end_matches('.').to_lowercase())
        }
        CronError::InvalidPattern(message) | CronError::IllegalCharacters(message) => message.clone(),
        CronError::EmptyPattern => "it is empty".to_owned(),
        error => error.to_string(),
    }
}

impl ScheduleTimes {
    /// The first instant after another; nothing if there is none.
    pub fn after(&self, instant: Timestamp) -> Option<Timestamp> {
        let from = instant.to_zoned(self.zone.clone());
        Some(self.cron.find_next_occurrence(&from, false).ok()?.timestamp())
    }

    /// Whether an instant is one of them.
    pub fn has(&self, instant: Timestamp) -> bool {
        let before = instant.checked_sub(SignedDuration::from_secs(1));
        before.is_ok_and(|before| self.after(before) == Some(instant))
    }

    /// How a clock of the zone shows an instant.
    pub fn shown(&self, instant: Timestamp) -> Zoned {
        instant.to_zoned(self.zone.clone())
    }
}

/// Whether a text can name a schedule: it is part of the names of runs.
pub fn is_schedule_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.len() <= 40 && !text.starts_with('-') && text.chars().all(is_plain)
}

/// What begins the name of each run of a schedule.
pub const SCHEDULED: &str = "sched.";

/// What the run of a schedule at an instant is called. It is the same at every hub, so that each instant has one run.
pub fn scheduled_run(name: &str, instant: Timestamp) -> String {
    format!("{SCHEDULED}{name}.{}", instant.strftime(INSTANT))
}

/// The schedule and the instant of a run; nothing for other runs.
pub fn schedule_of(run: &str) -> Option<(&str, Timestamp)> {
    let (name, instant) = run.strip_prefix(SCHEDULED)?.split_once('.')?;
    let instant = DateTime::strptime(INSTANT, instant).ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp();
    (is_schedule_name(name) && scheduled_run(name, instant) == run).then_some((name, instant))
}

/// How an instant is written in the name of a run.
const INSTANT: &str = "%Y%m%dT%H%M%SZ";
