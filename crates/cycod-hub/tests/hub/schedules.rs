//! What members permit in advance, and what the clock makes of it: the same for each database.

use std::{sync::Arc, thread};

use cycod_hub::{Hub, HubKey, HubStore, Restate, SqliteStore};
use cycod_schedule::{MissedRuns, OverlappingRuns, Schedule};
use cycod_team::{TicketDocument, TicketSchedule};
use cycod_team_sync::{FleetTasks, ScheduleChange, TaskTaken, TeamScheduleRun, TeamSource, WorkerHub, WorkerMachine};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::{
    fleet::{by_hand, files, tasks, ticket, worker},
    flows::{StandIn, start},
    support::{Team, now, refused, served_by_clock, served_with},
};

/// A ticket with a schedule in Berlin.
fn scheduled(name: &str, cron: &str, missed: MissedRuns, overlap: OverlappingRuns) -> TicketDocument {
    let when = Schedule { cron: cron.to_owned(), zone: "Europe/Berlin".to_owned(), missed, overlap };
    let schedule = TicketSchedule { name: name.to_owned(), when, from: now().as_second() };
    let expires = now().as_second() + 90 * 24 * 3600;
    TicketDocument { schedule: Some(schedule), expires, ..ticket(&[], true) }
}

fn plain(name: &str, cron: &str) -> TicketDocument {
    scheduled(name, cron, MissedRuns::Last, OverlappingRuns::Skip)
}

struct Clocked<'a> {
    team: &'a Team,
    hub: &'a Hub,
    ada: FleetTasks,
    ben: FleetTasks,
    one: (WorkerMachine, WorkerHub),
}

impl Clocked<'_> {
    #[track_caller]
    fn add(&mut self, ticket: &TicketDocument) {
        assert_eq!(self.ada.add_schedule(ticket, &files(), None), Ok(TaskTaken::Waits));
    }

    /// Sets when a schedule starts next, as if it had been added long ago.
    fn next(&self, name: &str, at: &str) {
        let next = clock(at).as_second();
        by_hand(self.team, &format!("UPDATE schedules SET next = {next}, state = 'active' WHERE name = '{name}'"));
    }

    #[track_caller]
    fn at(&self, time: &str) {
        assert_eq!(self.hub.start_due(clock(time)), Ok(()));
    }

    /// What came of the times of a schedule, the oldest first: as `03:00 run` or `03:00 missed`.
    fn came(&mut self, name: &str) -> Vec<String> {
        let mut runs = self.runs(name);
        runs.reverse();
        let shown = |run: &TeamScheduleRun| {
            let at = Timestamp::from_second(run.instant).expect("a time").strftime("%d %H:%M");
            format!("{at} {}", if run.run.is_empty() { &run.state } else { "run" })
        };
        runs.iter().map(shown).collect()
    }

    fn runs(&mut self, name: &str) -> Vec<TeamScheduleRun> {
        let all = self.ada.schedules().expect("an answer");
        all.into_iter().find(|schedule| name_of(&schedule.ticket) == name).expect("it is there").runs
    }

    /// The state of a schedule, why it is so, and whether it starts again.
    fn state(&mut self, name: &str) -> (String, String, bool) {
        let all = self.ada.schedules().expect("an answer");
        let found = all.into_iter().find(|schedule| name_of(&schedule.ticket) == name).expect("it is there");
        (found.state, found.why, found.next > 0)
    }

    fn end_all(&self) {
        by_hand(self.team, "UPDATE tasks SET state = 'done', ended = 1, result = '{\"success\":true}' WHERE ended = 0");
    }
}

fn name_of(ticket: &TicketDocument) -> &str {
    &ticket.schedule.as_ref().expect("a schedule").name
}

