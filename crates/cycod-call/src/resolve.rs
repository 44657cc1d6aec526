//! What a template means, once the values are known.
//!
//! One walk serves every place. It hands author text and values to a [`Sink`] one after another, and the sink
//! decides what they become: pieces that a shell's grammar is still to be tracked for, or plain text. A value is
//! never looked at for placeholders again.

use std::{borrow::Cow, cell::Cell};

use cycod_definition::{
    Decimal, Host, Literal, NamedTransform, Parameter, ParameterType, Tool, Value, placing_mode, speaks_of_secret,
};
use cycod_diagnostic::Code;
use cycod_shell::{Kind, Mode};
use cycod_syntax::{
    condition::{self, EvalError, Expr},
    template::{
        HoleValue, ITEM, Placeholder, Reference, StepAttribute, Template, TemplatePart, TernaryBranch,
        number_format::{self, FormatError},
    },
};

use crate::{
    Bound, KeptSecret, OwnedPiece, OwnedValue, OwnedWords, RunContext, StepValue, Steps, bytes::carried,
    bytes::delivered, json, predefined, transform,
};

/// Why a template has no meaning for these values.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ResolveError {
    /// An environment variable is not set.
    #[error("`{{{name}}}` is neither a parameter nor a variable that is set in the environment")]
    Unset {
        /// The variable.
        name: String,
    },
    /// An environment variable or a path is not Unicode.
    #[error("the value of `{{{name}}}` is not Unicode text")]
    NotUnicode {
        /// The variable.
        name: String,
    },
    /// What a step said is not text, and stands where only text can.
    #[error("`{{{name}}}` is not UTF-8 text, and only text is possible here")]
    NotText {
        /// `step.attribute`.
        name: String,
    },
    /// A step has no such result.
    #[error("`{{{name}}}` has no value: the step did not get that far")]
    NoResult {
        /// `step.attribute`.
        name: String,
    },
    /// The result of a step is not known before it ran.
    #[error("`{{{name}}}` is known only when the step has run")]
    Later {
        /// `step.attribute`.
        name: String,
    },
    /// A secret is asked for before the run begins.
    #[error("`{{{name}}}` is a secret, which only a run is given")]
    Secret {
        /// The secret.
        name: String,
    },
    /// A transform is not one of ours, or does not fit the value.
    #[error("transform `{transform}` fails on `{{{name}}}`: {reason}")]
    Transform {
        /// The placeholder's name.
        name: String,
        /// The transform.
        transform: String,
        /// Why.
        reason: String,
    },
    /// A number format does not fit the value.
    #[error("`{{{name}}}`: {reason}")]
    Format {
        /// The placeholder's name.
        name: String,
        /// Why.
        reason: String,
    },
    /// A condition has no answer.
    #[error(transparent)]
    Condition(#[from] EvalError),
}

impl ResolveError {
    /// How to go on, where there is one way.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::NotText { .. } => Some("hand the bytes over by `input`, or in a file"),
            Self::Unset { .. } => Some("declare it under `parameters`, or set the variable"),
            _ => None,
        }
    }

    /// The slug of the page that explains it.
    pub fn code(&self) -> Code {
        match self {
            Self::Unset { .. } | Self::NotUnicode { .. } | Self::Secret { .. } => Code::UnsetVariable,
            Self::NotText { .. } => Code::NotText,
            Self::NoResult { .. } | Self::Later { .. } => Code::MissingStepResult,
            Self::Transform { .. } => Code::TransformFailed,
            Self::Format { .. } => Code::FormatFailed,
            Self::Condition(_) => Code::UndecidableCondition,
        }
    }
}

/// Everything a name can refer to.
pub(crate) struct Scope<'a> {
    pub(crate) tool: &'a Tool,
    pub(crate) values: &'a [Bound],
    pub(crate) secrets: &'a [KeptSecret],
    pub(crate) host: &'a Host,
    pub(crate) run: &'a RunContext,
    pub(crate) steps: &'a dyn Steps,
}

