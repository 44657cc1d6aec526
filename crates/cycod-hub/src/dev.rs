//! `cycod-hub dev`: a hub with workers on this machine, to try them. Its root key is next to the hub, so it is for nothing else.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::ExitStatus,
    thread,
    time::{Duration, Instant},
};

use cycod_file::{Durability, FileAccess};
use cycod_hub::{Hub, HubError, HubKey, HubRefusal};
use cycod_process::{Program, run_attached, run_foreground};
use cycod_team::{BlobDigest, ReviewRole, RootDraft, SignedRole, TeamKeys, TeamRoles};
use jiff::{SignedDuration, Timestamp};

use crate::parts::{self, Ports};

/// The team of such a hub, and its only member.
pub(crate) const TEAM: &str = "dev";
const MEMBER: &str = "you";

/// How long the root of such a team is valid, in hours.
const VALID: i64 = 24 * 365;

/// A part that ends sooner than this after its start is not started again.
const SOON: Duration = Duration::from_secs(3);

/// One program of a hub to try, and what it is called.
pub(crate) struct Part {
    name: String,
    program: Program,
}

impl Part {
    /// Runs the program until it ends as it should or is stopped by Ctrl-C, and again when something else ended it.
    fn keep(&self, say: impl Fn(&str)) -> io::Result<()> {
        loop {
            let began = Instant::now();
            let ended = run_attached(&self.program)?;
            if is_stopped(ended) {
                return Ok(());
            }
            if began.elapsed() < SOON {
                say(&format!("{} ended at once ({ended}), and is not started again", self.name));
                return Ok(());
            }
            say(&format!("{} ended ({ended}), and starts again", self.name));
        }
    }
}

/// Whether a part ended by itself, or with Ctrl-C, which all parts get.
fn is_stopped(ended: ExitStatus) -> bool {
    const INTERRUPT: i32 = 2;
    ended.success() || ended.signal() == Some(INTERRUPT) || ended.code() == Some(128 + INTERRUPT)
}

fn failed(what: &str, error: impl std::fmt::Display) -> HubError {
    HubError::new(HubRefusal::Failed, format!("{what}: {error}"))
}

/// Gives a new hub a root and a member, whose keys are next to it.
pub(crate) fn prepare(hub: &Hub, data: &Path, release: &HubKey, now: Timestamp) -> Result<(), HubError> {
    let (root, member) = (HubKey::generate()?, HubKey::generate()?);
    root.write(&data.join("root.key"))?;
    member.write(&data.join("member.key"))?;
    let only = |key: &HubKey| Ok::<_, HubError>(TeamKeys { threshold: 1, keys: vec![key.public()?] });
    let roles = TeamRoles {
        root: only(&root)?,
        release: only(release)?,
        review: Some(ReviewRole {
            threshold: 1,
            classes: BTreeMap::new(),
            keys: vec![member.public()?],
            authors: Vec::new(),
        }),
    };
    let draft =
        RootDraft { team: TEAM.to_owned(), version: 1, expires: now + SignedDuration::from_hours(VALID), roles };
    let (path, bytes) = draft.file().map_err(|error| failed("the root", error))?;
    let signature = root.sign_as(SignedRole::Root, &bytes)?;
    let digest = BlobDigest::of(&bytes).to_string();
    hub.take_roots(&BTreeMap::from([(format!("{path}.sigs"), signature), (path, bytes)]), now)?;
    hub.add_member(MEMBER, &member.public()?, true, now)?;
    cycod_file::replace(&data.join("root"), digest.as_bytes(), FileAccess::Usual, Durability::Power)
        .map_err(|error| failed("cannot write the digest of the root", error))
}

