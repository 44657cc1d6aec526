//! Tools that the team's hub starts by the clock, with a real worker.

use jiff::Timestamp;

use crate::{
    fleet::Team,
    support::until,
    team_hub::{done, fails},
};

const GREET: &str = "description: Greet\nbash: echo \"Hello, {WHO}!\"\ntags: [read]\n\
                     parameters:\n  WHO: {type: string, description: Whom}\n";

#[test]
fn a_schedule_runs_what_the_user_permitted() {
    let team = Team::new();
    team.ada.tool("greet", GREET);
    let add = |more: &[&str]| {
        let words = ["schedule", "add", "greet", "WHO=Ben", "--cron", "* * * * *", "--zone", "Europe/Berlin"];
        team.ada.run(&[&words[..], more].concat())
    };
    fails(&add(&[]), "nothing was granted: there is no terminal to ask at");
    fails(&add(&["--name", "A b"]), "can't name a schedule");
    let bad = |cron: &str, zone: &str| {
        team.ada.run(&["schedule", "add", "greet", "WHO=x", "--cron", cron, "--zone", zone, "--yes"])
    };
    fails(&bad("61 * * * *", "UTC"), "number out of bounds (minutes are 0-59");
    fails(&bad("0 3 30 2 *", "UTC"), "`0 3 30 2 *` never comes");
    fails(&bad("0 3 * * *", "Atlantis"), "there is no time zone `Atlantis`");
    fails(&team.ada.run(&["schedule", "show", "greet"]), "there is no schedule `greet`");

    fails(&team.ada.run(&["schedule", "add", "greet", "WHO=x", "--yes"]), "`greet` has no `schedule`");
    let timed = "schedule: {cron: '30 2 * * *', zone: Europe/Berlin, missed: skip, overlap: allow}\n";
    team.ada.tool("timed", &format!("{GREET}{timed}"));
    let timed = team.ada.run(&["schedule", "add", "timed", "WHO=x", "--missed", "all", "--yes"]);
    assert!(timed.stderr().contains("30 2 * * * in Europe/Berlin (missed: all, overlap: allow)"), "{}", timed.block());
    _ = done(&team.ada, &["schedule", "remove", "timed"]);

    // No worker runs yet: the schedule is taken, with a warning.
    let added = add(&["--yes"]);
    let said = added.stderr();
    assert_eq!(added.code(), 0, "{}", added.block());
    for part in ["tool      greet {\"WHO\":\"Ben\"}", "times     * * * * * in Europe/Berlin", "the hub has no workers"]
    {
        assert!(said.replace(": \"Ben", ":\"Ben").contains(part), "{part}: {said}");
    }
    fails(&add(&["--yes"]), "there is a schedule `greet` already");
    let list = done(&team.ada, &["schedule", "list"]).stdout();
    assert!(list.starts_with("active   greet  greet for ada  * * * * *  next "), "{list}");

    // The worker runs what was signed, whatever the tool is by now.
    let worker = team.worker("build-1", &[]);
    team.ada.tool("greet", &GREET.replace("Hello", "Goodbye"));
    let minute = 60 * (Timestamp::now().as_second() / 60 + 1);
    team.hub.start_due(Timestamp::from_second(minute).expect("a time")).expect("it starts");
    let show = || done(&team.ada, &["schedule", "show", "greet"]).stdout();
    until("the run ends", || show().contains("  ended\n"));
    let log = done(&team.ada, &["schedule", "log", "greet"]);
    assert_eq!(log.stdout(), "Hello, Ben!\n", "{}", log.block());
    fails(&team.ada.run(&["schedule", "log", "greet", "--nth", "2"]), "has no such run");
    let json: serde_json::Value =
        serde_json::from_str(&done(&team.ada, &["schedule", "list", "--format", "json"]).stdout()).expect("JSON");
    assert_eq!(json["schedules"][0]["runs"][0]["state"], "ended", "{json}");

    assert!(done(&team.ada, &["schedule", "cancel", "greet"]).stderr().contains("has no current run"));
    assert!(done(&team.ada, &["schedule", "pause", "greet"]).stderr().contains("`greet` is paused"));
    assert!(show().starts_with("greet (paused)\n"), "{}", show());
    _ = done(&team.ada, &["schedule", "resume", "greet"]);
    _ = done(&team.ada, &["schedule", "remove", "greet"]);
    assert!(done(&team.ada, &["schedule", "list"]).stderr().contains("The team has no schedules"));
    drop(worker);
}

#[test]
fn what_the_rules_deny_and_what_is_secret_has_no_schedule() {
    let team = Team::new();
    team.ada.tool("greet", GREET);
    team.ada.tool("login", "description: Log in\nbash: echo {TOKEN}\ntags: [read]\nparameters:\n  TOKEN: {type: string, description: Key, sensitive: true}\n");
    let secret = team.ada.run(&["schedule", "add", "login", "TOKEN=s3cr3t-value", "--cron", "@daily", "--yes"]);
    fails(&secret, "error[not-for-fleet]");
    assert!(!secret.block().contains("s3cr3t-value"), "{}", secret.block());
    // A tool permits nothing.
    let add = format!("'{}' schedule add greet WHO=x --cron @daily --yes", env!("CARGO_BIN_EXE_cycod"));
    team.ada.tool("plot", &format!("description: Plot\nbash: |\n  {add}\ntags: [run]\n"));
    let plotted = team.ada.run(&["run", "plot"]);
    assert!(plotted.code() != 0 && plotted.block().contains("approval-by-a-tool"), "{}", plotted.block());
    _ = done(&team.ada, &["policy", "add", "deny", "greet", "--user"]);
    let denied = team.ada.run(&["schedule", "add", "greet", "WHO=x", "--cron", "@daily", "--yes"]);
    fails(&denied, "error[denied-by-policy]");
    assert!(done(&team.ada, &["schedule", "list"]).stdout().is_empty());
}
