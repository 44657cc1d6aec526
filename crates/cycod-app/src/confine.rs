//! The permissions that a tool is to declare, by what it was seen to touch.

use std::path::Path;

use cycod_engine::{Needs, definition::Host};
use cycod_syntax::{
    edit::{self, PathStep},
    emit::Emit,
};

/// Why permissions cannot be written into a file.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct NotWritable(edit::EditError);

/// The first place outside of the project that a tool writes to.
pub fn outside(needs: &Needs, host: &Host) -> Option<String> {
    let writes = needs.iter().filter(|(permission, _)| permission.starts_with("filesystem:write:"));
    let is_inside = |path: &Path| path.starts_with(&host.workspace) || path.starts_with(&host.working_directory);
    writes.flat_map(|(_, paths)| paths).find(|path| !is_inside(Path::new(path))).cloned()
}

/// The text of a tool's file with these permissions; one that needs none is confined to the temporary directory.
///
/// # Errors
/// When the file is no YAML that can be changed.
pub fn with_permissions(text: &str, needs: &Needs) -> Result<String, NotWritable> {
    let mut permissions: Vec<Emit> = needs.keys().map(Emit::text).collect();
    if permissions.is_empty() {
        permissions.push(Emit::text("filesystem:read:{TEMP}"));
    }
    let permissions = Emit::Sequence(permissions);
    let security = [PathStep::Key("security".to_owned())];
    // Those that it declares already are replaced where they stand.
    if let Ok(written) = edit::set(text, &declared(), &permissions) {
        return Ok(written);
    }
    let written = match edit::insert(text, &security, "required-permissions", &permissions) {
        Err(edit::EditError::Missing { .. }) => {
            edit::insert(text, &[], "security", &Emit::Mapping(vec![("required-permissions".to_owned(), permissions)]))
        }
        done => done,
    };
    written.map_err(NotWritable)
}

/// The text of a tool's file without its permissions; nothing when it declares none.
pub fn without_permissions(text: &str) -> Option<String> {
    edit::set(text, &declared(), &Emit::Sequence(Vec::new())).ok()
}

/// Where a tool's file declares permissions.
fn declared() -> [PathStep; 2] {
    ["security", "required-permissions"].map(|key| PathStep::Key(key.to_owned()))
}
