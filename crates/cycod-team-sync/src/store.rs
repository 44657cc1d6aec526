//! The place of the release that is in force.
//!
//! ```text
//! team/member.json   which team was joined, where it publishes, and the root that was given
//! team/seen.json     the newest root and release that were accepted
//! team/state.json    when the source was read last, and what went wrong
//! team/tried         the same for a command that only looks at the file, without reading it
//! team/active        a link to one of
//! team/releases/N-…  the files of a release, laid out like a directory of tools with its rules
//! ```
//!
//! A release gets a directory of its own, and comes into force when the link changes. So at every moment there is one, and
//! what a run has begun with stays there until two newer ones have come.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use cycod_catalog::{TeamPlace, TeamRelease};
use cycod_code::Code;
use cycod_file::{Durability, FileAccess, Folder, is_nothing};
use cycod_team::{Anchor, BlobDigest, SeenRelease, TeamChannel, VerifiedRelease, release_tag};
use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    DeviceKey, Fetched, ReleaseHistory, SyncError, TeamSource,
    local::{Here, LIST, part_file},
    remote::fetch,
    turn,
};

/// The version of the files.
const FORMAT: u32 = 1;

/// How long to wait for another process of ours.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many releases before the one in force are kept, for runs that have begun with them.
const KEPT: usize = 2;

/// Which team was joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TeamMember {
    format: u32,
    /// What the team is called.
    pub team: String,
    /// Where it publishes.
    pub source: String,
    /// The channel whose releases are put into force.
    #[serde(skip_serializing_if = "TeamChannel::is_stable", default)]
    pub channel: TeamChannel,
    /// The root that the user compared with what the team told.
    pub root: BlobDigest,
    /// When it was joined.
    pub joined: Timestamp,
}

/// When the source was read last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyncNote {
    /// When that went well.
    pub synced: Option<Timestamp>,
    /// What went wrong since.
    pub failure: Option<SyncFailure>,
}

/// What went wrong when the source was read last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyncFailure {
    /// When.
    pub at: Timestamp,
    /// The name of the code.
    pub code: Option<String>,
    /// What is wrong.
    pub message: String,
}

impl SyncFailure {
    /// Whether a member must know of it. That the source is away is usual until the release expires.
    pub fn matters(&self) -> bool {
        self.code.as_deref() != Some(Code::TeamUnreachable.name())
    }
}

/// What a sync has done.
#[derive(Debug)]
pub struct Synced {
    /// The release in force.
    pub fetched: Fetched,
    /// The number of the release that was in force before.
    pub before: Option<u64>,
    /// Whether anything was written.
    pub is_new: bool,
    /// Whether there is a newer root.
    pub is_new_root: bool,
}

/// The place of a team on this machine.
#[derive(Clone, Debug)]
pub struct TeamStore {
    place: TeamPlace,
    /// The key of a device that is about to join.
    joining: Option<DeviceKey>,
}

impl TeamStore {
    /// The store in a place.
    pub fn at(place: TeamPlace) -> Self {
        Self { place, joining: None }
    }

    /// The store in a place that is about to join a hub with this device.
    pub fn with_device(place: TeamPlace, device: DeviceKey) -> Self {
        Self { place, joining: Some(device) }
    }

    /// The key of this device at the hub of the team, if the team has one.
    ///
    /// # Errors
    /// When that can't be told.
    pub fn device(&self) -> Result<Option<DeviceKey>, SyncError> {
        match &self.joining {
            Some(device) => Ok(Some(device.clone())),
            None => self.read("device.json"),
        }
    }

    /// Where it is.
    pub fn place(&self) -> &TeamPlace {
        &self.place
    }

    fn file(&self, name: &str) -> PathBuf {
        self.place.directory.join(name)
    }

    /// Which team was joined.
    ///
    /// # Errors
    /// When that can't be told.
    pub fn member(&self) -> Result<Option<TeamMember>, SyncError> {
        let member: Option<TeamMember> = self.read("member.json")?;
        match member {
            Some(member) if member.format != FORMAT => {
                Err(broken(&self.file("member.json"), &format!("it has format {}", member.format)))
            }
            member => Ok(member),
        }
    }

