use cycod_syntax::template::Template;

/// A value as it crosses from a caller to a tool: JSON with the text of numbers kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number, as written (`5`, not `5.0`).
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// An object, keys in the order given.
    Object(Vec<(String, Value)>),
}

/// A value that an author wrote in a file: its texts are templates.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// No value.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number, as written.
    Number(String),
    /// A text that may refer to parameters, predefined variables and, in `with`, to steps.
    Text(Template),
    /// A list.
    List(Vec<Literal>),
    /// An object.
    Object(Vec<(String, Literal)>),
}
