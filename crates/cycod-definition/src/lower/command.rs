//! Reads what a tool or a step executes: the command, its shell or interpreter, and its platforms.

use cycod_diagnostic::{Code, Diagnostic, Edit, Span};
use cycod_syntax::yaml::MappingEntry;

use super::{Lowering, Scope, Text, View, literal::Expected};
use crate::{
    Command, CommandText, Handler, Interpreter, Platform, PlatformCommands, PlatformKey, ProgramTemplate, ToolUse,
    Verdicts, table::one_of,
};

/// What a tool or a step executes, before the tool's own forms are told apart.
pub(crate) enum Form<'a> {
    Command(Command),
    Handler(Handler),
    Use(ToolUse),
    Steps(View<'a>),
}

/// What steps take over from their tool.
#[derive(Clone, Default)]
pub(crate) struct Defaults<'a> {
    pub(crate) shell: Option<Text<'a>>,
    pub(crate) options: Vec<String>,
}

/// The interpreter that `python:` stands for.
fn python() -> Interpreter {
    Interpreter::Program(ProgramTemplate { words: vec!["python".to_owned(), "{0}".to_owned()] })
}

impl Lowering<'_> {
    /// Reads the one execution form of a tool or step and reports none or several.
    pub(crate) fn form<'a>(
        &self,
        view: &View<'a>,
        scope: Scope,
        defaults: &Defaults<'a>,
        what: Span,
    ) -> Option<Form<'a>> {
        let forms: Vec<&'a MappingEntry> =
            view.entries.iter().filter(|entry| view.section.key(&entry.key).is_some_and(|key| key.executes)).collect();
        let form = match forms.as_slice() {
            [] => {
                let misspelt = view.entries.iter().any(|entry| {
                    view.section.key(&entry.key).is_none()
                        && cycod_diagnostic::closest(&entry.key, view.section.keys.iter().map(|key| key.name))
                            .is_some_and(|near| view.section.key(near).is_some_and(|key| key.executes))
                });
                if !misspelt {
                    let names: Vec<&str> = view
                        .section
                        .keys
                        .iter()
                        .filter(|key| key.executes && key.synonym_of.is_none())
                        .map(|key| key.name)
                        .collect();
                    self.sink.report(
                        Diagnostic::error(
                            Code::NoCommand,
                            what,
                            format!("{} does not define what to execute", view.section.noun),
                        )
                        .help(format!("add one of {}", one_of(&names))),
                    );
                }
                return None;
            }
            [form] => *form,
            [first, others @ ..] => {
                let mut diagnostic = Diagnostic::error(
                    Code::SeveralCommands,
                    first.key_span,
                    format!("{} says in {} ways what it executes", view.section.noun, count_word(forms.len())),
                )
                .label("the first");
                for other in others {
                    diagnostic = diagnostic.also(other.key_span, "another");
                }
                self.sink.report(diagnostic.help("keep one of them, or make them steps"));
                first
            }
        };
        self.check_companions(view, form, forms.len());
        let shell = view.text("shell").or(defaults.shell);
        let own_options = view.strings("shell-options");
        let options = if own_options.is_empty() { defaults.options.clone() } else { own_options };
        let text = || Some(Text { scalar: form.value.as_scalar()?, span: form.value.span });
        let one = |interpreter: Interpreter| {
            let command = self.command_text(text()?, interpreter, options.clone(), scope);
            Some(Form::Command(Command::One(command)))
        };
        match form.key.as_str() {
            "bash" => one(Interpreter::Bash),
            "cmd" => one(Interpreter::Cmd),
            "pwsh" => one(Interpreter::PowerShell),
            "run" => one(Interpreter::Argv),
            "python" => one(python()),
            "script" => {
                let (interpreter, more) = match shell {
                    Some(shell) => self.interpreter(shell),
                    None => {
                        self.sink.report(
                            Diagnostic::warning(
                                Code::ScriptWithoutShell,
                                form.key_span,
                                "`script` does not say which shell reads it",
                            )
                            .label("read by `sh` on Unix and by `cmd` on Windows")
                            .help("add `shell`, for example `shell: bash`"),
                        );
                        (Interpreter::PlatformDefault, Vec::new())
                    }
                };
                let options = more.into_iter().chain(options.clone()).collect();
                let command = self.command_text(text()?, interpreter, options, scope);
                Some(Form::Command(Command::One(command)))
            }
            "commands" => {
                let commands = View::new(&form.value, crate::table::commands())?;
                self.platform_commands(&commands, form.key_span, scope, &options).map(Form::Command)
            }
            "steps" => Some(Form::Steps(*view)),
            "handler" => {
                let handler = View::new(&form.value, crate::table::handler())?;
                self.handler(&handler, form.key_span)
            }
            _ => Some(Form::Use(self.tool_use(view, text()?, scope))),
        }
    }

    /// Reports `shell`, `shell-options` and `with` beside a form that does not look at them.
    fn check_companions(&self, view: &View<'_>, form: &MappingEntry, forms: usize) {
        if forms != 1 {
            return;
        }
        let unused = |key: &str, why: &str| {
            if let Some(entry) = view.entry(key) {
                self.sink.report(
                    Diagnostic::warning(
                        Code::UnusedKey,
                        entry.key_span,
                        format!("`{key}` has no effect next to `{}`", form.key),
                    )
                    .note(why.to_owned()),
                );
            }
        };
        // What is ignored by a tool that is called is told together with the rest of it.
        if !matches!(form.key.as_str(), "script" | "steps" | "use-tool" | "tool") {
            unused("shell", "`shell` names who reads a `script`");
        }
        if matches!(form.key.as_str(), "cmd" | "pwsh" | "run" | "python") {
            unused("shell-options", "options are set in bash, sh and zsh only");
        }
        if !matches!(form.key.as_str(), "use-tool" | "tool") {
            unused("with", "`with` gives the arguments of `use-tool`");
        }
    }

    fn tool_use(&self, view: &View<'_>, tool: Text<'_>, scope: Scope) -> ToolUse {
        let name = tool.to_owned();
        self.check_tool_name(tool);
        let with = view
            .map("with")
            .iter()
            .map(|entry| (entry.key.clone(), self.literal(&entry.value, Expected::ANY, scope)))
            .collect();
        ToolUse { tool: name, with }
    }

    /// Reports a reference to a tool whose name no tool can have. `mcp:` and the like are left to the catalog.
    pub(crate) fn check_tool_name(&self, tool: Text<'_>) {
        let text = &tool.scalar.text;
        if crate::ToolName::new(text).is_none() && !text.contains([':', '/']) {
            self.sink.error(Code::InvalidName, tool.span, format!("`{text}` is not the name of a tool"));
        }
    }

    fn platform_commands(
        &self,
        view: &View<'_>,
        key_span: Span,
        scope: Scope,
        inherited: &[String],
    ) -> Option<Command> {
        let (interpreter, more) = match view.text("shell") {
            Some(shell) => self.interpreter(shell),
            None => (Interpreter::PlatformDefault, Vec::new()),
        };
        let own = view.strings("shell-options");
        let options: Vec<String> =
            more.into_iter().chain(if own.is_empty() { inherited.to_vec() } else { own }).collect();
        let default =
            view.text("default").map(|text| self.command_text(text, interpreter.clone(), options.clone(), scope));
        let mut variants: Vec<(PlatformKey, CommandText, Span)> = Vec::new();
        for entry in view.map("platforms") {
            let Some(keys) = platform_keys(&entry.key) else {
                self.unknown_platform(&entry.key, entry.key_span, true);
                continue;
            };
            let Some(scalar) = entry.value.as_scalar() else { continue };
            if let Some((.., first)) = variants.iter().find(|(key, ..)| *key == keys) {
                self.sink.report(
                    Diagnostic::error(
                        Code::DuplicatePlatform,
                        entry.key_span,
                        format!("`{}` names a platform a second time", entry.key),
                    )
                    .also(*first, "the first"),
                );
                continue;
            }
            let interpreter = match (&interpreter, keys) {
                (Interpreter::PlatformDefault, PlatformKey::Exactly(Platform::Windows)) => Interpreter::Cmd,
                (Interpreter::PlatformDefault, _) => Interpreter::Sh,
                (other, _) => other.clone(),
            };
            let text = Text { scalar, span: entry.value.span };
            variants.push((keys, self.command_text(text, interpreter, options.clone(), scope), entry.key_span));
        }
        if default.is_none()
            && variants.is_empty()
            && view.entry("default").is_none()
            && view.map("platforms").is_empty()
        {
            self.sink.report(
                Diagnostic::error(Code::NoCommand, key_span, "`commands` holds no command")
                    .help("add `default`, or variants below `platforms`"),
            );
            return None;
        }
        let variants = variants.into_iter().map(|(key, text, _)| (key, text)).collect();
        Some(Command::ByPlatform(PlatformCommands { default, variants }))
    }

    pub(crate) fn unknown_platform(&self, name: &str, span: Span, key: bool) {
        let names = ["windows", "linux", "macos", "unix"];
        let diagnostic = Diagnostic::error(Code::UnknownPlatform, span, format!("`{name}` is not a platform"))
            .note(format!("platforms are {}", one_of(&names).replace(" or ", " and ")));
        let diagnostic = if key && name.eq_ignore_ascii_case("default") {
            diagnostic.help("`default` goes next to `platforms`, not below it")
        } else {
            match self.sink.did_you_mean(name, names) {
                Some((near, help)) => diagnostic
                    .help(help)
                    .fix(format!("write `{near}`"), vec![Edit { span, replacement: near.to_owned() }]),
                None => diagnostic,
            }
        };
        self.sink.report(diagnostic);
    }

    /// Reads a command.
    pub(crate) fn command_text(
        &self,
        text: Text<'_>,
        interpreter: Interpreter,
        options: Vec<String>,
        scope: Scope,
    ) -> CommandText {
        let template = match interpreter {
            Interpreter::Program(_) => self.template_of_code(text, scope),
            _ => self.template(text, scope),
        };
        CommandText { interpreter, template, options, verdicts: Verdicts::default() }
    }

    /// A command for the platform's default shell.
    pub(crate) fn default_command(&self, text: Text<'_>, scope: Scope) -> Command {
        Command::One(self.command_text(text, Interpreter::PlatformDefault, Vec::new(), scope))
    }

    /// Reads `shell`: the interpreter, and the shell options its command line sets.
    pub(crate) fn interpreter(&self, shell: Text<'_>) -> (Interpreter, Vec<String>) {
        let Some(words) = split_words(&shell.scalar.text) else {
            self.sink.error(Code::InvalidShell, shell.span, "a quote in `shell` is not closed");
            return (Interpreter::PlatformDefault, Vec::new());
        };
        let Some((program, arguments)) = words.split_first() else {
            self.sink.error(Code::InvalidShell, shell.span, "`shell` names no program");
            return (Interpreter::PlatformDefault, Vec::new());
        };
        let base = program.rsplit(['/', '\\']).next().unwrap_or(program).to_ascii_lowercase();
        let known = match base.strip_suffix(".exe").unwrap_or(&base) {
            "bash" => Some(Interpreter::Bash),
            "sh" => Some(Interpreter::Sh),
            "zsh" => Some(Interpreter::Zsh),
            "pwsh" | "powershell" => Some(Interpreter::PowerShell),
            "cmd" => Some(Interpreter::Cmd),
            _ => None,
        };
        // A path to a certain shell is that program, but a plain name is ours to start the right way.
        if let (Some(known), Some(options)) = (known.filter(|_| base.len() == program.len()), shell_flags(arguments)) {
            return (known, options);
        }
        let mut words = words;
        if !words.iter().any(|word| word.contains("{0}")) {
            words.push("{0}".to_owned());
        }
        (Interpreter::Program(ProgramTemplate { words }), Vec::new())
    }
}

