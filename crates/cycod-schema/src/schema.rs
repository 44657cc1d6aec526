use cycod_thread::Thread;
use jsonschema::{PatternOptions, ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value as Json;

use crate::graph::Graph;

/// How many violations of one value are told.
const MOST_VIOLATIONS: usize = 20;

/// How many characters of a message are kept; it may quote what the value holds.
const LONGEST_MESSAGE: usize = 500;

/// How deep values may be nested: as deep as `serde_json` reads them.
pub(crate) const DEEPEST: usize = 128;

/// How many schemas, one inside the other or referred to, are compiled without a stack of their own.
const FEW: usize = 200;

/// What a schema may need of that stack for each schema in it.
const STACK_OF_A_SCHEMA: usize = 32 << 10;

/// A JSON Schema that is ready to judge values. Draft 2020-12 unless its `$schema` names an older one.
///
/// Patterns are matched in linear time, so they know no look-around; `format` is a remark, not a rule.
#[derive(Clone, Debug)]
pub struct Schema {
    validator: Validator,
    graph: Graph,
}

/// Why a text that should be a schema is none that we apply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SchemaProblem {
    /// A JSON Pointer to the place in the schema.
    pub pointer: String,
    /// What is wrong there: a lowercase fragment without a final period.
    pub message: String,
}

impl SchemaProblem {
    pub(crate) fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into() }
    }
}

/// A part of a value that a schema does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaViolation {
    /// A JSON Pointer to the part; empty for the whole value.
    pub instance_pointer: String,
    /// A JSON Pointer to the keyword that was broken.
    pub schema_pointer: String,
    /// What is wrong.
    pub message: String,
}

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// When it is no JSON Schema, refers to another document, or is too large or too deep to be applied safely.
    pub fn compile(schema: &Json) -> Result<Self, SchemaProblem> {
        let graph = Graph::new(schema)?;
        let build = || {
            jsonschema::options()
                .offline()
                .should_validate_formats(false)
                .with_pattern_options(PatternOptions::regex())
                .build(schema)
                .map_err(|error| SchemaProblem::new(error.instance_path().as_str(), message(&error)))
        };
        // A chain of references takes the compiler as deep as there are schemas.
        let validator = if graph.len() <= FEW {
            build()?
        } else {
            let spacious = Thread::named("schema").stack(graph.len() * STACK_OF_A_SCHEMA);
            std::thread::scope(|scope| {
                let thread = spacious.scoped(scope, build).map_err(|error| error.to_string())?;
                thread.join().map_err(|broken| format!("the schema cannot be compiled: {broken}"))
            })
            .map_err(|message| SchemaProblem::new("", message))??
        };
        Ok(Self { validator, graph })
    }

    /// Tells what is wrong with a value: the first few violations, none when it is right.
    pub fn validate(&self, instance: &Json) -> Vec<SchemaViolation> {
        if let Err(message) = self.graph.afford(instance) {
            return vec![SchemaViolation { instance_pointer: String::new(), schema_pointer: String::new(), message }];
        }
        let mut violations = Vec::new();
        for error in self.validator.iter_errors(instance) {
            tell(&error, &mut violations);
            if violations.len() >= MOST_VIOLATIONS {
                break;
            }
        }
        violations
    }
}

/// Tells an error; of alternatives that all fail, the one that came furthest, because that is what was meant.
fn tell(error: &ValidationError<'_>, violations: &mut Vec<SchemaViolation>) {
    if let ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } = error.kind() {
        let depth = |errors: &Vec<ValidationError<'_>>| {
            errors.iter().map(|error| error.instance_path().segments().count()).min().unwrap_or_default()
        };
        let here = error.instance_path().segments().count();
        let furthest =
            context.iter().filter(|errors| depth(errors) > here || context.len() == 1).max_by_key(|e| depth(e));
        if let Some(errors) = furthest {
            errors.iter().for_each(|error| tell(error, violations));
            return;
        }
    }
    violations.push(SchemaViolation {
        instance_pointer: error.instance_path().as_str().to_owned(),
        schema_pointer: error.schema_path().as_str().to_owned(),
        message: message(error),
    });
}

/// The words of an error: a scalar is quoted while it is short, everything else is only named.
fn message(error: &ValidationError<'_>) -> String {
    let message = match &**error.instance() {
        Json::String(text) if text.len() > 100 => error.masked_with("the text").to_string(),
        Json::Array(_) => error.masked_with("the array").to_string(),
        Json::Object(_) => error.masked_with("the object").to_string(),
        _ => error.to_string(),
    };
    match message.char_indices().nth(LONGEST_MESSAGE) {
        Some((cut, _)) => format!("{}…", &message[..cut]),
        None => message,
    }
}
