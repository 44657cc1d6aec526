//! Makes a program to be started from a planned command: its arguments, its script, its environment.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashSet},
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use cycod_call::{OwnedPiece, OwnedWords, ResolveError, Steps, delivered, speaks_of_secret};
use cycod_definition::{CommandText, Interpreter, Platform, Verdicts};
use cycod_diagnostic::{Code, Refusal};
use cycod_mask::Masks;
use cycod_shell::{PARAMETERS_FILE, Shell, Verdict, admit, place, place_argv, place_inline, quoted_if_needed};
use cycod_syntax::template::Template;

use crate::{
    Plan, PlannedStep, Swap,
    bytes::{into_delivered, texts_in, variable},
    plan::resolve_directory,
};

/// The longest program given as an argument; the system's limit for one is 128 KiB.
const LONGEST_ARGUMENT: usize = 100 * 1024;

/// The path at which a program finds [`Prepared::script`] on Unix.
const DESCRIPTOR: &str = "/dev/fd/3";

/// What is left of the caller's environment with `inherit: false`, beside `LC_*`.
const KEPT: [&str; 6] = ["PATH", "HOME", "USER", "LANG", "TERM", "TMPDIR"];

/// The same on Windows. Without the first three no program finds the libraries of the system, and `cmd.exe` no program.
const KEPT_ON_WINDOWS: [&str; 10] =
    ["SYSTEMROOT", "SYSTEMDRIVE", "PATHEXT", "COMSPEC", "WINDIR", "PATH", "TEMP", "TMP", "USERPROFILE", "USERNAME"];

/// What a name holds whose value opens something, beside what is taken for a secret everywhere, and what leads to services
/// and libraries that a confined program cannot see.
const OPENING: [&str; 9] = ["CREDENTIAL", "PASSWD", "AUTH", "COOKIE", "_PROXY", "DBUS_", "_SOCK", "GPG_", "LD_"];

/// Variables by which a caller's environment would change how a shell reads a command.
const SHELL_VARIABLES: [&str; 3] = ["BASH_ENV", "SHELLOPTS", "BASHOPTS"];

/// A word of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandWord {
    /// This text.
    Text(OsString),
    /// The path at which the program finds [`Prepared::script`].
    Script,
}

/// A file that must be there before the program starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptFile {
    /// Where.
    pub path: PathBuf,
    /// What it holds.
    pub text: Vec<u8>,
}

/// What a process needs, byte for byte.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The command line; the first word is looked up on the `PATH` of `environment`.
    pub arguments: Vec<CommandWord>,
    /// Handed over by descriptor: a program too long for an argument, or one that nobody else may see.
    pub script: Option<Vec<u8>>,
    /// Files in the run's temporary directory.
    pub files: Vec<ScriptFile>,
    /// The whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it runs.
    pub working_directory: PathBuf,
    /// What it reads; nothing when absent.
    pub input: Option<Vec<u8>>,
    /// The command as a person could paste it; it may hold secrets.
    pub shown: String,
    /// Values to mask wherever the process is shown or heard.
    pub secrets: Vec<String>,
    /// What finds them.
    pub masks: Masks,
    /// What must be put into the place of placeholders on the way out.
    pub swaps: Vec<Swap>,
}

impl Plan {
    /// Prepares `command` of `step`, given the results of earlier steps.
    ///
    /// # Errors
    /// A refusal when a placeholder cannot be resolved or a value cannot be placed where the author put it.
    pub fn prepare(&self, step: &PlannedStep, command: &CommandText, steps: &dyn Steps) -> Result<Prepared, Refusal> {
        self.prepare_with(step, command, steps, steps)
    }

    /// As [`Plan::prepare`], with other results for the command than for the texts around it: a dry run shows an
    /// unknown result in the command as it was written, which a text cannot.
    pub(crate) fn prepare_with(
        &self,
        step: &PlannedStep,
        command: &CommandText,
        in_command: &dyn Steps,
        steps: &dyn Steps,
    ) -> Result<Prepared, Refusal> {
        let (mut environment, mut secrets) = self.environment(step, Some(&command.verdicts), steps)?;
        if matches!(command.interpreter, Interpreter::Program(_)) {
            environment.extend(self.call.environment().into_iter().map(|(name, value)| (name.into(), value.into())));
            let file = self.parameters_file(step).unwrap_or_else(|| DESCRIPTOR.into());
            environment.insert(PARAMETERS_FILE.into(), file.into());
        }
        secrets.extend(self.masked_values(step, steps));
        secrets.extend(in_command.secrets());
        let secrets = self.with_changes(secrets);
        let pieces = self.call.pieces(&command.template, in_command).map_err(|error| self.unresolved(&error))?;
        let masks = self.masks().with(&secrets);
        let program = self.guarded(step, command, &pieces, &masks)?;
        let input = step.input.as_ref().map(|input| self.bytes_of(step, input, &command.verdicts.input, steps));
        let working_directory = self.directory_of(step, steps)?;
        let prepared = Prepared {
            arguments: program.arguments,
            script: program.script.map(String::into_bytes),
            files: program.files,
            environment: environment.into_iter().collect(),
            working_directory,
            input: input.transpose()?,
            shown: program.shown,
            secrets,
            masks,
            swaps: self.swaps(),
        };
        prepared.delivered(&command.interpreter, &step.own_name())
    }

