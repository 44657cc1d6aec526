//! The table itself, one section after another.

use super::{
    Key, Section,
    Takes::{
        self, Any, Bool, Choice, Choices, Command, Condition, Either, Integer, List, Map, Milliseconds, Named,
        Number, Object, Pattern, Schema, Size, Template, Templates, Text, Texts, TextsOr,
    },
};

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

/// A whole file.
pub(crate) static TOOL: Section = Section {
    noun: "a tool",
    doc: "The top level of the file. Exactly one key must say what is executed.",
    strict: false,
    keys: &[
        key("name", Text, "What the tool is called: letters, digits, `_`, `.` and `-`, at most 64.").or("the file's name without its ending"),
        key("description", Text, "What the tool is for; people and models choose by it. Required, except for an alias, which takes its base's."),
        key("title", Text, "What people see instead of the name."),
        key("group", Text, "The group it is listed and offered under."),
        key("version", Text, "The tool's own version, `MAJOR.MINOR.PATCH`.").chapter("Version Properties"),
        key("min-cycod-version", Text, "The oldest version of cycod that can run it. An older one lists it as unavailable and refuses to run it.").chapter("Version Properties").restricts(),
        exec("bash", Command, "Run by `bash --noprofile --norc`."),
        exec("cmd", Command, "Run by the Windows command interpreter."),
        exec("pwsh", Command, "Run by PowerShell."),
        exec("run", Command, "Run without a shell: the text is split into words first, values are put inside words."),
        exec("script", Command, "Run by the interpreter that `shell` names."),
        exec("python", Command, "A `script` with `shell: python`.").chapter("Parameter Formatting"),
        exec("commands", Object(&COMMANDS), "Run by the platform's own shell, a different text for each platform where needed."),
        exec("steps", List(&Object(&STEP)), "Several steps with dependencies."),
        exec("handler", Object(&HANDLER), "A function in a language, called with the arguments as data."),
        exec("use-tool", Text, "Calls another tool, with the arguments of `with`.").chapter("Tool Composition"),
        exec("tool", Text, "Another name for `use-tool`.").synonym_of("use-tool").chapter("Tool Composition"),
        key("with", Map("PARAMETER", &Any), "Arguments for `use-tool`.").chapter("Tool Composition"),
        key("shell", Text, "Who reads `script`: a shell, an interpreter, or a command line in which `{0}` is the script's path and `{1}` the arguments. The default for steps as well.").or("the platform's default shell, with a warning"),
        key("shell-options", Choices(SHELL_OPTIONS), "Options set before the command in bash, sh and zsh."),
        key("parameters", Map("NAME", &Object(&PARAMETER)), "What the tool takes, in the order shown to people and models."),
        key("input-schema", Schema, "What the tool takes, as a JSON Schema of type `object`, in place of `parameters`. Its properties are the parameters; models and hosts get it word for word.").restricts(),
        key("returns", Schema, "The JSON Schema of what it prints: one JSON value, which is held to it. Implies `produces: application/json`.").restricts(),
        key("produces", Text, "What it prints: `text/plain`, `application/json` (one value), `content-blocks` (a JSON array of texts, images, audio, resources and links), or the media type of the one file whose bytes it prints.").or("text/plain"),
        key("offer", Either(&OFFER, &Choice(&["tool", "prompt"])), "How hosts are shown it: a tool for models, a prompt that people choose, or a resource.").or("tool"),
        key("hints", Object(&HINTS), "What hosts are told about its effects, beside what the tags say."),
        key("asks", Map("QUESTION", &Object(&ASK)), "What is asked of others before it runs. The answers are parameters that no caller gives.").restricts(),
        key("reports", Bool, "Whether its processes find in `CYCOD_REPORT` a file to write progress and log messages to, one JSON object a line.").or("false"),
        key("durable", Bool, "Whether a run that a crash interrupted can go on where it was: `cycod runs resume`.").or("false"),
        key("on-lost", Choice(ON_LOST), "The default of `on-lost` for every step.").or("`retry` for level read, else `ask`"),
        key("task", Choice(&["never", "offered", "required"]), "Whether hosts that know tasks may, or must, run it as one.").or("never"),
        key("programs", Map("PROGRAM", &Choice(NATURES)), "What programs do with their arguments that cycod does not know: `text` (text and files), `plain` (plain words, such as names of tasks), `command` (a command that they run), `code`. A programs file says it for many tools; what stands here wins.").chapter("Parameter Security"),
        key("type", Choice(&["alias"]), "`alias` makes the tool another name of `base-tool`.").chapter("Tool Aliasing"),
        key("base-tool", Text, "The tool behind an alias.").chapter("Tool Aliasing"),
        key("default-parameters", Map("PARAMETER", &Any), "Defaults that replace the base's; they stay overridable.").chapter("Tool Aliasing"),
        key("tags", Texts, "Categories. `read`, `write` and `run` say how dangerous the tool is; without one of them it counts as `run`.").chapter("Security Tags").restricts(),
        key("platforms", Choices(PLATFORMS), "Where the tool works; `unix` means linux and macos.").or("everywhere").chapter("Tags and Platform Support").restricts(),
        key("timeout", Milliseconds(1), "The limit of the whole call, with retries and pauses; 30 seconds for what the script engine runs.").or("60000"),
        key("working-directory", Template, "Where commands run. Wins over `file-paths.working-directory`.").or("the caller's directory"),
        key("ignore-errors", Bool, "The default of `continue-on-error` for every step; for a single command, whether failing counts as success.").or("false").chapter("Error Handling"),
        key("input", Template, "What the first step reads from standard input, unquoted. Without it standard input is closed."),
        key("interactive", Bool, "Whether the tool talks with a person.").or("false"),
        key("interactive-options", Object(&INTERACTIVE), "How it talks."),
        key("environment", Object(&ENVIRONMENT), "The environment of its processes.").chapter("Environment Variables").restricts(),
        key("security", Object(&SECURITY), "With whose rights it runs and what it may reach. An unknown key here is an error.").chapter("Privilege Control and Security Boundaries").restricts(),
        key("file-paths", Object(&FILE_PATHS), "Where it works and how paths are written.").chapter("Cross-Platform Path Handling"),
        key("resources", Object(&RESOURCES), "Limits, and what is done when the run ends.").chapter("Clean Up Resources").restricts(),
        key("requires", Object(&REQUIRES), "What must be there; otherwise the tool is listed as unavailable, and refused when it is called.").restricts(),
        key("metadata", Object(&METADATA), "Where it is found in lists. Has no security meaning.").chapter("Tags and Platform Support"),
        key("function-calling", Object(&FUNCTION_CALLING), "How its schema for models is made.").chapter("LLM Function Calling Integration"),
        key("tests", List(&Object(&TEST)), "How it is tested by `cycod tool test`.").chapter("Tool Testing"),
        key("changelog", List(&Object(&CHANGE)), "Its history.").chapter("Version Properties"),
        key("deprecated", Bool, "Whether it should no longer be used.").or("false").chapter("Backward Compatibility"),
        key("deprecated-message", Text, "What to do instead.").chapter("Backward Compatibility"),
        key("deprecated-alternative", Text, "The tool to use instead.").chapter("Backward Compatibility"),
        key("enabled", Bool, "`false`: the tool is listed, and neither offered nor run.").or("true").restricts(),
        key("token-cost", Integer(0), "What its author says its description and schema cost a model, in tokens; shown beside what is counted."),
        key("risky", Bool, "`true` raises the level to `run`; `false` changes nothing.").restricts(),
        key("riskLevel", Choice(&["low", "medium", "high", "critical"]), "Raises the level: low is read, medium write, high and critical run. Never lowers it.").restricts(),
    ],
};

