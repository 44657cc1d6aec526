//! Reads the settings files, and reports what is wrong with them.

use std::time::Duration;

use cycod_catalog::Scope;
use cycod_diagnostic::{Code, Diagnostic, LineStarts, SourceFile, Span, closest};
use cycod_syntax::yaml::{self, MappingEntry, Node, Resolved};

use super::{KnownModel, ModelProvider, Options, Said, ToolPattern};

const TOP_KEYS: [&str; 9] =
    ["tools", "enforcement", "tokens", "models", "skills", "outputs", "profiles", "runtimes", "team"];
const RUNTIMES_KEYS: [&str; 3] = ["python", "r", "node"];
const OUTPUTS_KEYS: [&str; 2] = ["largest", "total"];
const TEAM_KEYS: [&str; 1] = ["autoSync"];
const SKILLS_KEYS: [&str; 1] = ["directories"];
const TOOLS_KEYS: [&str; 3] = ["showTokenCosts", "autoLoadCustomTools", "maxExecutionTime"];
const ENFORCEMENT_KEYS: [&str; 2] = ["disableLocalTools", "tools"];
const TOKENS_KEYS: [&str; 2] = ["pricePer1000", "model"];
const MODELS_KEYS: [&str; 7] = ["default", "providers", "known", "timeout", "idleTimeout", "attempts", "forTools"];
const PROVIDER_KEYS: [&str; 4] = ["format", "baseUrl", "key", "plain"];
const KNOWN_KEYS: [&str; 6] = ["window", "maxInput", "maxOutput", "inputPrice", "outputPrice", "cachedPrice"];
const FOR_TOOLS_KEYS: [&str; 2] = ["requests", "tokens"];

/// The least that may be kept of an output, in bytes.
const LEAST_BYTES: i64 = 65_536;

/// The formats that are known; the crate that speaks them has a test that holds them together.
const FORMATS: [&str; 5] = ["openai", "openai-responses", "anthropic", "gemini", "ollama"];

/// Reads a file, with everything that is wrong with it. Of a file that is not ours, only what we know is looked at.
pub(super) fn options(source: &SourceFile, scope: Scope, is_ours: bool) -> (Options, Vec<Diagnostic>) {
    let is_comment = |line: &str| line.trim_start().starts_with('#') || line.trim().is_empty();
    if source.text.lines().all(is_comment) {
        return (Options::default(), Vec::new());
    }
    let (root, diagnostics) = yaml::parse(source);
    let mut reader = Reader {
        name: &source.name,
        lines: LineStarts::of(&source.text),
        scope,
        is_ours,
        options: Options::default(),
        diagnostics,
    };
    if let Some(root) = root {
        reader.file(&root);
    }
    let Reader { mut options, mut diagnostics, .. } = reader;
    diagnostics.sort_by_key(|diagnostic| diagnostic.span().map(|span| (span.start, span.end)));
    options.patterns.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.weight()));
    (options, diagnostics)
}

