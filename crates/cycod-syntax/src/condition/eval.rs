//! Decides conditions over typed operands.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::{Comparison, ConditionLiteral, ConditionValue, EvalError, Expr};
use crate::{decimal::Decimal, template::Reference};

/// Looks up the value of a name.
type Lookup<'a> = dyn Fn(&Reference) -> Option<ConditionValue> + 'a;

/// Decides a condition; `lookup` gives the value of a name, or nothing when it has none.
///
/// The right side of `&&` and `||` is looked at only when it matters. Operands are compared by what they are, not by what
/// they look like: numbers with each other, and with a text of no type that reads as one; everything else as text.
pub fn eval(expression: &Expr, lookup: &dyn Fn(&Reference) -> Option<ConditionValue>) -> Result<bool, EvalError> {
    match expression {
        Expr::Not(inner) => Ok(!eval(inner, lookup)?),
        Expr::And(left, right) => Ok(eval(left, lookup)? && eval(right, lookup)?),
        Expr::Or(left, right) => Ok(eval(left, lookup)? || eval(right, lookup)?),
        Expr::Compare(comparison, left, right) => {
            let (a, b) = (operand(left, lookup)?, operand(right, lookup)?);
            match comparison {
                Comparison::Equal => Ok(equal(&a, &b)),
                Comparison::NotEqual => Ok(!equal(&a, &b)),
                _ => {
                    let ordering =
                        numeric_order(&a, &b).ok_or_else(|| not_ordered(*comparison, (left, &a), (right, &b)))?;
                    Ok(match comparison {
                        Comparison::Less => ordering == Ordering::Less,
                        Comparison::LessOrEqual => ordering != Ordering::Greater,
                        Comparison::Greater => ordering == Ordering::Greater,
                        _ => ordering != Ordering::Less,
                    })
                }
            }
        }
        Expr::Contains(left, right) => {
            let (left, right) = (operand(left, lookup)?, operand(right, lookup)?);
            Ok(match &left {
                ConditionValue::List(items) => items.iter().any(|item| equal(item, &right)),
                other => other.text().contains(&*right.text()),
            })
        }
        Expr::Matches(left, right) => {
            let (left, right) = (operand(left, lookup)?, operand(right, lookup)?);
            let pattern = right.text();
            match regex::Regex::new(&pattern) {
                Ok(regex) => Ok(regex.is_match(&left.text())),
                Err(error) => Err(EvalError::BadPattern { pattern: clip(&pattern), reason: reason(&error) }),
            }
        }
        Expr::Literal(_) | Expr::Reference(..) => Ok(operand(expression, lookup)?.is_truthy()),
    }
}

/// Returns why a pattern is refused, in one line.
pub(super) fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

fn operand(expression: &Expr, lookup: &Lookup<'_>) -> Result<ConditionValue, EvalError> {
    match expression {
        Expr::Literal(ConditionLiteral::Boolean(value)) => Ok(ConditionValue::Bool(*value)),
        Expr::Literal(ConditionLiteral::Number(value, text)) => Ok(ConditionValue::Number(value.clone(), text.clone())),
        Expr::Literal(ConditionLiteral::Text(text)) => Ok(ConditionValue::Text(text.clone())),
        Expr::Reference(reference, _) => {
            lookup(reference).ok_or_else(|| EvalError::NoValue { name: reference.to_string() })
        }
        _ => eval(expression, lookup).map(ConditionValue::Bool),
    }
}

impl ConditionValue {
    /// Returns the value as text; the items of a list are joined by spaces.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Null => Cow::Borrowed(""),
            Self::Bool(true) => Cow::Borrowed("true"),
            Self::Bool(false) => Cow::Borrowed("false"),
            Self::Number(_, text) | Self::Text(text) | Self::Untyped(text) => Cow::Borrowed(text),
            Self::List(items) => Cow::Owned(items.iter().map(Self::text).collect::<Vec<_>>().join(" ")),
        }
    }
}

fn equal(a: &ConditionValue, b: &ConditionValue) -> bool {
    match numeric_order(a, b) {
        Some(ordering) => ordering == Ordering::Equal,
        None => a.text() == b.text(),
    }
}

/// Compares two numbers, exactly and whatever their size; one of them may be a text of no type.
fn numeric_order(a: &ConditionValue, b: &ConditionValue) -> Option<Ordering> {
    let read = |text: &str| Decimal::read(text.trim());
    match (a, b) {
        (ConditionValue::Number(a, _), ConditionValue::Number(b, _)) => Some(a.cmp(b)),
        (ConditionValue::Number(a, _), ConditionValue::Untyped(b)) => Some(a.cmp(&read(b)?)),
        (ConditionValue::Untyped(a), ConditionValue::Number(b, _)) => Some(read(a)?.cmp(b)),
        _ => None,
    }
}

/// Says which of two operands is not a number.
fn not_ordered(comparison: Comparison, left: (&Expr, &ConditionValue), right: (&Expr, &ConditionValue)) -> EvalError {
    let is_number = |value: &ConditionValue| matches!(value, ConditionValue::Number(..));
    let reads = |text: &str| Decimal::read(text.trim()).is_some();
    let is_typed = |value: &ConditionValue| !is_number(value) && !matches!(value, ConditionValue::Untyped(_));
    let misfits =
        |value: &ConditionValue| !is_number(value) && !matches!(value, ConditionValue::Untyped(text) if reads(text));
    let sides = [left, right];
    // What is certainly no number says more than what only lacks one beside it.
    let worst = sides.into_iter().find(|(_, value)| is_typed(value));
    let (expression, value) = worst.or_else(|| sides.into_iter().find(|(_, value)| misfits(value))).unwrap_or(left);
    let text = clip(&value.text());
    EvalError::NotOrdered {
        operator: comparison.symbol(),
        operand: match expression {
            Expr::Reference(reference, _) => format!("`{{{reference}}}`"),
            _ => "one side".to_owned(),
        },
        found: match value {
            ConditionValue::Null => "has no value".to_owned(),
            ConditionValue::Bool(_) => format!("is the truth value `{text}`"),
            ConditionValue::Text(_) | ConditionValue::Number(..) => format!("is the text `{text}`"),
            ConditionValue::Untyped(untyped) if reads(untyped) => {
                format!("is text (`{text}`), which counts as a number only next to one")
            }
            ConditionValue::Untyped(_) => format!("is `{text}`, which is not a number"),
            ConditionValue::List(_) => format!("is the list `{text}`"),
        },
    }
}

/// Returns the start of a text that may be a whole step output.
fn clip(text: &str) -> String {
    const MAX: usize = 60;
    match text.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
