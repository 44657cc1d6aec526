//! Conditions: the expressions of `run-condition` and of ternaries.
//!
//! They are parsed when the tool loads and evaluated over typed operands; text is never pasted into them.

use cycod_diagnostic::Span;

use crate::{decimal::Decimal, template::Reference};

mod eval;
mod parse;
#[cfg(test)]
mod tests;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number, a quoted string, `true`, `false`, or a bare word (a string).
    Literal(ConditionLiteral),
    /// The value of a name; in a `run-condition` it is written in braces.
    Reference(Reference, Span),
    /// `!x`.
    Not(Box<Expr>),
    /// `a && b`.
    And(Box<Expr>, Box<Expr>),
    /// `a || b`.
    Or(Box<Expr>, Box<Expr>),
    /// `a == b` and the like.
    Compare(Comparison, Box<Expr>, Box<Expr>),
    /// `a contains b`: substring of a text, element of a list.
    Contains(Box<Expr>, Box<Expr>),
    /// `a matches b`: unanchored regular expression, linear time.
    Matches(Box<Expr>, Box<Expr>),
}

/// A literal operand.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionLiteral {
    /// `true` or `false`.
    Boolean(bool),
    /// A number with its text.
    Number(Decimal, String),
    /// A quoted string or bare word.
    Text(String),
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Where an expression stands, which decides how names are written in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExprPosition {
    /// A `run-condition`: names in braces, bare words are strings.
    RunCondition,
    /// Before the `?` of a placeholder: bare names are references when known.
    Ternary,
}

/// A typed operand.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionValue {
    /// Nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number with its text.
    Number(Decimal, String),
    /// A string, whatever it looks like.
    Text(String),
    /// A text that nobody gave a type, such as the output of a step: beside a number it is read as one.
    Untyped(String),
    /// A list.
    List(Vec<ConditionValue>),
}

/// Why a condition has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EvalError {
    /// `<`, `<=`, `>` or `>=` over something that is not a number.
    #[error("`{operator}` orders numbers, and {operand} {found}")]
    NotOrdered {
        /// The operator as written.
        operator: &'static str,
        /// The operand that is not a number.
        operand: String,
        /// What it is instead, with its value.
        found: String,
    },
    /// The right side of `matches` is not a regular expression.
    #[error("`{pattern}` is not a regular expression: {reason}")]
    BadPattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A name has no value.
    #[error("`{name}` has no value")]
    NoValue {
        /// The name as written in a template.
        name: String,
    },
}

pub use eval::eval;
pub use parse::parse;
pub(crate) use parse::{Failure, Parser, write_quoted};

impl ConditionValue {
    /// Whether the value counts as true: not false, 0, empty or null. The string `"false"` is true.
    pub fn is_truthy(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(value) => *value,
            Self::Number(value, _) => !value.is_zero(),
            Self::Text(text) | Self::Untyped(text) => !text.is_empty(),
            Self::List(items) => !items.is_empty(),
        }
    }
}

impl Expr {
    /// Every name the expression refers to, in order and with repetitions.
    pub fn references(&self) -> Vec<(&Reference, Span)> {
        let mut found = Vec::new();
        self.visit(&mut found);
        found
    }

    fn visit<'a>(&'a self, found: &mut Vec<(&'a Reference, Span)>) {
        match self {
            Self::Literal(_) => {}
            Self::Reference(reference, span) => found.push((reference, *span)),
            Self::Not(inner) => inner.visit(found),
            Self::And(a, b) | Self::Or(a, b) | Self::Compare(_, a, b) | Self::Contains(a, b) | Self::Matches(a, b) => {
                a.visit(found);
                b.visit(found);
            }
        }
    }
}

impl Comparison {
    /// Returns the operator as it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}