    /// Keeps secrets from where others can look: what is shown, the arguments of a process, and files.
    fn guarded(
        &self,
        step: &PlannedStep,
        command: &CommandText,
        pieces: &[OwnedPiece],
        masks: &Masks,
    ) -> Result<Program, Refusal> {
        // What an earlier step said may hold a secret, too.
        let Some(masked) = masked(pieces, masks) else { return self.program(step, command, pieces, masks) };
        let is_shell = matches!(
            command.interpreter,
            Interpreter::Bash | Interpreter::Sh | Interpreter::Zsh | Interpreter::PlatformDefault
        );
        let is_by_descriptor = is_shell && self.host().platform.is_unix();
        if !is_by_descriptor && let Some(name) = texts(pieces).find_map(|text| self.secret_in(text)) {
            let (place, instead) = match command.interpreter {
                Interpreter::Program(_) => ("in a file", ""),
                _ => ("among the arguments of a program", " or from `input`"),
            };
            return Err(Refusal::new(
                Code::SecretInArgument,
                format!("the value of `{name}` is secret, and would stand {place}"),
            )
            .place(&*step.own_name())
            .attempt(format!("let the program read it from the environment variable `{name}`{instead}")));
        }
        let mut program = self.program(step, command, pieces, masks)?;
        if is_by_descriptor {
            program.by_descriptor();
        }
        if let Ok(shown) = self.program(step, command, &masked, masks) {
            program.shown = shown.shown;
        }
        Ok(program)
    }

    fn program(
        &self,
        step: &PlannedStep,
        command: &CommandText,
        pieces: &[OwnedPiece],
        masks: &Masks,
    ) -> Result<Program, Refusal> {
        let pieces = OwnedPiece::as_pieces(pieces, &command.verdicts.command);
        let refused = |refusal| refused(step, refusal);
        let windows = self.host().platform == Platform::Windows;
        let options = |command: &CommandText| {
            command
                .options
                .iter()
                .flat_map(|option| match option.len() {
                    1 => vec![format!("-{option}")],
                    _ => vec!["-o".to_owned(), option.clone()],
                })
                .collect::<Vec<_>>()
        };
        let shell = |shell: Shell, start: &[&str], options: Vec<String>| {
            let placed = place(shell, &pieces).map_err(refused)?;
            Ok(Program::shell(start, options, placed))
        };
        match &command.interpreter {
            Interpreter::Bash => shell(Shell::Bash, &["bash", "--noprofile", "--norc"], options(command)),
            Interpreter::Sh => shell(Shell::Sh, &["sh"], options(command)),
            Interpreter::Zsh => shell(Shell::Zsh, &["zsh", "-f"], options(command)),
            Interpreter::PlatformDefault if !windows => shell(Shell::Sh, &["sh"], options(command)),
            Interpreter::PlatformDefault | Interpreter::Cmd => {
                let placed = place(Shell::Cmd, &pieces).map_err(refused)?;
                // A block of YAML ends with a line break, behind which cmd.exe would see a second command.
                let text = placed.text.trim_end_matches(['\r', '\n']);
                Ok(Program::inline(["cmd.exe", "/d", "/s", "/c", text], placed.text.clone()))
            }
            Interpreter::PowerShell => {
                let placed = place(Shell::PowerShell, &pieces).map_err(refused)?;
                Ok(Program::inline(
                    ["pwsh", "-NoProfile", "-NonInteractive", "-Command", &placed.text],
                    placed.text.clone(),
                ))
            }
            Interpreter::Argv => {
                let words = place_argv(&pieces).map_err(refused)?;
                let shown = words.iter().map(|word| quoted_if_needed(word)).collect::<Vec<_>>().join(" ");
                Ok(Program::inline(words, shown))
            }
            Interpreter::Program(program) => {
                let text = place_inline(&pieces).map_err(refused)?;
                self.script_file(step, &program.words, text, masks)
            }
        }
    }