fn clock(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

/// Everything about schedules, at two hubs with one database.
pub(crate) fn schedules(first: Arc<dyn HubStore>, second: Arc<dyn HubStore>) {
    let team = Team::new(first);
    let source = team.served();
    let other = Hub::new(second, HubKey::read(&team.key).expect("a key"));
    let [ada, ben] = ["ada", "ben"].map(|name| tasks(&team, &source, name));
    let one = worker(&team, &source, "one");
    let hub = team.other();
    let mut clocked = Clocked { team: &team, hub: &hub, ada, ben, one };
    only_what_is_permitted(&mut clocked);
    each_time_once(&mut clocked, &other);
    clocks_that_are_set(&mut clocked, &other);
    missed(&mut clocked);
    overlapping(&mut clocked);
    changed(&mut clocked);
    over(&mut clocked);
    durable(&team);
}

/// The hub takes a schedule only as a member's device signed it, and a worker runs it only at its times.
fn only_what_is_permitted(clocked: &mut Clocked<'_>) {
    let (team, hub) = (clocked.team, clocked.hub);
    let Clocked { ada, one: (machine, at_hub), .. } = clocked;
    let why = "none of the 1 workers of the hub is running".to_owned();
    assert_eq!(ada.add_schedule(&plain("early", "0 3 * * *"), &files(), None), Ok(TaskTaken::NoWorker(why)));
    assert!(at_hub.claim(&[], 0).expect("an answer").is_none());
    let mut no = |ticket: &TicketDocument, says: &str| refused(ada.add_schedule(ticket, &files(), None), says);
    no(&plain("early", "0 3 * * *"), "there is a schedule `early` already");
    no(&plain("Early", "0 3 * * *"), "a schedule's name has at most 40");
    no(&plain("x", "0 3 * *"), "is no cron expression of five fields");
    no(&ticket(&[], false), "the ticket has no schedule");
    let soon = now().as_second() + 1;
    no(&TicketDocument { expires: soon, ..plain("x", "0 0 1 1 *") }, "expires before its first time");
    let year = now().as_second() + 367 * 24 * 3600;
    no(&TicketDocument { expires: year, ..plain("x", "0 3 * * *") }, "at most 366 days");
    let mut old = plain("x", "0 3 * * *");
    old.schedule.as_mut().expect("a schedule").from -= 3600;
    no(&old, "differ by more than 5 minutes");
    refused(ada.give(&plain("x", "0 3 * * *"), &files()), "the ticket is one for a schedule");
    refused(ada.add_schedule(&plain("x", "0 3 * * *"), &Default::default(), None), "is not the file of the ticket");

    // The next minute, which has not come yet, as the hub and the worker will see it.
    assert_eq!(ada.add_schedule(&plain("minutely", "* * * * *"), &files(), None), Ok(TaskTaken::Waits));
    let next = ada.schedules().expect("an answer").into_iter().find(|one| name_of(&one.ticket) == "minutely");
    let next = Timestamp::from_second(next.expect("it is there").next).expect("a time");
    assert_eq!(hub.start_due(next), Ok(()));
    let run = format!("sched.minutely.{}", next.strftime("%Y%m%dT%H%M%SZ"));
    let given = at_hub.claim(&[], 0).expect("an answer").expect("a task");
    let verified = machine.verified(&given, next.as_second()).expect("a ticket");
    assert_eq!((verified.run.as_str(), verified.member.as_str(), verified.files.len()), (run.as_str(), "ada", 1));
    assert_eq!(given.claimed(), Some((run.clone(), verified.fence)));
    refused(machine.verified(&given, next.as_second() - 61), "is in the future, or too long ago");

    // What it writes stays for the member, also if another one has read it before.
    let event = [json!({"e": "out", "text": "one"})];
    _ = at_hub.report((&run, verified.fence), (1, &event), Some(&json!({"success": false, "exit": 3}))).expect("taken");
    for after in [0, 1, 0] {
        let seen = ada.watch(&run, ("done", after), 0).expect("a state");
        assert_eq!((seen.pieces.len(), seen.state.as_str()), (usize::from(after == 0), "done"));
    }
    let runs = clocked.runs("minutely");
    assert_eq!((runs[0].state.as_str(), runs[0].why.as_str(), &runs[0].run), ("failed", "exit code 3", &run));
    refused(clocked.ben.watch(&run, ("done", 0), 0), "there is no such task");

    // A hub in other hands adds a time, or takes another name.
    let (machine, at_hub) = &mut clocked.one;
    for (change, says) in [
        (next + SignedDuration::from_secs(1), "is no time of the schedule `minutely`"),
        (next - SignedDuration::from_mins(2), "is no time of the schedule `minutely`"),
    ] {
        let id = format!("sched.minutely.{}", change.strftime("%Y%m%dT%H%M%SZ"));
        by_hand(
            team,
            &format!("UPDATE tasks SET id = '{id}', state = 'waiting', ended = 0 WHERE id LIKE 'sched.minutely.%'"),
        );
        by_hand(
            team,
            &format!(
                "INSERT INTO task_files SELECT '{id}', path, bytes FROM task_files WHERE task = 'schedule.minutely'"
            ),
        );
        let given = at_hub.claim(&[], 0).expect("an answer").expect("a task");
        refused(machine.verified(&given, next.as_second()), says);
    }
    by_hand(team, "UPDATE tasks SET id = 'free', state = 'waiting', ended = 0 WHERE id LIKE 'sched.minutely.%'");
    let given = at_hub.claim(&[], 0).expect("an answer").expect("a task");
    refused(machine.verified(&given, next.as_second()), "a run of another kind");
    clocked.end_all();
    clocked.ada.change_schedule("minutely", ScheduleChange::Remove).expect("removed");
}

/// Two hubs see the same time, again and again.
fn each_time_once(clocked: &mut Clocked<'_>, other: &Hub) {
    clocked.add(&scheduled("often", "*/10 * * * *", MissedRuns::Last, OverlappingRuns::Allow));
    clocked.next("often", "2026-11-27T02:00:00Z");
    let first = clock("2026-11-27T02:00:00Z");
    thread::scope(|scope| {
        for hub in [clocked.hub, other, clocked.hub, other] {
            scope.spawn(move || {
                for minutes in (0..60).step_by(10) {
                    for _ in 0..3 {
                        assert_eq!(hub.start_due(first + SignedDuration::from_mins(minutes)), Ok(()));
                    }
                }
            });
        }
    });
    let expected: Vec<String> = (0..6).map(|ten| format!("27 02:{ten}0 run")).collect();
    assert_eq!(clocked.came("often"), expected);
    clocked.end_all();
    clocked.ada.change_schedule("often", ScheduleChange::Remove).expect("removed");
}

/// On the days on which the clocks are set, a schedule starts once.
fn clocks_that_are_set(clocked: &mut Clocked<'_>, other: &Hub) {
    for (name, first, seconds, expected) in [
        // From 02:00 to 03:00, at 01:00 UTC: 02:30 does not exist.
        ("spring", "2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", ["28 01:30 run", "29 01:00 run", "30 00:30 run"]),
        // From 03:00 back to 02:00, at 01:00 UTC: 02:30 exists twice.
        ("autumn", "2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", ["24 00:30 run", "25 00:30 run", "26 01:30 run"]),
    ] {
        clocked.add(&scheduled(name, "30 2 * * *", MissedRuns::Last, OverlappingRuns::Allow));
        clocked.next(name, first);
        clocked.at(first);
        // Each minute of the night, at both hubs.
        let night = clock(seconds) - SignedDuration::from_hours(1);
        for minutes in 0..180 {
            for hub in [clocked.hub, other] {
                assert_eq!(hub.start_due(night + SignedDuration::from_mins(minutes)), Ok(()));
            }
        }
        assert_eq!(clocked.came(name), expected[..2]);
        clocked.at(&format!("2026-{}", if name == "spring" { "03-30T00:30:00Z" } else { "10-26T01:30:00Z" }));
        assert_eq!(clocked.came(name), expected);
        clocked.end_all();
        clocked.ada.change_schedule(name, ScheduleChange::Remove).expect("removed");
    }
}

/// No hub was running from before 02:00 to 05:30.
fn missed(clocked: &mut Clocked<'_>) {
    let times = |last: [&str; 4]| {
        let hours = ["02:00", "03:00", "04:00", "05:00"];
        hours.iter().zip(last).map(|(hour, came)| format!("27 {hour} {came}")).collect::<Vec<_>>()
    };
    for (name, missed, expected) in [
        ("last", MissedRuns::Last, times(["missed", "missed", "missed", "run"])),
        ("all", MissedRuns::All, times(["run"; 4])),
        ("none", MissedRuns::Skip, times(["missed"; 4])),
    ] {
        clocked.add(&scheduled(name, "0 * * * *", missed, OverlappingRuns::Allow));
        clocked.next(name, "2026-11-27T02:00:00Z");
        clocked.at("2026-11-27T05:30:00Z");
        assert_eq!(clocked.came(name), expected, "{name}");
        let runs = clocked.runs(name);
        let missed = runs.iter().find(|run| run.state == "missed");
        assert!(missed.is_none_or(|run| run.why == "no hub was running"), "{missed:?}");
        // A start that is a little late is none that was missed, and the older ones are not noted again.
        clocked.at("2026-11-27T06:00:59Z");
        assert_eq!(clocked.came(name).last().map(String::as_str), Some("27 06:00 run"), "{name}");
        assert_eq!(clocked.came(name).len(), 5, "{name}");
        clocked.end_all();
        clocked.ada.change_schedule(name, ScheduleChange::Remove).expect("removed");
    }

    // However long it was away, what is noted has an end.
    clocked.add(&scheduled("long", "* * * * *", MissedRuns::Skip, OverlappingRuns::Allow));
    clocked.next("long", "2026-10-01T00:00:00Z");
    clocked.at("2026-11-27T05:30:30Z");
    let runs = clocked.runs("long");
    assert_eq!((runs.len(), runs[0].run.as_str()), (50, "sched.long.20261127T053000Z"));
    clocked.end_all();
    clocked.ada.change_schedule("long", ScheduleChange::Remove).expect("removed");
}

/// The run before has not ended when the next time comes.
fn overlapping(clocked: &mut Clocked<'_>) {
    clocked.add(&scheduled("slow", "0 * * * *", MissedRuns::Last, OverlappingRuns::Skip));
    clocked.next("slow", "2026-11-27T02:00:00Z");
    for time in ["02:00", "03:00", "04:00"] {
        clocked.at(&format!("2026-11-27T{time}:00Z"));
        if time == "03:00" {
            clocked.end_all();
        }
    }
    assert_eq!(clocked.came("slow"), ["27 02:00 run", "27 03:00 skipped", "27 04:00 run"]);
    assert_eq!(clocked.runs("slow")[1].why, "`sched.slow.20261127T020000Z` had not ended");
    clocked.end_all();

    // Even where they may overlap, there is an end.
    clocked.add(&scheduled("many", "* * * * *", MissedRuns::Last, OverlappingRuns::Allow));
    clocked.next("many", "2026-11-27T02:00:00Z");
    for minute in 0..52 {
        clocked.at(&format!("2026-11-27T02:{minute:02}:00Z"));
    }
    let came = clocked.came("many");
    assert_eq!((came.len(), came.iter().filter(|came| came.ends_with("run")).count()), (50, 48), "{came:?}");
    clocked.end_all();
    clocked.ada.change_schedule("many", ScheduleChange::Remove).expect("removed");

    // What is made up for comes one after the other.
    clocked.add(&scheduled("queue", "0 * * * *", MissedRuns::All, OverlappingRuns::Skip));
    clocked.next("queue", "2026-11-27T02:00:00Z");
    for count in 1..=3 {
        clocked.at("2026-11-27T04:30:00Z");
        clocked.at("2026-11-27T04:30:01Z");
        assert_eq!(clocked.came("queue").len(), count);
        clocked.end_all();
    }
    assert_eq!(clocked.came("queue"), ["27 02:00 run", "27 03:00 run", "27 04:00 run"]);
    for name in ["slow", "queue"] {
        clocked.ada.change_schedule(name, ScheduleChange::Remove).expect("removed");
    }
}

/// A schedule is paused, resumed and removed by its member, or by an administrator.
fn changed(clocked: &mut Clocked<'_>) {
    let change = |tasks: &mut FleetTasks, change| tasks.change_schedule("mine", change);
    refused(change(&mut clocked.ada, ScheduleChange::Pause), "there is no schedule `mine`");
    clocked.add(&plain("mine", "0 * * * *"));
    refused(change(&mut clocked.ben, ScheduleChange::Pause), "is a schedule of ada");
    refused(change(&mut clocked.ada, ScheduleChange::Resume), "isn't paused");
    change(&mut clocked.ada, ScheduleChange::Pause).expect("paused");
    refused(change(&mut clocked.ada, ScheduleChange::Pause), "is paused");
    clocked.at("2030-01-01T00:00:00Z");
    assert!(clocked.came("mine").is_empty());
    change(&mut clocked.ada, ScheduleChange::Resume).expect("resumed");
    assert_eq!(clocked.state("mine"), ("active".to_owned(), String::new(), true));

    // What no worker has begun ends with the schedule.
    clocked.next("mine", "2026-11-27T02:00:00Z");
    clocked.at("2026-11-27T02:00:00Z");
    by_hand(clocked.team, "UPDATE tasks SET expires = 4102444800 WHERE ended = 0");
    change(&mut clocked.ada, ScheduleChange::Remove).expect("removed");
    assert!(clocked.one.1.claim(&[], 0).expect("an answer").is_none());
    assert!(clocked.ada.schedules().expect("an answer").iter().all(|one| name_of(&one.ticket) != "mine"));
    let audit = clocked.team.hub.audit().expect("a record");
    let said: Vec<_> = audit.iter().filter(|row| row.subject.starts_with("mine")).map(|row| &*row.action).collect();
    assert_eq!(said, ["schedule", "pause-schedule", "resume-schedule", "remove-schedule"]);
}

/// What ends a permission.
fn over(clocked: &mut Clocked<'_>) {
    clocked.add(&plain("short", "0 * * * *"));
    let end = now() + SignedDuration::from_hours(24 * 91);
    assert_eq!(clocked.hub.start_due(end), Ok(()));
    let (state, why, starts) = clocked.state("short");
    assert_eq!((state.as_str(), starts), ("expired", false), "{why}");
    assert!(clocked.runs("short").iter().all(|run| run.run.is_empty()), "nothing starts after it");
    refused(clocked.ada.change_schedule("short", ScheduleChange::Resume), "needs a new permission");

    clocked.add(&plain("gone", "0 * * * *"));
    clocked.next("gone", "2026-11-27T02:00:00Z");
    by_hand(clocked.team, "UPDATE schedules SET device = 'another' WHERE name = 'gone'");
    clocked.at("2026-11-27T02:00:00Z");
    let why = "the device that signed it is no longer one of ada".to_owned();
    assert_eq!(clocked.state("gone"), ("stopped".to_owned(), why, false));
    assert!(clocked.came("gone").is_empty());
}

/// A durable run starts once as well, under a name that Restate knows it by.
fn durable(team: &Team) {
    let restate = StandIn::start();
    let hub = team.other();
    hub.use_restate(Restate::at(restate.address).expect("an address of this machine"));
    let source = served_with(hub.clone(), |error| panic!("{error}"));
    let mut ada = tasks(team, &source, "ada");
    let ticket = TicketDocument { durable: true, ..plain("flow", "0 3 * * *") };
    let why = "durable runs need Restate, and the hub was started without it".to_owned();
    let none = tasks(team, &team.served(), "ada").add_schedule(&ticket, &files(), Some(&json!(start(1))));
    assert_eq!(none, Ok(TaskTaken::NoFlows(why)));
    refused(ada.add_schedule(&ticket, &files(), None), "only a durable run has a flow");
    refused(ada.add_schedule(&ticket, &files(), Some(&json!({}))), "the flow can't be read");
    let flow = json!(start(1));
    assert_eq!(ada.add_schedule(&ticket, &files(), Some(&flow)), Ok(TaskTaken::Waits));
    let next = ada.schedules().expect("an answer").into_iter().find(|one| name_of(&one.ticket) == "flow");
    let next = Timestamp::from_second(next.expect("it is there").next).expect("a time");
    for _ in 0..2 {
        assert_eq!(hub.start_due(next), Ok(()));
    }
    let run = format!("sched.flow.{}", next.strftime("%Y%m%dT%H%M%SZ"));
    assert_eq!(restate.heard(&format!("/ToolRun/{run}/run/send"), 1), [flow]);
    assert_eq!(ada.watch_flow(&run, 0, 0).expect("a state").expect("it is hers").state, "running");
}

/// A schedule of Ada's that missed two starts, whose last run waits.
pub(crate) fn a_schedule_missed(team: &Team, source: &TeamSource) {
    let mut ada = tasks(team, source, "ada");
    _ = ada.add_schedule(&plain("nightly", "0 3 * * *"), &files(), None).expect("it is taken");
    let next = clock("2026-11-25T02:00:00Z").as_second();
    by_hand(team, &format!("UPDATE schedules SET next = {next}"));
    assert_eq!(team.hub.start_due(clock("2026-11-27T12:00:00Z")), Ok(()));
}

#[test]
fn schedules_at_a_hub_with_one_file() {
    let scratch = tempfile::tempdir().expect("a directory");
    let open = || Arc::new(SqliteStore::open(&scratch.path().join("hub.db")).expect("a database"));
    schedules(open(), open());
}

/// A hub that is served looks at the clock by itself.
#[test]
fn a_hub_starts_what_is_due() {
    let team = Team::new(Arc::new(SqliteStore::in_memory().expect("a database")));
    let source = served_by_clock(team.other());
    let mut ada = tasks(&team, &source, "ada");
    _ = ada.add_schedule(&plain("soon", "0 3 * * *"), &files(), None).expect("it is taken");
    let due = now().as_second() - 1;
    by_hand(&team, &format!("UPDATE schedules SET next = {due}"));
    for _ in 0..500 {
        if !ada.schedules().expect("an answer")[0].runs.is_empty() {
            return;
        }
        thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("nothing started");
}
