//! What this machine can hold a tool to.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use cycod_catalog::Overrides;
use cycod_definition::{Demand, EnvironmentVariables, OfferedConfinement, Unmet};
use cycod_file::{Durability, FileAccess};
use cycod_run::{container_service, elevator};

/// How long it is believed that the service of containers answers, or does not: it may be started meanwhile.
const SERVICE_HOLDS: Duration = Duration::from_secs(10);

/// Asks the machine when somebody first wants to know.
pub(crate) fn offered(environment: &EnvironmentVariables, directory: &Path) -> OfferedConfinement {
    let (environment, directory) = (environment.clone(), directory.to_owned());
    let kernel = OnceLock::new();
    let service = Mutex::new(None);
    OfferedConfinement::by(move |demand| match demand {
        Demand::Elevated => elevator(&environment, &directory).map(drop).map_err(unmet),
        Demand::Image => {
            let mut known = service.lock().unwrap_or_else(PoisonError::into_inner);
            match &*known {
                Some((at, answer)) if Instant::now().duration_since(*at) < SERVICE_HOLDS => Clone::clone(answer),
                _ => {
                    let answer = container_service(&environment, &directory).map(drop).map_err(unmet);
                    known.insert((Instant::now(), answer)).1.clone()
                }
            }
        }
        Demand::Permissions | Demand::Reduced | Demand::Container => {
            kernel.get_or_init(|| kernel_offers(&Note::of(&environment))).clone()
        }
    })
}

fn unmet(missing: impl std::error::Error) -> Unmet {
    Unmet::new(missing.to_string())
}

/// Whether the kernel can confine, by a trial unless one went well before.
fn kernel_offers(note: &Note) -> Result<(), Unmet> {
    if note.is_there() {
        return Ok(());
    }
    let offered = cycod_process::offered();
    if offered.lacks.is_empty() {
        note.write();
        return Ok(());
    }
    let lack = |lack: &cycod_process::Lack| format!("{}: {}; {}", lack.mechanism, lack.why, lack.fix);
    Err(Unmet::new(offered.lacks.iter().map(lack).collect::<Vec<_>>().join(". ")))
}

/// A note that a trial went well. It is only believed where it was written: at this boot of this kernel, by this user in
/// this place of the system. Should that be wrong nevertheless, a start fails; it is never less confined.
struct Note {
    path: PathBuf,
    text: Option<String>,
}

impl Note {
    fn of(environment: &EnvironmentVariables) -> Self {
        let home = environment.get(std::ffi::OsStr::new("HOME")).map(PathBuf::from).unwrap_or_default();
        let user = Overrides::from_environment(environment).user.unwrap_or_else(|| home.join(".cycod"));
        let read = |path: &str| fs::read_to_string(path).ok();
        let link = |path: &str| Some(fs::read_link(path).ok()?.to_string_lossy().into_owned());
        let status = read("/proc/self/status").unwrap_or_default();
        let kept = ["Uid:", "CapEff:", "NoNewPrivs:", "Seccomp:"];
        let status = status.lines().filter(|line| kept.iter().any(|start| line.starts_with(start)));
        let parts = [
            read("/proc/sys/kernel/random/boot_id"),
            read("/proc/sys/kernel/osrelease"),
            link("/proc/self/ns/user"),
            link("/proc/self/ns/mnt"),
            Some(status.collect::<Vec<_>>().join("\n")),
        ];
        let text = parts.into_iter().collect::<Option<Vec<_>>>().map(|parts| parts.join("\n"));
        Self { path: user.join("cache").join("confinement"), text }
    }

    fn is_there(&self) -> bool {
        self.text.is_some() && fs::read_to_string(&self.path).ok() == self.text
    }

    /// A note that cannot be written costs another trial, no more.
    fn write(&self) {
        let Some(text) = &self.text else { return };
        drop(self.path.parent().map(fs::create_dir_all));
        drop(cycod_file::replace(&self.path, text.as_bytes(), FileAccess::Usual, Durability::Process));
    }
}
