//! Judges the placeholders of a tool: whether the values that callers give can only be data where they stand.
//!
//! Everything else reads what is decided here: diagnostics, the level, what people are shown, and the guard of each run. The rule
//! is "proven or refused"; how it is proven is in `cycod-shell`.

use std::{borrow::Cow, cell::LazyCell, collections::HashMap, sync::Arc};

use cycod_diagnostic::{Code, Diagnostic, Edit, Span};
use cycod_shell::{
    Branch, Directory, Format, Grounds, Hole, Judgement, Kind, Mode, PARAMETER_PREFIX, PARAMETERS_FILE, Programs,
    Proof, Question, Reader, Segment, Shell, Stage, Starts, Trust, Verdict, parameter_variable,
};
use cycod_syntax::template::{
    self, HoleValue, KnownNames, Predefined, Reference, StepAttribute, Template, TemplatePart as Part,
    TernaryBranch as Side, number_format,
};

use crate::{
    Body, CodeReader, CommandText, Interpreter, Literal, NamedTransform, OutputMode, Parameter, ParameterType, Placing,
    Runtime, StepAction, StreamTarget, Tool, Transform, Value, Verdicts,
    lower::Lowering,
    order::{Order, Place},
    tool::{Reached, When},
};

/// Judges every placeholder of every command of a tool, and keeps the verdicts with the commands.
///
/// A tool that is put together of others, as an alias is, has to be judged again.
pub fn judge(tool: &mut Tool) {
    let mut grounds = Grounds::default();
    let texts = tool.command_texts();
    for (text, reached) in &texts {
        if text.interpreter == Interpreter::PlatformDefault && has_statements(tool) {
            grounds.extend(verdicts_of(tool, text, reached, Some(Reader::Shell(Shell::Cmd))).1);
        }
    }
    let mut verdicts = Vec::new();
    for (of_text, of_grounds) in together(tool, &texts) {
        verdicts.push(of_text);
        grounds.extend(of_grounds);
    }
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
    let mut add = |name: &str, verdict: &Verdict| {
        let Some(parameter) = tool.parameter(name) else { return };
        match found.iter_mut().find(|(known, _)| *known == parameter.name) {
            Some((_, known)) => *known = known.clone().and(verdict.clone()),
            None => found.push((&parameter.name, verdict.clone())),
        }
    };
    let mut add_all = |template: &Template, verdicts: &[Verdict]| {
        for (hole, verdict) in template.holes().zip(verdicts) {
            let sides = match &hole.value {
                HoleValue::Reference { of, .. } => [Some(of), None],
                HoleValue::Choice { then, otherwise, .. } => [then, otherwise].map(|side| match side {
                    Side::Reference(of) => Some(of),
                    Side::Text(_) => None,
                }),
            };
            for of in sides.into_iter().flatten() {
                if let Reference::Parameter(name) | Reference::Environment(name) = of {
                    add(name, verdict);
                }
            }
        }
    };
    for (text, reached) in tool.command_texts() {
        add_all(&text.template, &text.verdicts.command);
        let variables = tool.environment.variables.iter().chain(reached.environment);
        for ((_, template), (_, verdicts)) in variables.zip(&text.verdicts.environment) {
            add_all(template, verdicts);
        }
        if let Some(input) = reached.input {
            add_all(input, &text.verdicts.input);
        }
    }
    for (text, _) in tool.command_texts() {
        let refused = text.verdicts.taken.iter().filter(|(_, verdict)| !verdict.is_placeable());
        refused.for_each(|(name, verdict)| add(name, verdict));
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
    let text = CommandText::of(reader.interpreter(), template.clone());
    verdicts_of(tool, &text, &Reached::NOTHING, None).0.command
}

/// What the commands of a tool start, and its function, as far as its own file says.
pub fn starts(tool: &Tool) -> Starts {
    let mut all = Starts::default();
    for (text, reached) in tool.command_texts() {
        if !reached.is_elsewhere {
            with_question(tool, text, &reached, None, |question| all.add(cycod_shell::starts(question)));
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
        let nothing = CommandText::of(Interpreter::Sh, Template::default());
        with_question(tool, &nothing, &Reached::NOTHING, None, |question| all.add(cycod_shell::starts(question)));
    }
    all
}

/// What a text starts that a tool gives to a parameter of another, which is program text for `reader`.
pub fn starts_of_argument(tool: &Tool, template: &Template, reader: CodeReader) -> Starts {
    let text = CommandText::of(reader.interpreter(), template.clone());
    with_question(tool, &text, &Reached::NOTHING, None, cycod_shell::starts)
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
    /// The parameters whose values its code takes itself.
    taken: Vec<(&'a Parameter, Places<'a>)>,
}

/// A command, put into a question.
pub(crate) struct Asking<'a> {
    reader: Reader<'a>,
    asked: Asked<'a>,
    environment: Vec<(&'a str, Vec<Segment<'a>>)>,
    programs: Cow<'a, Programs>,
    /// Where its step works, if that says so.
    directory: Vec<Segment<'a>>,
    /// The file that gets what it prints.
    output: Vec<Segment<'a>>,
    repeats: bool,
    /// How messages call it.
    pub(crate) name: String,
}

impl<'a> Asking<'a> {
    /// `given` is what its parameters are given, when its tool is used by another one.
    pub(crate) fn of(
        tool: &'a Tool,
        text: &'a CommandText,
        reached: &Reached<'a>,
        reader: Option<Reader<'a>>,
        given: Given<'a>,
    ) -> Self {
        let reader = reader.unwrap_or(match &text.interpreter {
            Interpreter::Bash => Reader::Shell(Shell::Bash),
            Interpreter::Sh | Interpreter::PlatformDefault => Reader::Shell(Shell::Sh),
            Interpreter::Zsh => Reader::Shell(Shell::Zsh),
            Interpreter::PowerShell => Reader::Shell(Shell::PowerShell),
            Interpreter::Cmd => Reader::Shell(Shell::Cmd),
            Interpreter::Argv => Reader::Words,
            Interpreter::Program(program) => Reader::Interpreter(&program.words),
        });
        let places = Places::given(tool, given);
        let of_text = |template: &'a Template| {
            let mut places = places.clone();
            places.template(template, Within::Text);
            places
        };
        let mut command = places.clone();
        command.template(&text.template, Within::Command);
        let mut input = places.clone();
        reached.input.into_iter().for_each(|template| input.template(template, Within::Text));
        let all_variables = tool.environment.variables.iter().chain(reached.environment);
        let variables: Vec<(&str, Places<'_>)> =
            all_variables.map(|(name, template)| (name.as_str(), of_text(template))).collect();
        let of_parameter = |parameter: &'a Parameter| {
            let mut places = places.clone();
            places.parameter_itself(parameter);
            (parameter, places)
        };
        let taken: Vec<(&Parameter, Places<'_>)> = taken_by_code(tool, text).into_iter().map(of_parameter).collect();
        let all = variables.iter().map(|(name, places)| (*name, places));
        let all = all.chain(taken.iter().map(|(_, places)| (PARAMETERS_FILE, places)));
        let environment = all.map(|(name, places)| (name, places.segments.clone())).collect();
        let programs = if reached.directory == Directory::Usual {
            Cow::Borrowed(&tool.programs)
        } else {
            let project = tool.programs.project().in_directory(reached.directory);
            Cow::Owned(tool.programs.clone().with_project(project))
        };
        let (mut directory, mut output, mut repeats) = (Vec::new(), Vec::new(), false);
        if let When::Step { step, is_fallback, .. } = reached.when {
            if let Some(own) = &step.working_directory {
                directory = of_text(own).segments;
            }
            if let (StreamTarget::File(file), OutputMode::Stream) = (&step.output.stream_callback, step.output.mode) {
                output = of_text(file).segments;
            }
            repeats = step.each.is_some() || step.retry.is_some() && !is_fallback;
        }
        let name = match reached.when {
            When::Alone => "the command".to_owned(),
            When::Step { step, is_fallback: false, .. } => format!("step `{}`", step.name),
            When::Step { step, is_fallback: true, .. } => format!("the fallback of step `{}`", step.name),
            When::Cleanup => "the cleanup".to_owned(),
            When::Tested(test) => format!("the cleanup of test `{test}`"),
        };
        let asked = Asked { command, input, variables, taken };
        Self { reader, asked, environment, programs, directory, output, repeats, name }
    }

    fn question(&self) -> Question<'_> {
        Question {
            reader: self.reader,
            command: &self.asked.command.segments,
            environment: &self.environment,
            input: &self.asked.input.segments,
            programs: &self.programs,
        }
    }

    /// The names of the parameters, or of the others, whose values are in its holes: of the command's, the input's, those of variables;
    /// each with the argument of the outermost use by which it comes there.
    pub(crate) fn names_of_holes(&self) -> Vec<(&str, Option<&str>)> {
        let Asked { command, input, variables, taken } = &self.asked;
        let variables = variables.iter().map(|(_, places)| places).chain(taken.iter().map(|(_, places)| places));
        let all = [command, input].into_iter().chain(variables);
        all.flat_map(Places::names).collect()
    }

    pub(crate) fn stage(&self) -> Stage<'_> {
        Stage {
            question: self.question(),
            name: &self.name,
            directory: &self.directory,
            output: &self.output,
            repeats: self.repeats,
        }
    }

    /// The verdicts for its placeholders, of those for its holes; and what they may rest on that stands elsewhere.
    fn gather(&self, tool: &Tool, judged: Judgement) -> (Verdicts, Grounds) {
        let Asked { command, input, variables, taken } = &self.asked;
        let mut of_variables = judged.environment.into_iter();
        let environment = variables
            .iter()
            .zip(of_variables.by_ref())
            .map(|((name, places), verdicts)| ((*name).to_owned(), places.gather(verdicts)))
            .collect();
        let taken = taken.iter().zip(of_variables).map(|((parameter, places), verdicts)| {
            let verdict = places.gather(verdicts).into_iter().next();
            (parameter.name.clone(), verdict.unwrap_or_else(Verdict::free))
        });
        let mut verdicts = Verdicts {
            command: command.gather(judged.command),
            environment,
            input: input.gather(judged.input),
            taken: taken.collect(),
        };
        let names = LazyCell::new(|| names(tool));
        for verdict in &mut verdicts.command {
            if let Some(rewrite) = &verdict.rewrite
                && !is_proven(rewrite, &names, &self.question(), tool)
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
    }
}

