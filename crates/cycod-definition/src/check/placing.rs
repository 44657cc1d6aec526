use std::borrow::Cow;

use cycod_diagnostic::{Code, Diagnostic, Span};
use cycod_shell::{Finding, Kind, Mode, Piece, Shell, Value, Words, code, inspect, place_argv};
use cycod_syntax::template::{Branch, HoleValue, Predefined, Reference, Segment, StepAttribute, Template};

use crate::{CommandText, Interpreter, Parameter, ParameterType, Transform, lower::Lowering};

/// Holds every place of a command against what its interpreter's grammar allows.
pub(crate) fn check(command: &CommandText, whole: Span, lowering: &Lowering<'_>) {
    let mut pieces = Pieces { parameters: &lowering.parameters, pieces: Vec::new() };
    pieces.template(&command.template, None);
    let Pieces { pieces, .. } = pieces;
    raw_places(&command.template, lowering);
    let shell = match &command.interpreter {
        Interpreter::Bash => Shell::Bash,
        Interpreter::Sh | Interpreter::PlatformDefault => Shell::Sh,
        Interpreter::Zsh => Shell::Zsh,
        Interpreter::PowerShell => Shell::PowerShell,
        Interpreter::Cmd => Shell::Cmd,
        Interpreter::Argv => return words(&pieces, whole, lowering),
        Interpreter::Program(program) => {
            let program = program.words.first().map_or("the interpreter", String::as_str);
            return inline(&pieces, program, lowering);
        }
    };
    let spans: Vec<Option<Span>> = pieces.iter().map(|(_, span)| *span).collect();
    let pieces: Vec<Piece<'_>> = pieces.into_iter().map(|(piece, _)| piece).collect();
    for finding in inspect(shell, &pieces) {
        let span = spans.get(finding.piece).copied().flatten().unwrap_or(whole);
        report(finding, span, lowering);
    }
}

fn report(finding: Finding, span: Span, lowering: &Lowering<'_>) {
    let Some(problem) = finding.problem else { return };
    // A value in a second program's code is refused when it is placed, but a tool whose other steps are fine
    // should still load and tell how to mend it.
    let diagnostic = if problem.code == code::SECOND_PARSE {
        Diagnostic::warning(Code(problem.code), span, problem.message).label("running it is refused")
    } else {
        Diagnostic::error(Code(problem.code), span, problem.message)
    };
    let help = match problem.rewrite {
        Some(rewrite) if problem.help.is_empty() => format!("write\n{rewrite}"),
        Some(rewrite) => format!("{}\n{rewrite}", problem.help),
        None => problem.help,
    };
    lowering.sink.extend(vec![if help.is_empty() { diagnostic } else { diagnostic.help(help) }]);
}

/// Warns of `{RAW:…}`.
fn raw_places(template: &Template, lowering: &Lowering<'_>) {
    for hole in template.holes().filter(|hole| hole.raw) {
        lowering.sink.report(raw_placing(hole.span, "the value is placed as program text"));
    }
}

/// The warning for a value that is program text.
pub(crate) fn raw_placing(span: Span, message: &str) -> Diagnostic {
    Diagnostic::warning(Code("raw-placing"), span, message)
        .label("whoever chooses the value chooses what runs")
        .note("this raises the tool to level run")
}