static OFFER: Section = Section {
    noun: "a resource",
    doc: "A tool whose output hosts read as the content of a resource.",
    strict: false,
    keys: &[key("resource", Text, "Its address. With `{parameter}` in it, a template of addresses.")],
};

static HINTS: Section = Section {
    noun: "`hints`",
    doc: "What hosts are told about a tool's effects. A hint never lowers the level.",
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
    doc: "One question, with exactly one of `person`, `model` and `roots`. It is asked when every answer that its words refer to is there.",
    strict: false,
    keys: &[
        key("person", Template, "What the person at the host is asked. Without `fields` for consent alone, and the parameter called like the question is `true`."),
        key("fields", Map("PARAMETER", &Object(&PARAMETER)), "The form the person fills in. Each field is a parameter of the tool."),
        key("model", Template, "What the host's model is asked. The answer is the parameter called like the question."),
        key("max-tokens", Integer(1), "How long the model's answer may be.").or("1000"),
        key("roots", Bool, "`true`: the host is asked which directories it works in. The answer, a list of addresses, is the parameter called like the question."),
        key("within", Choice(&["call", "task"]), "Where the tool runs as a task: whether it is asked before, or while the task waits.").or("call"),
    ],
};

static COMMANDS: Section = Section {
    noun: "`commands`",
    doc: "A command with variants. The exact platform is taken, then `unix`, then `default`.",
    strict: false,
    keys: &[
        key("default", Command, "Used where no variant fits."),
        key("platforms", Map("PLATFORM", &Command), "Variants: `windows`, `linux`, `macos`, `unix`, in any case; `osx`, `darwin` and `win32` are understood."),
        key("shell", Text, "Who reads the texts.").or("`sh` on Unix, `cmd` on Windows"),
        key("shell-options", Choices(SHELL_OPTIONS), "Options set before the command in bash, sh and zsh."),
    ],
};

