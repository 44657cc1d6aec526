//! Three people with three keys and three homes: what they propose, refuse, approve, release, run and withdraw.

use std::{fs, path::PathBuf, process::Command};

use serde_json::Value;

use crate::support::{Place, Ran};

const SCAN: &str = "description: Search a file\nbash: echo scanned by the team\ntags: [read]\n";
const LOUD: &str = "description: Search a file\nbash: echo SCANNED by the team\ntags: [run]\n";

/// Ada proposes and releases, Ben and Cem review; two of them if a tool becomes more dangerous.
struct Team {
    ada: Place,
    ben: Place,
    cem: Place,
    root: String,
}

impl Team {
    fn new() -> Self {
        let [ada, ben, cem] = [(); 3].map(|()| Place::new());
        for (place, name) in [(&ada, "ada"), (&ben, "ben"), (&cem, "cem"), (&ada, "eve")] {
            key(place, name);
        }
        for (place, name) in [(&ben, "ben.pub"), (&cem, "cem.pub")] {
            ada.write(name, &place.read(name));
        }
        let root = done(
            &ada,
            "team root --out out --team acme --key ada --author-key ada.pub --review-key ben.pub --review-key cem.pub \
             --review-class higher-level=2",
        );
        Self { root: root.stdout().trim().to_owned(), ada, ben, cem }
    }

    fn out(&self) -> PathBuf {
        self.ada.project().join("out")
    }

    /// Runs a command of the team in the place of one of its people.
    fn team(&self, place: &Place, words: &str, why: &str) -> Ran {
        let out = self.out();
        let mut words: Vec<&str> = ["team"].into_iter().chain(words.split_whitespace()).collect();
        if !why.is_empty() {
            words.extend(["--why", why]);
        }
        words.extend(["--at", out.to_str().expect("a path")]);
        place.run(&words)
    }

    /// Proposes the files of Ada; returns the digest.
    fn propose(&self, why: &str) -> String {
        let ran = self.team(&self.ada, "propose --key ada", why);
        assert_eq!(ran.code(), 0, "{}", ran.block());
        let json = self.team(&self.ada, "review --format json", "").stdout();
        let json: Value = serde_json::from_str(&json).expect("JSON");
        let proposals = json["proposals"].as_array().expect("a list");
        let proposal = proposals.iter().find(|proposal| proposal["why"] == why).expect("it is listed");
        proposal["proposal"].as_str().expect("a digest").to_owned()
    }

    fn review(&self, place: &Place, name: &str, proposal: &str, how: &str, why: &str) -> String {
        let ran = self.team(place, &format!("review {proposal} {how} --key {name}"), why);
        assert_eq!(ran.code(), 0, "{}", ran.block());
        ran.stderr()
    }

    #[track_caller]
    fn release(&self) -> String {
        done(&self.ada, "team release --out out --key ada").stderr()
    }

    fn join(&self, place: &Place) {
        let out = self.out();
        let ran = place.run(&["team", "join", out.to_str().expect("a path"), "--yes", "--root", &self.root]);
        assert_eq!(ran.code(), 0, "{}", ran.block());
    }
}

#[expect(clippy::disallowed_methods, reason = "keys are those of the real program")]
fn key(place: &Place, name: &str) {
    let mut keygen = Command::new("ssh-keygen");
    keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", name]).current_dir(place.project());
    assert!(keygen.status().expect("ssh-keygen starts").success());
}

#[track_caller]
fn done(place: &Place, words: &str) -> Ran {
    let ran = place.run(&words.split_whitespace().collect::<Vec<_>>());
    assert_eq!(ran.code(), 0, "{}", ran.block());
    ran
}

#[track_caller]
fn fails(ran: &Ran, says: &str) {
    assert!(ran.code() != 0 && ran.stderr().contains(says), "{says}: {}", ran.block());
}

