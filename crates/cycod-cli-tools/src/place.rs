//! Places on this machine, as people read them.

use std::path::Path;

use cycod_definition::Host;
use cycod_engine::diagnostic::visible;

/// A path with `~` for the home directory, from the working directory where it lies below.
pub(crate) fn shown(path: &Path, host: &Host) -> String {
    let shown = match (path.strip_prefix(&host.working_directory), path.strip_prefix(&host.home)) {
        (Ok(here), _) if here.components().next().is_some() => here.display().to_string(),
        (_, Ok(home)) if host.home.components().nth(1).is_some() => Path::new("~").join(home).display().to_string(),
        _ => path.display().to_string(),
    };
    visible(&shown).into_owned()
}

/// A text in which the home directory is written as `~`.
pub(crate) fn without_home(text: &str, host: &Host) -> String {
    if host.home.components().nth(1).is_none() {
        return text.to_owned();
    }
    text.replace(&format!("{}/", host.home.display()), "~/")
}