/// A command without a shell must split into words.
fn words(pieces: &[(Piece<'_>, Option<Span>)], whole: Span, lowering: &Lowering<'_>) {
    let pieces: Vec<Piece<'_>> = pieces.iter().map(|(piece, _)| piece.clone()).collect();
    if let Err(refusal) = place_argv(&pieces)
        && refusal.code == code::WORDS
    {
        let diagnostic = Diagnostic::error(Code(refusal.code), whole, refusal.message);
        lowering.sink.extend(vec![if refusal.try_.is_empty() { diagnostic } else { diagnostic.help(refusal.try_) }]);
    }
}

/// Values inside code that we cannot read are allowed only when they cannot be misread.
fn inline(pieces: &[(Piece<'_>, Option<Span>)], program: &str, lowering: &Lowering<'_>) {
    for (piece, span) in pieces {
        let (Piece::Value(value), Some(span)) = (piece, span) else { continue };
        if value.kind != Kind::Text || value.mode == Mode::Raw {
            continue;
        }
        let parameter = lowering.parameters.iter().any(|parameter| parameter.name == value.name);
        let diagnostic = Diagnostic::warning(
            Code(code::INLINE),
            *span,
            format!("`{}` is placed inside code for `{program}`", value.name),
        )
        .label("refused for values with anything but letters, digits and `_./:@%+=,-`");
        lowering.sink.extend(vec![if parameter {
            diagnostic.help(format!("read the value from the environment variable `{}` instead", variable(value.name)))
        } else {
            diagnostic
        }]);
    }
}

/// The environment variable in which a script finds a parameter.
fn variable(name: &str) -> String {
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    format!("CYCOD_PARAM_{name}")
}

struct Pieces<'a> {
    parameters: &'a [Parameter],
    pieces: Vec<(Piece<'a>, Option<Span>)>,
}

impl<'a> Pieces<'a> {
    /// Adds a template. Inside a `format`, `of` is its parameter and the place of the parameter's own hole.
    fn template(&mut self, template: &'a Template, of: Option<(&'a Parameter, Span, bool)>) {
        for segment in &template.segments {
            let hole = match segment {
                Segment::Text(text) => {
                    self.pieces.push((Piece::Text(text), of.map(|(_, span, _)| span)));
                    continue;
                }
                Segment::Hole(hole) => hole,
            };
            let span = of.map_or(hole.span, |(_, span, _)| span);
            let raw = hole.raw || of.is_some_and(|(_, _, raw)| raw);
            match &hole.value {
                HoleValue::Reference { of: Reference::Parameter(name), transforms, format } => {
                    let parameter = of.map(|(parameter, ..)| parameter).or_else(|| self.parameter(name));
                    match (of, parameter, format) {
                        (None, Some(parameter), None) if parameter.format.is_some() => {
                            let format = parameter.format.as_ref().map(|format| &format.template);
                            if let Some(template) = format.filter(|template| template.as_text().is_none()) {
                                self.template(template, Some((parameter, span, raw)));
                                continue;
                            }
                            self.value(name, Some(parameter), !transforms.is_empty(), raw, span);
                        }
                        _ => {
                            let shown = of.map_or(name.as_str(), |(parameter, ..)| parameter.name.as_str());
                            self.value(shown, parameter, !transforms.is_empty(), raw, span);
                        }
                    }
                }
                HoleValue::Reference { of: reference, .. } => self.reference(reference, raw, span),
                HoleValue::Choice { then, otherwise, .. } => match (then, otherwise) {
                    (Branch::Text(_), Branch::Text(_)) => self.push("choice", Mode::Arguments, Kind::Enum, raw, span),
                    (Branch::Reference(reference), _) | (_, Branch::Reference(reference)) => match of {
                        Some((parameter, ..)) => self.value(&parameter.name, Some(parameter), false, raw, span),
                        None => self.reference(reference, raw, span),
                    },
                },
            }
        }
    }

    fn parameter(&self, name: &str) -> Option<&'a Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    fn reference(&mut self, reference: &'a Reference, raw: bool, span: Span) {
        match reference {
            Reference::Parameter(name) => self.value(name, self.parameter(name), false, raw, span),
            Reference::Predefined(predefined) => {
                let kind = match predefined {
                    Predefined::Workspace | Predefined::Temp | Predefined::Home => Kind::Text,
                    _ => Kind::Enum,
                };
                self.push(predefined.name(), Mode::Word, kind, raw, span);
            }
            Reference::Step { step, attribute } => {
                let (mode, kind) = match attribute {
                    StepAttribute::Output | StepAttribute::Error => (Mode::Output, Kind::Text),
                    StepAttribute::ExitCode | StepAttribute::Duration | StepAttribute::Attempts => {
                        (Mode::Word, Kind::Number)
                    }
                    StepAttribute::Skipped | StepAttribute::TimedOut => (Mode::Word, Kind::Boolean),
                    StepAttribute::StartTime | StepAttribute::EndTime | StepAttribute::Status => {
                        (Mode::Word, Kind::Enum)
                    }
                };
                self.push(step, mode, kind, raw, span);
            }
            Reference::Environment(name) => self.push(name, Mode::Word, Kind::Text, raw, span),
        }
    }

    fn value(&mut self, name: &'a str, parameter: Option<&Parameter>, transformed: bool, raw: bool, span: Span) {
        let Some(parameter) = parameter else { return self.push(name, Mode::Arguments, Kind::Text, raw, span) };
        let kind = match parameter.kind {
            ParameterType::Number | ParameterType::Integer if transformed || parameter.transform.is_some() => {
                Kind::Enum
            }
            ParameterType::Number | ParameterType::Integer => Kind::Number,
            ParameterType::Boolean => Kind::Boolean,
            ParameterType::String | ParameterType::Any if parameter.validation.allowed.is_some() => Kind::Enum,
            _ => Kind::Text,
        };
        let fragment = parameter.transform == Some(Transform::Named(crate::NamedTransform::ShellEscaped));
        let mode = match parameter.escape_shell {
            Some(false) => Mode::Raw,
            _ if fragment => Mode::Fragment,
            Some(true) => Mode::Word,
            None => Mode::Arguments,
        };
        self.push(name, mode, kind, raw, span);
    }

    fn push(&mut self, name: &'a str, mode: Mode, kind: Kind, raw: bool, span: Span) {
        let mode = if raw { Mode::Raw } else { mode };
        let words = Words::One(Cow::Borrowed("1"));
        self.pieces.push((Piece::Value(Value { name, words, mode, kind, sensitive: false }), Some(span)));
    }
}
