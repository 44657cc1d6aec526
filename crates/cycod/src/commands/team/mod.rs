//! One file for each command about a team's releases.

pub(crate) mod background;
pub(crate) mod channel;
mod content;
mod desk;
pub(crate) mod diff;
pub(crate) mod join;
pub(crate) mod leave;
pub(crate) mod page;
pub(crate) mod propose;
pub(crate) mod release;
pub(crate) mod review;
pub(crate) mod root;
pub(crate) mod show;
pub(crate) mod sync;
pub(crate) mod verify;
pub(crate) mod yank;

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use cycod_engine::{
    Engine,
    catalog::{Scope, TeamPlace},
    definition::Host,
};
use cycod_process::{Program, find_program, run_foreground};
use cycod_team::{
    BlobDigest, NAMESPACE, ReleaseDocument, ReleaseError, ReleaseFiles, SignedRole, TeamChannel, TeamKey,
    UnusableChannel, UnusableKey, signed_bytes,
};
use cycod_team_sync::{FleetTasks, ReleaseDirectory, SyncError, TeamHub, TeamSource, TeamStore};
use jiff::{SignedDuration, Timestamp};

use crate::{cli::Context, command_error::CommandError, secrets::seconds};

/// The first root of a team, from which the others follow.
const FIRST_ROOT: &str = "root/1.json";

/// A directory as it will be with files that are not written yet.
struct Planned<'a> {
    directory: &'a ReleaseDirectory,
    files: &'a BTreeMap<String, Vec<u8>>,
}

impl ReleaseFiles for Planned<'_> {
    fn read(&self, path: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        match self.files.get(path) {
            Some(bytes) => {
                let most = usize::try_from(most).unwrap_or(usize::MAX).saturating_add(1);
                Ok(Some(bytes[..bytes.len().min(most)].to_vec()))
            }
            None => self.directory.read(path, most),
        }
    }
}

impl Planned<'_> {
    /// Writes the files, the document that names the others last.
    fn write(&self) -> Result<(), CommandError> {
        let is_head = |path: &str| path.ends_with(".json");
        let ordered = self.files.iter().filter(|(path, _)| !is_head(path));
        for (path, bytes) in ordered.chain(self.files.iter().filter(|(path, _)| is_head(path))) {
            let path = self.directory.0.join(path);
            let failed =
                |error: io::Error| CommandError::failure(format!("cannot write `{}`: {error}", path.display()));
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(failed)?;
            }
            let (access, durability) = (cycod_file::FileAccess::Usual, cycod_file::Durability::Power);
            cycod_file::replace(&path, bytes, access, durability).map_err(failed)?;
        }
        Ok(())
    }
}

/// The channel that the command line names.
fn channel(name: Option<&str>) -> Result<TeamChannel, CommandError> {
    let channel = name.map(str::parse::<TeamChannel>).transpose();
    Ok(channel.map_err(|why: UnusableChannel| CommandError::usage(why.to_string()))?.unwrap_or_default())
}

/// What a release is called, as in `acme, release 3` or `acme, beta release 3`.
fn title(release: &ReleaseDocument) -> String {
    format!("{}, {}", release.team, numbered(release))
}

/// The same without the team.
fn numbered(release: &ReleaseDocument) -> String {
    match release.channel.is_stable() {
        true => format!("release {}", release.number),
        false => format!("{} release {}", release.channel, release.number),
    }
}

/// Where a path of the command line leads.
fn directory(context: &Context, path: &str) -> ReleaseDirectory {
    ReleaseDirectory(context.engine.host().working_directory.join(path))
}

/// The place of the machine's team, or of the user's.
fn place(context: &Context, is_machines: bool) -> TeamPlace {
    place_of(&context.engine, is_machines)
}

fn place_of(engine: &Engine, is_machines: bool) -> TeamPlace {
    let scopes = engine.catalog().scopes();
    if !is_machines {
        return TeamPlace::within(scopes.user_directory(), false);
    }
    let tools = scopes.written(Scope::Global);
    TeamPlace::within(tools.parent().unwrap_or(&tools), true)
}

/// The store of a team that was joined: the user's, or with `--machine` the machine's.
fn joined(context: &Context, is_machines: bool) -> Result<TeamStore, CommandError> {
    joined_of(&context.engine, is_machines)
}

fn joined_of(engine: &Engine, is_machines: bool) -> Result<TeamStore, CommandError> {
    let found = place_of(engine, is_machines);
    if found.is_joined() {
        return Ok(TeamStore::at(found));
    }
    let (message, other) = match is_machines {
        true => ("this machine has joined no team", false),
        false => ("you have joined no team", place_of(engine, true).is_joined()),
    };
    let error = CommandError::failure(message);
    Err(match other {
        true => error.hint("this machine has, and its administrator looks after that: --machine"),
        false => error.hint("join one: cycod team join SOURCE"),
    })
}

/// The hub of the team that was joined, with its address as a source; nothing if the team has none.
fn hub_of(store: &TeamStore) -> Result<Option<(TeamHub, TeamSource)>, CommandError> {
    let member = store.member().map_err(|error| not_synced(&error))?;
    let device = store.device().map_err(|error| not_synced(&error))?;
    let source = member.map(|member| TeamSource::parse(&member.source, "/".as_ref()));
    let (Some(Ok(TeamSource::Web(url))), Some(device)) = (source, device) else { return Ok(None) };
    let hub = TeamHub::open(url.clone(), device).map_err(|error| not_synced(&error))?;
    Ok(Some((hub, TeamSource::Web(url))))
}