/// A value on its way into a template; [`Value::Null`] is no value.
#[derive(Clone)]
struct Operand<'a> {
    name: Cow<'a, str>,
    value: Cow<'a, Value>,
    parameter: Option<&'a Parameter>,
    mode: Mode,
    kind: Kind,
    delimiter: &'a str,
    sensitive: bool,
    /// The number of the placeholder in its template.
    place: usize,
    /// Whether its text carries bytes that are no text.
    is_bytes: bool,
}

trait Sink {
    /// Takes author text.
    fn author(&mut self, text: &str);
    /// Takes a value.
    fn value(&mut self, operand: Operand<'_>) -> Result<(), ResolveError>;
    /// Whether the place is a command, in which a parameter's `format` applies.
    fn is_command(&self) -> bool;
}

impl<'a> Scope<'a> {
    pub(crate) fn pieces(&self, template: &Template) -> Result<Vec<OwnedPiece>, ResolveError> {
        let mut pieces: Vec<OwnedPiece> = Vec::with_capacity(template.segments.len());
        self.expand(template, None, &mut pieces)?;
        Ok(pieces)
    }

    /// The pieces of a text, in which the `format` of a parameter does not count.
    pub(crate) fn text_pieces(&self, template: &Template) -> Result<Vec<OwnedPiece>, ResolveError> {
        let mut pieces = TextPieces(Vec::with_capacity(template.segments.len()));
        self.expand(template, None, &mut pieces)?;
        Ok(pieces.0)
    }

    pub(crate) fn text(&self, template: &Template) -> Result<String, ResolveError> {
        let mut text = String::new();
        self.expand(template, None, &mut text)?;
        Ok(text)
    }

    pub(crate) fn bytes(&self, template: &Template) -> Result<Vec<u8>, ResolveError> {
        let mut bytes = Vec::new();
        self.expand(template, None, &mut bytes)?;
        Ok(bytes)
    }

    pub(crate) fn literal(&self, literal: &Literal) -> Result<Value, ResolveError> {
        literal.value(&|template| match self.sole_value(template)? {
            Some(value) => Ok(value),
            None => self.text(template).map(Value::Text),
        })
    }

    pub(crate) fn condition(&self, condition: &Expr) -> Result<bool, ResolveError> {
        self.decide(condition, None)
    }

    /// The value of a template that is exactly one reference, with its type.
    fn sole_value(&self, template: &Template) -> Result<Option<Value>, ResolveError> {
        let [TemplatePart::Hole(hole)] = template.segments.as_slice() else { return Ok(None) };
        let reference = match &hole.value {
            HoleValue::Reference { of, transforms, format: None } if transforms.is_empty() => of,
            HoleValue::Reference { .. } => return Ok(None),
            HoleValue::Choice { condition, then, otherwise } => {
                let decided = match self.decide(condition, None) {
                    Err(ResolveError::Later { .. }) => return Ok(None),
                    decided => decided?,
                };
                match if decided { then } else { otherwise } {
                    TernaryBranch::Text(_) => return Ok(None),
                    TernaryBranch::Reference(reference) => reference,
                }
            }
        };
        match self.look_up(reference, None)? {
            Some(operand) => {
                operand.must_be_text()?;
                Ok(Some(operand.value.into_owned()))
            }
            None => Ok(None),
        }
    }

    /// Walks a template; `inside` is the value whose `format` it is.
    fn expand(
        &self,
        template: &Template,
        inside: Option<&Operand<'a>>,
        sink: &mut dyn Sink,
    ) -> Result<(), ResolveError> {
        let mut place = 0;
        for segment in &template.segments {
            match segment {
                TemplatePart::Text(text) => sink.author(text),
                TemplatePart::Hole(hole) => {
                    self.fill(hole, inside.map_or(place, |outer| outer.place), inside, sink)?;
                    place += 1;
                }
            }
        }
        Ok(())
    }

