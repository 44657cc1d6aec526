//! The directory of a run on a worker: the files of the ticket, and those of the project if they travel with it.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::{Component, Path, PathBuf},
};

use cycod_engine::definition::Host;
use cycod_snapshot::{Changes, NotApplied, ProjectEntry, ProjectPath, Snapshot};
use cycod_team_sync::{VerifiedTicket, WorkerMachine};

use crate::run::entries_with;

/// A directory with the files of a run, which is removed in the end. While the process lives, it is locked.
pub(super) struct Unpacked {
    pub(super) path: PathBuf,
    /// Where the run begins.
    pub(super) begins: PathBuf,
    /// What it has of the project.
    before: BTreeMap<ProjectPath, ProjectEntry>,
    /// What the steps before changed in that, and is not there yet.
    changes: Vec<Changes>,
    _lock: Option<File>,
}

impl Unpacked {
    pub(super) fn of(
        machine: &WorkerMachine,
        host: &Host,
        ticket: &VerifiedTicket,
        project: Option<(Snapshot, Vec<Changes>)>,
    ) -> Result<Self, String> {
        let failed = |error: io::Error| format!("its files can't be written: {error}");
        let is_id = |id: &str| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id(&ticket.document.id) {
            return Err("the ID of the ticket is none".to_owned());
        }
        let place = temp(host).map_err(failed)?.join(format!("{}{}-{}", mark(machine), ticket.task(), ticket.fence));
        // A directory that is there is someone else's.
        cycod_file::create_private_directory(&place).map_err(failed)?;
        let lock = locked(&place);
        let mut unpacked =
            Self { begins: place.clone(), path: place, before: BTreeMap::new(), changes: Vec::new(), _lock: lock };
        if let (Some((project, changes)), Some(workspace)) = (project, &ticket.document.workspace) {
            project.write(&unpacked.path).map_err(|error| error.to_string())?;
            if !workspace.directory.is_empty() {
                let directory =
                    ProjectPath::try_from(workspace.directory.clone()).map_err(|error| error.to_string())?;
                unpacked.begins = unpacked.path.join(directory.as_str());
            }
            let own = ticket.files.iter().map(|(path, (bytes, executable))| (path, bytes.as_slice(), *executable));
            (unpacked.before, unpacked.changes) = (entries_with(&project, own), changes);
        }
        for (path, (bytes, is_executable)) in &ticket.files {
            unpacked.add(path, bytes, *is_executable)?;
        }
        Ok(unpacked)
    }

    /// Writes a file of the tool, unless it came with the project.
    #[cfg_attr(not(unix), expect(unused_variables, reason = "only Unix has a mode for programs"))]
    fn add(&self, path: &str, bytes: &[u8], is_executable: bool) -> Result<(), String> {
        let failed = |error: io::Error| format!("its files can't be written: {error}");
        let is_below = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        if path.is_empty() || !is_below || path.contains(['\\', ':']) || path.chars().any(char::is_control) {
            return Err(format!("`{path}` is no path below a project"));
        }
        let file = self.path.join(path);
        // Links of a project stay in it.
        match fs::read(&file) {
            Ok(there) if there == bytes => return Ok(()),
            Ok(_) => return Err(format!("`{path}` changed while the files of the project were packed")),
            Err(_) => {}
        }
        fs::create_dir_all(file.parent().unwrap_or(&self.path)).map_err(failed)?;
        fs::write(&file, bytes).map_err(failed)?;
        #[cfg(unix)]
        if is_executable {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(&file, fs::Permissions::from_mode(0o700)).map_err(failed)?;
        }
        Ok(())
    }

    /// Applies what the steps before changed.
    pub(super) fn advance(&mut self) -> Result<(), String> {
        for changes in std::mem::take(&mut self.changes) {
            changes.apply(&self.path).map_err(|error| match error {
                NotApplied::Failed(error) => error.to_string(),
                NotApplied::Conflicts(_) => "the changes of the steps before are of other files".to_owned(),
            })?;
            self.before = changes.entries_after(std::mem::take(&mut self.before));
        }
        // One of them may have removed the last file in it.
        fs::create_dir_all(&self.begins).map_err(|error| format!("its files can't be written: {error}"))
    }

    /// What the run changed in the files of the project.
    pub(super) fn changes(&self) -> Result<Changes, String> {
        Changes::since(&self.before, &self.path).map_err(|error| error.to_string())
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        // What can't be removed is in the directory for what is temporary.
        _ = removed(&self.path);
    }
}

/// How the names of the directories of a worker begin.
fn mark(machine: &WorkerMachine) -> String {
    format!("cycod-task-{}-", machine.mark())
}

fn temp(host: &Host) -> io::Result<PathBuf> {
    fs::canonicalize(&host.temp)
}

/// Locks a directory for as long as the process lives, where the system can do that.
fn locked(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    file.try_lock().is_ok().then_some(file)
}

/// Removes what an earlier process of this worker left, which did not live to do it itself.
pub(super) fn remove_abandoned(machine: &WorkerMachine, host: &Host) {
    let mark = mark(machine);
    let Ok(temp) = temp(host) else { return };
    for entry in fs::read_dir(temp).into_iter().flatten().flatten() {
        let is_own = entry.file_name().to_str().is_some_and(|name| name.starts_with(&mark));
        // A lock that is held is one of a worker that runs.
        if is_own && is_own_directory(&entry.path()) && locked(&entry.path()).is_some() {
            _ = removed(&entry.path());
        }
    }
}

#[cfg(unix)]
fn is_own_directory(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let is_ours = |metadata: &fs::Metadata| metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw();
    fs::symlink_metadata(path).is_ok_and(|metadata| is_ours(&metadata))
}

#[cfg(not(unix))]
fn is_own_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// Removes a directory with all that is in it, also what its owner may not write.
fn removed(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            permit(path);
            fs::remove_dir_all(path)
        }
        result => result,
    }
}

/// Lets the owner change a directory, and those in it. Links are not followed.
fn permit(path: &Path) {
    if !fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        return;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        _ = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        permit(&entry.path());
    }
}
