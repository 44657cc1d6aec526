//! A text in a person's own editor, until it is right.

use std::{
    ffi::{OsStr, OsString},
    fs,
    io::{self, IsTerminal, Read, Write},
    path::{Path, PathBuf},
};

use cycod_engine::{
    definition::{FileFormat, Host},
    diagnostic::{Shown, SourceFile, count},
};
use cycod_process::{Program, find_program, run_foreground};

use crate::{cli::Context, command_error::CommandError, printer::out_is_terminal, store::look_at};

/// Editors that return at once unless they are told to wait.
const WAITS: [(&str, &str); 9] = [
    ("code", "--wait"),
    ("code-insiders", "--wait"),
    ("codium", "--wait"),
    ("cursor", "--wait"),
    ("zed", "--wait"),
    ("atom", "--wait"),
    ("subl", "--wait"),
    ("mate", "--wait"),
    ("gvim", "--nofork"),
];

/// What became of an edit.
pub(crate) enum Edited<T> {
    /// The text was left as it was.
    Unchanged,
    /// The text was saved.
    Saved(T),
}

/// Opens `text` in the editor, looks at what comes back, and saves it when it is right or the person insists.
///
/// `target` is the file that it is for. What the person wrote is never lost: whatever happens, it is saved or kept in a file that is named.
pub(crate) fn edit<T>(
    context: &mut Context,
    stem: &str,
    text: &str,
    target: &Path,
    editor: Option<&str>,
    save: &mut dyn FnMut(&mut Context, &str) -> Result<T, CommandError>,
) -> Result<Edited<T>, CommandError> {
    let editor = program(context.engine.host(), editor)?;
    let extension = match FileFormat::of(&SourceFile::new("", text)) {
        FileFormat::Markdown => "md",
        FileFormat::Cycod | FileFormat::Mimir => "yaml",
    };
    let draft = Draft::write(&context.engine.host().temp, stem, extension, text)?;
    loop {
        let edited = match draft.open_in(&editor) {
            None => draft.read(),
            Some(why) if draft.read().is_ok_and(|now| now == text) => return Err(CommandError::failure(why)),
            Some(why) => Err(CommandError::failure(why)),
        };
        let edited = match edited {
            Ok(edited) => edited,
            Err(error) => return Err(draft.keep(error)),
        };
        if edited == text {
            return Ok(Edited::Unchanged);
        }
        let source = SourceFile::new(draft.file.display().to_string(), edited.as_str());
        let loaded = look_at(context, &source, Some(stem), target);
        if !loaded.has_errors() {
            return save(context, &edited).map(Edited::Saved).map_err(|error| draft.keep(error));
        }
        context.printer.say(&format!("This is not a tool yet: {}.", count(&loaded.diagnostics)));
        match ask(context, "[e]dit again, [s]ave anyway, or [q]uit and keep a copy? ", &["e", "s", "q"])? {
            Some("e") => {}
            Some("s") => return save(context, &edited).map(Edited::Saved).map_err(|error| draft.keep(error)),
            _ => {
                return Err(
                    draft.keep(CommandError::failure(format!("nothing was saved: {}", count(&loaded.diagnostics))))
                );
            }
        }
    }
}

/// Opens `text` in the editor and returns what it was saved as. The editor needs the terminal for itself.
pub(crate) fn edit_text(host: &Host, stem: &str, extension: &str, text: &str) -> Result<String, CommandError> {
    if !io::stdin().is_terminal() || !out_is_terminal() {
        return Err(CommandError::failure("an editor needs the terminal, which is in use for data"));
    }
    let editor = program(host, None)?;
    let draft = Draft::write(&host.temp, stem, extension, text)?;
    match draft.open_in(&editor) {
        None => draft.read(),
        Some(why) => Err(CommandError::failure(why)),
    }
}