    fn fill(
        &self,
        hole: &Placeholder,
        place: usize,
        inside: Option<&Operand<'a>>,
        sink: &mut dyn Sink,
    ) -> Result<(), ResolveError> {
        match &hole.value {
            HoleValue::Reference { of, transforms, format } => {
                let Some(mut operand) = self.look_up(of, inside)? else {
                    sink.author(&hole.to_string());
                    return Ok(());
                };
                operand.place = place;
                operand.be_one_word(of);
                let is_inner = inside.is_some() && is_inner_value(of);
                self.put(operand, is_inner, hole.raw, transforms, format.as_deref(), sink)
            }
            HoleValue::Choice { condition, then, otherwise } => {
                let decided = match self.decide(condition, inside) {
                    Err(ResolveError::Later { .. }) => {
                        sink.author(&hole.to_string());
                        return Ok(());
                    }
                    decided => decided?,
                };
                match if decided { then } else { otherwise } {
                    TernaryBranch::Text(text) => {
                        sink.author(text);
                        Ok(())
                    }
                    TernaryBranch::Reference(reference) => match self.look_up(reference, inside)? {
                        Some(mut operand) => {
                            operand.place = place;
                            operand.be_one_word(reference);
                            let is_inner = inside.is_some() && is_inner_value(reference);
                            self.put(operand, is_inner, hole.raw, &[], None, sink)
                        }
                        None => {
                            sink.author(&hole.to_string());
                            Ok(())
                        }
                    },
                }
            }
        }
    }

    fn put(
        &self,
        mut operand: Operand<'a>,
        is_inner: bool,
        raw: bool,
        transforms: &[String],
        format: Option<&str>,
        sink: &mut dyn Sink,
    ) -> Result<(), ResolveError> {
        for name in transforms {
            operand.transform(name)?;
        }
        if raw {
            operand.mode = Mode::Raw;
        }
        if let Some(pattern) = format {
            operand.format(pattern)?;
        } else if sink.is_command()
            && !is_inner
            && let Some(format) = operand.parameter.and_then(|parameter| parameter.format.as_ref())
        {
            // What is not there has nothing around it, and neither has what is empty and no word.
            let is_nothing = match &*operand.value {
                Value::Null => true,
                Value::Text(text) => text.is_empty() && matches!(operand.mode, Mode::Bare | Mode::Arguments),
                Value::List(items) => items.is_empty(),
                _ => false,
            };
            if is_nothing {
                return Ok(());
            }
            match format.template.as_text() {
                Some(pattern) if number_format::check(pattern).is_ok() => operand.format(pattern)?,
                _ => return self.expand(&format.template, Some(&operand), sink),
            }
        }
        sink.value(operand)
    }

