use std::path::Path;

use cycod_engine::definition::Host;

/// A path as a person would write it from where they stand.
pub fn shown_path(path: &Path, host: &Host) -> String {
    match (path.strip_prefix(&host.working_directory), path.strip_prefix(&host.home)) {
        (Ok(here), _) if here.components().next().is_some() => here.display().to_string(),
        (_, Ok(home)) => Path::new("~").join(home).display().to_string(),
        _ => path.display().to_string(),
    }
}