/// The options that a shell's arguments set, when they set nothing else: `-e -o pipefail {0}`.
fn shell_flags(arguments: &[String]) -> Option<Vec<String>> {
    let mut options = Vec::new();
    let mut arguments =
        arguments.iter().filter(|argument| !matches!(argument.as_str(), "{0}" | "{1}" | "--noprofile" | "--norc"));
    while let Some(argument) = arguments.next() {
        let letters = argument.strip_prefix('-')?;
        if letters.is_empty() || letters.starts_with('-') {
            return None;
        }
        for letter in letters.chars() {
            match letter {
                'o' => options.push(arguments.next()?.clone()),
                'e' | 'u' | 'x' | 'f' | 'v' | 'C' | 'a' | 'E' => options.push(letter.to_string()),
                _ => return None,
            }
        }
    }
    Some(options)
}

/// Splits a command line into words, with both kinds of quotes; nothing when a quote is not closed.
fn split_words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// Reads the name of a platform below `commands.platforms`, in any case.
pub(crate) fn platform_keys(name: &str) -> Option<PlatformKey> {
    Some(match name.to_ascii_lowercase().as_str() {
        "windows" | "win32" => PlatformKey::Exactly(Platform::Windows),
        "linux" => PlatformKey::Exactly(Platform::Linux),
        "macos" | "osx" | "darwin" => PlatformKey::Exactly(Platform::Macos),
        "unix" => PlatformKey::Unix,
        _ => return None,
    })
}

fn count_word(count: usize) -> String {
    match count {
        2 => "two".to_owned(),
        3 => "three".to_owned(),
        _ => count.to_string(),
    }
}