    /// A script for an interpreter that reads it from a file; values reach it by the environment.
    fn script_file(
        &self,
        step: &PlannedStep,
        words: &[String],
        text: String,
        masks: &Masks,
    ) -> Result<Program, Refusal> {
        let path = self.temp_directory.join(format!("{}.{}", step.own_name(), extension(words)));
        let mut arguments = Vec::new();
        for word in words {
            if word == "{1}" {
                arguments.extend(self.call.environment().into_iter().map(|(_, value)| value));
            } else {
                arguments.push(word.replace("{0}", &path.to_string_lossy()));
            }
        }
        if !words.iter().any(|word| word.contains("{0}")) {
            arguments.push(path.to_string_lossy().into_owned());
        }
        let mut program = Program::inline(arguments, self.pasteable_script(words, &text, masks));
        program.files.push(ScriptFile { path, text: into_delivered(text) });
        match self.parameters_file(step) {
            Some(path) => program.files.push(ScriptFile { path, text: self.call.arguments_json().into_bytes() }),
            None => program.script = Some(self.call.arguments_json()),
        }
        Ok(program)
    }

    /// A script with its values, as a person could paste it into bash; secrets are masked before anything is quoted.
    fn pasteable_script(&self, words: &[String], text: &str, masks: &Masks) -> String {
        let quoted = |text: &str| quoted_if_needed(&masks.apply(text));
        let mut end = "CYCOD_SCRIPT".to_owned();
        while text.lines().any(|line| line == end) {
            end.push('_');
        }
        let script = format!("<(cat <<'{end}'\n{}\n{end}\n)", text.trim_end_matches('\n'));
        let values = self.call.environment();
        let mut line: Vec<String> = values.iter().map(|(name, value)| format!("{name}={}", quoted(value))).collect();
        if !values.is_empty() {
            line.push(format!("CYCOD_PARAMS=<(printf %s {})", quoted(&self.call.arguments_json())));
        }
        for word in words {
            match word.as_str() {
                "{0}" => line.push(script.clone()),
                "{1}" => line.extend(values.iter().map(|(_, value)| quoted(value))),
                word => {
                    line.push(if word.contains("{0}") { word.replace("{0}", &script) } else { quoted_if_needed(word) });
                }
            }
        }
        if !words.iter().any(|word| word.contains("{0}")) {
            line.push(script);
        }
        line.join(" ")
    }

    /// The file that `CYCOD_PARAMS` names: the step's own, because steps beside each other write theirs at once. There is
    /// none when a value is secret: those are handed over by descriptor, where there is a way.
    fn parameters_file(&self, step: &PlannedStep) -> Option<PathBuf> {
        let is_secret = self.call.values.iter().any(|bound| bound.sensitive && bound.value.is_some());
        let has_file = !is_secret || !self.host().platform.is_unix();
        has_file.then(|| self.temp_directory.join(format!("{}.parameters.json", step.own_name())))
    }