pub(super) struct Reader<'a> {
    name: &'a str,
    lines: LineStarts<'a>,
    scope: Scope,
    is_ours: bool,
    pub(super) options: Options,
    diagnostics: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn file(&mut self, root: &Node) {
        for entry in self.entries(root, "a file of settings") {
            match entry.key.as_str() {
                "tools" => self.tools(&entry.value),
                "enforcement" => self.enforcement(&entry.value),
                "tokens" if self.is_ours => self.tokens(&entry.value),
                "models" if self.is_ours => self.models(&entry.value),
                "skills" if self.is_ours => self.skills(&entry.value),
                "outputs" if self.is_ours => self.outputs(&entry.value),
                "profiles" if self.is_ours => self.profiles(&entry.value),
                "runtimes" if self.is_ours => self.runtimes(&entry.value),
                "team" if self.is_ours => self.team(&entry.value),
                _ if self.is_ours => self.unknown(entry, &TOP_KEYS, "a file of settings", false),
                _ => {}
            }
        }
    }

    fn tools(&mut self, node: &Node) {
        for entry in self.entries(node, "`tools`") {
            // Settings are single values and tools are mappings, so that a tool may be called like a setting.
            match (entry.key.as_str(), entry.value.as_mapping()) {
                (_, Some(_)) => self.tool(entry),
                ("showTokenCosts", None) => self.options.shows_costs = self.boolean(entry),
                ("autoLoadCustomTools", None) => self.options.loads_custom = self.boolean(entry),
                ("maxExecutionTime", None) => self.options.longest = self.duration(entry),
                (_, None) if is_empty(&entry.value) => {}
                (key, None) => {
                    let near = near(key, &TOOLS_KEYS);
                    let help = near.map_or_else(
                        || format!("to turn a tool on or off, write `{key}: {{enabled: false}}`"),
                        |near| format!("did you mean `{near}`?"),
                    );
                    let message = format!("`{key}` is not a setting of tools");
                    self.push(Code::UnknownKey, entry.key_span, message, help, near.is_none());
                }
            }
        }
    }

    fn tool(&mut self, tool: &MappingEntry) {
        let Some(pattern) = ToolPattern::new(&tool.key) else {
            let help = "a name holds letters, digits, `_`, `.` and `-`; `*` means any of them";
            return self.push(
                Code::InvalidName,
                tool.key_span,
                format!("no tool can be called `{}`", tool.key),
                help,
                true,
            );
        };
        let mentioned = self.said(tool.key_span, pattern.clone());
        self.options.mentioned.push(mentioned);
        for entry in tool.value.as_mapping().unwrap_or_default() {
            if entry.key != "enabled" {
                // Nobody may believe that a tool is off because of a key that means nothing.
                self.unknown(entry, &["enabled"], "a tool's settings", self.is_ours);
                continue;
            }
            let Some(said) = self.boolean(entry) else { continue };
            if pattern.is_open() {
                self.options.patterns.push((pattern.clone(), said));
            } else {
                self.options.named.insert(pattern.as_str().to_ascii_lowercase(), said);
            }
        }
    }

    fn enforcement(&mut self, node: &Node) {
        for entry in self.entries(node, "`enforcement`") {
            match entry.key.as_str() {
                "disableLocalTools" => self.options.forbids_local = self.boolean(entry),
                "tools" => self.enforced(entry),
                _ => self.unknown(entry, &ENFORCEMENT_KEYS, "`enforcement`", self.is_ours),
            }
        }
    }

    fn enforced(&mut self, entry: &MappingEntry) {
        if !self.scope.binds() {
            let help = "write it into the file of the global scope, or leave it out";
            let message =
                "only the administrator of the machine and the team can define which tools no one can turn off";
            return self.push(Code::SettingNotHeard, entry.key_span, message.to_owned(), help, false);
        }
        let Some(items) = entry.value.as_sequence() else {
            let help = "write the names as a list: `[NAME, NAME]`";
            return self.push(Code::WrongType, entry.value.span, "`tools` is a list here".to_owned(), help, true);
        };
        for item in items {
            match item.as_scalar().filter(|scalar| ToolPattern::new(&scalar.text).is_some_and(|name| !name.is_open())) {
                Some(scalar) => {
                    let said = self.said(item.span, scalar.text.to_ascii_lowercase());
                    self.options.enforced.push(said);
                }
                None => {
                    let help = "write each name as it is: there are no patterns here";
                    self.push(Code::InvalidName, item.span, "this is not the name of a tool".to_owned(), help, true);
                }
            }
        }
    }

    fn tokens(&mut self, node: &Node) {
        for entry in self.entries(node, "`tokens`") {
            match entry.key.as_str() {
                "pricePer1000" => self.options.price = self.dollars(entry, "1000 tokens"),
                "model" => self.options.model = self.text(entry, "name the model whose price it is"),
                _ => self.unknown(entry, &TOKENS_KEYS, "`tokens`", false),
            }
        }
    }

    fn skills(&mut self, node: &Node) {
        for entry in self.entries(node, "`skills`") {
            if entry.key != "directories" {
                self.unknown(entry, &SKILLS_KEYS, "`skills`", true);
                continue;
            }
            let Some(items) = entry.value.as_sequence() else {
                let help = "write the directories as a list: `[~/skills]`";
                self.push(Code::WrongType, entry.value.span, "`directories` is a list".to_owned(), help, true);
                continue;
            };
            for item in items {
                let Some(path) =
                    item.as_scalar().map(|scalar| scalar.text.clone()).filter(|path| !path.trim().is_empty())
                else {
                    self.push(Code::WrongType, item.span, "this is no path".to_owned(), "write a directory", true);
                    continue;
                };
                let leads_out = path.starts_with(['/', '~', '\\'])
                    || path.split(['/', '\\']).any(|part| part == "..")
                    || path.contains(':');
                if self.scope == Scope::Local && leads_out {
                    let help = "write it into ~/.cycod/config.yaml: a project names directories of its own";
                    let message = format!("`{path}` has no effect in a project");
                    self.push(Code::SettingNotHeard, item.span, message, help, false);
                    continue;
                }
                let said = self.said(item.span, path);
                self.options.skill_directories.push(said);
            }
        }
    }

    fn runtimes(&mut self, node: &Node) {
        for entry in self.entries(node, "`runtimes`") {
            let Some(key) = RUNTIMES_KEYS.into_iter().find(|key| *key == entry.key) else {
                self.unknown(entry, &RUNTIMES_KEYS, "`runtimes`", true);
                continue;
            };
            let Some(said) = self.text(entry, "write the path of an interpreter, or of an environment") else {
                continue;
            };
            let path = &said.value;
            let leads_out = path.starts_with(['/', '~', '\\']) || path.split('/').any(|part| part == "..");
            let is_bare = !path.contains('/') && !path.starts_with('.') && path != "uv";
            if self.scope == Scope::Local && (leads_out || is_bare) {
                let help =
                    "write it into ~/.cycod/config.yaml: a project names interpreters of its own, such as `./venv`";
                let message = format!("`{path}` has no effect in a project");
                self.push(Code::SettingNotHeard, entry.value.span, message, help, false);
                continue;
            }
            self.options.runtimes.push((key, said));
        }
    }

    fn outputs(&mut self, node: &Node) {
        for entry in self.entries(node, "`outputs`") {
            match entry.key.as_str() {
                key if OUTPUTS_KEYS.contains(&key) && self.scope == Scope::Local => {
                    let message = format!("`{key}` has no effect in a project");
                    let help = "write it into ~/.cycod/config.yaml: the outputs of all projects are kept in one place";
                    self.push(Code::SettingNotHeard, entry.key_span, message, help, false);
                }
                "largest" => self.options.largest_output = self.bytes(entry),
                "total" => self.options.all_outputs = self.bytes(entry),
                _ => self.unknown(entry, &OUTPUTS_KEYS, "`outputs`", true),
            }
        }
    }

    fn team(&mut self, node: &Node) {
        for entry in self.entries(node, "`team`") {
            match entry.key.as_str() {
                "autoSync" if self.scope == Scope::Local => {
                    let message = "`autoSync` has no effect in a project".to_owned();
                    let help = "write it into ~/.cycod/config.yaml: a project does not decide how old your rules are";
                    self.push(Code::SettingNotHeard, entry.key_span, message, help, false);
                }
                "autoSync" => self.options.syncs_team = self.boolean(entry),
                _ => self.unknown(entry, &TEAM_KEYS, "`team`", true),
            }
        }
    }

    fn models(&mut self, node: &Node) {
        for entry in self.entries(node, "`models`") {
            match entry.key.as_str() {
                "default" => self.options.models.default = self.text(entry, "name a model as PROVIDER/NAME"),
                key if MODELS_KEYS.contains(&key) && self.scope == Scope::Local => {
                    let message = format!("`{key}` has no effect in a project");
                    let help =
                        "write it into ~/.cycod/config.yaml: a project does not decide where your words and keys go";
                    self.push(Code::SettingNotHeard, entry.key_span, message, help, false);
                }
                "providers" => self.providers(&entry.value),
                "known" => self.known_models(&entry.value),
                "timeout" => self.options.models.timeout = self.duration(entry),
                "idleTimeout" => self.options.models.idle_timeout = self.duration(entry),
                "attempts" => self.options.models.attempts = self.count(entry),
                "forTools" => {
                    for entry in self.entries(&entry.value, "`forTools`") {
                        match entry.key.as_str() {
                            "requests" => self.options.models.tool_requests = self.count(entry),
                            "tokens" => self.options.models.tool_tokens = self.count(entry),
                            _ => self.unknown(entry, &FOR_TOOLS_KEYS, "`forTools`", true),
                        }
                    }
                }
                _ => self.unknown(entry, &MODELS_KEYS, "`models`", true),
            }
        }
    }

    fn providers(&mut self, node: &Node) {
        for provider in self.entries(node, "`providers`") {
            let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if provider.key.is_empty() || !provider.key.chars().all(is_name) {
                let message = format!("no provider can be called `{}`", provider.key);
                let help = "a name holds letters, digits, `_`, `.` and `-`";
                self.push(Code::InvalidName, provider.key_span, message, help, true);
                continue;
            }
            let mut read = ModelProvider { name: provider.key.clone(), ..ModelProvider::default() };
            for entry in self.entries(&provider.value, "a provider") {
                match entry.key.as_str() {
                    "format" => {
                        let format = self.text(entry, "write one of the formats");
                        if let Some(wrong) = format.as_ref().filter(|format| !FORMATS.contains(&format.value.as_str()))
                        {
                            let message = format!("`{}` is no format", wrong.value);
                            let help = format!("it is one of {}", FORMATS.join(", "));
                            self.push(Code::OutOfRange, entry.value.span, message, help, true);
                        }
                        read.format = format.map(|format| format.value);
                    }
                    "baseUrl" => {
                        read.base = self.text(entry, "write an address as in https://host/v1").map(|said| said.value);
                    }
                    "key" => {
                        read.key =
                            self.text(entry, "write the name of a variable or of a secret").map(|said| said.value);
                    }
                    "plain" => read.may_be_plain = self.boolean(entry).is_some_and(|said| said.value),
                    _ => self.unknown(entry, &PROVIDER_KEYS, "a provider", true),
                }
            }
            let said = self.said(provider.key_span, read);
            self.options.models.providers.push(said);
        }
    }

    fn known_models(&mut self, node: &Node) {
        for model in self.entries(node, "`known`") {
            if model.key.split_once('/').is_none_or(|(provider, name)| provider.is_empty() || name.is_empty()) {
                let help = "write PROVIDER/NAME";
                let message = format!("`{}` has no provider", model.key);
                self.push(Code::InvalidName, model.key_span, message, help, true);
                continue;
            }
            let mut read = KnownModel { name: model.key.clone(), ..KnownModel::default() };
            for entry in self.entries(&model.value, "a model") {
                match entry.key.as_str() {
                    "window" => read.window = self.count(entry).map(|said| said.value),
                    "maxInput" => read.input = self.count(entry).map(|said| said.value),
                    "maxOutput" => read.output = self.count(entry).map(|said| said.value),
                    "inputPrice" => read.input_price = self.dollars(entry, "a million tokens").map(|said| said.value),
                    "outputPrice" => read.output_price = self.dollars(entry, "a million tokens").map(|said| said.value),
                    "cachedPrice" => read.cached_price = self.dollars(entry, "a million tokens").map(|said| said.value),
                    _ => self.unknown(entry, &KNOWN_KEYS, "a model", true),
                }
            }
            if read.input_price.is_some() != read.output_price.is_some() {
                let help = "write both, or neither";
                let message = "a price is known for input and output, or not at all".to_owned();
                self.push(Code::OutOfRange, model.key_span, message, help, true);
            }
            self.options.models.known.push(read);
        }
    }

    pub(super) fn text(&mut self, entry: &MappingEntry, help: &str) -> Option<Said<String>> {
        match entry.value.as_scalar().filter(|scalar| !is_empty(&entry.value) && !scalar.text.trim().is_empty()) {
            Some(scalar) => Some(self.said(entry.value.span, scalar.text.clone())),
            None => {
                self.wrong(entry, "text", help);
                None
            }
        }
    }

    pub(super) fn count(&mut self, entry: &MappingEntry) -> Option<Said<u32>> {
        match entry.value.as_scalar().map(yaml::Scalar::resolve) {
            Some(Resolved::Integer(count)) if (1..=i64::from(u32::MAX)).contains(&count) => {
                u32::try_from(count).ok().map(|count| self.said(entry.value.span, count))
            }
            Some(Resolved::Integer(_) | Resolved::BigInteger) => {
                let message = format!("`{}` is at least 1, and below four thousand million", entry.key);
                self.push(Code::OutOfRange, entry.value.span, message, "write a whole number, as in 10", true);
                None
            }
            _ => {
                self.wrong(entry, "a whole number", "write it without quotes, as in 10");
                None
            }
        }
    }

    fn bytes(&mut self, entry: &MappingEntry) -> Option<Said<u64>> {
        match entry.value.as_scalar().map(yaml::Scalar::resolve) {
            Some(Resolved::Integer(bytes)) if bytes >= LEAST_BYTES => {
                u64::try_from(bytes).ok().map(|bytes| self.said(entry.value.span, bytes))
            }
            Some(Resolved::Integer(_) | Resolved::BigInteger) => {
                let message = format!("`{}` is at least {LEAST_BYTES} bytes", entry.key);
                self.push(
                    Code::OutOfRange,
                    entry.value.span,
                    message,
                    "write a number of bytes, as in 268435456",
                    true,
                );
                None
            }
            _ => {
                self.wrong(entry, "a number of bytes", "write it without quotes, as in 268435456");
                None
            }
        }
    }

    fn dollars(&mut self, entry: &MappingEntry, what: &str) -> Option<Said<f64>> {
        let price = match entry.value.as_scalar().map(yaml::Scalar::resolve) {
            #[expect(clippy::cast_precision_loss, reason = "a price that large is wrong however it is rounded")]
            Some(Resolved::Integer(price)) => price as f64,
            Some(Resolved::Float(price)) => price,
            _ => {
                self.wrong(entry, "a number", &format!("write what {what} cost in dollars, as in 0.0025"));
                return None;
            }
        };
        if price.is_finite() && price >= 0.0 {
            return Some(self.said(entry.value.span, price));
        }
        let message = format!("`{}` is not negative and not without end", entry.key);
        self.push(Code::OutOfRange, entry.value.span, message, format!("write what {what} cost in dollars"), true);
        None
    }

    fn duration(&mut self, entry: &MappingEntry) -> Option<Said<Duration>> {
        match entry.value.as_scalar().map(yaml::Scalar::resolve) {
            Some(Resolved::Integer(limit)) if limit > 0 => {
                let limit = Duration::from_millis(limit.unsigned_abs());
                Some(self.said(entry.value.span, limit))
            }
            Some(Resolved::Integer(_) | Resolved::BigInteger) => {
                let message = format!("`{}` is at least 1, and no more than a run could ever take", entry.key);
                self.push(Code::OutOfRange, entry.value.span, message, "write milliseconds, as in 60000", true);
                None
            }
            _ => {
                self.wrong(entry, "a whole number", "write milliseconds, as in 60000");
                None
            }
        }
    }

    fn boolean(&mut self, entry: &MappingEntry) -> Option<Said<bool>> {
        match entry.value.as_scalar().map(yaml::Scalar::resolve) {
            Some(Resolved::Bool(value)) => Some(self.said(entry.value.span, value)),
            _ => {
                self.wrong(entry, "true or false", "write `true` or `false`, without quotes");
                None
            }
        }
    }

    /// The entries of a mapping; of nothing, none.
    pub(super) fn entries<'n>(&mut self, node: &'n Node, what: &str) -> &'n [MappingEntry] {
        if let Some(entries) = node.as_mapping() {
            return entries;
        }
        if !is_empty(node) {
            self.push(Code::NotAMapping, node.span, format!("{what} is a mapping"), "write `KEY: VALUE` lines", true);
        }
        &[]
    }

    pub(super) fn unknown(&mut self, entry: &MappingEntry, known: &[&str], whose: &str, is_error: bool) {
        let help = match near(&entry.key, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("it has {}", known.join(", ")),
        };
        self.push(Code::UnknownKey, entry.key_span, format!("`{}` is not a key of {whose}", entry.key), help, is_error);
    }

    pub(super) fn wrong(&mut self, entry: &MappingEntry, wanted: &str, help: &str) {
        self.push(Code::WrongType, entry.value.span, format!("`{}` takes {wanted}", entry.key), help, true);
    }

    pub(super) fn push(&mut self, code: Code, span: Span, message: String, help: impl Into<String>, is_error: bool) {
        let diagnostic =
            if is_error { Diagnostic::error(code, span, message) } else { Diagnostic::warning(code, span, message) };
        self.diagnostics.push(diagnostic.help(help));
    }

    pub(super) fn said<T>(&self, span: Span, value: T) -> Said<T> {
        let at = self.lines.position(span.start);
        Said { value, scope: self.scope, place: format!("{}:{}:{}", self.name, at.line, at.column) }
    }
}

/// The key that was probably meant: written in another way, or misspelt.
fn near<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = |key: &str| key.replace(['-', '_'], "").to_ascii_lowercase();
    let same = known.iter().find(|known| plain(known) == plain(key));
    same.copied().or_else(|| closest(key, known.iter().copied()))
}

pub(super) fn is_empty(node: &Node) -> bool {
    node.as_scalar().is_some_and(|scalar| scalar.resolve() == Resolved::Null)
}