/// What its user types on this machine to use the hub at an address.
pub(crate) fn advice(hub: &Hub, data: &Path, url: &str, now: Timestamp) -> Result<Vec<String>, HubError> {
    let root = fs::read_to_string(data.join("root")).map_err(|error| failed("the digest of the root", error))?;
    let token = hub.token(MEMBER, 1, now)?;
    Ok(vec![
        "Join it in another terminal, and run a tool of your project on a worker:".to_owned(),
        format!("  cycod team join {url} --token {token} --root {} --yes", root.trim()),
        "  cycod run TOOL_NAME --on fleet".to_owned(),
        "Press Ctrl-C to stop the workers and the hub".to_owned(),
    ])
}

/// The workers of such a hub: processes of the program `cycod`, each with a home of its own.
pub(crate) struct Workers {
    program: PathBuf,
    environment: Vec<(OsString, OsString)>,
    data: PathBuf,
}

impl Workers {
    /// Finds the program.
    pub(crate) fn find(data: &Path) -> Result<Self, HubError> {
        let data = std::path::absolute(data).map_err(|error| failed("the directory of the hub", error))?;
        let environment = parts::environment();
        let program = parts::on_path("cycod", &environment, &data)
            .ok_or_else(|| failed("workers are processes of `cycod`", "it isn't on the search path"))?;
        Ok(Self { program, environment, data })
    }

    /// Restate and the conductor of such a hub; nothing where Restate isn't installed.
    pub(crate) fn engine(&self, ports: Ports) -> Result<Option<[Part; 2]>, HubError> {
        #[expect(clippy::disallowed_methods, reason = "the one place where this program asks where it is")]
        let here = std::env::current_dir().map_err(|error| failed("the working directory", error))?;
        let Some(restate) = parts::restate(&self.environment, &here) else { return Ok(None) };
        let restate = parts::restate_program(&restate, &self.data, ports, &self.environment)?;
        let ourselves = std::env::current_exe().map_err(|error| failed("this program", error))?;
        let mut conductor = Program::new(&ourselves, &self.data);
        conductor.env.clone_from(&self.environment);
        let words =
            ["conductor", "--data", ".", "--listen", &ports.conductor.to_string(), "--admin", &ports.admin.to_string()];
        conductor.args = words.iter().map(OsString::from).collect();
        let part = |name: &str, program| Part { name: name.to_owned(), program };
        Ok(Some([part("Restate", restate), part("the conductor", conductor)]))
    }

    /// Makes each a worker of the hub at an address, runs other parts beside them, and returns when all have ended. Says which
    /// part ended although nobody stopped it.
    pub(crate) fn run(
        &self,
        hub: &Hub,
        (url, count): (&str, usize),
        mut parts: Vec<Part>,
        say: impl Fn(&str) + Sync,
    ) -> Result<(), HubError> {
        for number in 1..=count {
            let name = format!("worker-{number}");
            let home = self.data.join(&name);
            fs::create_dir_all(&home).map_err(|error| failed("the home of a worker", error))?;
            let token = hub.worker_token(&name, 1, Timestamp::now())?;
            let joined = run_foreground(&self.program(&home, &["worker", "join", url, "--token", &token]));
            if !joined.map_err(|error| failed("a worker", error))?.success() {
                return Err(failed("a worker", "it can't join the hub"));
            }
            parts.push(Part { program: self.program(&home, &["worker"]), name });
        }
        thread::scope(|scope| {
            let running: Vec<_> = parts.iter().map(|part| (part, scope.spawn(|| part.keep(&say)))).collect();
            let ended = running
                .into_iter()
                .map(|(part, thread)| thread.join().unwrap_or(Ok(())).map_err(|error| failed(&part.name, error)));
            ended.collect::<Result<Vec<()>, _>>().map(drop)
        })
    }

    fn program(&self, home: &Path, words: &[&str]) -> Program {
        let mut program = Program::new(&self.program, &self.data);
        program.env.clone_from(&self.environment);
        program.env.push(("CYCOD_HOME".into(), home.into()));
        program.args = words.iter().map(OsString::from).collect();
        program
    }
}
