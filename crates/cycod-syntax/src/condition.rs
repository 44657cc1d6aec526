//! Conditions: the expressions of `run-condition` and of ternaries.
//!
//! They are parsed when the tool loads and evaluated over typed operands; text is never pasted into them.

use cycod_diagnostic::Span;

use crate::template::Reference;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number, a quoted string, `true`, `false`, or a bare word (a string).
    Literal(Literal),
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
pub enum Literal {
    /// `true` or `false`.
    Boolean(bool),
    /// A number with its text.
    Number(f64, String),
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
