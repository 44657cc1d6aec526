//! JavaScript and TypeScript in an engine without ambient power.

use std::{
    cell::Cell,
    rc::Rc,
    time::{Duration, Instant},
};

use cycod_definition::Value;
use rquickjs::{
    CatchResultExt as _, CaughtError, Context, Ctx, Function, Runtime, Type,
    context::{EvalOptions, intrinsic},
};

/// Evaluates expressions, each in a world of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evaluator {
    limits: EvaluationLimits,
}

/// What one evaluation may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvaluationLimits {
    /// How long it may compute. On a busy machine, more time goes by, at most twenty times as much.
    ///
    /// The engine looks at the clock between instructions and inside regular expressions, but not inside a native
    /// function such as `sort` or a multiplication of huge integers. Such a call ends late, not never: what it
    /// works on has to fit in `memory`, which bounds it to some tenths of a second.
    pub time: Duration,
    /// How many bytes its objects, strings and code may take together.
    pub memory: usize,
    /// How many bytes of text a value may hold when it comes in.
    pub input: usize,
}

impl Default for EvaluationLimits {
    fn default() -> Self {
        Self { time: Duration::from_millis(100), memory: 16 << 20, input: 1 << 20 }
    }
}

/// Why an expression has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// The value is too large to be handed to a script.
    #[error("the value has {size} bytes, and a script takes at most {limit}")]
    Input {
        /// The size of the value.
        size: usize,
        /// What is allowed.
        limit: usize,
    },
    /// The text is not an expression.
    #[error("{message}")]
    Syntax {
        /// What the engine says.
        message: String,
    },
    /// The expression threw.
    #[error("{message}")]
    Thrown {
        /// What was thrown, as text.
        message: String,
    },
    /// The expression took too long.
    #[error("stopped after {} ms", limit.as_millis())]
    Time {
        /// What is allowed.
        limit: Duration,
    },
    /// The expression took too much memory.
    #[error("stopped at {} MiB of memory", limit >> 20)]
    Memory {
        /// What is allowed.
        limit: usize,
    },
    /// The result is not a value that a tool can use.
    #[error("the result is {what}; a string, number, boolean, array or object is needed")]
    Result {
        /// What it is.
        what: String,
    },
    /// The engine could not be made.
    #[error("the script engine did not start: {message}")]
    Engine {
        /// What it says.
        message: String,
    },
}

impl Evaluator {
    /// Returns an engine with other limits than the usual.
    pub fn new(limits: EvaluationLimits) -> Self {
        Self { limits }
    }

    /// Evaluates `script`, one expression in which `value` is `value`.
    pub fn transform(&self, script: &str, value: &Value) -> Result<Value, ScriptError> {
        let size = size(value);
        if size > self.limits.input {
            return Err(ScriptError::Input { size, limit: self.limits.input });
        }
        self.enter(|ctx, stopped| {
            let thrown = |error: CaughtError<'_>| self.explain(&error, stopped);
            let function = self.compile(ctx, script, stopped)?;
            let argument = into_js(ctx, value).catch(ctx).map_err(thrown)?;
            let result: rquickjs::Value<'_> = function.call((argument,)).catch(ctx).map_err(thrown)?;
            self.result(ctx, result, stopped)
        })
    }

    /// Tells whether `script` is an expression, without evaluating it.
    pub fn check(&self, script: &str) -> Result<(), ScriptError> {
        self.enter(|ctx, stopped| self.compile(ctx, script, stopped).map(drop))
    }

