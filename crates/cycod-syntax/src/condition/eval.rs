//! Decides conditions over typed operands.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::{Comparison, EvalError, Expr, Literal, Value, parse::number};
use crate::template::Reference;

/// Looks up the value of a name.
type Lookup<'a> = dyn Fn(&Reference) -> Option<Value> + 'a;

/// Decides a condition; `lookup` gives the value of a name, or nothing when it has none.
///
/// The right side of `&&` and `||` is looked at only when it matters. Two operands that both look like
/// numbers are compared as numbers, others as text.
pub fn eval(expression: &Expr, lookup: &dyn Fn(&Reference) -> Option<Value>) -> Result<bool, EvalError> {
    match expression {
        Expr::Not(inner) => Ok(!eval(inner, lookup)?),
        Expr::And(left, right) => Ok(eval(left, lookup)? && eval(right, lookup)?),
        Expr::Or(left, right) => Ok(eval(left, lookup)? || eval(right, lookup)?),
        Expr::Compare(comparison, left, right) => {
            let (a, b) = (operand(left, lookup)?, operand(right, lookup)?);
            let ordering = numeric_order(&a, &b);
            match comparison {
                Comparison::Equal => Ok(equal(&a, &b)),
                Comparison::NotEqual => Ok(!equal(&a, &b)),
                _ => {
                    let ordering = ordering.ok_or_else(|| EvalError::NotOrdered {
                        left: describe(left, &a),
                        operator: comparison.symbol(),
                        right: describe(right, &b),
                    })?;
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
                Value::List(items) => items.iter().any(|item| equal(item, &right)),
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

fn operand(expression: &Expr, lookup: &Lookup<'_>) -> Result<Value, EvalError> {
    match expression {
        Expr::Literal(Literal::Boolean(value)) => Ok(Value::Bool(*value)),
        Expr::Literal(Literal::Number(value, text)) => Ok(Value::Number(*value, text.clone())),
        Expr::Literal(Literal::Text(text)) => Ok(Value::Text(text.clone())),
        Expr::Reference(reference, _) => {
            lookup(reference).ok_or_else(|| EvalError::NoValue { name: reference.to_string() })
        }
        _ => eval(expression, lookup).map(Value::Bool),
    }
}

impl Value {
    /// Returns the value as text; the items of a list are joined by spaces.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Null => Cow::Borrowed(""),
            Self::Bool(true) => Cow::Borrowed("true"),
            Self::Bool(false) => Cow::Borrowed("false"),
            Self::Number(_, text) | Self::Text(text) => Cow::Borrowed(text),
            Self::List(items) => Cow::Owned(items.iter().map(Self::text).collect::<Vec<_>>().join(" ")),
        }
    }

    fn number_text(&self) -> Option<&str> {
        match self {
            Self::Number(_, text) => Some(text.trim()),
            Self::Text(text) => Some(text.trim()),
            _ => None,
        }
    }
}

fn equal(a: &Value, b: &Value) -> bool {
    match numeric_order(a, b) {
        Some(ordering) => ordering == Ordering::Equal,
        None => a.text() == b.text(),
    }
}

/// Compares two operands that both look like numbers; whole numbers exactly, whatever their size.
fn numeric_order(a: &Value, b: &Value) -> Option<Ordering> {
    let (a_text, b_text) = (a.number_text()?, b.number_text()?);
    if let (Ok(a), Ok(b)) = (a_text.parse::<i128>(), b_text.parse::<i128>()) {
        return Some(a.cmp(&b));
    }
    number(a_text)?.partial_cmp(&number(b_text)?)
}

fn describe(expression: &Expr, value: &Value) -> String {
    match expression {
        Expr::Reference(reference, _) => format!("{{{reference}}} ({})", clip(&value.text())),
        _ => clip(&value.text()),
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
