//! The table itself, one section after another.

use super::{
    Key, Section,
    Takes::{
        self, Any, Bool, Choice, Choices, Command, Condition, Either, Integer, List, Map, Milliseconds, Named,
        Number, Object, Pattern, Schema, Size, Template, Templates, Text, Texts, TextsOr,
    },
};

use crate::ToolPage;

const fn key(name: &'static str, takes: Takes, doc: &'static str) -> Key {
    Key { name, takes, default: "", chapter: "Schema", doc, synonym_of: None, executes: false, restricts: false }
}

const fn exec(name: &'static str, takes: Takes, doc: &'static str) -> Key {
    Key { executes: true, ..key(name, takes, doc) }
}

impl Key {
    const fn or(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    const fn chapter(self, chapter: &'static str) -> Self {
        Self { chapter, ..self }
    }

    const fn restricts(self) -> Self {
        Self { restricts: true, ..self }
    }

    const fn synonym_of(self, name: &'static str) -> Self {
        Self { synonym_of: Some(name), ..self }
    }
}

const PLATFORMS: &[&str] = &["windows", "linux", "macos", "unix", "osx", "darwin", "win32"];
const SHELL_OPTIONS: &[&str] = &[
    "e", "errexit", "u", "nounset", "x", "xtrace", "f", "noglob", "v", "verbose", "C", "noclobber", "a",
    "allexport", "E", "errtrace", "pipefail",
];
const TYPES: &[&str] = &[
    "string", "number", "integer", "boolean", "array", "object", "any", "numeric", "double", "character",
    "logical", "list", "bool", "int",
];

const PLACINGS: &[&str] = &["data", "program", "bash", "sh", "zsh", "pwsh", "argv", "r", "python", "javascript", "sql", "jq", "awk", "sed", "perl", "ruby", "lua", "php"];
const NATURES: &[&str] = &["text", "plain", "command", "code"];

/// What a programs file says of each program.
pub(crate) const PROGRAMS: Takes = Choice(NATURES);

/// What may follow the loss of a step.
const ON_LOST: &[&str] = &["retry", "fail", "ask"];

/// Where a tool runs.
const ON: &[&str] = &["here", "fleet"];

/// The files of the project on the fleet.
const WORKSPACE: &[&str] = &["none", "snapshot"];
const KEEP_ON: &[&str] = &["same-worker"];

/// A whole file.
pub(crate) static TOOL: Section = Section {
    noun: "a tool",
    doc: "The top level of the file. Exactly one key must define what to execute.",
    strict: false,
    keys: &[
        key("name", Text, "The tool's name: letters, digits, `_`, `.` and `-`, at most 64.").or("the file name without its extension"),
        key("description", Text, "The tool's purpose; people and models choose tools by it. Required, except for an alias, which uses its base's."),
        key("title", Text, "The text that people see instead of the name."),
        key("group", Text, "The group in lists and for hosts."),
        key("version", Text, "The tool's own version, `MAJOR.MINOR.PATCH`.").chapter("Version Properties"),
        key("min-cycod-version", Text, "The oldest version of cycod that can run it. An older one lists it as unavailable and refuses to run it.").chapter("Version Properties").restricts(),
        exec("bash", Command, "Run by `bash --noprofile --norc`."),
        exec("cmd", Command, "Run by the Windows command interpreter."),
        exec("pwsh", Command, "Run by PowerShell."),
        exec("run", Command, "Run without a shell: the text is split into words first, values are put inside words."),
        exec("script", Command, "Run by the interpreter that `shell` names."),
        exec("python", Command, "A `script` with `shell: python`.").chapter("Parameter Formatting"),
        exec("commands", Object(&COMMANDS), "Run by the platform's own shell, with a different text for each platform if needed."),
        exec("steps", List(&Object(&STEP)), "Several steps with dependencies."),
        exec("handler", Object(&HANDLER), "A function in a language, called with the arguments as data."),
        exec("use-tool", Text, "Calls another tool, with the arguments of `with`.").chapter("Tool Composition"),
        exec("tool", Text, "Another name for `use-tool`.").synonym_of("use-tool").chapter("Tool Composition"),
        key("with", Map("PARAMETER", &Any), "Arguments for `use-tool`.").chapter("Tool Composition"),
        key("shell", Text, "What runs `script`: a shell, an interpreter, or a command line in which `{0}` is the script's path and `{1}` the arguments. Also the default for steps.").or("the platform's default shell, with a warning"),
        key("shell-options", Choices(SHELL_OPTIONS), "Options set before the command in bash, sh and zsh."),
        key("parameters", Map("NAME", &Object(&PARAMETER)), "The tool's parameters, in the order that people and models see."),
        key("input-schema", Schema, "The tool's parameters as a JSON Schema of type `object`, instead of `parameters`. Its properties are the parameters; models and hosts get it unchanged.").restricts(),
        key("returns", Schema, "The JSON Schema of the output: one JSON value, which is checked against it. Implies `produces: application/json`.").restricts(),
        key("produces", Text, "The output format: `text/plain`, `application/json` (one value), `content-blocks` (a JSON array of texts, images, audio, resources and links), or the media type of the one file whose bytes it prints.").or("text/plain"),
        key("rank", Texts, "What of a structured answer matters most, in this order: names of properties, such as `errors` or `results.title`. If the answer is too long for a model, cycod keeps these first."),
        key("page", Choice(ToolPage::NAMES), "The page that hosts with MCP Apps show for a call: `table` for a list of objects, `chart` for numbers, `graph` for the steps of a workflow, or `form` for the parameters. Other hosts get text, as without it."),
        key("offer", Either(&OFFER, &Choice(&["tool", "prompt"])), "How hosts see it: a tool for models, a prompt that users choose, or a resource.").or("tool"),
        key("hints", Object(&HINTS), "Its effects, for hosts, in addition to the tags."),
        key("asks", Map("QUESTION", &Object(&ASK)), "Questions that cycod asks before it runs. The answers are parameters that callers can't pass.").restricts(),
        key("reports", Bool, "Whether its processes get a file in `CYCOD_REPORT` for progress and log messages, one JSON object per line.").or("false"),
        key("durable", Bool, "Whether a run can continue after a crash, with `cycod runs resume`.").or("false"),
        key("on-lost", Choice(ON_LOST), "The default of `on-lost` for every step.").or("`retry` for level read, else `ask`"),
        key("on", Choice(ON), "Where it runs, for every caller: `here` on the machine of the caller, `fleet` on a worker of the team's hub. `--on` of `cycod run` takes precedence.").or("here"),
        key("runs-on", Texts, "The labels that a worker must offer to run it on the fleet, such as `gpu`, `os:linux` or `tool:git>=2.40`.").or("none"),
        key("workspace", Either(&SHARED, &Choice(WORKSPACE)), "The files that it has on the fleet: `none`, or `snapshot` for all files of the project as they are when the run begins. What the run changes in them comes back, unless the tool only reads; of a durable or scheduled run, when you apply it. With `shared`, it works in a directory that workers share.").or("none"),
        key("keep-on", Choice(KEEP_ON), "`same-worker` keeps the steps of a durable run with the worker that has begun it, for what they leave outside of the project. If that is lost, or doesn't offer what a step needs, another worker takes them.").or("any worker takes a step"),
        key("task", Choice(&["never", "offered", "required"]), "Whether hosts that support tasks may, or must, run it as one.").or("never"),
        key("programs", Map("PROGRAM", &Choice(NATURES)), "What programs that cycod doesn't know do with their arguments: `text` (text and files), `plain` (plain words, such as names of tasks), `command` (a command that they run), `code`. A programs file defines it for many tools; this key takes precedence.").chapter("Parameter Security"),
        key("type", Choice(&["alias"]), "`alias` makes the tool another name for `base-tool`.").chapter("Tool Aliasing"),
        key("base-tool", Text, "The tool that an alias calls.").chapter("Tool Aliasing"),
        key("default-parameters", Map("PARAMETER", &Any), "Defaults that replace the base's; callers can override them.").chapter("Tool Aliasing"),
        key("tags", Texts, "Categories. `read`, `write` and `run` declare how dangerous the tool is; without one of them it counts as `run`.").chapter("Security Tags").restricts(),
        key("platforms", Choices(PLATFORMS), "Where the tool works; `unix` means linux and macos.").or("everywhere").chapter("Tags and Platform Support").restricts(),
        key("timeout", Milliseconds(1), "The limit for the whole call, with retries and pauses; 30 seconds for the script engine.").or("60000"),
        key("working-directory", Template, "Where commands run. Overrides `file-paths.working-directory`.").or("the caller's directory"),
        key("schedule", Object(&SCHEDULE), "When the team's hub starts it, for `cycod schedule add`. Without that command, nothing starts it."),
        key("max-parallel", Integer(1), "How many of its steps run at once; at most 64. A step with `for-each` counts as one.").or("64"),
        key("ignore-errors", Bool, "The default of `continue-on-error` for every step; for a single command, whether failure counts as success.").or("false").chapter("Error Handling"),
        key("input", Template, "The standard input of the first step, unquoted. Without it, standard input is closed."),
        key("interactive", Bool, "Whether the tool reads the user's input at the terminal.").or("false"),
        key("interactive-options", Object(&INTERACTIVE), "Options for an interactive tool."),
        key("environment", Object(&ENVIRONMENT), "The environment of its processes.").chapter("Environment Variables").restricts(),
        key("security", Object(&SECURITY), "Its rights and what it may reach. An unknown key here is an error.").chapter("Privilege Control and Security Boundaries").restricts(),
        key("file-paths", Object(&FILE_PATHS), "Its directories and path format.").chapter("Cross-Platform Path Handling"),
        key("resources", Object(&RESOURCES), "Limits, and cleanup at the end of the run.").chapter("Clean Up Resources").restricts(),
        key("artifacts", Templates, "Files that a run keeps: paths and patterns such as `dist/*.whl`, below the working directory or `{TEMP}`. A run that succeeds without one of them fails."),
        key("cache", Object(&CACHE), "Uses the result of an earlier run of its one command if nothing that decides the result has changed. For steps, `cache` is a key of the step."),
        key("requires", Object(&REQUIRES), "What the tool requires; if something is missing, the tool is listed as unavailable and calls are refused.").restricts(),
        key("metadata", Object(&METADATA), "Data for lists and searches. Has no security meaning.").chapter("Tags and Platform Support"),
        key("function-calling", Object(&FUNCTION_CALLING), "Options for its schema for models.").chapter("LLM Function Calling Integration"),
        key("tests", List(&Object(&TEST)), "Tests for `cycod test`.").chapter("Tool Testing"),
        key("changelog", List(&Object(&CHANGE)), "The changes in each version.").chapter("Version Properties"),
        key("deprecated", Bool, "Whether it should no longer be used.").or("false").chapter("Backward Compatibility"),
        key("deprecated-message", Text, "What to do instead.").chapter("Backward Compatibility"),
        key("deprecated-alternative", Text, "The tool to use instead.").chapter("Backward Compatibility"),
        key("enabled", Bool, "`false`: the tool is listed, but neither offered nor run.").or("true").restricts(),
        key("token-cost", Integer(0), "The author's figure for the tokens that its description and schema cost a model; shown next to the counted cost."),
        key("risky", Bool, "`true` raises the level to `run`; `false` changes nothing.").restricts(),
        key("riskLevel", Choice(&["low", "medium", "high", "critical"]), "Raises the level: low is read, medium write, high and critical run. Never lowers it.").restricts(),
    ],
};

static SHARED: Section = Section {
    noun: "a shared directory",
    doc: "A directory that several workers have, for example in a network file system. The tool works there, and runs on the fleet only.",
    strict: true,
    keys: &[key("shared", Text, "Its name. The worker says which directory that is: `cycod worker --shared NAME=PATH`.")],
};

static OFFER: Section = Section {
    noun: "a resource",
    doc: "A tool whose output is the content of a resource.",
    strict: false,
    keys: &[key("resource", Text, "Its address. With `{parameter}` in it, a template of addresses.")],
};

static HINTS: Section = Section {
    noun: "`hints`",
    doc: "A tool's effects, for hosts. A hint never lowers the level.",
    strict: false,
    keys: &[
        key("read-only", Bool, "It changes nothing."),
        key("read_only", Bool, "Another name for `read-only`.").synonym_of("read-only"),
        key("destructive", Bool, "It may destroy something."),
        key("idempotent", Bool, "Doing it twice is the same as doing it once."),
        key("open-world", Bool, "It reaches things outside this machine."),
        key("open_world", Bool, "Another name for `open-world`.").synonym_of("open-world"),
    ],
};

static ASK: Section = Section {
    noun: "a question",
    doc: "One question, with exactly one of `person`, `model` and `roots`. cycod asks it after every answer that its text refers to.",
    strict: false,
    keys: &[
        key("person", Template, "The question for the user at the host. Without `fields`, it asks only for consent, and the parameter with the question's name is `true`."),
        key("fields", Map("PARAMETER", &Object(&PARAMETER)), "The form for the user. Each field is a parameter of the tool."),
        key("model", Template, "The question for the host's model. The answer is the parameter with the question's name."),
        key("max-tokens", Integer(1), "The maximum length of the model's answer.").or("1000"),
        key("roots", Bool, "`true`: asks the host which directories it works in. The answer, a list of addresses, is the parameter with the question's name."),
        key("within", Choice(&["call", "task"]), "If the tool runs as a task: whether cycod asks before the task, or while the task waits.").or("call"),
    ],
};

static COMMANDS: Section = Section {
    noun: "`commands`",
    doc: "A command with variants. cycod uses the exact platform, then `unix`, then `default`.",
    strict: false,
    keys: &[
        key("default", Command, "Used if no variant matches."),
        key("platforms", Map("PLATFORM", &Command), "Variants: `windows`, `linux`, `macos`, `unix`, in any case; also `osx`, `darwin` and `win32`."),
        key("shell", Text, "What runs the texts.").or("`sh` on Unix, `cmd` on Windows"),
        key("shell-options", Choices(SHELL_OPTIONS), "Options set before the command in bash, sh and zsh."),
    ],
};

static STEP: Section = Section {
    noun: "a step",
    doc: "One step. Without `parallel` and `wait-for`, it starts when every step above it has ended.",
    strict: false,
    keys: &[
        key("name", Text, "Required and unique; `{name.output}` refers to its result. Letters, digits, `_` and `-`."),
        key("description", Text, "A comment for readers."),
        exec("bash", Command, "Run by `bash --noprofile --norc`."),
        exec("cmd", Command, "Run by the Windows command interpreter."),
        exec("pwsh", Command, "Run by PowerShell."),
        exec("run", Command, "Run without a shell."),
        exec("script", Command, "Run by the interpreter that `shell` names."),
        exec("python", Command, "A `script` with `shell: python`."),
        exec("commands", Object(&COMMANDS), "Run by the platform's own shell."),
        exec("use-tool", Text, "Calls another tool, with the arguments of `with`.").chapter("Tool Composition"),
        exec("tool", Text, "Another name for `use-tool`.").synonym_of("use-tool").chapter("Tool Composition"),
        key("with", Map("PARAMETER", &Any), "Arguments for `use-tool`; they can refer to other steps.").chapter("Tool Composition"),
        key("shell", Text, "What runs `script`.").or("the tool's `shell`"),
        key("shell-options", Choices(SHELL_OPTIONS), "Options set before the command in bash, sh and zsh.").or("the tool's `shell-options`"),
        key("run-condition", Condition, "The step runs only if this is true; otherwise it is skipped, with exit code 0 and no output.").chapter("Multi-Step Tools").restricts(),
        key("parallel", Bool, "`true`: doesn't wait for the steps above it.").or("false").chapter("Parallel Execution"),
        key("wait-for", Texts, "The steps that must end first. Steps that it refers to are added.").chapter("Parallel Execution"),
        key("for-each", Any, "Runs the step once for each item of a list, of a parameter of type array, or of the output of a step, one item a line or a JSON array; `{ITEM}` is the item. At most 1000 items."),
        key("max-parallel", Integer(1), "How many items of `for-each` run at once; at most 64.").or("1"),
        key("continue-on-error", Bool, "Whether the workflow continues if it fails; with `for-each`, also with the next items.").or("the tool's `ignore-errors`").chapter("Error Handling"),
        key("error-handling", Object(&ERROR_HANDLING), "What to try if it fails.").chapter("Error Handling"),
        key("on-failure", Bool, "`true`: runs only if another step failed and stopped the workflow, after all others have ended and before the cleanup. It doesn't change the outcome.").or("false"),
        key("on-lost", Choice(ON_LOST), "What to do in a durable run if a crash interrupted the step: `retry` starts it again, `fail` fails it, `ask` asks the user.").or("the tool's `on-lost`"),
        key("runs-on", Texts, "The labels that a worker must offer to run the step on the fleet, in addition to those of the tool.").or("none"),
        key("output", Object(&OUTPUT), "What happens to its output.").chapter("Output Management"),
        key("timeout", Milliseconds(1), "The limit of one attempt.").chapter("Set Appropriate Timeouts"),
        key("working-directory", Template, "Where it runs.").or("the tool's"),
        key("input", Template, "Its standard input, unquoted."),
        key("artifacts", Templates, "Files that the run keeps of the step, as in `artifacts` of the tool; they can refer to results of steps. A step that succeeds without one of them fails the run."),
        key("cache", Object(&CACHE), "Uses the result of an earlier run of the step if nothing that decides the result has changed."),
        key("environment", Either(&ENVIRONMENT, &Map("VARIABLE", &Template)), "Added to the tool's environment: with the keys of `environment`, or variables directly.").restricts(),
    ],
};

static CACHE: Section = Section {
    noun: "`cache`",
    doc: "What decides the result of a step or of a tool of one command, in addition to its command, its values, its environment and the scripts that it starts.",
    strict: true,
    keys: &[
        key("inputs", Templates, "Required. The files that it reads: paths and patterns such as `src/**/*.rs`, below the working directory or `{TEMP}`. `[]` if it reads none. At most 10,000 files and 256 MiB."),
        key("outputs", Templates, "The files that it makes, which come back with its result. At most 64 MiB together, with its output.").or("none"),
        key("env", Texts, "Variables of the caller that decide its result, in addition to those that the tool sets or requires, `PATH`, `LANG`, `LC_*` and `TZ`.").or("none"),
    ],
};

static SCHEDULE: Section = Section {
    noun: "`schedule`",
    doc: "The times at which the team's hub starts a tool, after a member has permitted that with `cycod schedule add`.",
    strict: true,
    keys: &[
        key("cron", Text, "Required. Five fields for minute, hour, day of the month, month and day of the week, as in `0 3 * * 1-5`, or a word such as `@daily`."),
        key("zone", Text, "The time zone of these times, such as `Europe/Berlin`.").or("UTC"),
        key("missed", Choice(&["last", "all", "skip"]), "What happens about starts that no hub was there for: start once for the last one, for all of them, or for none.").or("last"),
        key("overlap", Choice(&["skip", "allow"]), "Whether a start is left out while the run before hasn't ended.").or("skip"),
    ],
};

static ERROR_HANDLING: Section = Section {
    noun: "`error-handling`",
    doc: "What to try if a step fails.",
    strict: false,
    keys: &[
        key("retry", Object(&RETRY), "Tries again after a non-zero exit, a timeout or a failure to start.").chapter("Error Handling"),
        key("fallback", Command, "Run in the step's shell if every attempt failed; its result replaces the step's.").chapter("Error Handling"),
    ],
};

static RETRY: Section = Section {
    noun: "`retry`",
    doc: "How often and how fast to retry a step.",
    strict: false,
    keys: &[
        key("attempts", Integer(0), "The number of retries after the first run.").or("0").chapter("Error Handling"),
        key("delay", Milliseconds(0), "The first pause.").or("1000").chapter("Error Handling"),
        key("backoff", Choice(&["exponential", "linear", "fixed"]), "How the pause grows; at most 30 s.").or("exponential").chapter("Error Handling Patterns"),
    ],
};

static OUTPUT: Section = Section {
    noun: "`output`",
    doc: "What happens to a step's output.",
    strict: false,
    keys: &[
        key("mode", Choice(&["buffer", "stream"]), "Store the output until the step ends, or also pass it on as it arrives.").or("buffer").chapter("Output Management"),
        key("buffer-limit", Size, "How much output to store.").or("10MB").chapter("Output Management"),
        key("truncation", Bool, "Beyond the limit: cut with a marker, or fail the step.").or("true").chapter("Output Management"),
        key("stream-callback", Choice(&["console", "file", "function"]), "Where a stream goes.").or("console").chapter("Output Management"),
        key("stream-file", Template, "The file for `stream-callback: file`.").chapter("Output Management"),
        key("masked-values", Templates, "Texts to replace with `****` in the output.").chapter("Avoid Exposing Sensitive Information").restricts(),
    ],
};

static PARAMETER: Section = Section {
    noun: "a parameter",
    doc: "One input of the tool. Rules for its value can be next to `type` or below `validation`.",
    strict: false,
    keys: &joined::<PARAMETER_COUNT>(PARAMETER_OWN, RULES, &[]),
};

const PARAMETER_COUNT: usize = PARAMETER_OWN.len() + RULES.len();

static PARAMETER_OWN: &[Key] = {
    &[
        key("type", Choice(TYPES), "The type that it accepts. Also understood: `numeric`, `double`, `character`, `logical`, `list`, `bool` and `int`.").or("string").chapter("Parameter Definition").restricts(),
        key("description", Text, "Its purpose.").chapter("Parameter Definition"),
        key("required", Bool, "Whether a call must pass it; a default satisfies this.").or("false").chapter("Parameter Definition").restricts(),
        key("default", Any, "Its value if a call passes none. Texts can refer to other parameters.").chapter("Default Values"),
        key("schema", Schema, "What it accepts, as a JSON Schema, instead of `type` and `validation`; models and hosts get it unchanged.").restricts(),
        key("validation", Object(&VALIDATION), "Rules for its value, checked before any transform.").chapter("Parameter Definition").restricts(),
        key("transform", Text, "A predefined transform, or a JavaScript expression over `value`.").chapter("Parameter Transforms"),
        key("format", Template, "How it appears in a command: text around `{value}`, or a number format such as `0000`.").chapter("Parameter Formatting"),
        key("examples", List(&Any), "Sample values for people and models.").chapter("Parameter Definition"),
        key("detailed-help", Text, "A longer description."),
        key("security", Object(&PARAMETER_SECURITY), "How cycod places it into commands.").chapter("Parameter Security").restricts(),
        key("words", Bool, "Whether its value is several words, with quotes, globs and a leading `~/` as in a shell. Raises the tool to level run.").or("false").chapter("Parameter Security").restricts(),
        key("options", Bool, "Whether its value can begin with `-`, and so be an option. Raises the tool to level run.").or("false").chapter("Parameter Security").restricts(),
        key("placing", Choice(PLACINGS), "`data`: the author vouches that it is data everywhere, even if that can't be proven. `program`: it deliberately names the program or file that runs. A language: it is code in that language. All but `data` raise the tool to level run.").chapter("Parameter Security").restricts(),
        key("delimiter", Text, "The separator between the elements of a list in a quoted place.").or("a space"),
        key("path", Bool, "Whether it is a path, subject to `file-paths.normalize`.").or("false").restricts(),
        key("sensitive", Bool, "Whether its value is masked everywhere.").or("false").restricts(),
        key("deprecated", Bool, "Whether it should no longer be used.").or("false").chapter("Backward Compatibility"),
        key("deprecated-message", Text, "What to do instead.").chapter("Backward Compatibility"),
        key("deprecated-alternative", Text, "The parameter to use instead.").chapter("Backward Compatibility"),
    ]
};

static PARAMETER_SECURITY: Section = Section {
    noun: "a parameter's `security`",
    doc: "How cycod places a value into commands.",
    strict: true,
    keys: &[
        key("escape-shell", Bool, "`true`: exactly one word everywhere, even if it is empty. `false`: program text, unchanged, which raises the tool to level run. Absent: one word; an empty value outside quotes is no word.").chapter("Parameter Security").restricts(),
    ],
};

/// The rules for a value, named as in JSON Schema.
pub(crate) static RULES: &[Key] = &[
    key("minLength", Integer(0), "The minimum number of characters.").chapter("Parameter Definition").restricts(),
    key("maxLength", Integer(0), "The maximum number of characters.").chapter("Parameter Definition").restricts(),
    key("pattern", Pattern, "A regular expression that must match somewhere; linear time, without lookaround and backreferences.").chapter("Parameter Definition").restricts(),
    key("minimum", Number, "The smallest value.").restricts(),
    key("maximum", Number, "The largest value.").restricts(),
    key("exclusiveMinimum", Number, "The value must be larger.").restricts(),
    key("exclusiveMaximum", Number, "The value must be smaller.").restricts(),
    key("multipleOf", Number, "The value must be a multiple.").restricts(),
    key("enum", List(&Any), "The allowed values, exactly.").restricts(),
    key("minItems", Integer(0), "The minimum number of elements.").restricts(),
    key("maxItems", Integer(0), "The maximum number of elements.").restricts(),
    key("uniqueItems", Bool, "Whether elements must be unique.").or("false").restricts(),
    key("items", Object(&SHAPE), "The type and rules of each element.").restricts(),
    key("properties", Map("PROPERTY", &Object(&SHAPE)), "The types and rules of the properties of an object.").restricts(),
];

const REQUIRED_PROPERTIES: Key = key("required", Texts, "Properties that an object must have.").restricts();

static VALIDATION: Section = Section {
    noun: "`validation`",
    doc: "Rules for a value, named as in JSON Schema. An unknown key here is an error.",
    strict: true,
    keys: &joined::<15>(&[], RULES, &[REQUIRED_PROPERTIES]),
};

static SHAPE: Section = Section {
    noun: "a value's shape",
    doc: "The type and the rules of a list's elements or of a property; the rules can be next to `type` or below `validation`.",
    strict: true,
    keys: &joined::<18>(
        &[
            key("type", Choice(TYPES), "What it accepts.").or("any").restricts(),
            key("description", Text, "Its purpose."),
            key("validation", Object(&VALIDATION), "Rules.").restricts(),
        ],
        RULES,
        &[REQUIRED_PROPERTIES],
    ),
};

/// `environment`, of a tool and of a step.
pub(crate) static ENVIRONMENT: Section = Section {
    noun: "`environment`",
    doc: "The environment of a tool's processes.",
    strict: true,
    keys: &[
        key("variables", Map("VARIABLE", &Template), "Variables to set. `${NAME}` is the caller's variable.").chapter("Environment Variables"),
        key("inherit", Bool, "`false` keeps only PATH, HOME, USER, LANG, LC_*, TERM and TMPDIR of the caller's environment.").or("true").chapter("Environment Variables").restricts(),
        key("secrets", TextsOr(&SECRET), "Names of variables or parameters whose values are masked. If neither a parameter nor a variable has the name, the value comes from `cycod secret set`, or from the caller's environment.").chapter("Secrets and Sensitive Values").restricts(),
    ],
};

/// An entry of `environment.secrets` that says more than its name.
pub(crate) static SECRET: Section = Section {
    noun: "a secret",
    doc: "A value that is masked, and stored outside the file.",
    strict: true,
    keys: &[
        key("name", Text, "The variable for the value.").chapter("Secrets and Sensitive Values"),
        key("secret", Text, "The name under which it is stored.").or("its `name`").chapter("Secrets and Sensitive Values"),
        key("for", Texts, "The hosts that get the value. The tool itself sees a different text, which is replaced with the value on the way to these hosts; `required-permissions` must name them.").chapter("Secrets and Sensitive Values").restricts(),
    ],
};

static SECURITY: Section = Section {
    noun: "`security`",
    doc: "A tool's rights and what it may reach. A machine that can't provide this refuses to run the tool.",
    strict: true,
    keys: &[
        key("execution-privilege", Choice(&["same-as-user", "reduced", "elevated"]), "The rights it runs with; `elevated` needs approval each time.").or("same-as-user").chapter("Privilege Control and Security Boundaries").restricts(),
        key("isolation", Choice(&["none", "process", "container"]), "How far it is isolated from cycod.").or("process").chapter("Privilege Control and Security Boundaries").restricts(),
        key("required-permissions", Texts, "`filesystem:read|write|execute:<path>` or `network:external|loopback:<host[:port]|*>`. A tool that declares any is confined to them.").chapter("Privilege Control and Security Boundaries").restricts(),
        key("approval", Choice(&["always", "unless-named"]), "`always`: needs approval each time a model wants to run it, whatever rules allow it. `unless-named`: the same, unless one of the user's own rules allows it by its name.").restricts(),
        key("justification", Text, "The reason, for the user who approves it.").chapter("Privilege Control and Security Boundaries"),
        key("container", Object(&CONTAINER), "The container for `isolation: container`.").restricts(),
    ],
};

static CONTAINER: Section = Section {
    noun: "`container`",
    doc: "The container to use.",
    strict: true,
    keys: &[
        key("image", Text, "The image.").restricts(),
        key("network", Text, "The network.").restricts(),
        key("mounts", Texts, "Directories to mount.").restricts(),
    ],
};

static FILE_PATHS: Section = Section {
    noun: "`file-paths`",
    doc: "A tool's directories and path format.",
    strict: false,
    keys: &[
        key("normalize", Bool, "Whether directories and parameters with `path` get the platform's separator.").or("false").chapter("Cross-Platform Path Handling"),
        key("working-directory", Template, "Where commands run.").or("the caller's directory").chapter("Cross-Platform Path Handling"),
        key("temp-directory", Template, "The directory for temporary files; each run gets its own below it.").chapter("Cross-Platform Path Handling"),
        key("cross-platform", Object(&CROSS_PLATFORM), "Separators.").chapter("Cross-Platform Path Handling"),
    ],
};

static CROSS_PLATFORM: Section = Section {
    noun: "`cross-platform`",
    doc: "Path separators.",
    strict: false,
    keys: &[
        key("windows-separator", Text, "One character.").or("`\\`").chapter("Cross-Platform Path Handling"),
        key("unix-separator", Text, "One character.").or("`/`").chapter("Cross-Platform Path Handling"),
        key("auto-convert", Bool, "Another way to write `normalize`.").or("the value of `normalize`").chapter("Cross-Platform Path Handling"),
    ],
};

static METADATA: Section = Section {
    noun: "`metadata`",
    doc: "Data for lists and searches.",
    strict: false,
    keys: &[
        key("category", Text, "A word to filter by.").chapter("Tags and Platform Support"),
        key("subcategory", Text, "A second word.").chapter("Tags and Platform Support"),
        key("tags", Texts, "More tags to search for.").chapter("Tags and Platform Support"),
        key("search-keywords", Texts, "Words that the search finds it by.").chapter("Tags and Platform Support"),
    ],
};

static FUNCTION_CALLING: Section = Section {
    noun: "`function-calling`",
    doc: "Options for a tool's schema for models.",
    strict: false,
    keys: &[key("schema-generation", Object(&SCHEMA_GENERATION), "What goes into the schema.").chapter("Function Schema Generation")],
};

static SCHEMA_GENERATION: Section = Section {
    noun: "`schema-generation`",
    doc: "What goes into the schema.",
    strict: false,
    keys: &[
        key("parameter-mapping", Map("TYPE", &Text), "The JSON Schema type to write for a type of a tool file.").chapter("Function Schema Generation"),
        key("include-descriptions", Bool, "Whether to include descriptions of parameters.").or("true").chapter("Function Schema Generation"),
        key("include-defaults", Bool, "Whether to include defaults.").or("true").chapter("Function Schema Generation"),
        key("example-generation", Bool, "Whether to include examples.").or("false").chapter("Function Schema Generation"),
        key("sanitize-schemas", Bool, "Whether to leave out keywords that a dialect doesn't know.").or("true"),
    ],
};

static INTERACTIVE: Section = Section {
    noun: "`interactive-options`",
    doc: "Options for an interactive tool.",
    strict: false,
    keys: &[
        key("timeout", Milliseconds(1), "How long the user at the terminal has for an answer, from the last input or output. Then the tool gets the default and the input ends; the tool continues."),
        key("default-response", Template, "The answer, given once, if cycod can't ask anyone or gets no answer in time."),
    ],
};

static RESOURCES: Section = Section {
    noun: "`resources`",
    doc: "Limits, and cleanup at the end of the run.",
    strict: false,
    keys: &[
        key("timeout", Milliseconds(1), "Like the tool's `timeout`; the smaller one applies."),
        key("max-memory", Size, "The memory limit of the whole process tree.").chapter("Optimize Resource Usage").restricts(),
        key("cleanup", List(&Object(&CLEANUP)), "What to do when the run ends, however it ends.").chapter("Clean Up Resources"),
    ],
};

static CLEANUP: Section = Section {
    noun: "a cleanup action",
    doc: "One action at the end of a run.",
    strict: false,
    keys: &[
        key("delete-temp-files", Bool, "Removes the run's own temporary directory, nothing else.").chapter("Clean Up Resources"),
        key("final-command", Command, "Run by the platform's default shell; skipped if a placeholder has no value.").chapter("Clean Up Resources"),
    ],
};

static REQUIRES: Section = Section {
    noun: "`requires`",
    doc: "What a tool requires.",
    strict: true,
    keys: &[
        key("commands", Texts, "Programs on the `PATH`.").restricts(),
        key("env", Texts, "Environment variables.").restricts(),
        key("platforms", Choices(PLATFORMS), "Platforms.").restricts(),
    ],
};

static TEST: Section = Section {
    noun: "a test",
    doc: "One call and its expected outcome.",
    strict: false,
    keys: &[
        key("name", Text, "Required and unique.").chapter("Tool Testing"),
        key("description", Text, "What it tests.").chapter("Tool Testing"),
        key("parameters", Map("PARAMETER", &Any), "The arguments.").chapter("Tool Testing"),
        key("platforms", Choices(PLATFORMS), "Where it runs.").or("everywhere").chapter("Test on All Supported Platforms"),
        key("expected", Object(&EXPECTED), "The expected outcome.").or("exit code 0").chapter("Tool Testing"),
        key("cleanup", Templates, "Commands that the platform's default shell runs afterward, whatever the outcome.").chapter("Tool Testing"),
    ],
};

static EXPECTED: Section = Section {
    noun: "`expected`",
    doc: "The expected outcome of a test.",
    strict: false,
    keys: &[
        key("exit-code", Integer(i64::MIN), "The exit code.").or("0").chapter("Tool Testing"),
        key("output-contains", Templates, "Text that the output, with standard error, must contain; each of several.").chapter("Tool Testing"),
        key("output-contains-any", Templates, "Texts, one of which the output or the rendered commands must contain.").chapter("Cross-Platform Tool Example"),
        key("file-exists", Templates, "Files that must exist.").chapter("Tool Testing"),
        key("directory-exists", Templates, "Directories that must exist.").chapter("Tool Testing"),
    ],
};

static CHANGE: Section = Section {
    noun: "a change",
    doc: "An entry of the changelog.",
    strict: false,
    keys: &[
        key("version", Text, "The version.").chapter("Version Properties"),
        key("changes", Text, "What changed.").chapter("Version Properties"),
    ],
};

static HANDLER: Section = Section {
    noun: "`handler`",
    doc: "A function in a language. Its arguments and result are data, separate from everything that it prints.",
    strict: false,
    keys: &[
        key("language", Choice(&["r", "python", "javascript", "typescript", "ruby", "perl"]), "The language of the code. Required."),
        key("code", Command, "The code: in R the function that it yields, in Python `handler` or the only function, in JavaScript and TypeScript the exported `execute` or the default export, in Ruby and Perl a program that finds its arguments in the environment. Required."),
        key("runtime", Either(&INTERPRETERS, &Choice(&["engine", "node"])), "What runs JavaScript and TypeScript: cycod's own engine, which reaches nothing without permission, or Node. As a mapping: the interpreter for each language, if it isn't the one that cycod [finds](handlers.md#interpreters).").or("`engine` for TypeScript, `node` for JavaScript"),
        key("allowlist", Texts, "The commands that it can start through `platform.executor`, with the variables that it can set: `CI=* npm test *`.").or("any").restricts(),
    ],
};

/// The interpreters of a handler.
pub(crate) static INTERPRETERS: Section = Section {
    noun: "`runtime`",
    doc: "The interpreters that run a handler. A value is the path of an interpreter, or of an environment (`.venv`, or a prefix of conda). A relative path starts at the project; a tool outside a project needs an absolute path, or one that starts with `~/`.",
    strict: true,
    keys: &[
        key("python", Text, "For Python; `uv`: an environment that uv makes, with the packages that the code declares (PEP 723).").or("found"),
        key("r", Text, "For R: the path of `Rscript`, or of an environment of conda.").or("found"),
        key("node", Text, "For JavaScript and TypeScript, which Node then runs.").or("found"),
    ],
};

/// The front matter of a Markdown tool.
pub(crate) static MARKDOWN: Section = Section {
    noun: "the front matter",
    doc: "The YAML between the two lines `---` at the start of a Markdown tool. The handler is a code block further down: the one below the heading `Handler Function`, else the first.",
    strict: false,
    keys: &chosen::<MARKDOWN_COUNT>(
        &[
            key("parameters", Named(&MARKDOWN_PARAMETER), "The tool's parameters, in the order that people and models see: a list of mappings with a `name`, or a mapping of names."),
            key("hints", Object(&MARKDOWN_HINTS), "Its effects, for hosts. With `risky: false`, `read_only: true` makes it a tool of level read."),
            key("risky", Bool, "`true` raises the level to `run`. `false`, together with `read_only: true`, declares that it only reads.").restricts(),
            key("runtime", Either(&INTERPRETERS, &Choice(&["engine", "node"])), "What runs JavaScript and TypeScript: cycod's own engine, which reaches nothing without permission, or Node. As a mapping: the interpreter for each language, if it isn't the one that cycod [finds](handlers.md#interpreters).").or("`engine` for TypeScript, `node` for JavaScript"),
            key("can_register", Either(&REQUIRES, &Text), "When the tool is available, in the form of `requires`; `false` turns it off. cycod doesn't run code to find out.").restricts(),
        ],
        &[
            "name", "description", "title", "group", "version", "min-cycod-version", "shell-options", "input-schema",
            "returns", "produces", "rank", "page", "offer", "asks", "reports", "task", "tags", "platforms", "timeout",
            "working-directory", "ignore-errors", "environment", "security", "file-paths", "resources", "requires",
            "metadata", "function-calling", "tests", "changelog", "deprecated", "deprecated-message",
            "deprecated-alternative", "enabled", "token-cost", "riskLevel",
        ],
    ),
};

const MARKDOWN_COUNT: usize = 41;

static MARKDOWN_PARAMETER: Section = Section {
    noun: "a parameter of a Markdown tool",
    doc: "One input of the tool. Without `type`, it takes any value; `working_dir` is the directory in which the tool works, unless a call specifies another.",
    strict: false,
    keys: &with_first::<{ PARAMETER_COUNT + 1 }>(key("name", Text, "The parameter's name, in a list of parameters."), PARAMETER.keys),
};

static MARKDOWN_HINTS: Section = Section {
    noun: "`hints` of a Markdown tool",
    doc: "A tool's effects, for hosts.",
    strict: false,
    keys: &[
        key("read_only", Bool, "It changes nothing."),
        key("read-only", Bool, "Another name for `read_only`.").synonym_of("read_only"),
        key("destructive", Bool, "It may destroy something."),
        key("idempotent", Bool, "Doing it twice is the same as doing it once."),
        key("open_world", Bool, "It reaches things outside this machine."),
        key("open-world", Bool, "Another name for `open_world`.").synonym_of("open_world"),
    ],
};

/// A Mimir tool.
pub(crate) static MIMIR: Section = Section {
    noun: "a Mimir tool",
    doc: "The top level of a file with `schema` and `code`. The code exports `execute(args, context)`.",
    strict: false,
    keys: &chosen::<MIMIR_COUNT>(
        &[
            key("schema", Schema, "The tool's parameters as a JSON Schema of type `object`. Required."),
            key("code", Text, "The code, in TypeScript. Required."),
            key("runtime", Choice(&["typescript", "node"]), "What runs the code: cycod's own engine, which reaches nothing without permission, or Node.").or("typescript"),
            key("tokenCost", Integer(0), "The author's figure for the tokens that its description and schema cost a model; shown next to the counted cost."),
            key("permissions", Object(&MIMIR_PERMISSIONS), "What it may do, and when it needs approval.").restricts(),
        ],
        &[
            "name", "description", "title", "group", "version", "min-cycod-version", "returns", "produces", "rank", "page",
            "offer", "hints", "asks", "task", "tags", "platforms", "timeout", "working-directory", "environment", "security",
            "file-paths", "resources", "requires", "metadata", "function-calling", "tests", "changelog",
            "deprecated", "deprecated-message", "deprecated-alternative", "enabled", "risky",
        ],
    ),
};

const MIMIR_COUNT: usize = 37;

static MIMIR_PERMISSIONS: Section = Section {
    noun: "`permissions`",
    doc: "What a Mimir tool may do, and when it needs approval.",
    strict: true,
    keys: &[
        key("allowlist", Texts, "The commands that it can start through `platform.executor`, with the variables that it can set: `CI=* npm test *`.").or("any").restricts(),
        key("autoAccept", Bool, "`false`: needs approval each time a model wants to run it, unless one of the user's own rules allows it by its name. `true` has no effect: a file can't grant itself anything.").restricts(),
        key("riskLevel", Choice(&["low", "medium", "high", "critical"]), "Raises the level: low is read, medium write, high and critical run. Never lowers it.").restricts(),
    ],
};

/// Keys one after another.
const fn joined<const COUNT: usize>(first: &[Key], rules: &[Key], last: &[Key]) -> [Key; COUNT] {
    assert!(first.len() + rules.len() + last.len() == COUNT);
    let mut keys = [RULES[0]; COUNT];
    let mut at = 0;
    while at < COUNT {
        keys[at] = if at < first.len() {
            first[at]
        } else if at < first.len() + rules.len() {
            rules[at - first.len()]
        } else {
            last[at - first.len() - rules.len()]
        };
        at += 1;
    }
    keys
}

/// Keys of its own, and those of a tool that mean the same here.
const fn chosen<const COUNT: usize>(own: &[Key], shared: &[&str]) -> [Key; COUNT] {
    assert!(own.len() + shared.len() == COUNT);
    let mut keys = [own[0]; COUNT];
    let mut at = 0;
    while at < own.len() {
        keys[at] = own[at];
        at += 1;
    }
    while at < COUNT {
        keys[at] = of_tool(shared[at - own.len()]);
        at += 1;
    }
    keys
}

const fn of_tool(name: &str) -> Key {
    let mut at = 0;
    while !is_same(TOOL.keys[at].name, name) {
        at += 1;
    }
    TOOL.keys[at]
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// A key before others, of which `type` has another default here.
const fn with_first<const COUNT: usize>(first: Key, rest: &[Key]) -> [Key; COUNT] {
    assert!(rest.len() + 1 == COUNT);
    let mut keys = [first; COUNT];
    let mut at = 1;
    while at < COUNT {
        let key = rest[at - 1];
        keys[at] = if is_same(key.name, "type") { key.or("any") } else { key };
        at += 1;
    }
    keys
}

/// `commands`, of a tool and of a step.
pub(crate) fn commands() -> &'static Section {
    &COMMANDS
}

/// A question.
pub(crate) fn ask() -> &'static Section {
    &ASK
}

/// A handler.
pub(crate) fn handler() -> &'static Section {
    &HANDLER
}

/// A parameter.
pub(crate) fn parameter() -> &'static Section {
    &PARAMETER
}

/// Rules for a value.
pub(crate) fn validation() -> &'static Section {
    &VALIDATION
}

/// A step.
pub(crate) fn step() -> &'static Section {
    &STEP
}
