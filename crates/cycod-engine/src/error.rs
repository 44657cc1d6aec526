use cycod_catalog::LoadError;
use cycod_diagnostic::{Code, Refusal, Severity};

/// Why the engine has no tool to give.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No tool has the name.
    #[error("no tool is called `{name}`")]
    Unknown {
        /// The name.
        name: String,
        /// The name that was probably meant.
        suggestion: Option<String>,
    },
    /// No tool has the name, and it is known why.
    #[error("{}", .0.why)]
    Absent(Box<Refusal>),
    /// The tool's file is wrong, or its name is taken twice.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl EngineError {
    /// The refusal of a call that met this.
    pub fn into_refusal(self) -> Refusal {
        match self {
            Self::Unknown { name, suggestion } => {
                let refusal = Refusal::new(Code::UnknownTool, format!("no tool is called `{name}`")).place(&name);
                match suggestion {
                    Some(near) => refusal.attempt(format!("did you mean `{near}`?")),
                    None => refusal.attempt("cycod list"),
                }
            }
            Self::Absent(refusal) => *refusal,
            Self::Load(error) => {
                let (LoadError::Broken { name, .. } | LoadError::Changed { was: name, .. }) = &error;
                let name = name.clone();
                let why = format!("{error}{}", first_problem(&error).unwrap_or_default());
                Refusal::new(Code::BrokenTool, why).attempt(format!("cycod validate {name}")).place(name)
            }
        }
    }
}

/// What is wrong with a file first, and where.
fn first_problem(error: &LoadError) -> Option<String> {
    let LoadError::Broken { source_file, diagnostics, .. } = error else { return None };
    let problem = diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error)?;
    let line = problem.span().map(|span| format!("line {}: ", source_file.position(span.start).line));
    Some(format!(": {}{}", line.unwrap_or_default(), problem.message))
}
