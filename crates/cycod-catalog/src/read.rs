//! From one path to what its file says, whatever stands there: never blocked, never surprised by size.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
    sync::Arc,
};

use cycod_definition::{Beside, Body, Level, Tool, document, function_schema, level, load_beside};
use cycod_diagnostic::{Code, Diagnostic, Severity, SourceFile, Span};
use cycod_file::{Stamp, loose_machine_path, now};
use cycod_tokens::estimate;

use crate::{Problem, Summary};

/// The largest file that is read. The longest known tool has 30 KB; a script of this size belongs beside its tool.
pub(crate) const LARGEST: u64 = 4 << 20;

/// What a file says, as far as a list wants to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The effective name.
    pub(crate) name: String,
    /// Whether it is a tool.
    pub(crate) outcome: Outcome,
}

/// Whether a file is a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is.
    Tool(Arc<Summary>),
    /// It should be, and is not. Its name stays taken, lest a typing error runs a tool of another scope.
    Broken(Problem),
    /// Something with the name of a tool file that can never be one: a directory, a pipe. It takes no name.
    Foreign(Problem),
    /// It does not want to be one: Markdown without front matter.
    Prose,
}

/// A file, read and lowered.
#[derive(Debug)]
pub(crate) struct Checked {
    /// The text and the name to show for it; an empty text when the file could not be read.
    pub(crate) source: SourceFile,
    /// The effective name.
    pub(crate) name: String,
    /// The tool, when there is no error.
    pub(crate) tool: Option<Tool>,
    /// Everything that is wrong.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Whether it would be another thing if scripts of the project were others.
    pub(crate) rests_on_scripts: bool,
}

/// Reads the file and says everything about it.
pub(crate) fn check(path: &Path, beside: &Beside) -> Checked {
    let shown = path.display().to_string();
    match read_text(path) {
        Ok(text) => {
            let mut checked = check_text(SourceFile::new(shown, text), path, beside);
            if let Some(loose) = loose(path) {
                checked.tool = None;
                let mut diagnostic = Diagnostic::error(loose.code, Span::default(), loose.message);
                diagnostic.labels.clear();
                checked.diagnostics.insert(0, diagnostic);
            }
            checked
        }
        Err(unreadable) => {
            let mut diagnostic = Diagnostic::error(unreadable.code, Span::default(), unreadable.message);
            diagnostic.labels.clear();
            let (source, name) = (SourceFile::new(shown, ""), stem(path).into_owned());
            Checked { source, name, tool: None, diagnostics: vec![diagnostic], rests_on_scripts: false }
        }
    }
}

/// Lowers `source` as the text of the file at `path`.
pub(crate) fn check_text(source: SourceFile, path: &Path, beside: &Beside) -> Checked {
    let loaded = load_beside(&source, path.file_stem().and_then(|stem| stem.to_str()), beside);
    let is_whole = !loaded.has_errors();
    let name = loaded.name.map_or_else(|| stem(path).into_owned(), |name| name.as_str().to_owned());
    let rests_on_scripts =
        loaded.tool.as_ref().or(loaded.refused.as_deref()).is_some_and(|tool| !tool.stated.scripts.is_empty());
    Checked { source, name, tool: loaded.tool.filter(|_| is_whole), diagnostics: loaded.diagnostics, rests_on_scripts }
}

/// Where a text says the name of its tool.
pub(crate) fn name_span(source: &SourceFile) -> Option<Span> {
    document(source)?.get("name").map(|name| name.span)
}

/// The state of a file that was read, and when reading began.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(unix), expect(dead_code, reason = "there is no index to compare with"))]
pub(crate) struct Seen {
    pub(crate) stamp: Stamp,
    pub(crate) began: i64,
}

/// Reads the file for a list; nothing when it has vanished since it was seen.
///
/// The stamp is there when nothing touched the file meanwhile, and when what it says is in no other file.
pub(crate) fn read(path: &Path, beside: &Beside) -> Option<(Reading, Option<Seen>)> {
    let began = now();
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(path).is_err() => {
            return None;
        }
        Err(error) => return Some((Unreadable::io(&error).reading(path), None)),
    };
    let before = Stamp::of(&file);
    let reading = match text_of(&file, LARGEST) {
        Ok(text) => {
            let (mut reading, rests_on_scripts) = reading_of(text, path, beside);
            if let Some(loose) = loose(path).filter(|_| !matches!(reading.outcome, Outcome::Prose)) {
                // It keeps its name, so that no other tool takes its place.
                reading.outcome = Outcome::Broken(Problem::new(loose.code, loose.message));
                return Some((reading, None));
            }
            if rests_on_scripts {
                return Some((reading, None));
            }
            reading
        }
        Err(unreadable) => {
            let says_it_always = matches!(unreadable.code, Code::NotUtf8 | Code::FileTooLarge);
            let reading = unreadable.reading(path);
            if !says_it_always {
                return Some((reading, None));
            }
            reading
        }
    };
    let untouched = before.filter(|stamp| Stamp::of(&file).as_ref() == Some(stamp));
    Some((reading, untouched.map(|stamp| Seen { stamp, began })))
}