#[test]
fn three_people_propose_refuse_change_review_release_run_and_withdraw() {
    let team = Team::new();
    let Team { ada, ben, cem, .. } = &team;
    ada.tool("scan", LOUD);
    let first = team.propose("find keys");
    fails(&ada.run(&["team", "release", "--out", "out", "--key", "ada"]), "no reviewer has approved anything yet");

    // Ben refuses it, after he has seen how it changes what the team has.
    let shown = team.team(ben, &format!("review {}", &first[..8]), "").stdout();
    for part in ["ada (SHA256:", "find keys", "tools/scan.yaml: new, level run", "+bash: echo SCANNED by the team"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(team.review(ben, "ben", &first, "--refuse", "too loud").contains("refused by ben"));
    assert!(team.review(cem, "cem", &first, "--approve", "").contains("refused by ben"));
    fails(&ada.run(&["team", "release", "--out", "out", "--key", "ada"]), "no reviewer has approved anything yet");

    // She changes it; one review is enough for what only reads.
    ada.tool("scan", SCAN);
    let second = team.propose("find keys, quietly");
    assert!(team.review(ben, "ben", &second, "--approve", "").contains("approved"));
    assert!(team.release().contains(&format!("with proposal {}", &second[..8])));
    team.join(ben);
    team.join(cem);
    assert_eq!(done(cem, "run scan").stdout(), "scanned by the team\n");

    // Now it becomes more dangerous, and two have to agree.
    ada.tool("scan", LOUD);
    let third = team.propose("find more");
    assert!(team.review(ben, "ben", &third, "--approve", "").contains("waiting, 1 of 2"));
    team.release();
    _ = done(cem, "team sync");
    assert_eq!(done(cem, "run scan").stdout(), "scanned by the team\n");
    assert!(team.review(cem, "cem", &third, "--approve", "").contains("approved"));
    team.release();
    _ = done(ben, "team sync");
    let sync = done(cem, "team sync").stderr();
    assert!(sync.contains("acme, release 3 is in force"), "{sync}");
    assert!(done(cem, "team show").stdout().contains("enforced   scan"));

    // Cem withdraws it.
    let hint = team.team(cem, "yank scan --key cem", "too loud after all");
    fails(&hint, "say which version");
    let version = hint.stderr();
    let version = version.split("has scan@").nth(1).expect("the hint").lines().next().expect("a line").trim();
    let yank = team.team(cem, &format!("yank scan@{version} --key cem"), "too loud after all");
    assert_eq!(yank.code(), 0, "{}", yank.block());
    ada.tool("other", SCAN);
    fs::remove_file(ada.project().join(".cycod/tools/scan.yaml")).expect("it is there");
    let fourth = team.propose("another tool");
    let said = team.review(ben, "ben", &fourth, "--approve", "");
    assert!(said.contains(": approved"), "{said}");
    let released = team.release();
    assert!(released.contains("without tools/scan.yaml: it was withdrawn"), "{released}");
    _ = done(cem, "team sync");
    fails(&cem.run(&["run", "scan"]), "scan");
    assert_eq!(done(cem, "run other").stdout(), "scanned by the team\n");
}

#[test]
fn what_cannot_count_is_refused_at_once() {
    let team = Team::new();
    let Team { ada, ben, .. } = &team;
    ada.tool("scan", SCAN);
    fails(&team.team(ada, "propose --key eve", "x"), "lets eve (SHA256:");
    fails(&team.team(ada, "propose nothing --key ada", "x"), "neither this project nor the team has `nothing`");
    let proposal = team.propose("find keys");
    fails(&team.team(ada, &format!("review {proposal} --approve --key ada"), ""), "doesn't name ada");
    fails(&team.team(ben, "review 00000000 --approve --key ben", ""), "no proposal waits");
    fails(&team.team(ben, &format!("review {proposal} --refuse --key ben"), ""), "--why");
    ben.tool("scan", LOUD);
    assert_eq!(team.team(ben, "propose --key ben", "mine").code(), 0);
    let list = team.team(ben, "review --format json", "").stdout();
    let list: Value = serde_json::from_str(&list).expect("JSON");
    let mine = list["proposals"].as_array().expect("a list").iter().find(|one| one["why"] == "mine");
    let mine = mine.expect("it is listed")["proposal"].as_str().expect("a digest").to_owned();
    fails(&team.team(ben, &format!("review {mine} --approve --key ben"), ""), "you proposed this yourself");
    // Of two changes of one file, the second no longer fits.
    team.review(ben, "ben", &proposal, "--approve", "");
    team.release();
    let stale = team.team(&team.cem, &format!("review {mine} --approve --key cem"), "");
    fails(&stale, "have changed since this was proposed");
    fails(
        &ada.run(&["team", "release", "--out", "out", "--key", "ada", "--from", ".cycod"]),
        "the root asks for reviews",
    );
    fails(&team.team(ada, "propose --key ada", "x"), "nothing differs");
}

#[test]
fn a_team_can_begin_to_review() {
    let team = Team::new();
    let Team { ada, ben, .. } = &team;
    ada.tool("scan", SCAN);
    let root = done(ada, "team root --out two --team acme --key ada").stdout().trim().to_owned();
    _ = done(ada, "team release --out two --key ada");
    fails(&ada.run(&["team", "review", "--at", "two"]), "names no reviewers");
    _ = done(ada, "team root --out two --key ada --author-key ada.pub --review-key ben.pub");
    let verify = ["team", "verify", "two", "--root", &root];
    fails(&ada.run(&verify), "error[release-unreviewed]");
    // What the team has counts as new, as no one has reviewed it.
    let proposed = ada.run(&["team", "propose", "--at", "two", "--key", "ada", "--why", "as it is"]);
    assert!(proposed.stderr().contains("tools/scan.yaml: new"), "{}", proposed.block());
    let list = ada.run(&["team", "review", "--at", "two", "--format", "json"]).stdout();
    let list: Value = serde_json::from_str(&list).expect("JSON");
    let proposal = list["proposals"][0]["proposal"].as_str().expect("a digest").to_owned();
    let two = ada.project().join("two");
    let two = two.to_str().expect("a path");
    let review = ben.run(&["team", "review", &proposal, "--at", two, "--approve", "--key", "ben"]);
    assert_eq!(review.code(), 0, "{}", review.block());
    _ = done(ada, "team release --out two --key ada");
    let verified = ada.run(&verify);
    assert!(verified.code() == 0 && verified.stdout().contains("acme, release 2"), "{}", verified.block());
}

#[test]
fn what_was_approved_for_one_channel_is_reviewed_again_for_another() {
    let team = Team::new();
    let Team { ada, ben, cem, .. } = &team;
    ada.tool("scan", SCAN);
    let first = team.propose("find keys");
    assert!(team.review(ben, "ben", &first, "--approve", "").contains("approved"));
    _ = team.release();

    ada.tool("scan", &SCAN.replace("scanned", "scanned quickly"));
    let proposed = team.team(ada, "propose --channel beta --key ada", "faster");
    assert_eq!(proposed.code(), 0, "{}", proposed.block());
    let list = team.team(ben, "review", "").stdout();
    assert!(list.contains("  faster\n          for beta, by ada"), "{list}");
    let second = list.split_whitespace().next().expect("a digest").to_owned();
    assert!(team.review(ben, "ben", &second, "--approve", "").contains("approved"));
    // Stable has nothing of it, and beta has it over what stable has.
    assert!(!team.release().contains("with proposal"));
    let released = done(ada, "team release --out out --channel beta --key ada").stderr();
    assert!(released.contains("beta release 1 of acme: 1 file") && released.contains(&second[..8]), "{released}");
    let out = team.out();
    let join = |place: &Place, channel: &str| {
        let words =
            ["team", "join", out.to_str().expect("a path"), "--yes", "--root", &team.root, "--channel", channel];
        let joined = place.run(&words);
        assert_eq!(joined.code(), 0, "{}", joined.block());
    };
    join(ben, "beta");
    join(cem, "stable");
    let runs = |place: &Place, says: &str| {
        let ran = place.run(&["run", "scan"]);
        assert_eq!(ran.stdout(), format!("{says} by the team\n"), "{}", ran.block());
    };
    runs(ben, "scanned quickly");
    runs(cem, "scanned");

    // Promoted: proposed for stable from what beta has, whatever Ada's files are now, and reviewed as a change of stable.
    ada.tool("scan", LOUD);
    fails(&ada.run(&["team", "release", "--out", "out", "--promote", "beta", "--key", "ada"]), "propose --promote");
    let promoted = team.team(ada, "propose --promote beta --key ada", "it works");
    assert!(
        promoted.code() == 0 && promoted.stderr().contains("tools/scan.yaml: other command"),
        "{}",
        promoted.block()
    );
    let third = team.team(cem, "review", "").stdout();
    let third = third.split_whitespace().next().expect("a digest").to_owned();
    assert!(team.review(cem, "cem", &third, "--approve", "").contains("approved"));
    assert!(team.release().contains(&third[..8]));
    _ = done(cem, "team sync");
    runs(cem, "scanned quickly");
    fails(&team.team(ada, "propose --promote beta --key ada", "again"), "nothing differs");
    let nothing = "has nothing that `stable` lacks";
    fails(&team.team(ada, "propose --promote nightly --key ada", "again"), nothing);
    fails(&team.team(ada, "propose --promote stable --channel beta --key ada", "again"), nothing);

    // A version that only beta has is withdrawn there.
    let yanked = team.team(ben, "yank scan@00000000 --channel beta --key ben", "slow");
    fails(&yanked, "the last release has scan@");
}
