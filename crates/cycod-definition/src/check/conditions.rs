//! Checks conditions for comparisons that cannot be made, or that can have one answer only.

use cycod_diagnostic::{Code, Diagnostic, Span};
use cycod_syntax::{
    condition::{Comparison, ConditionLiteral, Expr, eval},
    decimal::{Decimal, is_number},
    template::{Predefined, Reference, StepAttribute},
};

use crate::{ParameterType, Value, lower::Lowering, table::one_of};

/// What an operand is known to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Boolean,
    Status,
    Text,
    List,
    /// A text of no type, which beside a number is read as one.
    Untyped,
    /// Not known in this file: of a base's parameter, or before the parameters are read.
    Unknown,
}

const STATUSES: [&str; 5] = ["ok", "failed", "skipped", "timed-out", "not-run"];

/// Reports comparisons that cannot be made or can have one answer only.
pub(crate) fn check(expression: &Expr, whole: Span, lowering: &Lowering<'_>) {
    let sides = match expression {
        Expr::Compare(Comparison::Equal | Comparison::NotEqual, a, b) | Expr::Contains(a, b) | Expr::Matches(a, b) => {
            [written(a), written(b)]
        }
        _ => [None, None],
    };
    if let [Some(a), Some(b)] = sides {
        // Numbers and truth values alone are a way to turn a step on or off.
        let words: Vec<&str> = [a, b].into_iter().flatten().collect();
        if let (false, Ok(holds)) = (words.is_empty(), eval(expression, &|_| None)) {
            settled(&words, holds, whole, lowering);
        }
        return;
    }
    match expression {
        Expr::Literal(ConditionLiteral::Text(word)) => settled(&[word], !word.is_empty(), whole, lowering),
        Expr::Literal(_) | Expr::Reference(..) => {}
        Expr::Not(inner) => check(inner, whole, lowering),
        Expr::And(a, b) | Expr::Or(a, b) => {
            check(a, whole, lowering);
            check(b, whole, lowering);
        }
        Expr::Contains(..) | Expr::Matches(..) => {}
        Expr::Compare(operator, a, b) => compare(*operator, a, b, whole, lowering),
    }
}

/// What stands there as it is written; for a text, that text.
fn written(side: &Expr) -> Option<Option<&str>> {
    match side {
        Expr::Literal(ConditionLiteral::Text(text)) => Some(Some(text)),
        Expr::Literal(_) => Some(None),
        _ => None,
    }
}

/// Reports what is compared without any value in it: names without braces are words.
fn settled(words: &[&str], holds: bool, whole: Span, lowering: &Lowering<'_>) {
    let is_name = |word: &str| {
        let of_step =
            word.rsplit_once('.').is_some_and(|(step, _)| lowering.names.steps.iter().any(|known| known == step));
        of_step || lowering.names.parameters.iter().any(|known| known == word)
    };
    // The reader of the condition has reported that the name lacks its braces.
    if words.iter().any(|word| is_name(word)) {
        return;
    }
    let answer = if holds { "always" } else { "never" };
    let shown: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    let verb = if shown.len() == 1 { "is a plain word" } else { "are plain words" };
    let message =
        format!("the condition {answer} holds: {} {verb}, and nothing in it has a value", shown.join(" and "));
    let diagnostic = Diagnostic::warning(Code::ConditionType, whole, message);
    let near = words.iter().find_map(|word| {
        let bare = word.trim_start_matches(['$', '{']).trim_end_matches('}');
        let parameters = lowering.names.parameters.iter().map(String::as_str);
        let known = parameters.chain(Predefined::NAMES.iter().map(|(name, _)| *name));
        cycod_diagnostic::closest(bare, known).map(str::to_owned)
    });
    lowering.sink.report(match near {
        Some(near) => diagnostic.help(format!("did you mean `{{{near}}}`?")),
        None => diagnostic.help("the value of a parameter or of a step is written in braces, as in `{NAME}`"),
    });
}