    fn enter<T>(&self, body: impl FnOnce(&Ctx<'_>, &Cell<bool>) -> Result<T, ScriptError>) -> Result<T, ScriptError> {
        const STACK: usize = 256 << 10;
        let broken = |error: rquickjs::Error| ScriptError::Engine { message: error.to_string() };
        let runtime = Runtime::new().map_err(broken)?;
        runtime.set_max_stack_size(STACK);
        let stopped = Rc::new(Cell::new(false));
        let clock = Clock::new(self.limits.time);
        runtime.set_interrupt_handler(Some(Box::new({
            let stopped = stopped.clone();
            move || {
                let late = clock.is_over();
                stopped.set(stopped.get() || late);
                late
            }
        })));
        let context = Context::builder()
            .with::<intrinsic::Eval>()
            .with::<intrinsic::RegExpCompiler>()
            .with::<intrinsic::RegExp>()
            .with::<intrinsic::Json>()
            .with::<intrinsic::Date>()
            .with::<intrinsic::MapSet>()
            // Without promises the engine leaks on `async` and `import()`. Nothing ever runs what waits for one.
            .with::<intrinsic::Promise>()
            .build(&runtime)
            .map_err(broken)?;
        runtime.set_memory_limit(self.limits.memory);
        context.with(|ctx| body(&ctx, &stopped))
    }

    /// Compiles the expression as the body of a function, so that `value` is an argument and not a global.
    fn compile<'js>(&self, ctx: &Ctx<'js>, script: &str, stopped: &Cell<bool>) -> Result<Function<'js>, ScriptError> {
        // People end expressions like statements.
        let expression = script.trim_end_matches([';', ' ', '\t', '\r', '\n']);
        if expression.is_empty() {
            return Err(ScriptError::Syntax { message: "the script is empty".to_owned() });
        }
        if expression.contains('\0') {
            return Err(ScriptError::Syntax { message: "the script holds a NUL character".to_owned() });
        }
        let mut options = EvalOptions::default();
        options.strict = true;
        for name in ["eval", "Promise", "queueMicrotask"] {
            ctx.globals().remove(name).catch(ctx).map_err(|error| self.explain(&error, stopped))?;
        }
        let compiled = ctx.eval_with_options::<Function<'js>, _>(format!("(value) => (\n{expression}\n)"), options);
        compiled.catch(ctx).map_err(|error| match self.explain(&error, stopped) {
            ScriptError::Thrown { message } => ScriptError::Syntax { message },
            other => other,
        })
    }

    fn result<'js>(
        &self,
        ctx: &Ctx<'js>,
        result: rquickjs::Value<'js>,
        stopped: &Cell<bool>,
    ) -> Result<Value, ScriptError> {
        let unusable = |what: &str| Err(ScriptError::Result { what: what.to_owned() });
        match result.type_of() {
            Type::Bool => Ok(Value::Bool(result.as_bool().unwrap_or_default())),
            Type::String => self.text(ctx, result, stopped).map(Value::Text),
            Type::Int | Type::Float | Type::BigInt => {
                let text: rquickjs::Coerced<String> =
                    result.get().catch(ctx).map_err(|error| self.explain(&error, stopped))?;
                match text.0.as_str() {
                    "NaN" | "Infinity" | "-Infinity" => unusable(&text.0),
                    _ => Ok(Value::Number(text.0)),
                }
            }
            Type::Undefined | Type::Uninitialized => unusable("undefined"),
            Type::Null => unusable("null"),
            Type::Function | Type::Constructor => unusable("a function"),
            Type::Symbol => unusable("a symbol"),
            Type::Promise => unusable("a promise"),
            _ => {
                let json = ctx.json_stringify(result).catch(ctx).map_err(|error| self.explain(&error, stopped))?;
                let Some(json) = json else { return unusable("nothing that JSON can hold") };
                let json = self.text(ctx, json.into_value(), stopped)?;
                match serde_json::from_str(&json) {
                    Ok(serde_json::Value::Null) => unusable("null"),
                    Ok(value) => Ok(Value::from(value)),
                    Err(_) => unusable("nested too deeply"),
                }
            }
        }
    }

    fn text<'js>(
        &self,
        ctx: &Ctx<'js>,
        value: rquickjs::Value<'js>,
        stopped: &Cell<bool>,
    ) -> Result<String, ScriptError> {
        let unusable = |what: &str| ScriptError::Result { what: what.to_owned() };
        let text = value.into_string().ok_or_else(|| unusable("not text"))?;
        match text.to_string().catch(ctx) {
            Ok(text) => Ok(text),
            Err(CaughtError::Error(rquickjs::Error::Utf8(_))) => Err(unusable("text with half a surrogate pair")),
            Err(error) => Err(self.explain(&error, stopped)),
        }
    }

    fn explain(&self, error: &CaughtError<'_>, stopped: &Cell<bool>) -> ScriptError {
        if stopped.get() {
            return ScriptError::Time { limit: self.limits.time };
        }
        let message = match error {
            CaughtError::Error(rquickjs::Error::Allocation) => {
                return ScriptError::Memory { limit: self.limits.memory };
            }
            CaughtError::Error(error) => error.to_string(),
            CaughtError::Exception(exception) => exception.message().unwrap_or_default(),
            // When not even an error fits into memory any more, the engine throws null.
            CaughtError::Value(value) if value.is_null() => return ScriptError::Memory { limit: self.limits.memory },
            CaughtError::Value(value) => match value.as_string().and_then(|text| text.to_string().ok()) {
                Some(text) => text,
                None => format!("the script threw {}", value.type_name()),
            },
        };
        if message == "out of memory" {
            ScriptError::Memory { limit: self.limits.memory }
        } else {
            ScriptError::Thrown { message }
        }
    }
}

/// How many times its limit an evaluation may take when other programs have the processor.
const PATIENCE: u32 = 20;

/// Tells when an evaluation has computed for too long.
struct Clock {
    limit: Duration,
    computed_before: Option<Duration>,
    began: Instant,
}

impl Clock {
    fn new(limit: Duration) -> Self {
        Self { limit, computed_before: computed(), began: Instant::now() }
    }

    fn is_over(&self) -> bool {
        let passed = self.began.elapsed();
        let computed = self.computed_before.and_then(|before| computed()?.checked_sub(before)).unwrap_or(passed);
        computed >= self.limit || passed >= self.limit * PATIENCE
    }
}

/// How long this thread has had the processor; nothing where the system doesn't tell.
fn computed() -> Option<Duration> {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
    }
    #[cfg(not(unix))]
    {
        None
    }
}

/// The bytes of text in a value, and one for every other part of it.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 1,
        Value::Number(text) | Value::Text(text) => text.len(),
        Value::List(items) => items.iter().map(|item| 1 + size(item)).sum(),
        Value::Object(entries) => entries.iter().map(|(key, value)| 1 + key.len() + size(value)).sum(),
    }
}

fn into_js<'js>(ctx: &Ctx<'js>, value: &Value) -> rquickjs::Result<rquickjs::Value<'js>> {
    match value {
        Value::Text(text) => Ok(rquickjs::String::from_str(ctx.clone(), text)?.into_value()),
        value => ctx.json_parse(value.to_json().to_string()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn time_without_the_processor_does_not_count_until_there_is_much_of_it() {
        const LIMIT: Duration = Duration::from_millis(20);
        let clock = Clock::new(LIMIT);
        std::thread::sleep(LIMIT * 2);
        assert!(!clock.is_over());
        std::thread::sleep(LIMIT * PATIENCE);
        assert!(clock.is_over());
        let clock = Clock::new(LIMIT);
        let before = computed().expect("the system tells");
        while computed().expect("the system tells") - before < LIMIT {
            std::hint::spin_loop();
        }
        assert!(clock.is_over());
    }
}
