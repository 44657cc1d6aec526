//! Directories: whether they are there, can be written, and are not open to others.

use std::{
    fs::{self, Metadata},
    path::{Path, PathBuf},
};

use cycod_definition::Host;
use cycod_engine::{Engine, catalog::Scope};
use cycod_shell::quoted_if_needed;

use super::Check;
use crate::{machine, place::shown};

const GROUP: &str = "directories";

/// What is little room for outputs and history.
const LITTLE: u64 = 1 << 30;

/// What is too little for anything.
const NOTHING: u64 = 16 << 20;

pub(crate) fn checks(engine: &Engine) -> Vec<Check> {
    let host = engine.host();
    let scopes = engine.catalog().scopes();
    let user = scopes.user_directory();
    let mut checks = vec![
        directory("user_directory", user, "settings, history, outputs and caches are stored in it", host),
        directory("temp_directory", &host.temp, "each run has a directory of its own in it", host),
    ];
    let local = scopes.written(Scope::Local);
    if let Some(local) = local.parent().filter(|local| *local != user && local.is_dir()) {
        checks.push(directory("project_directory", local, "the tools and settings of this project are in it", host));
    }
    checks.push(room(user, host));
    for (path, error) in engine.catalog().problems() {
        let message = format!("the tools in `{}` cannot be listed: {error}", shown(path, host));
        checks.push(Check::failed(GROUP, "tool_directory", message).fix(format!("ls -ld {}", quoted(path))));
    }
    checks
}

/// A directory that is ours and is written.
fn directory(name: &'static str, path: &Path, what: &str, host: &Host) -> Check {
    let at = shown(path, host);
    let check = match fs::metadata(path) {
        Ok(metadata) if !metadata.is_dir() => {
            let message = format!("`{at}` is not a directory, and {what}");
            Check::failed(GROUP, name, message).fix(format!("mv {0} {0}.old", quoted(path)))
        }
        Ok(_) if !machine::may_write(path) => {
            let message = format!("`{at}` cannot be written, and {what}");
            Check::failed(GROUP, name, message)
                .fix(format!("chmod u+rwx {0}  # or: sudo chown \"$USER\" {0}", quoted(path)))
        }
        Ok(metadata) if is_open_to_others(&metadata) => {
            let message = format!("others can write `{at}`, and so decide what runs as you");
            Check::failed(GROUP, name, message).fix(format!("chmod go-w {}", quoted(path)))
        }
        Ok(_) => Check::ok(GROUP, name, format!("`{at}` can be written")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let above = above(path);
            if machine::may_write(&above) {
                Check::ok(GROUP, name, format!("`{at}` is created when it is first needed"))
            } else {
                let message = format!(
                    "`{at}` does not exist and cannot be created, because `{}` cannot be written",
                    shown(&above, host)
                );
                Check::failed(GROUP, name, message).fix(format!("sudo install -d -o \"$USER\" {}", quoted(path)))
            }
        }
        Err(error) => Check::failed(GROUP, name, format!("`{at}` cannot be accessed: {error}"))
            .fix(format!("ls -ld {}", quoted(path))),
    };
    check.detail("path", path.to_string_lossy())
}

/// The first directory above that is there.
fn above(path: &Path) -> PathBuf {
    path.ancestors().skip(1).find(|above| above.exists()).unwrap_or(Path::new("/")).to_owned()
}

/// Whether others may put files there; where only the owner of a file may replace it, they can do no harm.
#[cfg(unix)]
fn is_open_to_others(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.mode() & 0o022 != 0 && metadata.mode() & 0o1000 == 0
}

#[cfg(not(unix))]
fn is_open_to_others(_: &Metadata) -> bool {
    false
}

/// How much room there is for outputs and history.
fn room(path: &Path, host: &Host) -> Check {
    const NAME: &str = "disk_space";
    let place = if path.exists() { path.to_owned() } else { above(path) };
    let at = shown(path, host);
    let Some(disk) = machine::disk_of(&place) else {
        return Check::ok(GROUP, NAME, format!("cannot determine the free space for `{at}`"));
    };
    let free = machine::size(disk.available);
    let message = format!("{free} of {} are free for outputs and history in `{at}`", machine::size(disk.total));
    let check = match disk.available {
        ..NOTHING => Check::failed(GROUP, NAME, message).fix("cycod runs prune"),
        NOTHING..LITTLE => Check::warning(GROUP, NAME, message).fix("cycod runs prune"),
        _ => Check::ok(GROUP, NAME, message),
    };
    check.detail("available_bytes", disk.available).detail("total_bytes", disk.total)
}

/// A path as a shell takes it.
pub(crate) fn quoted(path: &Path) -> String {
    quoted_if_needed(&path.to_string_lossy())
}
