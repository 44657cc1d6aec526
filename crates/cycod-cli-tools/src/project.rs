//! `cli_project_create`: projects that build and pass their tests as they are created.
//!
//! ```text
//!  Template (files with places) + Filling (names, description) ──► a directory beside the place ──► one rename
//! ```

mod fill;
mod name;
mod reserved;
mod template;

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
};

use cycod_diagnostic::closest;
use cycod_file::{Folder, temporary_name};
use cycod_shell::quoted_if_needed;
use serde_json::json;

use crate::{
    answer::{Answer, Failure},
    arguments::Call,
};

use fill::Filling;
use name::Name;
use template::{TEMPLATES, Template};

/// The template when nothing is said.
const TEMPLATE: &str = "ai_analysis";

pub(crate) fn create_project(call: &Call<'_>, _: &mut dyn FnMut(&str)) -> Result<Answer, Failure> {
    let name = Name::new(call.text("name").unwrap_or_default()).map_err(|why| failed("InvalidNameError", &why))?;
    let template = template(call.text("template").unwrap_or(TEMPLATE))?;
    let description = call.text("description").filter(|description| !description.trim().is_empty());
    let filling = Filling::new(name.clone(), description.unwrap_or(template.description));
    let platform = call.platform();
    let parent = Path::new(call.text("path").unwrap_or(""));
    let parent = platform.may_write(parent)?;
    // A link of that name is something that is there, wherever it leads.
    let directory = platform.may_replace(&parent.join(&name.given))?;
    let mut files: Vec<(String, String)> =
        template.files.iter().map(|(path, text)| (filling.fill(path), filling.fill(text))).collect();
    files.sort();
    write(&parent, OsStr::new(&name.given), &files).map_err(|error| unable(&directory, &error))?;

    let base = platform.directory();
    let shown = directory.strip_prefix(base.canonicalize().as_deref().unwrap_or(base)).unwrap_or(&directory);
    let mut next = vec![format!("cd {}", quoted(&shown.to_string_lossy()))];
    next.extend(template.next.iter().map(|step| filling.fill(step)));
    Ok(json!({
        "success": true,
        "project_path": directory.to_string_lossy(),
        "template_used": template.name,
        "files_created": files.into_iter().map(|(path, _)| path).collect::<Vec<_>>(),
        "next_steps": next,
    })
    .into())
}

fn failed(kind: &'static str, why: &str) -> Failure {
    Failure::new(kind, format!("Project creation failed: {why}"))
}

fn template(name: &str) -> Result<&'static Template, Failure> {
    let names = TEMPLATES.iter().map(|template| template.name);
    TEMPLATES.iter().find(|template| template.name == name).ok_or_else(|| {
        let near = closest(name, names.clone()).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        let list: Vec<&str> = names.collect();
        let why = format!("no template is called `{name}`: {near}there are {}", list.join(", "));
        failed("TemplateNotFoundError", &why).with("templates", list)
    })
}

/// What to say when a project could not be written.
fn unable(directory: &Path, error: &io::Error) -> Failure {
    let shown = directory.display();
    match error.kind() {
        io::ErrorKind::AlreadyExists => failed(
            "ProjectExistsError",
            &format!("`{shown}` is there already, and nothing is ever overwritten: choose another name or path"),
        ),
        io::ErrorKind::NotADirectory => {
            failed("PermissionError", &format!("`{shown}` cannot be there: a part of the path is a file"))
        }
        _ => failed("PermissionError", &format!("`{shown}` cannot be created: {error}")),
    }
}

/// Writes a project into a directory beside its place, then gives it its name: nobody ever sees half of one. When something
/// fails, everything that was made is removed again, directories above it included.
fn write(parent: &Path, name: &OsStr, files: &[(String, String)]) -> io::Result<()> {
    let missing = missing(parent);
    let made = Folder::make(parent).and_then(|folder| {
        // Before any work is done; the rename looks again.
        match folder.kind(name) {
            Ok(_) => return Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Err(_) => {}
        }
        let temporary = temporary_name();
        let project = folder.make_new(&temporary)?;
        let placed = fill(&project, files).and_then(|()| folder.move_new(&temporary, name));
        if placed.is_err() {
            // That it failed is worth more than that something is left of it.
            _ = folder.remove_all(&temporary);
        }
        placed
    });
    if made.is_err() {
        // Only what is empty goes: somebody else may have put something there.
        for (above, name) in missing {
            _ = Folder::open(&above).and_then(|folder| folder.remove_directory(&name));
        }
    }
    made
}

/// The directories of a path that are not there, the deepest first, each with the one above it.
fn missing(path: &Path) -> Vec<(PathBuf, OsString)> {
    let absent = path.ancestors().take_while(|path| path.symlink_metadata().is_err());
    absent.filter_map(|path| Some((path.parent()?.to_owned(), path.file_name()?.to_owned()))).collect()
}

fn fill(project: &Folder, files: &[(String, String)]) -> io::Result<()> {
    for (path, text) in files {
        let mut parts: Vec<&OsStr> = Path::new(path).iter().collect();
        let name = parts.pop().unwrap_or_default();
        let mut folder: Option<Folder> = None;
        for part in parts {
            let above = folder.as_ref().unwrap_or(project);
            folder = Some(match above.make_new(part) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => above.folder(part)?,
                made => made?,
            });
        }
        folder.as_ref().unwrap_or(project).write_new(name, text.as_bytes())?;
    }
    Ok(())
}

/// A path as one word of a shell, which no program takes for an option.
fn quoted(path: &str) -> String {
    let quoted = quoted_if_needed(path);
    if path.starts_with('-') { format!("-- {quoted}") } else { quoted }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_a_failure() {
        let root = tempfile::tempdir().expect("a directory");
        let here = root.path().canonicalize().expect("it exists");
        let good = [("a/b/c".to_owned(), "text".to_owned()), ("a/d".to_owned(), String::new())];
        // What is a file cannot be a directory, too.
        let bad = [good.as_slice(), &[("a/d/e".to_owned(), String::new())]].concat();
        write(&here.join("deep/er"), OsStr::new("project"), &bad).expect_err("it cannot be written");
        assert_eq!(here.read_dir().expect("listed").count(), 0);
        write(&here.join("deep/er"), OsStr::new("project"), &good).expect("written");
        write(&here.join("deep/er"), OsStr::new("other"), &bad).expect_err("it cannot be written");
        let left: Vec<_> =
            here.join("deep/er").read_dir().expect("listed").map(|entry| entry.expect("one").file_name()).collect();
        assert_eq!(left, ["project"]);
        assert_eq!(std::fs::read_to_string(here.join("deep/er/project/a/b/c")).expect("text"), "text");
    }

    #[test]
    fn paths_are_words() {
        let check = |path: &str, expect: &str| assert_eq!(quoted(path), expect);
        check("my-project", "my-project");
        check("a b", "'a b'");
        check("it's", r"'it'\''s'");
        check("$(id)", "'$(id)'");
        check("-x", "-- -x");
        check("~", "'~'");
    }
}