/// The parameters whose values the code of another language takes itself: those that it names, and all where it may take any.
fn taken_by_code<'a>(tool: &'a Tool, text: &CommandText) -> Vec<&'a Parameter> {
    let Interpreter::Program(program) = &text.interpreter else { return Vec::new() };
    let code = text.template.segments.iter().map(|part| match part {
        Part::Text(text) => text.as_str(),
        Part::Hole(_) => "",
    });
    let code: String = code.collect();
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let named: Vec<&str> = code
        .match_indices(PARAMETER_PREFIX)
        .map(|(at, _)| code[at..].split(|c| !is_of_name(c)).next().unwrap_or_default())
        .collect();
    let takes_all = program.words.iter().any(|word| word.contains("{1}"))
        || code.contains(PARAMETERS_FILE)
        || named.contains(&PARAMETER_PREFIX);
    let is_taken = |parameter: &&Parameter| takes_all || named.contains(&parameter_variable(&parameter.name).as_str());
    tool.parameters.iter().filter(is_taken).collect()
}

/// Calls `ask` with the question that a command is.
fn with_question<T>(
    tool: &Tool,
    text: &CommandText,
    reached: &Reached<'_>,
    reader: Option<Reader<'_>>,
    ask: impl FnOnce(&Question<'_>) -> T,
) -> T {
    ask(&Asking::of(tool, text, reached, reader, Given::none()).question())
}

/// What is proven about a command by itself, and what it may rest on that stands elsewhere.
fn verdicts_of(
    tool: &Tool,
    text: &CommandText,
    reached: &Reached<'_>,
    reader: Option<Reader<'_>>,
) -> (Verdicts, Grounds) {
    let asking = Asking::of(tool, text, reached, reader, Given::none());
    asking.gather(tool, cycod_shell::judge(&asking.question()))
}

/// The same of all commands of a tool: what runs later finds the files of what ran before.
fn together(tool: &Tool, texts: &[(&CommandText, Reached<'_>)]) -> Vec<(Verdicts, Grounds)> {
    let all: Vec<Asking<'_>> =
        texts.iter().map(|(text, reached)| Asking::of(tool, text, reached, None, Given::none())).collect();
    let places: Vec<Place> = texts.iter().enumerate().map(|(at, (_, reached))| reached.when.place(at)).collect();
    let order = Order::of(tool, &places);
    let stages: Vec<Stage<'_>> = order.sorted.iter().map(|&at| all[at].stage()).collect();
    let judged = cycod_shell::judge_together(&stages, order.is_parallel, &|a, b| order.is_before(a, b));
    let mut found: Vec<Option<(Verdicts, Grounds)>> = texts.iter().map(|_| None).collect();
    for (&at, judged) in order.sorted.iter().zip(judged) {
        found[at] = Some(all[at].gather(tool, judged));
    }
    found.into_iter().map(Option::unwrap_or_default).collect()
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
#[derive(Clone)]
pub(crate) struct Places<'a> {
    tool: &'a Tool,
    given: Given<'a>,
    segments: Vec<Segment<'a>>,
    /// For each hole of the segments, the number of its placeholder, and the argument of the outermost use that it comes from.
    of: Vec<(usize, Option<&'a str>)>,
    /// How many placeholders there are.
    count: usize,
}

impl<'a> Places<'a> {
    pub(crate) fn of(tool: &'a Tool) -> Self {
        Self::given(tool, Given::none())
    }

    /// Of a tool whose parameters are given something by another one.
    pub(crate) fn given(tool: &'a Tool, given: Given<'a>) -> Self {
        Self { tool, given, segments: Vec::new(), of: Vec::new(), count: 0 }
    }

    /// What each hole is of, and the argument of the outermost use by which it comes there.
    fn names(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        let holes = self.segments.iter().flat_map(Segment::holes);
        holes.zip(&self.of).map(|(hole, (_, argument))| (hole.name, *argument))
    }

    /// One verdict for each placeholder: the worst of its holes.
    fn gather(&self, verdicts: Vec<Verdict>) -> Vec<Verdict> {
        let mut gathered: Vec<Option<Verdict>> = vec![None; self.count];
        for (verdict, &(place, _)) in verdicts.into_iter().zip(&self.of) {
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
                let argument = self.argument(of);
                let parameter = self.parameter(of).filter(|_| within == Within::Command && format.is_none());
                match parameter.and_then(|parameter| parameter.format.as_ref()).map(|format| &format.template) {
                    Some(template) => self.formatted(hole, argument, template),
                    None => self.push(hole, argument),
                }
            }
            HoleValue::Choice { then, otherwise, .. } => {
                let branches = [then, otherwise].map(|side| match side {
                    Side::Text(text) => Branch::Text(text),
                    Side::Reference(of) => {
                        self.of.push((self.count, self.argument(of)));
                        Branch::Hole(self.hole(of, false, raw, shown))
                    }
                });
                self.segments.push(Segment::Choice(branches.into()));
            }
        }
    }

    /// The value of a parameter, where no placeholder is.
    fn parameter_itself(&mut self, parameter: &'a Parameter) {
        let mut hole = unknown(format!("{{{}}}", parameter.name));
        about_parameter(&mut hole, parameter, false);
        self.given.fill(&mut hole, &parameter.name, parameter.transform.is_some());
        self.push(hole, self.given.argument(&parameter.name));
        self.count += 1;
    }

    fn push(&mut self, hole: Hole<'a>, argument: Option<&'a str>) {
        self.of.push((self.count, argument));
        self.segments.push(Segment::Hole(hole));
    }

    /// A value inside of the text that its parameter's `format` puts around it.
    fn formatted<'t: 'a>(&mut self, mut hole: Hole<'a>, argument: Option<&'a str>, template: &'t Template) {
        if template.as_text().is_some_and(|pattern| number_format::check(pattern).is_ok()) {
            // A number with its digits arranged.
            hole.texts.clear();
            return self.push(hole, argument);
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
            return self.push(hole, argument);
        }
        if let Some(parts) = parts {
            hole.format = parts;
            // An empty value leaves the whole format out; inside of it, it is a word.
            hole.texts.clear();
            return self.push(hole, argument);
        }
        for part in &template.segments {
            match part {
                Part::Text(text) => self.segments.push(Segment::Text(text)),
                Part::Hole(inner) => match &inner.value {
                    HoleValue::Reference { of, .. } if is_value(of) => {
                        let mode = if inner.raw { Mode::Raw } else { hole.mode };
                        self.push(Hole { mode, texts: Vec::new(), ..hole.clone() }, argument);
                    }
                    HoleValue::Choice { then, otherwise, .. } => {
                        let branches = [then, otherwise].map(|side| match side {
                            Side::Text(text) => Branch::Text(text),
                            Side::Reference(of) if is_value(of) => {
                                self.of.push((self.count, argument));
                                Branch::Hole(hole.clone())
                            }
                            Side::Reference(of) => {
                                self.of.push((self.count, self.argument(of)));
                                Branch::Hole(self.hole(of, false, inner.raw, &hole.shown))
                            }
                        });
                        self.segments.push(Segment::Choice(branches.into()));
                    }
                    HoleValue::Reference { of, transforms, .. } => {
                        let other = self.hole(of, !transforms.is_empty(), inner.raw, &hole.shown);
                        self.push(other, self.argument(of));
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

    /// The argument of the outermost use by which a value comes to a place.
    fn argument(&self, of: &Reference) -> Option<&'a str> {
        self.given.argument(&self.parameter(of)?.name)
    }

    /// What is known of a value before there is one.
    fn hole<'t: 'a>(&self, of: &'t Reference, is_changed: bool, raw: bool, shown: &str) -> Hole<'a> {
        let mut hole = unknown(shown.to_owned());
        match of {
            Reference::Parameter(_) | Reference::Environment(_) if let Some(parameter) = self.parameter(of) => {
                about_parameter(&mut hole, parameter, is_changed);
                self.given.fill(&mut hole, &parameter.name, is_changed || parameter.transform.is_some());
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

/// A value of which nothing is known.
fn unknown<'a>(shown: String) -> Hole<'a> {
    Hole {
        name: "",
        kind: Kind::Text,
        mode: Mode::Word,
        texts: Vec::new(),
        vanishes: false,
        is_list: false,
        format: Vec::new(),
        options: false,
        is_json_string: shown.ends_with(":jsonescaped}"),
        trust: Trust::None,
        shown: Cow::Owned(shown),
    }
}

/// What the parameters of a tool are given by another one that uses it.
#[derive(Clone, Default)]
pub(crate) struct Given<'a>(Option<Arc<HashMap<&'a str, Arrived<'a>>>>);

/// What one parameter is given, and by which argument of the outermost use.
type Arrived<'a> = (Source<'a>, Option<&'a str>);

/// What one parameter is given.
#[derive(Clone)]
enum Source<'a> {
    /// A text of the author's.
    Text(String),
    /// The value of a placeholder, with text before and behind it.
    Hole { hole: Box<Hole<'a>>, before: String, behind: String },
    /// Several of them, or one among others.
    Mixed(Box<Hole<'a>>),
}

impl<'a> Given<'a> {
    /// Nothing is known of what they are given.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// What the arguments of a use are, whose placeholders `caller` knows.
    pub(crate) fn of(used: &'a Tool, with: &'a [(String, Literal)], caller: &Places<'a>) -> Self {
        let mut given = HashMap::new();
        for parameter in &used.parameters {
            let default = parameter.default.as_ref().and_then(static_text).unwrap_or_default();
            given.insert(parameter.name.as_str(), (Source::Text(default), None));
        }
        for (name, literal) in with {
            if let Some(index) = used.parameter_meant(name) {
                let (source, argument) = caller.source(literal);
                given.insert(used.parameters[index].name.as_str(), (source, argument.or(Some(name))));
            }
        }
        Self(Some(Arc::new(given)))
    }

    /// The argument of the outermost use by which a parameter gets what it is given.
    fn argument(&self, name: &str) -> Option<&'a str> {
        self.0.as_ref()?.get(name)?.1
    }

    /// Says of a hole what is given there.
    fn fill(&self, hole: &mut Hole<'a>, name: &str, is_changed: bool) {
        let Some((source, _)) = self.0.as_ref().and_then(|given| given.get(name)) else { return };
        match source {
            Source::Text(text) => {
                hole.kind = Kind::Enum;
                hole.texts = if is_changed { Vec::new() } else { vec![Cow::Owned(text.clone())] };
            }
            Source::Hole { hole: outer, before, behind } => {
                take_over(hole, outer);
                if !is_changed && hole.kind == Kind::Text && !(before.is_empty() && behind.is_empty()) {
                    let text = |text: &str| Format::Text(Cow::Owned(text.to_owned()));
                    hole.format = vec![text(before), Format::Value, text(behind)];
                } else if hole.kind != Kind::Text {
                    hole.texts.clear();
                }
            }
            Source::Mixed(outer) => {
                take_over(hole, outer);
                hole.shown = Cow::Borrowed("");
                hole.texts.clear();
            }
        }
    }
}

/// A text that stands there whatever a caller gives.
fn static_text(literal: &Literal) -> Option<String> {
    match crate::static_value(literal)? {
        Value::Null => Some(String::new()),
        value => text_of(&value).map(Cow::into_owned),
    }
}

/// Makes a hole that of another value.
fn take_over<'a>(hole: &mut Hole<'a>, outer: &Hole<'a>) {
    hole.kind = outer.kind;
    hole.name = outer.name;
    hole.shown = outer.shown.clone();
    hole.texts.clone_from(&outer.texts);
    hole.trust = outer.trust;
}

impl<'a> Places<'a> {
    /// What an argument is, and by which one of an outer use it comes there.
    fn source(&self, literal: &'a Literal) -> Arrived<'a> {
        if let Some(text) = static_text(literal) {
            return (Source::Text(text), None);
        }
        let mut places = Self::given(self.tool, self.given.clone());
        let templates = literal.templates();
        for template in &templates {
            places.template(template, Within::Text);
        }
        let holes: Vec<&Hole<'a>> = places.segments.iter().flat_map(Segment::holes).collect();
        let worst = holes.iter().position(|hole| hole.kind == Kind::Text).unwrap_or_default();
        let argument = places.of.get(worst).and_then(|(_, argument)| *argument);
        let Some(worst) = holes.get(worst) else {
            return (Source::Text(String::new()), None);
        };
        let text = |segment: Option<&Segment<'a>>| match segment {
            Some(Segment::Text(text)) => (*text).to_owned(),
            _ => String::new(),
        };
        let source = match places.segments.as_slice() {
            [Segment::Hole(_)]
            | [Segment::Text(_), Segment::Hole(_)]
            | [Segment::Hole(_), Segment::Text(_)]
            | [Segment::Text(_), Segment::Hole(_), Segment::Text(_)]
                if templates.len() == 1 && worst.format.is_empty() =>
            {
                let before = text(places.segments.first());
                let behind = text(places.segments.last());
                Source::Hole { hole: Box::new((*worst).clone()), before, behind }
            }
            _ => Source::Mixed(Box::new((*worst).clone())),
        };
        (source, argument)
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
        // A script can make any text of a number.
        ParameterType::Number | ParameterType::Integer if matches!(parameter.transform, Some(Transform::Script(_))) => {
            Kind::Text
        }
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
        for (name, verdict) in text.verdicts.taken.iter().filter(|(_, verdict)| !verdict.is_placeable()) {
            let span = where_taken(&lowering.sink.source.text, name);
            report_one(verdict, span, reached.is_elsewhere, lowering);
        }
    }
}

/// Where the code of another language takes the value of a parameter, else where the file names the parameter.
fn where_taken(file: &str, name: &str) -> Span {
    let variable = parameter_variable(name);
    let texts = [variable.as_str(), PARAMETERS_FILE, PARAMETER_PREFIX, name];
    let found = texts.into_iter().find_map(|text| Some((file.find(text)?, text)));
    found.map_or_else(|| Span::new(0, 0), |(at, text)| Span::new(at, at + text.len()))
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