    /// When the source was read last; nothing is known when that can't be told.
    pub fn note(&self) -> SyncNote {
        self.read("state.json").ok().flatten().unwrap_or_default()
    }

    /// Fetches the release of a channel without putting it into force: the first one, if `root` is given.
    ///
    /// # Errors
    /// When it can't be read, or is not what the team signed.
    pub fn fetch(
        &self,
        source: &TeamSource,
        root: Option<BlobDigest>,
        channel: &TeamChannel,
        now: Timestamp,
    ) -> Result<Fetched, SyncError> {
        let device = self.device()?;
        let source = (source, device.as_ref());
        if let Some(root) = root {
            return fetch(source, Here::default(), (Anchor::Root(root), channel), now);
        }
        let missing = || broken(&self.file("seen.json"), "it is missing");
        let seen: SeenRelease = self.read("seen.json")?.ok_or_else(missing)?;
        fetch(source, Here::at(&self.place.active()), (Anchor::Seen(&seen), channel), now)
    }

    /// The releases that the team had: up to the one in force, or up to the newest one, which is fetched for that.
    ///
    /// # Errors
    /// When no team was joined, or what is needed can't be read.
    pub fn history(&self, with_newest: bool, now: Timestamp) -> Result<ReleaseHistory, SyncError> {
        let member = self.member()?.ok_or_else(|| not_joined(&self.place))?;
        let source = self.source(&member)?;
        let newest = with_newest.then(|| self.fetch(&source, None, &member.channel, now)).transpose()?;
        let failed = |error: io::Error| SyncError::io("read", &self.file("releases"), &error);
        let kept = fs::read_dir(self.file("releases")).map_err(failed)?;
        let kept: io::Result<Vec<PathBuf>> = kept.map(|entry| Ok(entry?.path())).collect();
        let release = self.place.release().map_err(|error| broken(&self.place.active(), &error.to_string()))?;
        let (active, device) = (self.place.active(), self.device()?);
        ReleaseHistory::new((source, device), (&active, release.number), &kept.map_err(failed)?, newest)
    }

    fn source(&self, member: &TeamMember) -> Result<TeamSource, SyncError> {
        TeamSource::parse(&member.source, Path::new("/"))
            .map_err(|why| broken(&self.file("member.json"), &format!("`{}`: {why}", member.source)))
    }

    /// The entity tag of the newest release that was accepted, for a hub to compare; nothing when that can't be told.
    pub fn tag(&self) -> Option<String> {
        let seen: SeenRelease = self.read("seen.json").ok()??;
        Some(release_tag(seen.release, seen.root.version))
    }

    /// Joins a team with its first release.
    ///
    /// # Errors
    /// When it can't be written, or a team was joined already.
    pub fn join(
        &self,
        source: &TeamSource,
        root: BlobDigest,
        fetched: &Fetched,
        now: Timestamp,
    ) -> Result<(), SyncError> {
        let _lock = self.lock()?;
        if self.place.is_joined() {
            return Err(SyncError { code: None, message: "a team was joined already".to_owned() });
        }
        let (team, channel) = (fetched.verified.release.team.clone(), fetched.verified.release.channel.clone());
        self.install(fetched, &about(&fetched.verified))?;
        self.write("state.json", &SyncNote { synced: Some(now), failure: None })?;
        self.turn(turn::end(&self.place, false, now.into()))?;
        if let Some(device) = &self.joining {
            self.write_with("device.json", device, FileAccess::Private)?;
        }
        let member = TeamMember { format: FORMAT, team, source: source.to_string(), channel, root, joined: now };
        self.write("member.json", &member)
    }

    /// Puts the newest release into force. When anything is wrong, the one before stays, and the failure is noted.
    ///
    /// # Errors
    /// When no team was joined, the source can't be read, or its release is not what the team signed.
    pub fn sync(&self, now: Timestamp) -> Result<Synced, SyncError> {
        let _lock = self.lock()?;
        let member = self.member()?.ok_or_else(|| not_joined(&self.place))?;
        self.turn(turn::begin(&self.place, now.into()))?;
        self.mark(now)?;
        let result = self.synced(&member, now);
        let note = self.note();
        let note = match &result {
            Ok(_) => SyncNote { synced: Some(now), failure: None },
            Err(SyncError { code, message }) => {
                let code = code.map(|code| code.to_string());
                SyncNote { failure: Some(SyncFailure { at: now, code, message: message.clone() }), ..note }
            }
        };
        self.write("state.json", &note)?;
        let has_failed = note.failure.as_ref().is_some_and(SyncFailure::matters);
        self.turn(turn::end(&self.place, has_failed, now.into()))?;
        result
    }

