//! Judges the placeholders of a tool: whether the values that callers give can only be data where they stand.
//!
//! Everything else reads what is decided here: diagnostics, the level, what people are shown, and the guard of each run. The rule
//! is "proven or refused"; how it is proven is in `cycod-shell`.

use std::{borrow::Cow, cell::LazyCell};

use cycod_diagnostic::{Code, Diagnostic, Edit, Span};
use cycod_shell::{
    Branch, Directory, Format, Grounds, Hole, Kind, Mode, Programs, Proof, Question, Reader, Segment, Shell, Starts,
    Trust, Verdict,
};
use cycod_syntax::template::{
    self, HoleValue, KnownNames, Predefined, Reference, StepAttribute, Template, TemplatePart as Part,
    TernaryBranch as Side, number_format,
};

use crate::{
    Body, CodeReader, CommandText, Interpreter, Literal, NamedTransform, Parameter, ParameterType, Placing, Runtime,
    StepAction, Tool, Transform, Value, Verdicts, lower::Lowering, tool::Reached,
};

/// Judges every placeholder of every command of a tool, and keeps the verdicts with the commands.
///
/// A tool that is put together of others, as an alias is, has to be judged again.
pub fn judge(tool: &mut Tool) {
    let mut grounds = Grounds::default();
    let texts = tool.command_texts();
    let mut verdicts: Vec<Verdicts> = texts
        .iter()
        .map(|(text, reached)| {
            if text.interpreter == Interpreter::PlatformDefault && has_statements(tool) {
                grounds.extend(verdicts_of(tool, text, reached, Some(Reader::Shell(Shell::Cmd))).1);
            }
            let (verdicts, of_text) = verdicts_of(tool, text, reached, None);
            grounds.extend(of_text);
            verdicts
        })
        .collect();
    if hands_text_on(tool) {
        // Who reads it is known where the other tool is.
        grounds.stated.extend(tool.stated.file.iter().flat_map(|file| file.statements().iter().cloned()));
        let built = tool.programs.project().built().iter();
        grounds.built.extend(built.map(|built| (built.name.clone(), built.manifest.clone())));
    }
    verdicts.reverse();
    tool.each_command_text_mut(&mut |text| text.verdicts = verdicts.pop().unwrap_or_default());
    tool.stated.natures = grounds.stated.into_iter().collect();
    tool.stated.built = grounds.built.into_iter().collect();
    tool.stated.scripts = grounds.scripts.into_iter().collect();
}

fn has_statements(tool: &Tool) -> bool {
    let of_file = tool.stated.file.as_ref().is_some_and(|file| !file.statements().is_empty());
    of_file || !tool.programs.project().built().is_empty()
}

/// Whether a tool gives another one a text with a value in it, which may be a command.
fn hands_text_on(tool: &Tool) -> bool {
    let given: Vec<&(String, Literal)> = match &tool.body {
        Body::Use(used) => used.with.iter().collect(),
        Body::Alias { defaults, .. } => defaults.iter().collect(),
        Body::Steps(steps) => steps
            .iter()
            .filter_map(|step| match &step.action {
                StepAction::Use(used) => Some(&used.with),
                StepAction::Command(_) => None,
            })
            .flatten()
            .collect(),
        _ => Vec::new(),
    };
    given.iter().any(|(_, literal)| matches!(literal, Literal::Text(template) if template.holes().next().is_some()))
}

/// What is proven about each parameter that stands in a command, or in what reaches one: the worst of all its places.
pub fn verdicts_by_parameter(tool: &Tool) -> Vec<(&str, Verdict)> {
    let mut found: Vec<(&str, Verdict)> = Vec::new();
    let mut add = |template: &Template, verdicts: &[Verdict]| {
        for (hole, verdict) in template.holes().zip(verdicts) {
            let sides = match &hole.value {
                HoleValue::Reference { of, .. } => [Some(of), None],
                HoleValue::Choice { then, otherwise, .. } => [then, otherwise].map(|side| match side {
                    Side::Reference(of) => Some(of),
                    Side::Text(_) => None,
                }),
            };
            for of in sides.into_iter().flatten() {
                let (Reference::Parameter(name) | Reference::Environment(name)) = of else { continue };
                let Some(parameter) = tool.parameter(name) else { continue };
                match found.iter_mut().find(|(known, _)| *known == parameter.name) {
                    Some((_, known)) => *known = known.clone().and(verdict.clone()),
                    None => found.push((&parameter.name, verdict.clone())),
                }
            }
        }
    };
    for (text, reached) in tool.command_texts() {
        add(&text.template, &text.verdicts.command);
        let variables = tool.environment.variables.iter().chain(reached.environment);
        for ((_, template), (_, verdicts)) in variables.zip(&text.verdicts.environment) {
            add(template, verdicts);
        }
        if let Some(input) = reached.input {
            add(input, &text.verdicts.input);
        }
    }
    found.sort_by_key(|(name, _)| tool.parameters.iter().position(|parameter| parameter.name == *name));
    found
}

