//! Which instants a schedule has, and what happens where clocks are set forward or back.

use cycod_schedule::{
    MissedRuns, OverlappingRuns, Schedule, ScheduleError, ScheduleTimes, is_schedule_name, schedule_of, scheduled_run,
};
use jiff::Timestamp;

fn schedule(cron: &str, zone: &str) -> Schedule {
    Schedule {
        cron: cron.to_owned(),
        zone: zone.to_owned(),
        missed: MissedRuns::default(),
        overlap: OverlappingRuns::default(),
    }
}

fn times(cron: &str, zone: &str) -> ScheduleTimes {
    schedule(cron, zone).times().unwrap_or_else(|error| panic!("{cron}: {error}"))
}

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

#[track_caller]
fn are(times: &ScheduleTimes, after: &str, expected: &[&str]) {
    let mut last = at(after);
    for next in expected {
        let found = times.after(last).expect("a next one");
        assert_eq!(found, at(next), "after {last}");
        assert!(times.has(found), "{found}");
        last = found;
    }
}

#[test]
fn a_schedule_starts_at_its_local_time_in_summer_and_winter() {
    let weekdays = times("0 3 * * 1-5", "Europe/Berlin");
    // Friday, then Monday; in November, Berlin is one hour ahead, and two in July.
    are(&weekdays, "2026-11-26T12:00:00Z", &["2026-11-27T02:00:00Z", "2026-11-30T02:00:00Z"]);
    are(&weekdays, "2026-07-02T12:00:00Z", &["2026-07-03T01:00:00Z", "2026-07-06T01:00:00Z"]);
    for other in ["2026-11-27T02:00:01Z", "2026-11-27T03:00:00Z", "2026-11-28T02:00:00Z"] {
        assert!(!weekdays.has(at(other)), "{other}");
    }
    are(&times("@daily", "UTC"), "2026-11-26T12:00:00Z", &["2026-11-27T00:00:00Z"]);
}

#[test]
fn a_time_that_does_not_exist_is_the_first_one_after_it() {
    // On 29 March 2026, the clocks of Berlin go from 02:00 to 03:00, which is 01:00 UTC.
    let daily = times("30 2 * * *", "Europe/Berlin");
    are(&daily, "2026-03-27T12:00:00Z", &["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]);
    // A schedule that comes several times a day leaves out what does not exist.
    let often = times("30 */1 * * *", "Europe/Berlin");
    are(&often, "2026-03-29T00:00:00Z", &["2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"]);
}

#[test]
fn of_a_time_that_exists_twice_the_first_one_counts() {
    // On 25 October 2026, they go from 03:00 back to 02:00, which is 01:00 UTC.
    let daily = times("30 2 * * *", "Europe/Berlin");
    are(&daily, "2026-10-24T12:00:00Z", &["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]);
    assert!(!daily.has(at("2026-10-25T01:30:00Z")));
    let often = times("*/30 * * * *", "Europe/Berlin");
    let both = ["2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z"];
    are(&often, "2026-10-24T23:45:00Z", &both);
}

#[test]
fn what_is_no_schedule_is_refused_with_the_reason() {
    let refused = |cron: &str, zone: &str| schedule(cron, zone).times().expect_err(cron);
    for cron in ["", "0 3 * *", "0 0 3 * * 1", "61 3 * * *", "0 3 * * 1 2026", &"0,".repeat(200)] {
        assert!(matches!(refused(cron, "UTC"), ScheduleError::Cron { .. }), "{cron}");
    }
    assert_eq!(refused("0 3 30 2 *", "UTC"), ScheduleError::Never("0 3 30 2 *".to_owned()));
    for zone in ["", "Berlin", "Europe/Atlantis", "../etc/passwd"] {
        assert_eq!(refused("0 3 * * *", zone), ScheduleError::Zone(zone.to_owned()));
    }
}

#[test]
fn a_run_is_called_by_its_schedule_and_instant() {
    assert_eq!(scheduled_run("nightly", at("2026-11-27T02:00:00Z")), "sched.nightly.20261127T020000Z");
    assert_eq!(schedule_of("sched.nightly.20261127T020000Z"), Some(("nightly", at("2026-11-27T02:00:00Z"))));
    for other in ["nightly", "sched.nightly", "sched.Nightly.20261127T020000Z", "sched.a.20261327T020000Z", "sched.a.x"]
    {
        assert_eq!(schedule_of(other), None, "{other}");
    }
    for name in ["nightly", "a", "db-2"] {
        assert!(is_schedule_name(name), "{name}");
    }
    for name in ["", "-x", "Nightly", "a.b", "a/b", "a b", "a_b", &"x".repeat(41)] {
        assert!(!is_schedule_name(name), "{name}");
    }
}

#[test]
fn the_rules_are_written_as_they_are_read() {
    for rule in [MissedRuns::Last, MissedRuns::All, MissedRuns::Skip] {
        assert_eq!(rule.to_string().parse(), Ok(rule));
    }
    for rule in [OverlappingRuns::Skip, OverlappingRuns::Allow] {
        assert_eq!(rule.to_string().parse(), Ok(rule));
    }
    let error = "never".parse::<MissedRuns>().expect_err("none");
    assert_eq!(error.to_string(), "`never` is none of `last`, `all` and `skip`");
    assert!("all".parse::<OverlappingRuns>().is_err());
}