    /// Finds what a name stands for; nothing when it is known only later.
    fn look_up(
        &self,
        reference: &Reference,
        inside: Option<&Operand<'a>>,
    ) -> Result<Option<Operand<'a>>, ResolveError> {
        match reference {
            Reference::Parameter(name) => {
                if let Some(operand) = inside.filter(|_| is_inner_value(reference)) {
                    return Ok(Some(operand.clone()));
                }
                match self.parameter(name) {
                    Some(operand) => Ok(Some(operand)),
                    None => Err(ResolveError::Unset { name: name.clone() }),
                }
            }
            Reference::Predefined(variable) => {
                let name = predefined::name(*variable);
                let value = predefined::value(*variable, self.host, self.run)
                    .ok_or_else(|| ResolveError::NotUnicode { name: name.to_owned() })?;
                let kind = predefined::kind(*variable);
                Ok(Some(Operand::new(Cow::Borrowed(name), Value::Text(value), Mode::Word, kind)))
            }
            Reference::Item => match self.steps.item() {
                StepValue::Known(value) => Ok(Some(Operand::new(Cow::Borrowed(ITEM), value, Mode::Word, Kind::Text))),
                StepValue::Later => Ok(None),
                StepValue::Bytes(_) | StepValue::Missing => Err(ResolveError::NoResult { name: ITEM.to_owned() }),
            },
            // An alias is written without sight of the parameters of its base.
            Reference::Environment(name) if self.tool.parameter(name).is_some() => Ok(self.parameter(name)),
            Reference::Environment(name) if let Some(secret) = self.secret(name) => {
                let value = Value::Text(secret.shown_to_tool().to_owned());
                let mut operand = Operand::new(Cow::Owned(name.clone()), value, Mode::Word, Kind::Text);
                operand.sensitive = secret.placeholder.is_none();
                Ok(Some(operand))
            }
            Reference::Environment(name) if self.tool.kept_secrets().any(|secret| secret.name == *name) => {
                Err(ResolveError::Secret { name: name.clone() })
            }
            Reference::Environment(name) => {
                let value = self.host.variable(name).ok_or_else(|| ResolveError::Unset { name: name.clone() })?;
                let value = value.to_str().ok_or_else(|| ResolveError::NotUnicode { name: name.clone() })?;
                let value = Value::Text(value.to_owned());
                let mut operand = Operand::new(Cow::Owned(name.clone()), value, Mode::Word, Kind::Text);
                operand.sensitive = speaks_of_secret(name) || self.tool.environment.is_secret(name);
                Ok(Some(operand))
            }
            Reference::Step { step, attribute } => match self.steps.value(step, *attribute) {
                StepValue::Known(value) => {
                    let name = Cow::Owned(step_name(step, *attribute));
                    let (mode, kind) = placing_of(*attribute);
                    Ok(Some(Operand::new(name, value, mode, kind)))
                }
                StepValue::Bytes(bytes) => {
                    let name = Cow::Owned(step_name(step, *attribute));
                    let (mode, kind) = placing_of(*attribute);
                    let text = Value::Text(carried(&bytes).into_owned());
                    Ok(Some(Operand { is_bytes: true, ..Operand::new(name, text, mode, kind) }))
                }
                StepValue::Later => Ok(None),
                StepValue::Missing => Err(ResolveError::NoResult { name: step_name(step, *attribute) }),
            },
        }
    }

    fn secret(&self, name: &str) -> Option<&'a KeptSecret> {
        self.secrets.iter().find(|kept| kept.secret.name == name)
    }

    fn parameter(&self, name: &str) -> Option<Operand<'a>> {
        let at = self.tool.parameters.iter().position(|parameter| parameter.name == *name)?;
        Some(Operand::of_parameter(&self.tool.parameters[at], self.values.get(at)?))
    }

    fn decide(&self, condition: &Expr, inside: Option<&Operand<'a>>) -> Result<bool, ResolveError> {
        let failure = Cell::new(None);
        let secret = Cell::new(false);
        let look_up = |reference: &Reference| match self.look_up(reference, inside) {
            Ok(Some(operand)) => {
                secret.set(secret.get() || operand.sensitive);
                Some(condition_value(&operand.value, operand.text_in_condition(reference)))
            }
            Ok(None) => {
                failure.set(Some(ResolveError::Later { name: reference_name(reference) }));
                None
            }
            Err(error) => {
                failure.set(Some(error));
                None
            }
        };
        let decided = condition::eval(condition, &look_up);
        match failure.take() {
            Some(error) => Err(error),
            None if secret.get() => Ok(decided.map_err(mask)?),
            None => Ok(decided?),
        }
    }
}

impl<'a> Operand<'a> {
    fn new(name: Cow<'a, str>, value: Value, mode: Mode, kind: Kind) -> Self {
        Self {
            name,
            value: Cow::Owned(value),
            parameter: None,
            mode,
            kind,
            delimiter: " ",
            sensitive: false,
            is_bytes: false,
            place: 0,
        }
    }

    /// An item that is a list is one word, its JSON: nothing in the file says that it could be several.
    fn be_one_word(&mut self, reference: &Reference) {
        if matches!((reference, &*self.value), (Reference::Item, Value::List(_))) {
            self.value = Cow::Owned(Value::Text(json::write(&self.value)));
        }
    }

    fn must_be_text(&self) -> Result<(), ResolveError> {
        if self.is_bytes { Err(ResolveError::NotText { name: self.name.clone().into_owned() }) } else { Ok(()) }
    }