    /// Notes if the clock shows now that the release in force has expired, unless another process is at work or only other
    /// users can write here.
    pub fn note_time(&self, now: Timestamp) {
        let Ok(lock) = File::options().write(true).open(self.file(turn::LOCK)) else { return };
        if lock.try_lock().is_ok() {
            // If it fails, the next sync tries again, and says why it can't.
            drop(self.mark(now));
        }
    }

    fn mark(&self, now: Timestamp) -> Result<(), SyncError> {
        match self.place.release() {
            Ok(release) if release.seen_over.is_none() && release.is_over(now.into()) => {
                self.write_about(&TeamRelease { seen_over: Some(now.as_second()), ..release })
            }
            _ => Ok(()),
        }
    }

    /// Believes the clock, for someone who says that it was wrong when it showed that the release in force had expired.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn trust_clock(&self) -> Result<(), SyncError> {
        let _lock = self.lock()?;
        match self.place.release() {
            Ok(release) if release.seen_over.is_some() => self.write_about(&TeamRelease { seen_over: None, ..release }),
            _ => Ok(()),
        }
    }

    fn write_about(&self, about: &TeamRelease) -> Result<(), SyncError> {
        let path = fs::canonicalize(self.place.active())
            .map_err(|error| SyncError::io("read", &self.place.active(), &error))?
            .join("about.json");
        let failed = |error: io::Error| SyncError::io("write", &path, &error);
        let text = format!("{:#}\n", about.to_json());
        cycod_file::replace(&path, text.as_bytes(), FileAccess::Usual, Durability::Power).map_err(failed)?;
        set_mode(&path, 0o644).map_err(failed)
    }

    /// Follows another channel from now on, with its newest release in force. What was seen of the others stays known, so that
    /// none of them can go back.
    ///
    /// # Errors
    /// As [`TeamStore::sync`]; then the channel stays as it was.
    pub fn follow(&self, channel: &TeamChannel, now: Timestamp) -> Result<Synced, SyncError> {
        let _lock = self.lock()?;
        let member = self.member()?.ok_or_else(|| not_joined(&self.place))?;
        let member = TeamMember { channel: channel.clone(), ..member };
        let synced = self.synced(&member, now)?;
        self.write("state.json", &SyncNote { synced: Some(now), failure: None })?;
        self.turn(turn::end(&self.place, false, now.into()))?;
        self.write("member.json", &member)?;
        Ok(synced)
    }

    fn turn(&self, noted: io::Result<()>) -> Result<(), SyncError> {
        noted.map_err(|error| SyncError::io("write", &self.file(turn::TRIED), &error))
    }

    fn synced(&self, member: &TeamMember, now: Timestamp) -> Result<Synced, SyncError> {
        let source = self.source(member)?;
        let before = self.place.release().ok();
        let fetched = self.fetch(&source, None, &member.channel, now)?;
        let VerifiedRelease { release, tools, parts, .. } = &fetched.verified;
        let seen_over = seen_over(&fetched.verified, before.as_ref());
        let about = TeamRelease { seen_over, ..about(&fetched.verified) };
        let is_current = before.as_ref() == Some(&about);
        let seen: Option<SeenRelease> = self.read("seen.json")?;
        // Written as well, so that no older root is accepted after it.
        let is_new_root = seen.is_none_or(|seen| seen.root != fetched.verified.seen.root);
        let is_new = is_new_root || !(is_current && Here::at(&self.place.active()).is_exactly(tools, parts));
        debug_assert_eq!(release.team, member.team, "what was seen is of the team");
        if is_new {
            self.install(&fetched, &about)?;
        }
        if let Some(at) = seen_over {
            let at = Timestamp::from_second(at).unwrap_or(Timestamp::MAX);
            let message = format!(
                "release {} expired at {}, and there is no newer one; the clock here shows {now}, but it has shown {at} before",
                release.number, release.expires
            );
            return Err(SyncError::new(Code::ReleaseExpired, message));
        }
        Ok(Synced { fetched, before: before.map(|before| before.number), is_new, is_new_root })
    }

    /// Leaves the team: removes the release and everything that is known of it.
    ///
    /// # Errors
    /// When something can't be removed.
    pub fn leave(&self) -> Result<(), SyncError> {
        let lock = self.lock()?;
        let failed = |error: io::Error| SyncError::io("remove", &self.place.directory, &error);
        // First, so that half of a removal is no broken place.
        fs::remove_file(self.place.member()).map_err(failed)?;
        let real = fs::canonicalize(&self.place.directory).map_err(failed)?;
        let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else { return Ok(()) };
        drop(lock);
        Folder::open(parent).and_then(|parent| parent.remove_all(name)).map_err(failed)
    }

    /// Writes a release and puts it into force.
    fn install(&self, fetched: &Fetched, about: &TeamRelease) -> Result<(), SyncError> {
        let verified = &fetched.verified;
        let releases = self.file("releases");
        let name = self.free_name(verified);
        let directory = releases.join(&name);
        self.write_release(fetched, about, &directory).map_err(|error| SyncError::io("write", &directory, &error))?;
        // From here on no older one is accepted. If the link does not change, the next sync changes it.
        self.write("seen.json", &verified.seen)?;
        self.switch_to(&name).map_err(|error| SyncError::io("replace", &self.place.active(), &error))?;
        self.forget_old(&name);
        Ok(())
    }

    fn free_name(&self, verified: &VerifiedRelease) -> String {
        let digest = verified.seen.release.to_string();
        let name = format!("{}-{}", verified.release.number, &digest[..16]);
        let is_free = |name: &String| fs::symlink_metadata(self.file("releases").join(name)).is_err();
        let mut names = std::iter::once(name.clone()).chain((2..).map(|again| format!("{name}.{again}")));
        names.find(is_free).unwrap_or(name)
    }

    fn write_release(&self, fetched: &Fetched, about: &TeamRelease, directory: &Path) -> io::Result<()> {
        let verified = &fetched.verified;
        make_directory(directory)?;
        make_directory(&directory.join("tools"))?;
        for (path, file) in &verified.tools {
            let target = directory.join("tools").join(path);
            if let Some(parent) = target.parent() {
                make_directory(parent)?;
            }
            let bytes = verified.blobs.get(&file.sha256).ok_or_else(|| io::Error::other("a file is missing"))?;
            write_file(&target, bytes, file.executable)?;
        }
        for (name, bytes) in &verified.parts {
            if let Some(file) = part_file(name) {
                write_file(&directory.join(file), bytes, false)?;
            }
        }
        let root = format!("root/{}.json", verified.root.version);
        for (path, bytes) in &fetched.documents {
            match path.as_str() {
                "parts/tools" => write_file(&directory.join(LIST), bytes, false)?,
                path if path.starts_with("root/") && !path.starts_with(&root) => {}
                path => write_file(&directory.join(path.replace('/', "-")), bytes, false)?,
            }
        }
        let about = format!("{:#}\n", about.to_json());
        write_file(&directory.join("about.json"), about.as_bytes(), false)?;
        flush(directory)
    }

    #[cfg(unix)]
    fn switch_to(&self, name: &str) -> io::Result<()> {
        let folder = Folder::open(&fs::canonicalize(&self.place.directory)?)?;
        let temporary = cycod_file::temporary_name();
        std::os::unix::fs::symlink(Path::new("releases").join(name), self.place.directory.join(&temporary))?;
        folder.move_into(&temporary, &folder, "active".as_ref())?;
        File::open(&self.place.directory)?.sync_all()
    }

    #[cfg(not(unix))]
    fn switch_to(&self, _name: &str) -> io::Result<()> {
        Err(io::Error::other("this system has no links that can be replaced in one step"))
    }

    /// Removes releases that no run can have begun with of late. Those that can't be removed take room, no more.
    fn forget_old(&self, current: &str) {
        let releases = self.file("releases");
        // Numbers of different channels say nothing about which is older.
        let written = |name: &str| fs::metadata(releases.join(name)).and_then(|found| found.modified()).ok();
        let Ok(folder) = fs::canonicalize(&releases).and_then(|path| Folder::open(&path)) else { return };
        let mut others = Vec::new();
        let listed = folder.names(|name| {
            if let Some(name) = name.to_str().filter(|name| *name != current) {
                others.push((written(name), name.to_owned()));
            }
            Ok::<_, io::Error>(())
        });
        others.sort_unstable();
        let old = others.len().saturating_sub(KEPT);
        for (_, name) in others.iter().take(if listed.is_ok() { old } else { 0 }) {
            drop(folder.remove_all(name.as_ref()));
        }
    }

    fn lock(&self) -> Result<File, SyncError> {
        let path = self.file(turn::LOCK);
        let failed = |error: io::Error| SyncError::io("lock", &path, &error);
        make_directory(&self.place.directory).map_err(failed)?;
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        match cycod_file::lock(&file, PATIENCE) {
            Ok(()) => Ok(file),
            Err(fs::TryLockError::Error(error)) => Err(failed(error)),
            Err(fs::TryLockError::WouldBlock) => {
                Err(SyncError { code: None, message: "another process is fetching a release".to_owned() })
            }
        }
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, SyncError> {
        let path = self.file(name);
        match fs::read(&path) {
            Err(error) if is_nothing(&error) => Ok(None),
            Err(error) => Err(broken(&path, &error.to_string())),
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| broken(&path, &error.to_string())),
        }
    }

    fn write(&self, name: &str, document: &impl Serialize) -> Result<(), SyncError> {
        self.write_with(name, document, FileAccess::Usual)?;
        let path = self.file(name);
        set_mode(&path, 0o644).map_err(|error| SyncError::io("write", &path, &error))
    }

    fn write_with(&self, name: &str, document: &impl Serialize, access: FileAccess<'_>) -> Result<(), SyncError> {
        let path = self.file(name);
        let failed = |error: io::Error| SyncError::io("write", &path, &error);
        let text = serde_json::to_string_pretty(document).map_err(|error| failed(error.into()))? + "\n";
        cycod_file::replace(&path, text.as_bytes(), access, Durability::Power).map_err(failed)
    }
}

