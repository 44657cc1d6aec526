//! Keeps the release of a team new without making a command wait: as a command ends whose last sync is long ago, it starts the
//! next one in the background.

use std::{
    ffi::OsStr,
    fs,
    path::Path,
    time::{Duration, Instant, SystemTime},
};

use cycod_engine::{
    Engine,
    catalog::{Overrides, Scopes, TeamPlace, TeamRelease},
    definition::Host,
    settings::Settings,
};
use cycod_process::{Program, is_below_a_run, start_detached};
use cycod_team_sync::{EventPosition, HubEvent, LastSync, SyncFailure, TeamStore, take_turn, take_turn_after};
use cycod_thread::Thread;

use super::hub_of;
use crate::printer::{Printer, talk};

/// The variable that keeps commands from syncing.
const VARIABLE: &str = "CYCOD_TEAM_SYNC";

/// How often the reason of a failure is shown, and not only that there is one.
const LOUDLY: Duration = Duration::from_hours(24);

/// The shortest pause between two looks of a program that runs for long.
const PAUSE: Duration = Duration::from_secs(60);

/// The pause between two streams of events.
const NEXT: Duration = Duration::from_secs(1);

/// What a command does last that has used the tools of this place.
pub(crate) fn after_command(engine: &Engine, printer: &mut Printer) {
    let scopes = engine.catalog().scopes();
    let Some(place) = scopes.team() else { return };
    let host = engine.host();
    let last = LastSync::of(place, host.now);
    if last.has_failed
        && let Some(failure) = Failure::of(place)
    {
        printer.warn(&failure.words(failure.is_due_loudly(scopes.user_directory(), host.now)));
    }
    if last.due_in.is_zero() {
        TeamStore::at(place.clone()).note_time(super::at(host.now));
    }
    if last.due_in.is_zero() && is_wanted(host, || engine.settings().syncs_team()) {
        start(place, host, scopes.user_directory(), host.now);
    }
}

/// Does the same again and again, for a program that runs for long. What fails is written to its log.
pub(crate) fn keep(host: Host) {
    let keeping = move || {
        let (mut told, mut position) = (None, EventPosition::default());
        loop {
            // Joining and leaving count as well.
            let scopes = Scopes::discover(&host, &Overrides::from_environment(&host.environment));
            let mut pause = PAUSE;
            if let Some(place) = scopes.team() {
                let now = SystemTime::now();
                let last = LastSync::of(place, now);
                let failure = last.has_failed.then(|| Failure::of(place)).flatten().map(|failure| failure.words(true));
                if failure != told {
                    failure.iter().for_each(|words| talk(&format!("cycod: {words}\n")));
                    told = failure;
                }
                let is_wanted = is_wanted(&host, || Settings::load(&scopes, &host).syncs_team());
                if is_wanted && last.due_in.is_zero() {
                    start(place, &host, scopes.user_directory(), now);
                }
                pause = pause.max(last.due_in);
                if is_wanted {
                    pause = follow(place, &mut position, pause, || launch(place, &host, scopes.user_directory()));
                }
            }
            std::thread::sleep(pause);
        }
    };
    // Without it, the tools are as fresh as the other commands keep them.
    drop(Thread::named("team-sync").detach(keeping));
}

/// Follows the events of the team's hub for at most `longest`, if there is one; `sync` is for a new release. Returns how long to
/// wait before the next look.
fn follow(place: &TeamPlace, position: &mut EventPosition, longest: Duration, sync: impl Fn()) -> Duration {
    let store = TeamStore::at(place.clone());
    let Some((hub, _)) = hub_of(&store).ok().flatten() else { return longest };
    let (began, mut released) = (Instant::now(), None);
    // Without a stream, the time decides when to sync, and the sync notes what is wrong.
    _ = hub.follow(store.tag().as_deref(), position, longest, &mut |event| {
        released = (event == HubEvent::Release).then(SystemTime::now);
        released.is_none()
    });
    if let Some(at) = released {
        // Of several programs that hear of it, one syncs.
        if take_turn_after(place, at, SystemTime::now()) {
            sync();
        }
    }
    // A stream that ended at once is not opened again and again.
    if released.is_some() || began.elapsed() >= PAUSE { NEXT } else { PAUSE }
}

fn is_wanted(host: &Host, settings: impl FnOnce() -> bool) -> bool {
    host.environment.get(OsStr::new(VARIABLE)).is_none_or(|value| value != "off") && !is_below_a_run() && settings()
}

/// Starts `cycod team sync`, if no other process has just done so. That it can't be started is no failure of this command: the
/// next one tries again.
fn start(place: &TeamPlace, host: &Host, directory: &Path, now: SystemTime) {
    if take_turn(place, now) {
        launch(place, host, directory);
    }
}

fn launch(place: &TeamPlace, host: &Host, directory: &Path) {
    let Ok(program) = std::env::current_exe() else { return };
    let mut sync = Program::new(program, directory).arg("team").arg("sync");
    if place.is_machines {
        sync = sync.arg("--machine");
    }
    sync.env = host.environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    drop(start_detached(&sync, b""));
}

/// Why the newest release is not in force.
struct Failure {
    release: TeamRelease,
    failure: SyncFailure,
}

impl Failure {
    fn of(place: &TeamPlace) -> Option<Self> {
        let failure = TeamStore::at(place.clone()).note().failure.filter(SyncFailure::matters)?;
        Some(Self { release: place.release().ok()?, failure })
    }

    fn words(&self, with_reason: bool) -> String {
        let Self { release, failure } = self;
        let code = failure.code.as_deref();
        let stays = format!("{} stays in force, because the newest release ", release.name());
        match (with_reason, code) {
            (true, Some(code)) => {
                let ask = release.whom_to_ask();
                format!("{stays}was refused: {}\nask {ask}; more: cycod explain {code}", failure.message)
            }
            (true, None) => format!("{stays}was not stored: {}", failure.message),
            (false, Some(code)) => format!("{stays}was refused ({code}): cycod team show"),
            (false, None) => format!("{stays}was not stored: cycod team show"),
        }
    }

    /// Whether the reason was not shown for a day; then it was shown now.
    fn is_due_loudly(&self, directory: &Path, now: SystemTime) -> bool {
        let path = directory.join("cache/team-failure");
        let words = self.words(true);
        let age = fs::metadata(&path).and_then(|metadata| metadata.modified()).map(|at| now.duration_since(at));
        let is_known = fs::read_to_string(&path).is_ok_and(|known| known == words);
        if is_known && age.is_ok_and(|age| age.is_ok_and(|age| age < LOUDLY)) {
            return false;
        }
        // Where this can't be noted, the reason is shown each time.
        let noted = fs::create_dir_all(directory.join("cache")).and_then(|()| fs::write(&path, words));
        drop(noted);
        true
    }
}