/// Finds the editor: the one given, `$VISUAL`, `$EDITOR`, else the system's plainest.
fn program(host: &Host, given: Option<&str>) -> Result<Program, CommandError> {
    let variable =
        |name: &str| host.environment.get(OsStr::new(name)).map(|value| value.to_string_lossy().into_owned());
    let configured = [given.map(str::to_owned), variable("VISUAL"), variable("EDITOR")]
        .into_iter()
        .flatten()
        .find(|line| !line.trim().is_empty());
    let hint = "give --editor, or set VISUAL or EDITOR";
    let line = match configured {
        Some(line) => line,
        None if cfg!(windows) => "notepad".to_owned(),
        // One without a terminal would wait for keys that nobody can press.
        None if io::stdin().is_terminal() => "vi".to_owned(),
        None => return Err(CommandError::failure("no editor is known, and there is no terminal for `vi`").hint(hint)),
    };
    // On Windows a backslash stands in paths; there the line is taken at its spaces.
    let words =
        if cfg!(windows) { Some(line.split_whitespace().map(str::to_owned).collect()) } else { shlex::split(&line) };
    let words: Vec<String> = words
        .filter(|words: &Vec<String>| !words.is_empty())
        .ok_or_else(|| CommandError::usage(format!("the editor `{line}` is not well quoted")).hint(hint))?;
    let path_variable = host.environment.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let path = find_program(OsStr::new(&words[0]), &path_variable, &host.working_directory)
        .map_err(|error| CommandError::failure(error.to_string()).hint(hint))?;
    let mut program = Program::new(&path, &host.working_directory);
    program.args = words[1..].iter().map(OsString::from).collect();
    program.env = host.environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let wait = WAITS.iter().find(|(name, _)| path.file_stem() == Some(OsStr::new(name)));
    if let Some((_, flag)) = wait
        && !words[1..].iter().any(|word| word == flag || word == "-w" || word == "-f")
    {
        program.args.push(flag.into());
    }
    Ok(program)
}

/// Asks until one of the answers is given; nothing at the end of input.
pub(crate) fn ask(
    context: &mut Context,
    question: &str,
    answers: &[&'static str],
) -> Result<Option<&'static str>, CommandError> {
    loop {
        let Some(line) = prompt(context, question)? else { return Ok(None) };
        let line = line.trim().to_ascii_lowercase();
        if let Some(answer) = answers.iter().find(|answer| line.starts_with(**answer)) {
            return Ok(Some(answer));
        }
    }
}

/// Reads one line from standard input, byte by byte: what follows belongs to the editor.
pub(crate) fn prompt(context: &mut Context, question: &str) -> Result<Option<String>, CommandError> {
    context.printer.talk(Shown::from(question).on_one_line());
    let mut line = Vec::new();
    let mut input = io::stdin().lock();
    loop {
        let mut byte = [0];
        match input.read(&mut byte) {
            Ok(0) if line.is_empty() => {
                context.printer.talk("\n");
                return Ok(None);
            }
            Ok(0) => break,
            Ok(_) if byte[0] == b'\n' => break,
            Ok(_) => line.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(CommandError::failure(format!("cannot read the answer: {error}"))),
        }
    }
    Ok(Some(String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned()))
}

/// The file in the editor, in a directory of its own; removed with it unless it is kept.
struct Draft {
    directory: tempfile::TempDir,
    file: PathBuf,
}

impl Draft {
    fn write(below: &Path, stem: &str, extension: &str, text: &str) -> Result<Self, CommandError> {
        let failed = |error: io::Error| {
            CommandError::failure(format!("cannot write a file for the editor in `{}`: {error}", below.display()))
        };
        let directory = tempfile::Builder::new().prefix("cycod-edit-").tempdir_in(below).map_err(failed)?;
        let file = directory.path().join(format!("{stem}.{extension}"));
        fs::File::create_new(&file).and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)?;
        Ok(Self { directory, file })
    }

    /// Opens the file in an editor, and says why when that failed.
    fn open_in(&self, editor: &Program) -> Option<String> {
        match run_foreground(&editor.clone().arg(&self.file)) {
            Ok(status) if status.success() => None,
            Ok(status) => Some(format!("the editor `{}` failed: {status}", editor.path.display())),
            Err(error) => Some(format!("cannot start the editor `{}`: {error}", editor.path.display())),
        }
    }

    fn read(&self) -> Result<String, CommandError> {
        let failed = |why: String| CommandError::failure(format!("cannot read `{}`: {why}", self.file.display()));
        let bytes = fs::read(&self.file).map_err(|error| failed(error.to_string()))?;
        String::from_utf8(bytes).map_err(|error| failed(error.to_string()))
    }

    /// Keeps the file, and says where.
    fn keep(self, error: CommandError) -> CommandError {
        _ = self.directory.keep();
        error.hint(format!("what you wrote is in {}", self.file.display()))
    }
}