/// What a tool's description and schema are estimated to cost a model; an alias has those of another file.
fn estimated_tokens(tool: &Tool) -> Option<u32> {
    if matches!(tool.body, Body::Alias { .. }) {
        return None;
    }
    let function = function_schema(tool);
    let description = estimate(function["description"].as_str().unwrap_or_default());
    u32::try_from(description + estimate(&function["parameters"].to_string())).ok()
}

/// What a text says, and whether scripts of the project have a part in that.
fn reading_of(text: String, path: &Path, beside: &Beside) -> (Reading, bool) {
    let is_markdown = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
    if is_markdown && !starts_with_front_matter(&text) {
        return (Reading { name: stem(path).into_owned(), outcome: Outcome::Prose }, false);
    }
    let checked = check_text(SourceFile::new(path.display().to_string(), text), path, beside);
    let outcome = match &checked.tool {
        Some(tool) => {
            // The tools it uses are looked at when the whole catalog is known.
            let own = level(tool, &|_| Some(Level::Read));
            let is_problem = |diagnostic: &&Diagnostic| diagnostic.severity != Severity::Hint;
            let summary = Summary::of(tool, own, checked.diagnostics.iter().filter(is_problem).count());
            Outcome::Tool(Arc::new(Summary { estimated_tokens: estimated_tokens(tool), ..summary }))
        }
        None => Outcome::Broken(
            Problem::first(&checked.source, &checked.diagnostics)
                .unwrap_or_else(|| Problem::new(Code::UnreadableFile, "the file holds no tool")),
        ),
    };
    (Reading { name: checked.name, outcome }, checked.rests_on_scripts)
}

fn starts_with_front_matter(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| line.trim_end() == "---")
}

/// The name that the file's own name gives to its tool.
pub(crate) fn stem(path: &Path) -> std::borrow::Cow<'_, str> {
    path.file_stem().unwrap_or_default().to_string_lossy()
}

/// Why a file has no text.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) code: Code,
    pub(crate) message: String,
}

impl Unreadable {
    fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    fn io(error: &io::Error) -> Self {
        Self::new(Code::UnreadableFile, format!("cannot read the file: {error}"))
    }

    pub(crate) fn reading(self, path: &Path) -> Reading {
        let problem = Problem::new(self.code, self.message);
        let outcome = if self.code == Code::NotAFile { Outcome::Foreign(problem) } else { Outcome::Broken(problem) };
        Reading { name: stem(path).into_owned(), outcome }
    }
}

/// Why a file of the machine does not count; nothing when only its administrator can change it, or it is not the machine's.
pub(crate) fn loose(path: &Path) -> Option<Unreadable> {
    match loose_machine_path(path) {
        Ok(loose) => loose.map(|loose| Unreadable::new(Code::UnsafeMachineFile, loose.to_string())),
        Err(error) => Some(Unreadable::io(&error)),
    }
}

/// Reads a text, or says why there is none; a pipe or device is neither waited for nor touched.
pub(crate) fn read_text(path: &Path) -> Result<String, Unreadable> {
    read_at_most(path, LARGEST)
}

/// As [`read_text`], with another limit, in bytes.
pub(crate) fn read_at_most(path: &Path, largest: u64) -> Result<String, Unreadable> {
    text_of(&open(path).map_err(|error| Unreadable::io(&error))?, largest)
}

fn text_of(file: &File, largest: u64) -> Result<String, Unreadable> {
    let metadata = file.metadata().map_err(|error| Unreadable::io(&error))?;
    if !metadata.is_file() {
        let what = if metadata.is_dir() { "a directory" } else { "a pipe, socket or device" };
        return Err(Unreadable::new(Code::NotAFile, format!("this is {what}, not a file")));
    }
    let too_large = || {
        let message = match largest {
            LARGEST => format!("the file is larger than {} MB, the most a tool may have", LARGEST >> 20),
            _ => format!("the file is larger than {} KB, the most that is read", largest >> 10),
        };
        Err(Unreadable::new(Code::FileTooLarge, message))
    };
    if metadata.len() > largest {
        return too_large();
    }
    let length = usize::try_from(metadata.len()).unwrap_or(0);
    let mut bytes = vec![0; length + 1];
    let read = match (&*file).read(&mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
        read => read.map_err(|error| Unreadable::io(&error))?,
    };
    bytes.truncate(read);
    // It ended where it said it would, else it is another one by now.
    if length == 0 || read != length {
        file.take(largest + 1).read_to_end(&mut bytes).map_err(|error| Unreadable::io(&error))?;
    }
    if bytes.len() as u64 > largest {
        return too_large();
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Unreadable::new(Code::NotUtf8, format!("byte {} is not UTF-8", at + 1))
    })
}

#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    // A pipe without a writer would block an ordinary open; a terminal must not become ours.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}
