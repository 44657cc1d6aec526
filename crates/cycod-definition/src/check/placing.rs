use std::borrow::Cow;

use cycod_diagnostic::{Code, Diagnostic, Span};
use cycod_shell::{Context, Finding, Kind, Mode, Piece, Problem, Shell, Value, Words, code, inspect, place_argv};
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
        lowering.sink.extend(diagnostic(finding, span).into_iter().collect());
    }
}

/// What to say about a place, if anything is wrong with it.
fn diagnostic(finding: Finding, span: Span) -> Option<Diagnostic> {
    let problem = finding.problem?;
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
    Some(if help.is_empty() { diagnostic } else { diagnostic.help(help) })
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

/// A command without a shell must split into words, and its program may parse one of them as code.
fn words(pieces: &[(Piece<'_>, Option<Span>)], whole: Span, lowering: &Lowering<'_>) {
    let (pieces, spans): (Vec<Piece<'_>>, Vec<Option<Span>>) = pieces.iter().cloned().unzip();
    let Err(refusal) = place_argv(&pieces) else { return };
    let span = spans.get(refusal.piece).copied().flatten().unwrap_or(whole);
    let context = match pieces.get(refusal.piece) {
        Some(Piece::Value(_)) => Context::Unquoted,
        _ => Context::Command,
    };
    let problem = Problem { code: refusal.code, message: refusal.message, help: refusal.try_, rewrite: None };
    let finding = Finding { piece: refusal.piece, offset: refusal.offset, context, problem: Some(problem) };
    lowering.sink.extend(diagnostic(finding, span).into_iter().collect());
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

#[cfg(test)]
mod tests {
    use cycod_diagnostic::{Severity, SourceFile};
    use cycod_shell::{Context, Problem};
    use expect_test::{Expect, expect};

    use super::*;
    use crate::{Body, Command};

    fn finding(code: &'static str, rewrite: Option<&str>) -> Finding {
        let problem = Problem {
            code,
            message: "it stands in code".to_owned(),
            help: "pass it as an argument".to_owned(),
            rewrite: rewrite.map(str::to_owned),
        };
        Finding { piece: 1, offset: 0, context: Context::SingleQuoted, problem: Some(problem) }
    }

    #[test]
    fn code_for_a_second_program_is_a_warning_with_the_rewrite() {
        let said = diagnostic(finding(code::SECOND_PARSE, Some("bash -c 'echo \"$1\"' _ {X}")), Span::new(3, 6));
        let said = said.expect("there is a problem");
        assert_eq!(
            (said.severity, said.code.0, said.span()),
            (Severity::Warning, code::SECOND_PARSE, Some(Span::new(3, 6)))
        );
        assert_eq!(said.help.as_deref(), Some("pass it as an argument\nbash -c 'echo \"$1\"' _ {X}"));
    }

    #[test]
    fn other_places_are_errors() {
        for code in [code::ARITHMETIC, code::PLACE] {
            let said = diagnostic(finding(code, None), Span::new(3, 6)).expect("there is a problem");
            assert_eq!((said.severity, said.code.0), (Severity::Error, code));
        }
        let fine = Finding { problem: None, ..finding(code::PLACE, None) };
        assert_eq!(diagnostic(fine, Span::new(3, 6)), None);
    }

    /// How each value of a command is known to the shell.
    #[expect(clippy::needless_pass_by_value, reason = "an expectation reads best as a literal")]
    fn check_pieces(parameters: &str, command: &str, expect: Expect) {
        let yaml = format!(
            "name: a\ndescription: b\nparameters: {{{parameters}}}\nsteps:\n- {{name: s, bash: ls}}\n- name: t\n  bash: {command}\n"
        );
        let loaded = crate::load(&SourceFile::new("a.yaml", &*yaml), None);
        let tool = loaded.tool.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
        let Body::Steps(steps) = &tool.body else { panic!("steps") };
        let crate::StepAction::Command(Command::One(text)) = &steps[1].action else { panic!("a command") };
        let mut pieces = Pieces { parameters: &tool.parameters, pieces: Vec::new() };
        pieces.template(&text.template, None);
        let lines: Vec<String> = pieces
            .pieces
            .iter()
            .map(|(piece, span)| match piece {
                Piece::Text(text) => format!("{text:?}\n"),
                Piece::Value(value) => {
                    let place = span.map(|span| &yaml[span.start as usize..span.end as usize]).unwrap_or_default();
                    format!("{} {:?} {:?} at {place}\n", value.name, value.mode, value.kind)
                }
            })
            .collect();
        expect.assert_eq(&lines.concat());
    }

    #[test]
    fn what_a_parameter_says_decides_how_its_value_is_placed() {
        check_pieces(
            "A: {description: a}, B: {description: b, security: {escape-shell: true}}, C: {description: c, security: {escape-shell: false}}, \
             D: {description: d, transform: shellescaped}, E: {type: integer, description: e}, F: {type: boolean, description: f}, \
             G: {description: g, validation: {enum: [x]}}, H: {type: array, description: h}, I: {type: number, description: i, transform: value * 2}",
            "x {A} {B} {C} {D} {E} {F} {G} {H} {I} {E:urlencode} {RAW:A}",
            expect![[r#"
                "x "
                A Arguments Text at {A}
                " "
                B Word Text at {B}
                " "
                C Raw Text at {C}
                " "
                D Fragment Text at {D}
                " "
                E Arguments Number at {E}
                " "
                F Arguments Boolean at {F}
                " "
                G Arguments Enum at {G}
                " "
                H Arguments Text at {H}
                " "
                I Arguments Enum at {I}
                " "
                E Arguments Enum at {E:urlencode}
                " "
                A Raw Text at {RAW:A}
            "#]],
        );
    }

    #[test]
    fn other_names() {
        check_pieces(
            "A: {type: boolean, description: a}",
            "\"x {A ? '-v' : ''} {s.output} {s.exit-code} {s.skipped} {s.status} {OS} {HOME} {OTHER}\"",
            expect![[r#"
                "x "
                choice Arguments Enum at {A ? '-v' : ''}
                " "
                s Output Text at {s.output}
                " "
                s Word Number at {s.exit-code}
                " "
                s Word Boolean at {s.skipped}
                " "
                s Word Enum at {s.status}
                " "
                OS Word Enum at {OS}
                " "
                HOME Word Text at {HOME}
                " "
                OTHER Word Text at {OTHER}
            "#]],
        );
    }

    #[test]
    fn a_format_is_read_where_its_value_stands() {
        check_pieces(
            "A: {description: a, format: '--a={value}'}, B: {type: boolean, description: b, format: \"{value ? '-b' : ''}\"}, C: {type: number, description: c, format: '000'}",
            "x {A} {B} {C} {A:format(00)}",
            expect![[r#"
                "x "
                "--a="
                A Arguments Text at {A}
                " "
                choice Arguments Enum at {B}
                " "
                C Arguments Number at {C}
                " "
                A Arguments Text at {A:format(00)}
            "#]],
        );
    }
}