static STEP: Section = Section {
    noun: "a step",
    doc: "One step. Without `parallel` and `wait-for` it starts when every step above it has ended.",
    strict: false,
    keys: &[
        key("name", Text, "Required and unique; `{name.output}` refers to its result. Letters, digits, `_` and `-`."),
        key("description", Text, "A remark for readers."),
        exec("bash", Command, "Run by `bash --noprofile --norc`."),
        exec("cmd", Command, "Run by the Windows command interpreter."),
        exec("pwsh", Command, "Run by PowerShell."),
        exec("run", Command, "Run without a shell."),
        exec("script", Command, "Run by the interpreter that `shell` names."),
        exec("python", Command, "A `script` with `shell: python`."),
        exec("commands", Object(&COMMANDS), "Run by the platform's own shell."),
        exec("use-tool", Text, "Calls another tool, with the arguments of `with`.").chapter("Tool Composition"),
        exec("tool", Text, "Another name for `use-tool`.").synonym_of("use-tool").chapter("Tool Composition"),
        key("with", Map("PARAMETER", &Any), "Arguments for `use-tool`; they may refer to other steps.").chapter("Tool Composition"),
        key("shell", Text, "Who reads `script`.").or("the tool's `shell`"),
        key("shell-options", Choices(SHELL_OPTIONS), "Options set before the command in bash, sh and zsh.").or("the tool's `shell-options`"),
        key("run-condition", Condition, "The step runs only when this holds; otherwise it is skipped, with exit code 0 and no output.").chapter("Multi-Step Tools").restricts(),
        key("parallel", Bool, "`true`: does not wait for the steps above it.").or("false").chapter("Parallel Execution"),
        key("wait-for", Texts, "The steps that must have ended before. Steps it refers to are added.").chapter("Parallel Execution"),
        key("continue-on-error", Bool, "Whether the workflow goes on when it fails.").or("the tool's `ignore-errors`").chapter("Error Handling"),
        key("error-handling", Object(&ERROR_HANDLING), "What is tried when it fails.").chapter("Error Handling"),
        key("on-lost", Choice(ON_LOST), "What follows in a durable run when a crash interrupted the step: `retry` starts it again, `fail` fails it, `ask` asks a person.").or("the tool's `on-lost`"),
        key("output", Object(&OUTPUT), "What happens to its output.").chapter("Output Management"),
        key("timeout", Milliseconds(1), "The limit of one attempt.").chapter("Set Appropriate Timeouts"),
        key("working-directory", Template, "Where it runs.").or("the tool's"),
        key("input", Template, "What it reads from standard input, unquoted."),
        key("environment", Either(&ENVIRONMENT, &Map("VARIABLE", &Template)), "Added to the tool's environment: with the keys of `environment`, or variables directly.").restricts(),
    ],
};