/// What the value of a name can only be, where that is known.
fn choices(operand: &Expr, lowering: &Lowering<'_>) -> Option<Vec<String>> {
    match operand {
        Expr::Reference(Reference::Predefined(Predefined::Os), _) => {
            Some(["windows", "linux", "macos"].map(str::to_owned).to_vec())
        }
        Expr::Reference(Reference::Parameter(name), _) => {
            let parameter = lowering.parameters.iter().find(|parameter| parameter.name == *name)?;
            // A transform may make anything of it.
            let allowed = parameter.validation.allowed.as_ref().filter(|_| parameter.transform.is_none())?;
            let text = |value: &Value| if let Value::Text(text) = value { Some(text.clone()) } else { None };
            allowed.iter().map(text).collect()
        }
        _ => None,
    }
}

fn compare(operator: Comparison, a: &Expr, b: &Expr, whole: Span, lowering: &Lowering<'_>) {
    let (left, right) = (kind(a, lowering), kind(b, lowering));
    let place = place(a).or_else(|| place(b)).unwrap_or(whole);
    if !matches!(operator, Comparison::Equal | Comparison::NotEqual) {
        order(operator, (a, left), (b, right), place, lowering);
        return;
    }
    for ((of, kind), other) in [((a, left), b), ((b, right), a)] {
        let Expr::Literal(literal) = other else { continue };
        if let (Some(choices), ConditionLiteral::Text(text)) = (choices(of, lowering), literal)
            && !text.is_empty()
            && !choices.contains(text)
        {
            let answer = if operator == Comparison::Equal { "never" } else { "always" };
            let message = format!("the comparison {answer} holds: {} is never `{text}`", describe(of, kind));
            let diagnostic =
                Diagnostic::warning(Code::ConditionType, place, message).note(format!("it is {}", one_of(&choices)));
            lowering.sink.report(match lowering.sink.did_you_mean(text, choices.iter().map(String::as_str)) {
                Some((_, help)) => diagnostic.help(help),
                None => diagnostic,
            });
            continue;
        }
        let (text, fits) = match (kind, literal) {
            (Kind::Number, ConditionLiteral::Text(text)) => (text.clone(), is_number(text)),
            (Kind::Number, ConditionLiteral::Boolean(value)) => (value.to_string(), false),
            (Kind::Boolean, ConditionLiteral::Text(text)) => (text.clone(), matches!(text.as_str(), "true" | "false")),
            (Kind::Boolean, ConditionLiteral::Number(_, text)) => (text.clone(), false),
            (Kind::Status, ConditionLiteral::Text(text)) => (text.clone(), STATUSES.contains(&text.as_str())),
            (Kind::Status, ConditionLiteral::Number(_, text)) => (text.clone(), false),
            (Kind::Status, ConditionLiteral::Boolean(value)) => (value.to_string(), false),
            _ => continue,
        };
        if fits {
            continue;
        }
        let answer = if operator == Comparison::Equal { "never" } else { "always" };
        let diagnostic = Diagnostic::warning(
            Code::ConditionType,
            place,
            format!("the comparison {answer} holds: {} is never `{text}`", describe(of, kind)),
        );
        lowering.sink.report(if kind == Kind::Status {
            let diagnostic = diagnostic.note(format!("a step's status is {}", one_of(&STATUSES)));
            match lowering.sink.did_you_mean(&text, STATUSES) {
                Some((_, help)) => diagnostic.help(help),
                None => diagnostic,
            }
        } else {
            diagnostic
        });
    }
}