/// What is written about a release.
fn about(verified: &VerifiedRelease) -> TeamRelease {
    let VerifiedRelease { root, release, signers, .. } = verified;
    TeamRelease {
        team: release.team.clone(),
        channel: release.channel.name().to_owned(),
        number: release.number,
        made: release.made.as_second(),
        expires: release.expires.min(root.expires).as_second(),
        signers: signers.clone(),
        seen_over: None,
    }
}

/// When the clock here showed that this release had expired, if it is the one that was in force.
fn seen_over(verified: &VerifiedRelease, before: Option<&TeamRelease>) -> Option<i64> {
    let before = before?;
    (TeamRelease { seen_over: None, ..before.clone() } == about(verified)).then_some(before.seen_over)?
}

fn broken(path: &Path, why: &str) -> SyncError {
    let message = format!("`{}` isn't what cycod remembered of the team: {why}", path.display());
    SyncError::new(Code::TeamRecordBroken, message)
}

fn not_joined(place: &TeamPlace) -> SyncError {
    let whose = if place.is_machines { "this machine has" } else { "you have" };
    SyncError { code: None, message: format!("{whose} joined no team") }
}

/// Makes a directory that all may read and only its owner may change, whatever is usual for new ones.
fn make_directory(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::create_dir_all(path)?;
    set_mode(path, 0o755)
}

fn write_file(path: &Path, bytes: &[u8], is_executable: bool) -> io::Result<()> {
    fs::write(path, bytes)?;
    set_mode(path, if is_executable { 0o755 } else { 0o644 })
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}

/// Makes everything on the file system outlast a power failure, in one step for however many files.
#[cfg(target_os = "linux")]
fn flush(directory: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(directory)?)?)
}

#[cfg(not(target_os = "linux"))]
fn flush(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}