/// The verdicts for a command of the platform's own shell where that is `cmd.exe`.
pub fn verdicts_in_cmd(tool: &Tool, text: &CommandText) -> Verdicts {
    let commands = tool.command_texts();
    match commands.into_iter().find(|(known, _)| std::ptr::eq(*known, text)) {
        Some((_, reached)) => verdicts_of(tool, text, &reached, Some(Reader::Shell(Shell::Cmd))).0,
        None => Verdicts::default(),
    }
}

/// The verdicts for a text that a tool gives to a parameter of another, which is program text for `reader`.
pub fn argument_verdicts(tool: &Tool, template: &Template, reader: CodeReader) -> Vec<Verdict> {
    let text = CommandText {
        interpreter: reader.interpreter(),
        template: template.clone(),
        options: Vec::new(),
        verdicts: Verdicts::default(),
    };
    let nothing = Reached { environment: &[], input: None, is_elsewhere: false, directory: Directory::Other };
    verdicts_of(tool, &text, &nothing, None).0.command
}

/// What the commands of a tool start, and its function, as far as its own file says.
pub fn starts(tool: &Tool) -> Starts {
    let mut all = Starts::default();
    for (text, reached) in tool.command_texts() {
        if !reached.is_elsewhere {
            with_question(tool, text, &reached, None, |question, _| all.add(cycod_shell::starts(question)));
        }
    }
    if let Body::Handler(handler) = &tool.body {
        let is_known = handler.runtime == Runtime::Engine && !handler.starts_anything();
        if !is_known {
            let what = format!("what its function, for {}, starts or loads", handler.runtime);
            all.by_programs.push(what.clone());
            all.unpinned.push(what);
        }
        // The process of a function is started with these variables.
        let nothing = CommandText {
            interpreter: Interpreter::Sh,
            template: Template::default(),
            options: Vec::new(),
            verdicts: Verdicts::default(),
        };
        let reached = Reached { environment: &[], input: None, is_elsewhere: false, directory: Directory::Other };
        with_question(tool, &nothing, &reached, None, |question, _| all.add(cycod_shell::starts(question)));
    }
    all
}

/// What a text starts that a tool gives to a parameter of another, which is program text for `reader`.
pub fn starts_of_argument(tool: &Tool, template: &Template, reader: CodeReader) -> Starts {
    let text = CommandText {
        interpreter: reader.interpreter(),
        template: template.clone(),
        options: Vec::new(),
        verdicts: Verdicts::default(),
    };
    let nothing = Reached { environment: &[], input: None, is_elsewhere: false, directory: Directory::Other };
    with_question(tool, &text, &nothing, None, |question, _| cycod_shell::starts(question))
}

/// What a script of a shell starts, by itself.
pub fn starts_of_script(script: &str) -> Starts {
    let none = Programs::default();
    cycod_shell::starts(&Question {
        reader: Reader::Shell(Shell::Bash),
        command: &[Segment::Text(script)],
        environment: &[],
        input: &[],
        programs: &none,
    })
}

/// The places of a command and of what reaches it, as they were put into its question.
struct Asked<'a> {
    command: Places<'a>,
    input: Places<'a>,
    variables: Vec<(&'a str, Places<'a>)>,
}