    fn of_parameter(parameter: &'a Parameter, bound: &'a Bound) -> Self {
        const NULL: &Value = &Value::Null;
        let value = bound.value.as_ref().unwrap_or(NULL);
        let declared = declared_kind(parameter, value);
        let is_fragment = parameter.transform == Some(cycod_definition::Transform::Named(NamedTransform::ShellEscaped));
        let mode = match placing_mode(parameter, is_fragment) {
            Mode::Bare | Mode::Arguments if !matches!(value, Value::Text(_)) => Mode::Word,
            mode => mode,
        };
        Self {
            name: Cow::Borrowed(&parameter.name),
            kind: if parameter.transform.is_some() { kind_after(declared, value) } else { declared },
            value: Cow::Borrowed(value),
            parameter: Some(parameter),
            mode,
            delimiter: &parameter.delimiter,
            sensitive: bound.sensitive,
            place: 0,
            is_bytes: false,
        }
    }

    /// A path that begins as an option does, as the path it is.
    fn as_path(text: String) -> String {
        if text.starts_with(['-', '+', '(', ')', '!', ',']) { format!("./{text}") } else { text }
    }

    fn transform(&mut self, name: &str) -> Result<(), ResolveError> {
        let fail = |reason: String| ResolveError::Transform {
            name: self.name.clone().into_owned(),
            transform: name.to_owned(),
            reason,
        };
        let transform = transform::named(name).ok_or_else(|| fail("there is no such transform".to_owned()))?;
        let value = match &*self.value {
            Value::Text(text) if self.is_bytes => transform::apply_bytes(transform, text).map(|(text, is_bytes)| {
                self.is_bytes = is_bytes;
                Value::Text(text)
            }),
            value => transform::apply(transform, value),
        };
        let value = value.map_err(fail)?;
        self.kind = kind_after(self.kind, &value);
        self.mode = match (self.mode, transform) {
            (Mode::Raw, _) => Mode::Raw,
            (_, NamedTransform::ShellEscaped) => Mode::Fragment,
            (Mode::Fragment, _) => Mode::Word,
            (mode, _) => mode,
        };
        self.value = Cow::Owned(value);
        Ok(())
    }

    fn format(&mut self, pattern: &str) -> Result<(), ResolveError> {
        fn apply(pattern: &str, value: &Value) -> Result<Value, FormatError> {
            Ok(match value {
                Value::Null => Value::Null,
                Value::List(items) => {
                    Value::List(items.iter().map(|item| apply(pattern, item)).collect::<Result<_, _>>()?)
                }
                _ => Value::Text(number_format::apply(pattern, &transform::plain_text(value))?),
            })
        }
        let value = apply(pattern, &self.value).map_err(|error| ResolveError::Format {
            name: self.name.clone().into_owned(),
            reason: if self.sensitive { format!("the value does not fit `{pattern}`") } else { error.to_string() },
        })?;
        self.kind = kind_after(self.kind, &value);
        self.value = Cow::Owned(value);
        Ok(())
    }

    /// What a text of it is to a condition: what its author declared, or of no type where nobody declared one.
    fn text_in_condition(&self, reference: &Reference) -> fn(String) -> condition::ConditionValue {
        let is_declared = match (self.parameter, reference) {
            (Some(parameter), _) => match parameter.kind {
                ParameterType::Any => false,
                ParameterType::Array => {
                    parameter.validation.items.as_ref().is_some_and(|items| items.kind != ParameterType::Any)
                }
                _ => true,
            },
            (None, Reference::Step { attribute, .. }) => {
                !matches!(attribute, StepAttribute::Output | StepAttribute::Error)
            }
            (None, Reference::Environment(_) | Reference::Item) => false,
            (None, Reference::Parameter(_) | Reference::Predefined(_)) => true,
        };
        if is_declared { condition::ConditionValue::Text } else { condition::ConditionValue::Untyped }
    }