static ERROR_HANDLING: Section = Section {
    noun: "`error-handling`",
    doc: "What is tried when a step fails.",
    strict: false,
    keys: &[
        key("retry", Object(&RETRY), "Tries again after a non-zero exit, a timeout or a failure to start.").chapter("Error Handling"),
        key("fallback", Command, "Run in the step's shell when every try failed; its result replaces the step's.").chapter("Error Handling"),
    ],
};

static RETRY: Section = Section {
    noun: "`retry`",
    doc: "How often and how fast a step is tried again.",
    strict: false,
    keys: &[
        key("attempts", Integer(0), "How many times after the first run.").or("0").chapter("Error Handling"),
        key("delay", Milliseconds(0), "The first pause.").or("1000").chapter("Error Handling"),
        key("backoff", Choice(&["exponential", "linear", "fixed"]), "How the pause grows; at most 30 s.").or("exponential").chapter("Error Handling Patterns"),
    ],
};

static OUTPUT: Section = Section {
    noun: "`output`",
    doc: "What happens to a step's output.",
    strict: false,
    keys: &[
        key("mode", Choice(&["buffer", "stream"]), "Kept until the step ends, or passed on as it comes and kept as well.").or("buffer").chapter("Output Management"),
        key("buffer-limit", Size, "How much is kept.").or("10MB").chapter("Output Management"),
        key("truncation", Bool, "Beyond the limit: cut with a marker, or fail the step.").or("true").chapter("Output Management"),
        key("stream-callback", Choice(&["console", "file", "function"]), "Where a stream goes.").or("console").chapter("Output Management"),
        key("stream-file", Template, "The file for `stream-callback: file`.").chapter("Output Management"),
        key("masked-values", Templates, "Texts shown as `****` in the output.").chapter("Avoid Exposing Sensitive Information").restricts(),
    ],
};

static PARAMETER: Section = Section {
    noun: "a parameter",
    doc: "One input of the tool. Rules for its value may stand beside `type` or below `validation`.",
    strict: false,
    keys: &joined::<PARAMETER_COUNT>(PARAMETER_OWN, RULES, &[]),
};

const PARAMETER_COUNT: usize = PARAMETER_OWN.len() + RULES.len();