/// Calls `ask` with the question that a command is.
fn with_question<'a, T>(
    tool: &'a Tool,
    text: &'a CommandText,
    reached: &Reached<'a>,
    reader: Option<Reader<'a>>,
    ask: impl FnOnce(&Question<'_>, &Asked<'a>) -> T,
) -> T {
    let reader = reader.unwrap_or(match &text.interpreter {
        Interpreter::Bash => Reader::Shell(Shell::Bash),
        Interpreter::Sh | Interpreter::PlatformDefault => Reader::Shell(Shell::Sh),
        Interpreter::Zsh => Reader::Shell(Shell::Zsh),
        Interpreter::PowerShell => Reader::Shell(Shell::PowerShell),
        Interpreter::Cmd => Reader::Shell(Shell::Cmd),
        Interpreter::Argv => Reader::Words,
        Interpreter::Program(program) => Reader::Interpreter(&program.words),
    });
    let mut command = Places::of(tool);
    command.template(&text.template, Within::Command);
    let mut input = Places::of(tool);
    reached.input.into_iter().for_each(|template| input.template(template, Within::Text));
    let variables: Vec<(&str, Places<'_>)> = tool
        .environment
        .variables
        .iter()
        .chain(reached.environment)
        .map(|(name, template)| {
            let mut places = Places::of(tool);
            places.template(template, Within::Text);
            (name.as_str(), places)
        })
        .collect();
    let asked = Asked { command, input, variables };
    let environment: Vec<(&str, Vec<Segment<'_>>)> =
        asked.variables.iter().map(|(name, places)| (*name, places.segments.clone())).collect();
    let of_directory;
    let programs = if reached.directory == Directory::Usual {
        &tool.programs
    } else {
        let project = tool.programs.project().in_directory(reached.directory);
        of_directory = tool.programs.clone().with_project(project);
        &of_directory
    };
    let question = Question {
        reader,
        command: &asked.command.segments,
        environment: &environment,
        input: &asked.input.segments,
        programs,
    };
    ask(&question, &asked)
}

/// What is proven about a command, and what it may rest on that stands elsewhere.
fn verdicts_of(
    tool: &Tool,
    text: &CommandText,
    reached: &Reached<'_>,
    reader: Option<Reader<'_>>,
) -> (Verdicts, Grounds) {
    with_question(tool, text, reached, reader, |question, Asked { command, input, variables }| {
        let judged = cycod_shell::judge(question);
        let mut verdicts = Verdicts {
            command: command.gather(judged.command),
            environment: variables
                .iter()
                .zip(judged.environment)
                .map(|((name, places), verdicts)| ((*name).to_owned(), places.gather(verdicts)))
                .collect(),
            input: input.gather(judged.input),
        };
        let names = LazyCell::new(|| names(tool));
        for verdict in &mut verdicts.command {
            if let Some(rewrite) = &verdict.rewrite
                && !is_proven(rewrite, &names, question, tool)
            {
                verdict.rewrite = None;
            }
        }
        if let Some(problem) = tool.stated.file.as_ref().and_then(|file| file.problem()) {
            verdicts.each_mut(&mut |verdict| {
                if verdict.code == Some(Code::BrokenProgramsFile) {
                    verdict.reason = format!("{}: {problem}", verdict.reason);
                }
            });
        }
        (verdicts, judged.grounds)
    })
}

/// Whether a rewrite is a template in which every placeholder is one, and is data.
fn is_proven(rewrite: &str, names: &KnownNames, question: &Question<'_>, tool: &Tool) -> bool {
    let (template, found) = template::parse(rewrite, |_| 0, names);
    let mut places = Places::of(tool);
    places.template(&template, Within::Command);
    let judged = cycod_shell::judge(&Question { command: &places.segments, ..*question });
    found.is_empty() && judged.command.iter().all(Verdict::is_placeable)
}

fn names(tool: &Tool) -> KnownNames {
    let steps = match &tool.body {
        Body::Steps(steps) => steps.iter().map(|step| step.name.clone()).collect(),
        _ => Vec::new(),
    };
    let has_item = matches!(&tool.body, Body::Steps(steps) if steps.iter().any(|step| step.each.is_some()));
    let parameters = tool.parameters.iter().map(|parameter| parameter.name.clone()).collect();
    KnownNames { parameters, steps, has_item, is_code: false }
}

/// Where a template stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// In a command, where the `format` of a parameter counts.
    Command,
    /// In a text.
    Text,
}

/// A template as the shells' crate takes it, and to which of its placeholders each hole belongs.
struct Places<'a> {
    tool: &'a Tool,
    segments: Vec<Segment<'a>>,
    /// For each hole of the segments, the number of its placeholder.
    of: Vec<usize>,
    /// How many placeholders there are.
    count: usize,
}

