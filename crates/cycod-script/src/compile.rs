use rquickjs::{CatchResultExt as _, CaughtError, Context, Module, Runtime, context::intrinsic};

use crate::source::{ScriptDiagnostic, SourcePlaces};

/// What the engine has against code that the parser took, such as a name that is declared twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CompileProblem {
    message: String,
    line: usize,
    column: usize,
}

impl CompileProblem {
    /// What it is in the code of which the script was made.
    pub(crate) fn into_diagnostic(self, code: &str, places: &SourcePlaces) -> ScriptDiagnostic {
        let (line, column) = places.original(self.line, self.column);
        ScriptDiagnostic::at(code, line, column, self.message)
    }
}

/// Compiles a script as a module, of which nothing runs.
pub(crate) fn compile(script: &str) -> Result<(), CompileProblem> {
    const MEMORY: usize = 64 << 20;
    const STACK: usize = 1 << 20;
    let broken = |error: rquickjs::Error| CompileProblem { message: error.to_string(), line: 1, column: 1 };
    let runtime = Runtime::new().map_err(broken)?;
    runtime.set_memory_limit(MEMORY);
    runtime.set_max_stack_size(STACK);
    let context = Context::builder()
        .with::<intrinsic::Eval>()
        .with::<intrinsic::RegExpCompiler>()
        .with::<intrinsic::RegExp>()
        .with::<intrinsic::Promise>()
        .build(&runtime)
        .map_err(broken)?;
    context
        .with(|ctx| Module::declare(ctx.clone(), "tool", script).catch(&ctx).map(drop).map_err(|error| problem(&error)))
}

fn problem(error: &CaughtError<'_>) -> CompileProblem {
    let CaughtError::Exception(exception) = error else {
        return CompileProblem { message: error.to_string(), line: 1, column: 1 };
    };
    let stack = exception.stack().unwrap_or_default();
    let (line, column) = place(&stack).unwrap_or((1, 1));
    CompileProblem { message: exception.message().unwrap_or_default(), line, column }
}

/// The line and column at the end of the first line of a trace.
fn place(stack: &str) -> Option<(usize, usize)> {
    let first = stack.lines().next()?.trim_end_matches(')');
    let (rest, column) = first.rsplit_once(':')?;
    let (_, line) = rest.rsplit_once(':')?;
    Some((line.parse().ok()?, column.parse().ok()?))
}