    /// The environment of a step's process, and the values in it that must be masked.
    pub(crate) fn environment(
        &self,
        step: &PlannedStep,
        verdicts: Option<&Verdicts>,
        steps: &dyn Steps,
    ) -> Result<(Environment, Vec<String>), Refusal> {
        let tool = self.tool();
        let inherit = tool.environment.inherit && step.environment.inherit;
        let kept_names: &[&str] = if self.host().platform == Platform::Windows { &KEPT_ON_WINDOWS } else { &KEPT };
        let kept = |name: &str| inherit || kept_names.contains(&name) || name.starts_with("LC_");
        let mut variables: BTreeMap<OsString, OsString> = self
            .host()
            .environment
            .iter()
            .filter(|(name, _)| name.to_str().map_or(inherit, |name| kept(name) && !SHELL_VARIABLES.contains(&name)))
            .filter(|(name, _)| !self.withholds(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if self.host().platform == Platform::Windows {
            // `git` is the program of the search path to cmd.exe, too, and not a file of the project.
            variables.insert("NODEFAULTCURRENTDIRECTORYINEXEPATH".into(), "1".into());
        }
        let mut secrets = self.call.secrets();
        for secret in [&tool.environment, &step.environment].into_iter().flat_map(|of| tool.kept_in(of)) {
            let kept = self.call.kept_secrets.iter().find(|kept| kept.secret == *secret);
            variables.extend(kept.map(|kept| (secret.name.clone().into(), kept.shown_to_tool().into())));
        }
        for (index, (name, template)) in
            tool.environment.variables.iter().chain(&step.environment.variables).enumerate()
        {
            let pieces = self.call.text_pieces(template, steps).map_err(|error| self.unresolved(&error))?;
            // A function gets its values as data, and its environment is judged when it is loaded.
            if let Some(verdicts) = verdicts {
                let verdicts = verdicts.environment.get(index).map_or(&[][..], |(_, verdicts)| verdicts);
                admit(&OwnedPiece::as_pieces(&pieces, verdicts)).map_err(|refusal| refused(step, refusal))?;
            }
            let value = self.expanded(&pieces);
            if speaks_of_secret(name) || step.environment.is_secret(name) {
                secrets.extend(texts_in(&value));
            }
            variables.insert(name.into(), variable(name, value).map_err(|refusal| refusal.place(&*step.own_name()))?);
        }
        Ok((variables, secrets))
    }

    /// Where a step works.
    pub(crate) fn directory_of(&self, step: &PlannedStep, steps: &dyn Steps) -> Result<PathBuf, Refusal> {
        match &step.working_directory {
            Some(template) => resolve_directory(&self.call, Some(template), steps),
            None => Ok(self.working_directory.clone()),
        }
    }

    /// Whether a confined program does not get a variable of the caller: one that opens what it was not given, and that the
    /// tool does not say it needs.
    fn withholds(&self, name: &OsStr) -> bool {
        if !self.confinement.is_confined() {
            return false;
        }
        let name = name.to_string_lossy();
        let opens = || {
            let upper = name.to_ascii_uppercase();
            OPENING.iter().any(|word| upper.contains(word))
        };
        (speaks_of_secret(&name) || opens()) && !self.tool().requires.env.iter().any(|needed| **needed == *name)
    }

    /// What a template outside of a command makes, when its values may pass.
    fn bytes_of(
        &self,
        step: &PlannedStep,
        template: &Template,
        verdicts: &[Verdict],
        steps: &dyn Steps,
    ) -> Result<Vec<u8>, Refusal> {
        let pieces = self.call.text_pieces(template, steps).map_err(|error| self.unresolved(&error))?;
        admit(&OwnedPiece::as_pieces(&pieces, verdicts)).map_err(|refusal| refused(step, refusal))?;
        Ok(into_delivered(OwnedPiece::joined(&pieces)))
    }

    /// Program text with its values placed, for its readers besides this program.
    pub(crate) fn placed(&self, step: &PlannedStep, text: &CommandText, steps: &dyn Steps) -> Result<String, Refusal> {
        let pieces = self.call.pieces(&text.template, steps).map_err(|error| self.unresolved(&error))?;
        cycod_call::placed(text, &pieces).map_err(|refusal| refused(step, refusal))
    }

    /// What the pieces of an `environment` value hold: `${NAME}` in what the author wrote is the caller's variable.
    fn expanded(&self, pieces: &[OwnedPiece]) -> Vec<u8> {
        let variable = |name: &str| self.host().environment.get(OsStr::new(name)).map(OsString::as_os_str);
        let mut value = Vec::new();
        for piece in pieces {
            match piece {
                OwnedPiece::Text(text) => expand_variables(text, variable, &mut value),
                piece => value.extend(into_delivered(OwnedPiece::joined(std::slice::from_ref(piece)))),
            }
        }
        value
    }

    /// Secrets, with what templates may make of those that are not of the call itself.
    pub(crate) fn with_changes(&self, mut secrets: Vec<String>) -> Vec<String> {
        let own: HashSet<String> = self.call.secrets().into_iter().collect();
        let others: BTreeSet<&String> = secrets.iter().filter(|secret| !own.contains(*secret)).collect();
        let changed: Vec<String> = others.into_iter().flat_map(|secret| self.call.changed(secret)).collect();
        secrets.extend(changed);
        secrets
    }

    /// What `masked-values` says is not to be shown of a step, as far as it is known.
    pub(crate) fn masked_values(&self, step: &PlannedStep, steps: &dyn Steps) -> Vec<String> {
        let known = |template| self.call.bytes(template, steps).ok();
        step.output.masked_values.iter().filter_map(known).flat_map(|value| texts_in(&value)).collect()
    }

    pub(crate) fn unresolved(&self, error: &ResolveError) -> Refusal {
        let refusal = Refusal::new(error.code(), error.to_string()).place(self.tool().name.as_str());
        match error.help() {
            Some(help) => refusal.attempt(help),
            None => refusal,
        }
    }
}

/// A value that cannot be placed, as the refusal of its step.
fn refused(step: &PlannedStep, refusal: cycod_shell::Refusal) -> Refusal {
    Refusal::new(refusal.code, refusal.message).place(&*step.own_name()).attempt(refusal.try_)
}

/// The values among the pieces of a command.
fn texts(pieces: &[OwnedPiece]) -> impl Iterator<Item = &str> {
    let values = pieces.iter().filter_map(|piece| match piece {
        OwnedPiece::Text(_) => None,
        OwnedPiece::Value(value) => Some(&value.words),
    });
    values
        .flat_map(|words| match words {
            OwnedWords::One(text) => std::slice::from_ref(text),
            OwnedWords::List { items, .. } => items,
        })
        .map(String::as_str)
}

/// The pieces with what is secret in their values masked, before a shell's grammar takes it apart; nothing when there is
/// no secret in them.
fn masked(pieces: &[OwnedPiece], masks: &Masks) -> Option<Vec<OwnedPiece>> {
    texts(pieces).find(|text| matches!(masks.apply(text), Cow::Owned(_)))?;
    let mut pieces = pieces.to_vec();
    for piece in &mut pieces {
        let OwnedPiece::Value(value) = piece else { continue };
        let texts = match &mut value.words {
            OwnedWords::One(text) => std::slice::from_mut(text),
            OwnedWords::List { items, .. } => items.as_mut_slice(),
        };
        texts.iter_mut().for_each(|text| *text = masks.apply(text).into_owned());
    }
    Some(pieces)
}

/// Variables, by name.
pub(crate) type Environment = BTreeMap<OsString, OsString>;

/// A command line in the making.
struct Program {
    arguments: Vec<CommandWord>,
    script: Option<String>,
    files: Vec<ScriptFile>,
    shown: String,
}

impl Program {
    fn inline(arguments: impl IntoIterator<Item = impl Into<OsString>>, shown: String) -> Self {
        let arguments = arguments.into_iter().map(|word| CommandWord::Text(word.into())).collect();
        Self { arguments, script: None, files: Vec::new(), shown }
    }

    /// A shell gets its program as an argument, unless that is too long or other users could read a secret there.
    fn shell(start: &[&str], options: Vec<String>, placed: cycod_shell::Placed) -> Self {
        let words = start.iter().map(|&word| word.to_owned()).chain(options);
        let mut program = Self::inline(words, placed.text.clone());
        if placed.sensitive || placed.text.len() > LONGEST_ARGUMENT {
            program.arguments.push(CommandWord::Script);
            program.script = Some(placed.text);
        } else {
            program.arguments.extend(["-c".to_owned(), placed.text].map(|word| CommandWord::Text(word.into())));
        }
        program
    }

    /// Hands a shell's program over by descriptor instead of as an argument.
    fn by_descriptor(&mut self) {
        if self.script.is_none()
            && let Some(CommandWord::Text(text)) = self.arguments.pop()
        {
            // The `-c` before it.
            self.arguments.pop();
            self.arguments.push(CommandWord::Script);
            self.script = text.into_string().ok();
        }
    }
}

/// The file extension an interpreter expects; some (PowerShell, Deno) insist.
fn extension(words: &[String]) -> &'static str {
    let program = words.first().and_then(|word| word.rsplit(['/', '\\']).next()).unwrap_or_default();
    let known = [
        ("python", "py"),
        ("node", "mjs"),
        ("deno", "ts"),
        ("bun", "ts"),
        ("ruby", "rb"),
        ("perl", "pl"),
        ("rscript", "R"),
        ("pwsh", "ps1"),
        ("php", "php"),
        ("lua", "lua"),
    ];
    let program = program.to_ascii_lowercase();
    known.iter().find(|(start, _)| program.starts_with(start)).map_or("txt", |(_, extension)| extension)
}

/// Adds `text` to `out`, with `${NAME}` replaced by the variable's value, once.
fn expand_variables<'v>(text: &str, variable: impl Fn(&str) -> Option<&'v OsStr>, out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else { break };
        let name = &rest[start + 2..start + length];
        out.extend_from_slice(&delivered(&rest[..start]));
        if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            out.extend_from_slice(variable(name).map_or(b"", OsStr::as_encoded_bytes));
        } else {
            out.extend_from_slice(&delivered(&rest[start..=start + length]));
        }
        rest = &rest[start + length + 1..];
    }
    out.extend_from_slice(&delivered(rest));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_expand_once() {
        let check = |text: &str, expect: &str| {
            let mut out = Vec::new();
            expand_variables(text, |name| (name == "HOME").then_some(OsStr::new("<${HOME}>")), &mut out);
            assert_eq!(out, expect.as_bytes());
        };
        check("a${HOME}b", "a<${HOME}>b");
        check("a${NONE}b", "ab");
        check("${", "${");
        check("${a b} ${}", "${a b} ${}");
        check("$HOME {X}", "$HOME {X}");
    }
}