impl<'a> Places<'a> {
    fn of(tool: &'a Tool) -> Self {
        Self { tool, segments: Vec::new(), of: Vec::new(), count: 0 }
    }

    /// One verdict for each placeholder: the worst of its holes.
    fn gather(&self, verdicts: Vec<Verdict>) -> Vec<Verdict> {
        let mut gathered: Vec<Option<Verdict>> = vec![None; self.count];
        for (verdict, &place) in verdicts.into_iter().zip(&self.of) {
            gathered[place] = Some(match gathered[place].take() {
                Some(known) => known.and(verdict),
                None => verdict,
            });
        }
        gathered.into_iter().map(|verdict| verdict.unwrap_or_else(Verdict::free)).collect()
    }

    fn template<'t: 'a>(&mut self, template: &'t Template, within: Within) {
        for part in &template.segments {
            match part {
                Part::Text(text) => self.segments.push(Segment::Text(text)),
                Part::Hole(hole) => {
                    let shown = hole.to_string();
                    self.value(&hole.value, hole.raw, &shown, within);
                    self.count += 1;
                }
            }
        }
    }

    fn value<'t: 'a>(&mut self, value: &'t HoleValue, raw: bool, shown: &str, within: Within) {
        match value {
            HoleValue::Reference { of, transforms, format } => {
                let hole = self.hole(of, !transforms.is_empty() || format.is_some(), raw, shown);
                let parameter = self.parameter(of).filter(|_| within == Within::Command && format.is_none());
                match parameter.and_then(|parameter| parameter.format.as_ref()).map(|format| &format.template) {
                    Some(template) => self.formatted(hole, template),
                    None => self.push(hole),
                }
            }
            HoleValue::Choice { then, otherwise, .. } => {
                let branches = [then, otherwise].map(|side| match side {
                    Side::Text(text) => Branch::Text(text),
                    Side::Reference(of) => {
                        self.of.push(self.count);
                        Branch::Hole(self.hole(of, false, raw, shown))
                    }
                });
                self.segments.push(Segment::Choice(branches.into()));
            }
        }
    }

    fn push(&mut self, hole: Hole<'a>) {
        self.of.push(self.count);
        self.segments.push(Segment::Hole(hole));
    }

    /// A value inside of the text that its parameter's `format` puts around it.
    fn formatted<'t: 'a>(&mut self, mut hole: Hole<'a>, template: &'t Template) {
        if template.as_text().is_some_and(|pattern| number_format::check(pattern).is_ok()) {
            // A number with its digits arranged.
            hole.texts.clear();
            return self.push(hole);
        }
        let is_value = |of: &Reference| matches!(of, Reference::Parameter(name) if name == "value");
        let parts: Option<Vec<Format<'a>>> = template
            .segments
            .iter()
            .map(|part| match part {
                Part::Text(text) => Some(Format::Text(Cow::Borrowed(text.as_str()))),
                Part::Hole(inner) => match &inner.value {
                    HoleValue::Reference { of, format: None, .. } if is_value(of) && !inner.raw => Some(Format::Value),
                    _ => None,
                },
            })
            .collect();
        if let Some(text) = template.as_text() {
            // The value is asked for and never used.
            (hole.kind, hole.texts) = (Kind::Enum, vec![Cow::Borrowed(text)]);
            return self.push(hole);
        }
        if let Some(parts) = parts {
            hole.format = parts;
            // An empty value leaves the whole format out; inside of it, it is a word.
            hole.texts.clear();
            return self.push(hole);
        }
        for part in &template.segments {
            match part {
                Part::Text(text) => self.segments.push(Segment::Text(text)),
                Part::Hole(inner) => match &inner.value {
                    HoleValue::Reference { of, .. } if is_value(of) => {
                        let mode = if inner.raw { Mode::Raw } else { hole.mode };
                        self.push(Hole { mode, texts: Vec::new(), ..hole.clone() });
                    }
                    HoleValue::Choice { then, otherwise, .. } => {
                        let branches = [then, otherwise].map(|side| match side {
                            Side::Text(text) => Branch::Text(text),
                            Side::Reference(of) if is_value(of) => {
                                self.of.push(self.count);
                                Branch::Hole(hole.clone())
                            }
                            Side::Reference(of) => {
                                self.of.push(self.count);
                                Branch::Hole(self.hole(of, false, inner.raw, &hole.shown))
                            }
                        });
                        self.segments.push(Segment::Choice(branches.into()));
                    }
                    HoleValue::Reference { of, transforms, .. } => {
                        let other = self.hole(of, !transforms.is_empty(), inner.raw, &hole.shown);
                        self.push(other);
                    }
                },
            }
        }
    }