/// Reports an order over what is not a number.
fn order(operator: Comparison, left: (&Expr, Kind), right: (&Expr, Kind), place: Span, lowering: &Lowering<'_>) {
    let report = |why: String, help: String| {
        let message = format!("`{}` orders numbers, and {why}", operator.symbol());
        lowering.sink.report(Diagnostic::error(Code::ConditionType, place, message).help(help));
    };
    let sides = [left, right];
    let Some((operand, kind)) =
        sides.into_iter().find(|(_, kind)| !matches!(kind, Kind::Number | Kind::Untyped | Kind::Unknown))
    else {
        if left.1 == Kind::Untyped && right.1 == Kind::Untyped {
            let why = "both sides are text, of which one counts as a number only next to a number";
            report(why.to_owned(), "compare with a number, or with a parameter of `type: number`".to_owned());
        }
        return;
    };
    let described = describe(operand, kind);
    match operand {
        Expr::Literal(ConditionLiteral::Text(text)) if Decimal::read(text.trim()).is_some() => {
            report(format!("{described} in quotes is text"), format!("write `{}` without quotes", text.trim()));
        }
        Expr::Reference(Reference::Parameter(name), _) if kind == Kind::Text => {
            report(format!("{described} is text"), format!("declare `{name}` with `type: number`"));
        }
        _ => report(format!("{described} is not one"), "compare with `==` or `!=`".to_owned()),
    }
}

fn kind(operand: &Expr, lowering: &Lowering<'_>) -> Kind {
    match operand {
        Expr::Literal(ConditionLiteral::Number(..)) => Kind::Number,
        Expr::Literal(ConditionLiteral::Boolean(_)) => Kind::Boolean,
        Expr::Literal(ConditionLiteral::Text(_)) => Kind::Text,
        Expr::Reference(Reference::Step { attribute, .. }, _) => match attribute {
            StepAttribute::ExitCode | StepAttribute::Duration | StepAttribute::Attempts => Kind::Number,
            StepAttribute::Skipped | StepAttribute::TimedOut => Kind::Boolean,
            StepAttribute::Status => Kind::Status,
            StepAttribute::StartTime | StepAttribute::EndTime => Kind::Text,
            StepAttribute::Output | StepAttribute::Error => Kind::Untyped,
        },
        Expr::Reference(Reference::Parameter(name), _) => {
            match lowering.parameters.iter().find(|parameter| parameter.name == *name).map(|parameter| parameter.kind) {
                Some(ParameterType::Number | ParameterType::Integer) => Kind::Number,
                Some(ParameterType::Boolean) => Kind::Boolean,
                Some(ParameterType::Array | ParameterType::Object) => Kind::List,
                Some(ParameterType::String) => Kind::Text,
                Some(ParameterType::Any) => Kind::Untyped,
                None => Kind::Unknown,
            }
        }
        Expr::Reference(Reference::Predefined(_), _) => Kind::Text,
        Expr::Reference(Reference::Environment(_), _) if lowering.alias => Kind::Unknown,
        Expr::Reference(Reference::Environment(_) | Reference::Item, _) => Kind::Untyped,
        _ => Kind::Boolean,
    }
}

fn place(operand: &Expr) -> Option<Span> {
    match operand {
        Expr::Reference(_, span) => Some(*span),
        _ => None,
    }
}

fn describe(operand: &Expr, kind: Kind) -> String {
    match operand {
        Expr::Literal(ConditionLiteral::Text(text)) => format!("`{text}`"),
        Expr::Literal(ConditionLiteral::Boolean(value)) => format!("`{value}`"),
        Expr::Literal(ConditionLiteral::Number(_, text)) => format!("`{text}`"),
        Expr::Reference(Reference::Step { step, attribute }, _) => {
            format!("`{step}.{}`", attribute.name())
        }
        Expr::Reference(Reference::Predefined(variable), _) => {
            let named = Predefined::NAMES.iter().find(|(_, known)| known == variable);
            named.map_or_else(|| "one side".to_owned(), |(name, _)| format!("`{name}`"))
        }
        Expr::Reference(Reference::Parameter(name), _) => match kind {
            Kind::List => format!("`{name}`, a list or object,"),
            _ => format!("`{name}`"),
        },
        Expr::Reference(Reference::Item, _) => "`ITEM`".to_owned(),
        _ => "one side".to_owned(),
    }
}