/// Why the user has no workers.
pub(crate) enum NoFleet {
    /// The user has joined no team.
    NotJoined,
    /// The user has joined this team, but not through a hub.
    NoHub(String),
    /// It can't be found out.
    Failed(SyncError),
}

impl From<SyncError> for NoFleet {
    fn from(error: SyncError) -> Self {
        Self::Failed(error)
    }
}

impl From<NoFleet> for CommandError {
    fn from(error: NoFleet) -> Self {
        let hint = "join one by its hub: cycod team join HUB";
        match error {
            NoFleet::NotJoined => Self::failure("you have joined no team").hint(hint),
            NoFleet::NoHub(team) => {
                Self::failure(format!("this machine isn't enrolled at a hub of {team}, so it has no workers"))
                    .hint(hint)
            }
            NoFleet::Failed(error) => not_synced(&error),
        }
    }
}

/// The name of the user's team, and the tasks that its workers run for this device.
pub(crate) fn fleet(engine: &Engine) -> Result<(String, FleetTasks), NoFleet> {
    let place = place_of(engine, false);
    if !place.is_joined() {
        return Err(NoFleet::NotJoined);
    }
    let store = TeamStore::at(place);
    let member = store.member()?.ok_or(NoFleet::NotJoined)?;
    match (TeamSource::parse(&member.source, "/".as_ref()), store.device()?) {
        (Ok(TeamSource::Web(url)), Some(device)) => Ok((member.team, FleetTasks::open(&url, device)?)),
        _ => Err(NoFleet::NoHub(member.team)),
    }
}

/// The hub of the user's team, if there is one.
pub(crate) fn hub_here(engine: &Engine) -> Option<TeamHub> {
    let (hub, _) = hub_of(&TeamStore::at(place_of(engine, false))).ok()??;
    Some(hub)
}

/// A failure to put a release into force.
pub(crate) fn not_synced(error: &SyncError) -> CommandError {
    CommandError { code: error.code, ..CommandError::failure(error.to_string()) }
}

/// A failure about a release.
fn failed(error: &ReleaseError) -> CommandError {
    CommandError { code: Some(error.code), ..CommandError::failure(error.to_string()) }
}

/// The digest of the first root of a directory of our own, if it has one.
fn own_root(directory: &ReleaseDirectory) -> Result<Option<BlobDigest>, CommandError> {
    let path = directory.0.join(FIRST_ROOT);
    match fs::read(&path) {
        Ok(bytes) => Ok(Some(BlobDigest::of(&bytes))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CommandError::failure(format!("cannot read `{}`: {error}", path.display()))),
    }
}

/// The time, to the second.
fn now(host: &Host) -> Timestamp {
    at(host.now)
}

fn at(moment: SystemTime) -> Timestamp {
    i64::try_from(seconds(moment))
        .ok()
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .unwrap_or(Timestamp::MAX)
}

/// So many days later.
fn in_days(from: Timestamp, days: u32) -> Result<Timestamp, CommandError> {
    from.checked_add(SignedDuration::from_hours(i64::from(days) * 24))
        .map_err(|_| CommandError::usage(format!("{days} days are more than a calendar has")))
}

/// Reads a public key from a file.
fn public_key(host: &Host, file: &Path) -> Result<TeamKey, CommandError> {
    let path = host.working_directory.join(file);
    let wrong = |why: String| CommandError::failure(format!("cannot use the key `{}`: {why}", file.display()));
    let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    text.parse().map_err(|error: UnusableKey| wrong(error.to_string()))
}

/// The file with the public half of a key that signs.
fn public_half(key: &Path) -> PathBuf {
    if key.extension() == Some(OsStr::new("pub")) {
        return key.to_owned();
    }
    let mut name = key.as_os_str().to_owned();
    name.push(".pub");
    name.into()
}

/// Signs a document with each of the keys. ssh-keygen asks for passphrases, and for a touch.
fn sign(host: &Host, keys: &[PathBuf], role: SignedRole, document: &[u8]) -> Result<Vec<u8>, CommandError> {
    let path = host.environment.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let program = find_program(OsStr::new("ssh-keygen"), &path, &host.working_directory)
        .map_err(|error| CommandError::failure(error.to_string()).hint("install OpenSSH, which signs releases"))?;
    let failed = |error: io::Error| CommandError::failure(format!("cannot prepare what is signed: {error}"));
    let mut signatures = Vec::new();
    for key in keys {
        let directory = tempfile::Builder::new().prefix("cycod-team-").tempdir_in(&host.temp).map_err(failed)?;
        let payload = directory.path().join("document");
        fs::write(&payload, signed_bytes(role, document)).map_err(failed)?;
        let mut keygen = Program::new(&program, &host.working_directory);
        keygen.env = host.environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        for argument in ["-q", "-Y", "sign", "-n", NAMESPACE, "-f"] {
            keygen.args.push(argument.into());
        }
        keygen.args.extend([host.working_directory.join(key).into(), payload.clone().into()]);
        let not_signed = |why: String| CommandError::failure(format!("`{}` didn't sign: {why}", key.display()));
        match run_foreground(&keygen) {
            Ok(status) if status.success() => {}
            Ok(status) => return Err(not_signed(format!("ssh-keygen failed, {status}"))),
            Err(error) => return Err(not_signed(error.to_string())),
        }
        signatures.extend(fs::read(payload.with_extension("sig")).map_err(|error| not_signed(error.to_string()))?);
    }
    Ok(signatures)
}
