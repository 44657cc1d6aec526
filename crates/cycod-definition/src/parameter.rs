//! Parameters, and what they accept.

use cycod_schema::Pattern;
use cycod_syntax::template::Template;

use crate::{Deprecation, Interpreter, JsonSchema, Literal, ProgramTemplate, Value};

/// An input of a tool.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The name used in templates.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// What it accepts.
    pub kind: ParameterType,
    /// Whether a call must give it (a default satisfies).
    pub required: bool,
    /// Its value when a call gives none.
    pub default: Option<Literal>,
    /// Rules for its value.
    pub validation: ParameterValidation,
    /// Applied before inline transforms.
    pub transform: Option<Transform>,
    /// How it appears in a command: author text around `{value}`.
    pub format: Option<ValueFormat>,
    /// Sample values for people and models.
    pub examples: Vec<Value>,
    /// A longer description.
    pub detailed_help: Option<String>,
    /// `security.escape-shell`: exactly one word, or program text.
    pub escape_shell: Option<bool>,
    /// Whether its value is several words, with quotes, globs and a leading `~/` as in a shell.
    pub words: bool,
    /// Whether its value may be an option.
    pub options: bool,
    /// What its author says about the places where it stands.
    pub placing: Option<Placing>,
    /// Between the elements of a list in a quoted place.
    pub delimiter: String,
    /// Whether it is a path, subject to `file-paths.normalize`.
    pub path: bool,
    /// Whether its value is masked everywhere.
    pub sensitive: bool,
    /// Present when it should no longer be used.
    pub deprecated: Option<Deprecation>,
    /// Whether it is the answer to one of the tool's questions: no caller gives it and no schema shows it.
    pub asked: bool,
    /// Its part of a schema that the author, or another program, wrote out.
    pub schema: Option<JsonSchema>,
}

/// What an author says about where a parameter's value goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placing {
    /// It is data wherever it stands: the author vouches for it.
    Data,
    /// It is program text for this reader; a caller that gives the tool text of its own around a value has it placed there.
    Code(CodeReader),
}

/// Who reads a parameter that is program text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named in `Placing::NAMES` and documented in the reference")]
pub enum CodeReader {
    Bash,
    Sh,
    Zsh,
    PowerShell,
    Argv,
    Other,
}

impl CodeReader {
    /// Who understands it.
    pub fn interpreter(self) -> Interpreter {
        match self {
            Self::Bash => Interpreter::Bash,
            Self::Sh => Interpreter::Sh,
            Self::Zsh => Interpreter::Zsh,
            Self::PowerShell => Interpreter::PowerShell,
            Self::Argv => Interpreter::Argv,
            Self::Other => Interpreter::Program(ProgramTemplate { words: vec!["the interpreter".to_owned()] }),
        }
    }
}

impl Placing {
    /// Every placing with its name. A language that is not tracked is program text that takes no values, and so is the name of a
    /// program or of a file that runs.
    pub const NAMES: [(&'static str, Self); 18] = [
        ("data", Self::Data),
        ("bash", Self::Code(CodeReader::Bash)),
        ("sh", Self::Code(CodeReader::Sh)),
        ("zsh", Self::Code(CodeReader::Zsh)),
        ("pwsh", Self::Code(CodeReader::PowerShell)),
        ("argv", Self::Code(CodeReader::Argv)),
        ("program", Self::Code(CodeReader::Other)),
        ("r", Self::Code(CodeReader::Other)),
        ("python", Self::Code(CodeReader::Other)),
        ("javascript", Self::Code(CodeReader::Other)),
        ("sql", Self::Code(CodeReader::Other)),
        ("jq", Self::Code(CodeReader::Other)),
        ("awk", Self::Code(CodeReader::Other)),
        ("sed", Self::Code(CodeReader::Other)),
        ("perl", Self::Code(CodeReader::Other)),
        ("ruby", Self::Code(CodeReader::Other)),
        ("lua", Self::Code(CodeReader::Other)),
        ("php", Self::Code(CodeReader::Other)),
    ];
}

impl Parameter {
    /// Whether there is nothing to work with unless it is given.
    pub fn is_needed(&self) -> bool {
        self.required && self.default.is_none()
    }
}

/// What a parameter accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the schema")]
pub enum ParameterType {
    String,
    Number,
    Integer,
    Boolean,
    Array,
    Object,
    Any,
}

impl Parameter {
    /// The reader for whom its value is program text; one that is placed as text without saying so is read by nobody we know.
    pub fn code_reader(&self) -> Option<CodeReader> {
        match (self.placing, self.escape_shell) {
            (Some(Placing::Code(reader)), _) => Some(reader),
            (_, Some(false)) => Some(CodeReader::Other),
            _ => None,
        }
    }
}

impl ParameterType {
    /// Every type with the names it has in a file; the first of a type is the one we write.
    pub const NAMES: [(&'static str, Self); 14] = [
        ("string", Self::String),
        ("number", Self::Number),
        ("integer", Self::Integer),
        ("boolean", Self::Boolean),
        ("array", Self::Array),
        ("object", Self::Object),
        ("any", Self::Any),
        ("numeric", Self::Number),
        ("double", Self::Number),
        ("character", Self::Array),
        ("logical", Self::Boolean),
        ("list", Self::Object),
        ("bool", Self::Boolean),
        ("int", Self::Integer),
    ];

    /// The name we write.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, kind)| *kind == self).map_or("any", |(name, _)| name)
    }
}

/// `validation`, with the JSON Schema keywords we honour.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "the names of JSON Schema")]
pub struct ParameterValidation {
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
    pub pattern: Option<Pattern>,
    pub minimum: Option<String>,
    pub maximum: Option<String>,
    pub exclusive_minimum: Option<String>,
    pub exclusive_maximum: Option<String>,
    pub multiple_of: Option<String>,
    pub allowed: Option<Vec<Value>>,
    pub min_items: Option<u64>,
    pub max_items: Option<u64>,
    pub unique_items: bool,
    pub items: Option<Box<Shape>>,
    pub properties: Vec<(String, Shape)>,
    pub required_properties: Vec<String>,
}

/// The type and rules of a list's elements or of an object's property.
#[derive(Clone, Debug)]
pub struct Shape {
    /// What it accepts.
    pub kind: ParameterType,
    /// Rules.
    pub validation: ParameterValidation,
    /// What it is for.
    pub description: Option<String>,
}

/// `transform`: predefined or JavaScript over `value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transform {
    /// One of the predefined ones.
    Named(NamedTransform),
    /// An expression in which `value` is the value.
    Script(String),
}

/// The predefined transforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named in `NAMES` and documented in the reference")]
pub enum NamedTransform {
    Lowercase,
    Uppercase,
    Trim,
    Base64Encode,
    Base64Decode,
    UrlEncode,
    UrlDecode,
    JsonEscaped,
    ShellEscaped,
}

impl NamedTransform {
    /// Every transform with its name.
    pub const NAMES: [(&'static str, Self); 9] = [
        ("lowercase", Self::Lowercase),
        ("uppercase", Self::Uppercase),
        ("trim", Self::Trim),
        ("base64encode", Self::Base64Encode),
        ("base64decode", Self::Base64Decode),
        ("urlencode", Self::UrlEncode),
        ("urldecode", Self::UrlDecode),
        ("jsonescaped", Self::JsonEscaped),
        ("shellescaped", Self::ShellEscaped),
    ];
}

/// `format`: a template over `value`, or a number pattern such as `0000`.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueFormat {
    /// Author text around `{value}`.
    pub template: Template,
}