    fn parameter(&self, of: &Reference) -> Option<&'a Parameter> {
        match of {
            // An alias is written without sight of the parameters of its base.
            Reference::Parameter(name) | Reference::Environment(name) => self.tool.parameter(name),
            _ => None,
        }
    }

    /// What is known of a value before there is one.
    fn hole<'t: 'a>(&self, of: &'t Reference, is_changed: bool, raw: bool, shown: &str) -> Hole<'a> {
        let mut hole = Hole {
            name: "",
            shown: Cow::Owned(shown.to_owned()),
            kind: Kind::Text,
            mode: Mode::Word,
            texts: Vec::new(),
            vanishes: false,
            is_list: false,
            format: Vec::new(),
            options: false,
            is_json_string: shown.ends_with(":jsonescaped}"),
            trust: Trust::None,
        };
        match of {
            Reference::Parameter(_) | Reference::Environment(_) if let Some(parameter) = self.parameter(of) => {
                about_parameter(&mut hole, parameter, is_changed);
            }
            Reference::Parameter(name) => hole.name = name,
            Reference::Environment(name) => (hole.name, hole.trust) = (name, Trust::Machine),
            Reference::Predefined(predefined) => {
                hole.name = predefined.name();
                hole.trust = Trust::Machine;
                // All of them are absolute paths.
                hole.options = true;
                hole.kind = match predefined {
                    Predefined::Workspace | Predefined::Temp | Predefined::Home => Kind::Text,
                    _ => Kind::Enum,
                };
            }
            // One word that anything may be.
            Reference::Item => hole.name = template::ITEM,
            Reference::Step { step, attribute } => {
                hole.name = step;
                (hole.mode, hole.kind) = match attribute {
                    StepAttribute::Output | StepAttribute::Error => (Mode::Output, Kind::Text),
                    StepAttribute::ExitCode | StepAttribute::Duration | StepAttribute::Attempts => {
                        (Mode::Word, Kind::Number)
                    }
                    StepAttribute::Skipped | StepAttribute::TimedOut => (Mode::Word, Kind::Boolean),
                    StepAttribute::StartTime | StepAttribute::EndTime | StepAttribute::Status => {
                        (Mode::Word, Kind::Enum)
                    }
                };
                hole.vanishes = hole.mode == Mode::Output;
            }
        }
        if raw {
            hole.mode = Mode::Raw;
        }
        hole
    }
}

fn about_parameter<'a>(hole: &mut Hole<'a>, parameter: &'a Parameter, is_changed: bool) {
    let is_as_it_is = !is_changed;
    let is_changed = is_changed || parameter.transform.is_some();
    let is_escaped = parameter.transform == Some(Transform::Named(NamedTransform::ShellEscaped))
        || hole.shown.ends_with(":shellescaped}");
    hole.name = &parameter.name;
    hole.is_json_string |= is_as_it_is && parameter.transform == Some(Transform::Named(NamedTransform::JsonEscaped));
    hole.mode = placing_mode(parameter, is_escaped);
    hole.is_list = matches!(parameter.kind, ParameterType::Array);
    // The JSON of an object begins with `{`.
    let is_object = parameter.kind == ParameterType::Object && !is_changed;
    hole.options = parameter.options || parameter.words || parameter.path || is_object;
    hole.trust = match parameter.placing {
        None => Trust::None,
        Some(Placing::Data) => Trust::Data,
        Some(Placing::Code(_)) => Trust::Code,
    };
    let allowed = parameter.validation.allowed.as_deref();
    hole.kind = match parameter.kind {
        ParameterType::Number | ParameterType::Integer if is_changed => Kind::Enum,
        ParameterType::Number | ParameterType::Integer => Kind::Number,
        ParameterType::Boolean => Kind::Boolean,
        ParameterType::String | ParameterType::Any if allowed.is_some() => Kind::Enum,
        _ => Kind::Text,
    };
    hole.texts = match (hole.kind, allowed) {
        (Kind::Boolean, _) if !is_changed => vec!["true".into(), "false".into()],
        (Kind::Enum, Some(allowed)) if !is_changed => allowed.iter().filter_map(text_of).collect(),
        _ => Vec::new(),
    };
    let may_be_empty = match hole.kind {
        Kind::Number | Kind::Boolean => false,
        Kind::Enum => hole.texts.is_empty() || hole.texts.iter().any(|text| text.is_empty()),
        Kind::Text => true,
    };
    hole.vanishes = !parameter.required && parameter.default.is_none() || hole.mode != Mode::Word && may_be_empty;
}