static PARAMETER_OWN: &[Key] = {
    &[
        key("type", Choice(TYPES), "What it accepts. `numeric`, `double`, `character`, `logical`, `list`, `bool` and `int` are understood as well.").or("string").chapter("Parameter Definition").restricts(),
        key("description", Text, "What it is for.").chapter("Parameter Definition"),
        key("required", Bool, "Whether a call must give it; a default satisfies.").or("false").chapter("Parameter Definition").restricts(),
        key("default", Any, "Its value when a call gives none. Texts may refer to other parameters.").chapter("Default Values"),
        key("schema", Schema, "What it accepts, as a JSON Schema, in place of `type` and `validation`; models and hosts get it word for word.").restricts(),
        key("validation", Object(&VALIDATION), "Rules for its value, checked before any transform.").chapter("Parameter Definition").restricts(),
        key("transform", Text, "A predefined transform, or a JavaScript expression over `value`.").chapter("Parameter Transforms"),
        key("format", Template, "How it appears in a command: text around `{value}`, or a number format such as `0000`.").chapter("Parameter Formatting"),
        key("examples", List(&Any), "Sample values for people and models.").chapter("Parameter Definition"),
        key("detailed-help", Text, "A longer description."),
        key("security", Object(&PARAMETER_SECURITY), "How it is placed into commands.").chapter("Parameter Security").restricts(),
        key("words", Bool, "Whether its value is several words, with quotes, globs and a leading `~/` as in a shell. Raises the tool to level run.").or("false").chapter("Parameter Security").restricts(),
        key("options", Bool, "Whether its value may begin with `-`, and so be an option. Raises the tool to level run.").or("false").chapter("Parameter Security").restricts(),
        key("placing", Choice(PLACINGS), "`data`: the author vouches that it is data wherever it stands, also where that cannot be proven. `program`: it names the program or the file that runs, on purpose. A language: it is code in it. All but `data` raise the tool to level run.").chapter("Parameter Security").restricts(),
        key("delimiter", Text, "Stands between the elements of a list in a quoted place.").or("a space"),
        key("path", Bool, "Whether it is a path, subject to `file-paths.normalize`.").or("false").restricts(),
        key("sensitive", Bool, "Whether its value is masked everywhere.").or("false").restricts(),
        key("deprecated", Bool, "Whether it should no longer be used.").or("false").chapter("Backward Compatibility"),
        key("deprecated-message", Text, "What to do instead.").chapter("Backward Compatibility"),
        key("deprecated-alternative", Text, "The parameter to use instead.").chapter("Backward Compatibility"),
    ]
};

static PARAMETER_SECURITY: Section = Section {
    noun: "a parameter's `security`",
    doc: "How a value is placed into commands.",
    strict: true,
    keys: &[
        key("escape-shell", Bool, "`true`: exactly one word everywhere, also when it is empty. `false`: program text as written, which raises the tool to level run. Absent: one word; an empty one outside of quotes is none.").chapter("Parameter Security").restricts(),
    ],
};