    /// The value as one text.
    fn joined(&self, delimiter: &str) -> String {
        match &*self.value {
            Value::List(items) => items.iter().map(transform::plain_text).collect::<Vec<_>>().join(delimiter),
            value => transform::plain_text(value),
        }
    }
}

/// Pieces of a text: no `format` counts there.
struct TextPieces(Vec<OwnedPiece>);

impl Sink for TextPieces {
    fn author(&mut self, text: &str) {
        self.0.author(text);
    }

    fn value(&mut self, operand: Operand<'_>) -> Result<(), ResolveError> {
        self.0.value(operand)
    }

    fn is_command(&self) -> bool {
        false
    }
}

impl Sink for Vec<OwnedPiece> {
    fn author(&mut self, text: &str) {
        let text = &*carried(text.as_bytes());
        match self.last_mut() {
            Some(OwnedPiece::Text(before)) => before.push_str(text),
            _ if text.is_empty() => {}
            _ => self.push(OwnedPiece::Text(text.to_owned())),
        }
    }

    fn value(&mut self, operand: Operand<'_>) -> Result<(), ResolveError> {
        let (words, mode) = match (&*operand.value, operand.mode) {
            // No value is no word where it stands alone, and nothing where it does not.
            (Value::Null, _) => (OwnedWords::One(String::new()), Mode::Bare),
            (Value::List(_), Mode::Raw) => (OwnedWords::One(operand.joined(operand.delimiter)), Mode::Raw),
            (Value::List(_), Mode::Fragment) => (OwnedWords::One(operand.joined(" ")), Mode::Fragment),
            (Value::List(items), mode) => {
                let items = items.iter().map(transform::plain_text).collect();
                (OwnedWords::List { items, delimiter: operand.delimiter.to_owned() }, mode)
            }
            (value, mode) => (OwnedWords::One(transform::plain_text(value)), mode),
        };
        let carry = |text: String| {
            let text =
                if operand.parameter.is_some_and(|parameter| parameter.path) { Operand::as_path(text) } else { text };
            match carried(text.as_bytes()) {
                Cow::Owned(carried) if !operand.is_bytes => carried,
                _ => text,
            }
        };
        let words = match words {
            OwnedWords::One(text) => OwnedWords::One(carry(text)),
            OwnedWords::List { items, delimiter } => {
                let delimiter = carried(delimiter.as_bytes()).into_owned();
                OwnedWords::List { items: items.into_iter().map(carry).collect(), delimiter }
            }
        };
        // A number is trusted where other values are not, so it has to be one, also if cycod made it.
        let kind = match (&words, operand.kind) {
            (OwnedWords::One(text), Kind::Number) if !text.is_empty() && !json::is_number(text) => Kind::Text,
            (_, kind) => kind,
        };
        self.push(OwnedPiece::Value(OwnedValue {
            name: operand.name.into_owned(),
            words,
            mode,
            kind,
            sensitive: operand.sensitive,
            place: operand.place,
        }));
        Ok(())
    }

    fn is_command(&self) -> bool {
        true
    }
}

impl Sink for String {
    fn author(&mut self, text: &str) {
        self.push_str(text);
    }

    fn value(&mut self, operand: Operand<'_>) -> Result<(), ResolveError> {
        operand.must_be_text()?;
        self.push_str(&operand.joined(operand.delimiter));
        Ok(())
    }

    fn is_command(&self) -> bool {
        false
    }
}

impl Sink for Vec<u8> {
    fn author(&mut self, text: &str) {
        self.extend_from_slice(text.as_bytes());
    }

    fn value(&mut self, operand: Operand<'_>) -> Result<(), ResolveError> {
        let text = operand.joined(operand.delimiter);
        if operand.is_bytes {
            self.extend_from_slice(&delivered(&text));
        } else {
            self.extend_from_slice(text.as_bytes());
        }
        Ok(())
    }

    fn is_command(&self) -> bool {
        false
    }
}