/// How the text of a parameter becomes words outside of quotes.
pub fn placing_mode(parameter: &Parameter, is_escaped: bool) -> Mode {
    match parameter.escape_shell {
        Some(false) => Mode::Raw,
        _ if is_escaped => Mode::Fragment,
        _ if parameter.words => Mode::Arguments,
        Some(true) => Mode::Word,
        None if parameter.required && parameter.default.is_none() => Mode::Word,
        None => Mode::Bare,
    }
}

fn text_of(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Text(text) | Value::Number(text) => Some(Cow::Borrowed(text)),
        Value::Bool(value) => Some(Cow::Borrowed(if *value { "true" } else { "false" })),
        _ => None,
    }
}

/// Tells what is wrong with the places of a tool's values.
pub(crate) fn report(tool: &Tool, lowering: &Lowering<'_>) {
    if matches!(tool.body, Body::Handler(_)) {
        // A function is given its arguments as data, but its process may be run by what its environment says.
        for (name, template) in &tool.environment.variables {
            let mut places = Places::of(tool);
            places.template(template, Within::Text);
            let environment = [(name.as_str(), places.segments.clone())];
            let judged = cycod_shell::judge(&Question {
                reader: Reader::Interpreter(&[]),
                command: &[],
                environment: &environment,
                input: &[],
                programs: &tool.programs,
            });
            for (hole, verdict) in template.holes().zip(places.gather(judged.environment.concat())) {
                report_one(&verdict, hole.span, false, lowering);
            }
        }
    }
    for (text, reached) in tool.command_texts() {
        for (template, verdicts) in
            [(Some(&text.template), &text.verdicts.command), (reached.input, &text.verdicts.input)]
        {
            for (hole, verdict) in template.into_iter().flat_map(Template::holes).zip(verdicts) {
                report_one(verdict, hole.span, reached.is_elsewhere, lowering);
                if hole.raw {
                    lowering.sink.report(raw_placing(hole.span, "the value is placed as program text"));
                }
            }
        }
        let variables = tool.environment.variables.iter().chain(reached.environment);
        for ((_, template), (_, verdicts)) in variables.zip(&text.verdicts.environment) {
            for (hole, verdict) in template.holes().zip(verdicts) {
                report_one(verdict, hole.span, reached.is_elsewhere, lowering);
            }
        }
    }
}

fn report_one(verdict: &Verdict, span: Span, is_elsewhere: bool, lowering: &Lowering<'_>) {
    if let Some(code) = verdict.code.filter(|_| !verdict.is_placeable()) {
        // A command for another platform does not keep the tool from being used here.
        let make = if is_elsewhere { Diagnostic::warning } else { Diagnostic::error };
        let diagnostic = make(code, span, verdict.reason.clone()).label("no value can be placed here");
        let help = match &verdict.rewrite {
            Some(rewrite) => format!("{}\n{rewrite}", verdict.help),
            None => verdict.help.clone(),
        };
        return lowering.sink.extend(vec![if help.is_empty() { diagnostic } else { diagnostic.help(help) }]);
    }
    let Some(hint) = verdict.hint.as_ref().filter(|_| verdict.proof == Proof::Data) else { return };
    let diagnostic = Diagnostic::hint(hint.code, span, hint.message.clone());
    let fix = hint.insert.as_ref().and_then(|(text, between)| {
        let start = span.start.checked_sub(u32::try_from(between.len()).ok()?)?;
        let is_there = lowering.sink.text(Span { start, end: span.start }) == between;
        is_there.then(|| vec![Edit { span: Span { start, end: start }, replacement: text.clone() }])
    });
    lowering.sink.extend(vec![match fix {
        Some(edits) => diagnostic.fix(hint.help.clone(), edits),
        None => diagnostic.help(hint.help.clone()),
    }]);
}

