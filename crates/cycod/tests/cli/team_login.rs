//! Joining a team's hub with a login in a browser.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::Stdio,
};

use cycod_hub::{Hub, HubLogin};
use jiff::Timestamp;
use scripted_issuer::{CLIENT, ScriptedIssuer, browse};

use crate::{
    support::Place,
    team_hub::{done, fails, hub, key, served_with},
    terminal::Terminal,
};

/// A hub whose member Ada logs in at the issuer; returns it with the SHA-256 of the root.
fn begun(ada: &Place, issuer: &ScriptedIssuer) -> (Hub, String) {
    for name in ["ada", "ben"] {
        key(ada, name);
    }
    let (hub, _, root) = hub(ada, &[(ada, "ada", false), (ada, "ben", true)]);
    hub.set_subject("ada", Some(&issuer.user().parse().expect("a subject")), Timestamp::now()).expect("a subject");
    (hub, root)
}

/// Serves a hub whose audience is its address.
fn served(hub: &Hub, issuer: &ScriptedIssuer) -> String {
    let url = issuer.url().to_owned();
    served_with(hub.clone(), move |address| Some(HubLogin::new(&url, address, CLIENT).expect("a login")))
}

/// The texts of all files below a directory.
fn files_below(directory: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_symlink() {
            continue;
        }
        match path.is_dir() {
            true => files_below(&path, texts),
            false => texts.push(String::from_utf8_lossy(&fs::read(&path).expect("a file")).into_owned()),
        }
    }
}

#[test]
fn a_member_joins_with_a_login() {
    let (ada, issuer) = (Place::new(), ScriptedIssuer::start());
    let (hub, root) = begun(&ada, &issuer);
    let address = served(&hub, &issuer);
    let new = Place::cloned();
    let words = ["team", "join", &address, "--yes", "--root", &root, "--login"];
    let mut command = new.command(&words);
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines().map(|line| line.expect("a line"));
    assert_eq!(lines.next().as_deref(), Some("Open this address in a browser:"));
    let login = lines.find(|line| line.contains("http://")).expect("an address");
    let back = browse(login.trim()).expect("the login sends the browser back");
    // Someone who doesn't know what was asked for can't answer.
    let state = back.split("state=").nth(1).expect("a state").to_owned();
    assert!(state.len() >= 16, "{back}");
    assert_eq!(browse(&back), None);
    let said: Vec<String> = lines.collect();
    assert!(child.wait().expect("it ends").success(), "{said:?}");
    assert!(said.iter().any(|line| line == "The hub of acme knows you as ada"), "{said:?}");
    assert!(said.iter().any(|line| line == "You have joined acme"), "{said:?}");
    _ = done(&new, &["team", "sync"]);

    // It asked for this hub, and for nothing else.
    let asked = issuer.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!((&*asked[0]["resource"], &*asked[0]["scope"]), (&*address, "openid"));
    assert!(asked[0]["redirect_uri"].starts_with("http://127.0.0.1:"));

    // The token is nowhere.
    let mut kept = Vec::new();
    files_below(&new.home(), &mut kept);
    assert!(kept.len() > 3 && kept.iter().all(|text| !text.contains("eyJ")), "{kept:?}");
}

#[test]
fn a_login_that_would_lead_elsewhere_is_refused() {
    let (ada, issuer) = (Place::new(), ScriptedIssuer::start());
    let (hub, root) = begun(&ada, &issuer);
    let join = |address: &str| Place::cloned().run(&["team", "join", address, "--yes", "--root", &root, "--login"]);
    // A hub that wants a token for another one could join there as you.
    let url = issuer.url().to_owned();
    let other = served_with(hub.clone(), move |_| {
        Some(HubLogin::new(&url, "https://hub.example.com", CLIENT).expect("a login"))
    });
    fails(&join(&other), "login-needed");
    fails(&join(&other), "its logins are for `https://hub.example.com`: join at that address");
    let without = served_with(hub.clone(), |_| None);
    fails(&join(&without), "members of the hub of acme don't log in with a browser");
    fails(&ada.run(&["team", "join", "first", "--yes", "--root", &root, "--login"]), "no key and no login");
    fails(&ada.run(&["team", "join", &other, "--login", "--token", "x"]), "cannot be used with");
    assert_eq!(issuer.asked().len(), 0);

    // Who logs in is no member any more.
    hub.set_subject("ada", None, Timestamp::now()).expect("none");
    let address = served(&hub, &issuer);
    let new = Place::cloned();
    let terminal = Terminal::run(&new, 300, &[], &format!("cycod team join {address} --root {root} --login"));
    terminal.wait("paste here the address that it ends at:");
    let back = browse(&login_of(&terminal)).expect("the login sends the browser back");
    terminal.enter(&back);
    terminal.press(&["Enter"]);
    let shown = terminal.wait("ended with 1");
    assert!(shown.contains("its administrator runs: cycod-hub member subject --data DIR NAME '"), "{shown}");
}

fn login_of(terminal: &Terminal) -> String {
    let shown = terminal.wait("/authorize?");
    let line = shown.lines().find(|line| line.contains("/authorize?")).expect("a line");
    line.trim().to_owned()
}

/// The browser is on another machine, and its user pastes where it ends. Then it is on this one; what is typed after that is an
/// answer to the next question.
#[test]
fn a_login_at_a_terminal() {
    let (ada, issuer) = (Place::new(), ScriptedIssuer::start());
    let (hub, root) = begun(&ada, &issuer);
    let address = served(&hub, &issuer);
    for is_pasted in [true, false] {
        let new = Place::cloned();
        let terminal = Terminal::run(&new, 300, &[], &format!("cycod team join {address} --root {root} --login"));
        terminal.wait("paste here the address that it ends at:");
        let back = browse(&login_of(&terminal)).expect("the login sends the browser back");
        if is_pasted {
            terminal.enter(&back);
            terminal.press(&["Enter"]);
        } else {
            assert_eq!(browse(&back), None);
        }
        terminal.wait("Join? [y/n]");
        terminal.enter("y");
        terminal.press(&["Enter"]);
        let shown = terminal.wait("ended with 0");
        assert!(shown.contains("knows you as ada") && shown.contains("You have joined acme"), "{shown}");
        assert_eq!(shown.matches("Join? [y/n]").count(), 1, "{shown}");
    }
}