/// The error without the values it quotes.
fn mask(error: EvalError) -> EvalError {
    let hidden = || "****".to_owned();
    match error {
        EvalError::NotOrdered { operator, operand, .. } => {
            EvalError::NotOrdered { operator, operand, found: "is not one".to_owned() }
        }
        EvalError::BadPattern { .. } => EvalError::BadPattern { pattern: hidden(), reason: hidden() },
        EvalError::NoValue { .. } => error,
    }
}

/// Whether a name inside a parameter's `format` stands for the value being formatted.
fn is_inner_value(reference: &Reference) -> bool {
    matches!(reference, Reference::Parameter(name) if name == "value")
}

fn declared_kind(parameter: &Parameter, value: &Value) -> Kind {
    match parameter.kind {
        ParameterType::Any if matches!(value, Value::Number(_)) => Kind::Number,
        ParameterType::Any if matches!(value, Value::Bool(_)) => Kind::Boolean,
        ParameterType::Number | ParameterType::Integer => Kind::Number,
        ParameterType::Boolean => Kind::Boolean,
        ParameterType::String | ParameterType::Any if parameter.validation.allowed.is_some() => Kind::Enum,
        _ => Kind::Text,
    }
}

/// What is still known about a value of kind `before` after the author's transforms and formats made it `value`.
///
/// What became of a boolean or of one of the author's texts is one of finitely many results of the author's own.
/// What became of a number stays one when it still reads as one, and is harmless when it holds only letters,
/// digits and the signs that numbers, base64 and URLs use.
fn kind_after(before: Kind, value: &Value) -> Kind {
    match (before, value) {
        (_, Value::Number(_)) => Kind::Number,
        (_, Value::Bool(_)) => Kind::Boolean,
        (Kind::Text, _) => Kind::Text,
        (kind, Value::Null) => kind,
        (Kind::Number, Value::Text(text)) if json::is_number(text) => Kind::Number,
        (Kind::Number, Value::Text(text)) if text.bytes().all(is_harmless) => Kind::Enum,
        (Kind::Boolean | Kind::Enum, Value::Text(_)) => Kind::Enum,
        _ => Kind::Text,
    }
}

fn is_harmless(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b',' | b'+' | b'-' | b'%' | b'=' | b'/')
}

fn placing_of(attribute: StepAttribute) -> (Mode, Kind) {
    match attribute {
        StepAttribute::Output | StepAttribute::Error => (Mode::Output, Kind::Text),
        StepAttribute::ExitCode | StepAttribute::Duration | StepAttribute::Attempts => (Mode::Word, Kind::Number),
        StepAttribute::Skipped | StepAttribute::TimedOut => (Mode::Word, Kind::Boolean),
        StepAttribute::StartTime | StepAttribute::EndTime | StepAttribute::Status => (Mode::Word, Kind::Enum),
    }
}

fn step_name(step: &str, attribute: StepAttribute) -> String {
    let attribute = StepAttribute::NAMES.iter().find(|(_, known)| *known == attribute).map_or("", |(name, _)| name);
    format!("{step}.{attribute}")
}

fn reference_name(reference: &Reference) -> String {
    match reference {
        Reference::Parameter(name) | Reference::Environment(name) => name.clone(),
        Reference::Predefined(variable) => predefined::name(*variable).to_owned(),
        Reference::Item => ITEM.to_owned(),
        Reference::Step { step, attribute } => step_name(step, *attribute),
    }
}

fn condition_value(value: &Value, of_text: fn(String) -> condition::ConditionValue) -> condition::ConditionValue {
    match value {
        Value::Null => condition::ConditionValue::Null,
        Value::Bool(value) => condition::ConditionValue::Bool(*value),
        Value::Number(text) => match Decimal::parse(text) {
            Some(number) => condition::ConditionValue::Number(number, text.clone()),
            None => of_text(text.clone()),
        },
        Value::Text(text) => of_text(text.clone()),
        Value::List(items) => {
            condition::ConditionValue::List(items.iter().map(|item| condition_value(item, of_text)).collect())
        }
        Value::Object(_) => condition::ConditionValue::Text(json::write(value)),
    }
}