/// The warning for a value that is program text.
pub(crate) fn raw_placing(span: Span, message: &str) -> Diagnostic {
    Diagnostic::warning(Code::RawPlacing, span, message)
        .label("the caller chooses what runs")
        .note("this raises the tool to level run")
}

impl Lowering<'_> {
    /// Takes a parameter for several words where the file itself gives it several: options, or words in quotes.
    pub(crate) fn understand_words(&self, tool: &mut Tool) {
        let bare: Vec<(String, Span)> = tool
            .command_texts()
            .iter()
            .filter(|(text, _)| !matches!(text.interpreter, Interpreter::Program(_)))
            .flat_map(|(text, _)| bare_parameters(&text.template))
            .collect();
        for index in 0..tool.parameters.len() {
            let parameter = &tool.parameters[index];
            let Some((_, span)) = bare.iter().find(|(name, _)| *name == parameter.name) else { continue };
            if parameter.words
                || parameter.escape_shell.is_some()
                || parameter.format.is_some()
                || parameter.kind != ParameterType::String
                || parameter.validation.allowed.is_some()
            {
                continue;
            }
            let Some(sample) = samples(tool, parameter).into_iter().find(|text| is_several_words(text)) else {
                continue;
            };
            self.sink.report(
                Diagnostic::warning(
                    Code::SeveralWords,
                    *span,
                    format!(
                        "`{}` is given several words, {}, so its value is taken as words",
                        parameter.name,
                        crate::shown(&sample)
                    ),
                )
                .note("this raises the tool to level run")
                .help(format!(
                    "write `words: true` at `{}`, or `type: array`, whose elements are one word each",
                    parameter.name
                )),
            );
            tool.parameters[index].words = true;
        }
    }
}

/// The parameters that stand in a template outside of quotes, as far as a look at the characters beside them tells.
fn bare_parameters(template: &Template) -> Vec<(String, Span)> {
    let mut found = Vec::new();
    for (index, part) in template.segments.iter().enumerate() {
        let Part::Hole(hole) = part else { continue };
        let beside = |at: Option<usize>, last: bool| match at.and_then(|at| template.segments.get(at)) {
            Some(Part::Text(text)) if last => text.chars().next_back().is_none_or(char::is_whitespace),
            Some(Part::Text(text)) => text.chars().next().is_none_or(|c| c.is_whitespace() || ";|&)".contains(c)),
            Some(Part::Hole(_)) => false,
            None => true,
        };
        if let HoleValue::Reference { of: Reference::Parameter(name), .. } = &hole.value
            && beside(index.checked_sub(1), true)
            && beside(Some(index + 1), false)
        {
            found.push((name.clone(), hole.span));
        }
    }
    found
}

/// The texts that a file itself gives to a parameter.
fn samples(tool: &Tool, parameter: &Parameter) -> Vec<String> {
    let literal = |literal: &Literal| match literal {
        Literal::Text(template) => template.as_text().map(str::to_owned),
        _ => None,
    };
    let examples = parameter.examples.iter().filter_map(|value| match value {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    });
    let tests = tool.tests.iter().flat_map(|test| &test.parameters).filter(|(name, _)| *name == parameter.name);
    parameter
        .default
        .iter()
        .filter_map(literal)
        .chain(examples)
        .chain(tests.filter_map(|(_, value)| literal(value)))
        .collect()
}

/// Whether a text can only be meant as words: there are several, with an option or with quotes among them.
fn is_several_words(text: &str) -> bool {
    let words = cycod_shell::words(text);
    let has_option = words.iter().any(|word| word.text.starts_with('-') && word.text.len() > 1);
    let has_quotes = words.len() != text.split_whitespace().count();
    words.len() > 1 && (has_option || has_quotes)
}