/// The rules for a value, named as in JSON Schema.
pub(crate) static RULES: &[Key] = &[
    key("minLength", Integer(0), "Fewest characters.").chapter("Parameter Definition").restricts(),
    key("maxLength", Integer(0), "Most characters.").chapter("Parameter Definition").restricts(),
    key("pattern", Pattern, "A regular expression that must match somewhere; linear time, without lookaround and backreferences.").chapter("Parameter Definition").restricts(),
    key("minimum", Number, "Smallest value.").restricts(),
    key("maximum", Number, "Largest value.").restricts(),
    key("exclusiveMinimum", Number, "The value must be larger.").restricts(),
    key("exclusiveMaximum", Number, "The value must be smaller.").restricts(),
    key("multipleOf", Number, "The value must be a multiple.").restricts(),
    key("enum", List(&Any), "The values allowed, exactly.").restricts(),
    key("minItems", Integer(0), "Fewest elements.").restricts(),
    key("maxItems", Integer(0), "Most elements.").restricts(),
    key("uniqueItems", Bool, "Whether no element may occur twice.").or("false").restricts(),
    key("items", Object(&SHAPE), "What each element must be.").restricts(),
    key("properties", Map("PROPERTY", &Object(&SHAPE)), "What the properties of an object must be.").restricts(),
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
    doc: "The type and the rules of a list's elements or of a property; the rules may stand beside `type` or below `validation`.",
    strict: true,
    keys: &joined::<18>(
        &[
            key("type", Choice(TYPES), "What it accepts.").or("any").restricts(),
            key("description", Text, "What it is for."),
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
        key("inherit", Bool, "`false` leaves PATH, HOME, USER, LANG, LC_*, TERM and TMPDIR of the caller's environment.").or("true").chapter("Environment Variables").restricts(),
        key("secrets", TextsOr(&SECRET), "Names of variables or parameters whose values are masked. What neither a parameter nor a variable gives is kept by `cycod secret set`, or a variable of the caller's environment.").chapter("Secrets and Sensitive Values").restricts(),
    ],
};

/// An entry of `environment.secrets` that says more than its name.
pub(crate) static SECRET: Section = Section {
    noun: "a secret",
    doc: "A value that is masked, and kept outside of the file.",
    strict: true,
    keys: &[
        key("name", Text, "The variable that holds it.").chapter("Secrets and Sensitive Values"),
        key("secret", Text, "The name under which it is kept.").or("its `name`").chapter("Secrets and Sensitive Values"),
        key("for", Texts, "The hosts that get the value. The tool itself sees another text, which is replaced by the value on the way to these hosts; `required-permissions` must name them.").chapter("Secrets and Sensitive Values").restricts(),
    ],
};

static SECURITY: Section = Section {
    noun: "`security`",
    doc: "With whose rights a tool runs and what it may reach. A machine that cannot give what is asked refuses to run it.",
    strict: true,
    keys: &[
        key("execution-privilege", Choice(&["same-as-user", "reduced", "elevated"]), "With whose rights; `elevated` is approved each time.").or("same-as-user").chapter("Privilege Control and Security Boundaries").restricts(),
        key("isolation", Choice(&["none", "process", "container"]), "How far from us.").or("process").chapter("Privilege Control and Security Boundaries").restricts(),
        key("required-permissions", Texts, "`filesystem:read|write|execute:<path>` or `network:external|loopback:<host[:port]|*>`. A tool that declares any is confined to them.").chapter("Privilege Control and Security Boundaries").restricts(),
        key("approval", Choice(&["always", "unless-named"]), "`always`: somebody is asked each time a model wants to run it, whatever rules allow it. `unless-named`: likewise, unless a rule of the user's own allows it by its name.").restricts(),
        key("justification", Text, "Why, for the person who is asked.").chapter("Privilege Control and Security Boundaries"),
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
    doc: "Where a tool works and how paths are written.",
    strict: false,
    keys: &[
        key("normalize", Bool, "Whether directories and parameters marked `path` get the platform's separator.").or("false").chapter("Cross-Platform Path Handling"),
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
    doc: "Where a tool is found in lists.",
    strict: false,
    keys: &[
        key("category", Text, "A word to filter by.").chapter("Tags and Platform Support"),
        key("subcategory", Text, "A second word.").chapter("Tags and Platform Support"),
        key("tags", Texts, "More tags to search for.").chapter("Tags and Platform Support"),
        key("search-keywords", Texts, "Words the search finds it by.").chapter("Tags and Platform Support"),
    ],
};

static FUNCTION_CALLING: Section = Section {
    noun: "`function-calling`",
    doc: "How a tool's schema for models is made.",
    strict: false,
    keys: &[key("schema-generation", Object(&SCHEMA_GENERATION), "What goes into the schema.").chapter("Function Schema Generation")],
};

static SCHEMA_GENERATION: Section = Section {
    noun: "`schema-generation`",
    doc: "What goes into the schema.",
    strict: false,
    keys: &[
        key("parameter-mapping", Map("TYPE", &Text), "The JSON Schema type to write for one of our types.").chapter("Function Schema Generation"),
        key("include-descriptions", Bool, "Whether descriptions of parameters are written.").or("true").chapter("Function Schema Generation"),
        key("include-defaults", Bool, "Whether defaults are written.").or("true").chapter("Function Schema Generation"),
        key("example-generation", Bool, "Whether examples are written.").or("false").chapter("Function Schema Generation"),
        key("sanitize-schemas", Bool, "Whether keywords that a dialect does not know are left out.").or("true"),
    ],
};

static INTERACTIVE: Section = Section {
    noun: "`interactive-options`",
    doc: "How a tool talks with a person.",
    strict: false,
    keys: &[
        key("timeout", Milliseconds(1), "How long a person at the terminal has for an answer, from the last word that they or the tool said. Then the default is given and the input ends; the tool goes on."),
        key("default-response", Template, "What is answered, once, where nobody can be asked or nobody answers in time."),
    ],
};

static RESOURCES: Section = Section {
    noun: "`resources`",
    doc: "Limits, and what is done when the run ends.",
    strict: false,
    keys: &[
        key("timeout", Milliseconds(1), "As the tool's `timeout`; the smaller holds."),
        key("max-memory", Size, "What the whole process tree may use.").chapter("Optimize Resource Usage").restricts(),
        key("cleanup", List(&Object(&CLEANUP)), "What is done when the run ends, however it ends.").chapter("Clean Up Resources"),
    ],
};

static CLEANUP: Section = Section {
    noun: "a cleanup action",
    doc: "One action at the end of a run.",
    strict: false,
    keys: &[
        key("delete-temp-files", Bool, "Removes the run's own temporary directory, nothing else.").chapter("Clean Up Resources"),
        key("final-command", Command, "Run by the platform's default shell; left out when a placeholder has no value.").chapter("Clean Up Resources"),
    ],
};

static REQUIRES: Section = Section {
    noun: "`requires`",
    doc: "What must be there for a tool to run.",
    strict: true,
    keys: &[
        key("commands", Texts, "Programs on the `PATH`.").restricts(),
        key("env", Texts, "Environment variables.").restricts(),
        key("platforms", Choices(PLATFORMS), "Platforms.").restricts(),
    ],
};

static TEST: Section = Section {
    noun: "a test",
    doc: "One call and what must come of it.",
    strict: false,
    keys: &[
        key("name", Text, "Required and unique.").chapter("Tool Testing"),
        key("description", Text, "What it shows.").chapter("Tool Testing"),
        key("parameters", Map("PARAMETER", &Any), "The arguments.").chapter("Tool Testing"),
        key("platforms", Choices(PLATFORMS), "Where it runs.").or("everywhere").chapter("Test on All Supported Platforms"),
        key("expected", Object(&EXPECTED), "What must come of it.").or("exit code 0").chapter("Tool Testing"),
        key("cleanup", Templates, "Commands run afterwards by the platform's default shell, whatever came of it.").chapter("Tool Testing"),
    ],
};

static EXPECTED: Section = Section {
    noun: "`expected`",
    doc: "What must come of a test.",
    strict: false,
    keys: &[
        key("exit-code", Integer(i64::MIN), "The exit code.").or("0").chapter("Tool Testing"),
        key("output-contains", Templates, "Text that the output, with standard error, must contain; each of several.").chapter("Tool Testing"),
        key("output-contains-any", Templates, "Texts of which the output or the rendered commands must contain one.").chapter("Cross-Platform Tool Example"),
        key("file-exists", Templates, "Files that must be there.").chapter("Tool Testing"),
        key("directory-exists", Templates, "Directories that must be there.").chapter("Tool Testing"),
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
    doc: "A function in a language. Its arguments and its result cross as data, beside everything that it prints.",
    strict: false,
    keys: &[
        key("language", Choice(&["r", "python", "javascript", "typescript", "ruby", "perl"]), "What the code is written in. Required."),
        key("code", Command, "The code: in R the function that it yields, in Python `handler` or the only function, in JavaScript and TypeScript the exported `execute` or the default export, in Ruby and Perl a program that finds its arguments in the environment. Required."),
        key("runtime", Choice(&["engine", "node"]), "Who runs JavaScript and TypeScript: the engine of this program, which reaches nothing by itself, or Node.").or("`engine` for TypeScript, `node` for JavaScript"),
        key("allowlist", Texts, "The commands that it may start through `platform.executor`, with the variables that it may set: `CI=* npm test *`.").or("any").restricts(),
    ],
};

/// The front matter of a Markdown tool.
pub(crate) static MARKDOWN: Section = Section {
    noun: "the front matter",
    doc: "What stands between the two lines `---` at the start of a Markdown tool. The handler is a block of code further down: the one below the heading `Handler Function`, else the first.",
    strict: false,
    keys: &chosen::<MARKDOWN_COUNT>(
        &[
            key("parameters", Named(&MARKDOWN_PARAMETER), "What the tool takes, in the order shown to people and models: a list of mappings with a `name`, or a mapping of names."),
            key("hints", Object(&MARKDOWN_HINTS), "What hosts are told about its effects. With `risky: false`, `read_only: true` makes it a tool of level read."),
            key("risky", Bool, "`true` raises the level to `run`. `false` says, together with `read_only: true`, that it only reads.").restricts(),
            key("runtime", Choice(&["engine", "node"]), "Who runs JavaScript and TypeScript: the engine of this program, which reaches nothing by itself, or Node.").or("`engine` for TypeScript, `node` for JavaScript"),
            key("can_register", Either(&REQUIRES, &Text), "When the tool can be used, written as `requires`; `false` switches it off. Code is not run to find out.").restricts(),
        ],
        &[
            "name", "description", "title", "group", "version", "min-cycod-version", "shell-options", "input-schema",
            "returns", "produces", "offer", "asks", "reports", "task", "tags", "platforms", "timeout",
            "working-directory", "ignore-errors", "environment", "security", "file-paths", "resources", "requires",
            "metadata", "function-calling", "tests", "changelog", "deprecated", "deprecated-message",
            "deprecated-alternative", "enabled", "token-cost", "riskLevel",
        ],
    ),
};

const MARKDOWN_COUNT: usize = 39;

static MARKDOWN_PARAMETER: Section = Section {
    noun: "a parameter of a Markdown tool",
    doc: "One input of the tool. Without `type` it takes any value; `working_dir` is the directory in which the tool works, unless a call says otherwise.",
    strict: false,
    keys: &with_first::<{ PARAMETER_COUNT + 1 }>(key("name", Text, "The parameter's name, in a list of parameters."), PARAMETER.keys),
};

static MARKDOWN_HINTS: Section = Section {
    noun: "`hints` of a Markdown tool",
    doc: "What hosts are told about a tool's effects.",
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
            key("schema", Schema, "What the tool takes, as a JSON Schema of type `object`. Required."),
            key("code", Text, "The code, in TypeScript. Required."),
            key("runtime", Choice(&["typescript", "node"]), "Who runs the code: the engine of this program, which reaches nothing by itself, or Node.").or("typescript"),
            key("tokenCost", Integer(0), "What its author says its description and schema cost a model, in tokens; shown beside what is counted."),
            key("permissions", Object(&MIMIR_PERMISSIONS), "What it may do, and when somebody is asked.").restricts(),
        ],
        &[
            "name", "description", "title", "group", "version", "min-cycod-version", "returns", "produces", "offer",
            "hints", "asks", "task", "tags", "platforms", "timeout", "working-directory", "environment", "security",
            "file-paths", "resources", "requires", "metadata", "function-calling", "tests", "changelog",
            "deprecated", "deprecated-message", "deprecated-alternative", "enabled", "risky",
        ],
    ),
};

const MIMIR_COUNT: usize = 35;

static MIMIR_PERMISSIONS: Section = Section {
    noun: "`permissions`",
    doc: "What a Mimir tool may do, and when somebody is asked.",
    strict: true,
    keys: &[
        key("allowlist", Texts, "The commands that it may start through `platform.executor`, with the variables that it may set: `CI=* npm test *`.").or("any").restricts(),
        key("autoAccept", Bool, "`false`: somebody is asked each time a model wants to run it, unless a rule of the user's own allows it by its name. `true` has no effect: a file cannot allow itself anything.").restricts(),
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
