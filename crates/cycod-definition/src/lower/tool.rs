//! Reads a whole tool from the tree of its file.

use std::collections::BTreeSet;

use cycod_diagnostic::{Code, Diagnostic, Span, is_slip};
use cycod_syntax::yaml::MappingEntry;

use super::{
    Lowering, Scope, View,
    command::{Defaults, Form, platform_keys},
    literal::Expected,
    parameter::is_parameter_name,
    replace,
    step::on_lost,
};
use crate::{
    Body, Command, FleetWorkspace, Level, Platform, PlatformKey, RunSite, Runtime, SHARED_NAME, SharedName,
    SourceOrigin, Stated, Tool, ToolName,
};

impl Lowering<'_> {
    /// Reads a whole tool, with its name whether or not the rest can be read.
    pub(crate) fn tool(&mut self, view: &View<'_>, stem: Option<&str>) -> (Option<ToolName>, Option<Tool>) {
        let top = Span {
            start: view.span.start,
            end: view.entries.first().map_or(view.span.end, |entry| entry.key_span.end),
        };
        let name = self.name(view, stem, top);
        let alias = view.choice("type") == Some("alias");
        self.alias = alias;
        self.flow = self.sink.text(view.span).starts_with('{');
        if self.has_too_many(view, top) {
            return (name, None);
        }
        self.names.parameters = self.parameter_names(view);
        self.names.steps = view.objects("steps").iter().filter_map(|step| step.string("name")).collect();
        let (input_schema, parameters) = self.input_schema(view).unzip();
        let fields = self.form_fields(view);
        let written: Vec<&MappingEntry> = view.map("parameters").iter().collect();
        self.parameters = parameters.unwrap_or_default();
        self.parameters.extend(self.lower_parameters(&written, &fields));
        self.parameters.extend(self.plain_answers(view));
        let description = view.string("description");
        self.check_described(view, alias, top);
        let defaults = Defaults { shell: view.text("shell"), options: view.strings("shell-options") };
        let body = match self.built_in {
            true => name.clone().map(Body::BuiltIn),
            false if alias => self.alias(view, top),
            false => self.body(view, &defaults, top),
        };
        if let Some(Body::Command(command)) = &body {
            self.check_platforms(view, command);
        }
        let file_paths = self.file_paths(view);
        let is_script = matches!(&body, Some(Body::Handler(handler)) if handler.runtime == Runtime::Engine);
        let timeout = self.timeout(view).or(is_script.then_some(Tool::DEFAULT_ENGINE_TIMEOUT));
        let mut tool = Tool {
            name: match &name {
                Some(name) => name.clone(),
                None => return (name, None),
            },
            description,
            title: view.string("title"),
            group: view.string("group"),
            version: self.version(view),
            min_cycod_version: self.min_cycod_version(view),
            body: match body {
                Some(body) => body,
                None => Body::Steps(Vec::new()),
            },
            parameters: self.parameters.clone(),
            input_schema,
            returns: self.returns(view),
            produces: self.produces(view),
            rank: self.rank(view),
            page: self.page(view),
            offer: self.offer(view),
            hints: self.hints(view),
            asks: self.asks(view),
            reports: view.flag("reports").unwrap_or(false),
            task: self.task(view),
            function_calling: self.function_calling(view),
            security: self.security(view),
            environment: view
                .object("environment")
                .map(|view| self.environment(&view, Scope::Call))
                .unwrap_or_default(),
            file_paths,
            metadata: self.metadata(view),
            tests: self.tests(view),
            timeout,
            platforms: self.platforms(view, "platforms"),
            tags: self.tags(view),
            durable: view.flag("durable").unwrap_or(false),
            on_lost: on_lost(view),
            schedule: self.schedule(view),
            on: if view.choice("on") == Some("fleet") { RunSite::Fleet } else { RunSite::Here },
            runs_on: self.runs_on(view),
            workspace: self.workspace(view),
            keep_on: view.choice("keep-on").is_some(),
            max_parallel: self.max_parallel(view),
            ignore_errors: view.flag("ignore-errors").unwrap_or(false),
            input: view.text("input").map(|text| self.template(text, Scope::Call)),
            interactive: self.interactive(view),
            resources: self.resources(view),
            artifacts: self.templates(view, "artifacts", Scope::Call),
            cache: self.caching(view, Scope::Call),
            requires: self.requires(view),
            programs: self.programs(view),
            stated: Stated { file: self.beside.programs.clone(), ..Stated::default() },
            deprecated: self.tool_deprecation(view),
            changelog: self.changelog(view),
            declared_risk: declared_risk(view),
            enabled: view.flag("enabled").unwrap_or(true),
            token_cost: view.count("token-cost"),
            uses_temp: false,
            ignored: Vec::new(),
            origin: SourceOrigin::default(),
        };
        tool.uses_temp = self.uses_temp.get();
        self.check_whole(&mut tool, view, [written, fields]);
        (name, Some(tool))
    }

    /// Whether a list of the file has more entries than are read; it is reported.
    fn has_too_many(&mut self, view: &View<'_>, top: Span) -> bool {
        let counted = [
            (view.map("parameters").len(), "parameters"),
            (view.map("default-parameters").len(), "default-parameters"),
            (view.items("steps").len(), "steps"),
            (view.items("tests").len(), "tests"),
            (view.items("artifacts").len(), "artifacts"),
            (view.map("asks").len(), "asks"),
        ];
        counted.into_iter().any(|(count, what)| {
            let span = view.entry(what).map_or(top, |entry| entry.key_span);
            self.too_many(count, what, span)
        })
    }

    fn check_described(&mut self, view: &View<'_>, alias: bool, top: Span) {
        if view.entries.iter().all(|entry| entry.key != "description") && !alias {
            self.sink.report(
                Diagnostic::error(Code::NoDescription, top, "a tool needs a `description`")
                    .help("describe its purpose; people and models choose tools by that"),
            );
        }
    }

    /// The checks that need all of the tool.
    fn check_whole(&mut self, tool: &mut Tool, view: &View<'_>, [written, fields]: [Vec<&MappingEntry>; 2]) {
        self.understand_words(tool);
        crate::judge::judge(tool);
        crate::judge::report(tool, self);
        self.check_ask_cycles(tool, view);
        crate::check::unused::check(tool, &[written, fields, self.described(view).iter().collect()].concat(), self);
        crate::check::secrets::check(tool, self);
        crate::check::confusable::check(view, self);
        crate::check::ignored::in_tool(tool, view, self);
        crate::check::ignored::in_alias(tool, view, self);
        crate::check::cache::check(tool, view, self);
        crate::check::fleet::check(tool, view, self);
    }

    /// The ending of the file.
    fn ending(&self) -> &str {
        let name = self.sink.source.name.rsplit(['/', '\\']).next().unwrap_or_default();
        name.rsplit_once('.').map_or("yaml", |(_, ending)| ending)
    }

    fn name(&self, view: &View<'_>, stem: Option<&str>, top: Span) -> Option<ToolName> {
        let rule = "names start with a letter or digit and hold letters, digits, `_`, `.` and `-`, at most 64";
        let Some(text) = view.text("name") else {
            if view.entries.iter().any(|entry| entry.key == "name") {
                return None;
            }
            let Some(stem) = stem else {
                self.sink.report(
                    Diagnostic::error(Code::NoName, top, "a tool needs a `name`")
                        .note("a tool file's own name serves when there is one"),
                );
                return None;
            };
            let name = ToolName::new(stem);
            if name.is_none() {
                self.sink.report(
                    Diagnostic::error(Code::InvalidName, top, format!("the file's name `{stem}` cannot name a tool"))
                        .note(rule)
                        .help("add `name`"),
                );
            }
            return name;
        };
        let Some(name) = ToolName::new(&text.scalar.text) else {
            let fixed: String = text
                .scalar
                .text
                .trim()
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-') { c } else { '-' })
                .collect();
            let fixed = fixed.trim_matches('-');
            let diagnostic =
                Diagnostic::error(Code::InvalidName, text.span, format!("`{}` cannot name a tool", text.scalar.text))
                    .note(rule);
            self.sink.report(if ToolName::new(fixed).is_some() {
                diagnostic.fix(format!("write `{fixed}`"), self.sink.rewrite(text.span, fixed))
            } else {
                diagnostic
            });
            return None;
        };
        if let Some(stem) = stem
            && !stem.eq_ignore_ascii_case(name.as_str())
        {
            self.sink.report(
                Diagnostic::warning(
                    Code::NameMismatch,
                    text.span,
                    format!("the tool is called `{name}`, its file `{stem}`"),
                )
                .label("this name is used")
                .help(format!("rename the file to `{name}.{}`", self.ending())),
            );
        }
        Some(name)
    }

    /// The names that templates know as parameters. An alias knows the parameters it gives defaults for; its
    /// base's other ones are resolved where the base is known.
    fn parameter_names(&self, view: &View<'_>) -> Vec<String> {
        let keys = |entries: &[MappingEntry]| entries.iter().map(|entry| entry.key.clone()).collect::<Vec<_>>();
        let mut names = keys(view.map("parameters"));
        names.extend(keys(self.described(view)));
        names.extend(keys(view.map("default-parameters")));
        names.extend(self.form_fields(view).into_iter().map(|entry| entry.key.clone()));
        names.extend(self.plain_answers(view).into_iter().map(|parameter| parameter.name));
        names.retain(|name| is_parameter_name(name));
        names
    }

    fn alias(&self, view: &View<'_>, top: Span) -> Option<Body> {
        for entry in view.entries.iter().filter(|entry| view.section.key(&entry.key).is_some_and(|key| key.executes)) {
            self.sink.report(
                Diagnostic::error(
                    Code::AliasCommand,
                    entry.key_span,
                    format!("an alias has no `{}` of its own", entry.key),
                )
                .help("remove it, or remove `type: alias`"),
            );
        }
        let defaults = view
            .map("default-parameters")
            .iter()
            .map(|entry| (entry.key.clone(), self.literal(&entry.value, Expected::ANY, Scope::Call)))
            .collect();
        let Some(base) = view.text("base-tool") else {
            if view.entry("base-tool").is_none() {
                let span = view.entry("type").map_or(top, |entry| entry.key_span);
                self.sink.report(
                    Diagnostic::error(Code::AliasWithoutBase, span, "an alias needs a `base-tool`")
                        .help("name the tool that it is an alias of"),
                );
            }
            return None;
        };
        self.check_tool_name(base);
        if let Some(name) = view.text("name")
            && name.scalar.text.eq_ignore_ascii_case(&base.scalar.text)
        {
            self.sink.error(Code::AliasOfItself, base.span, format!("`{}` is an alias of itself", base.scalar.text));
        }
        Some(Body::Alias { base: base.to_owned(), defaults })
    }

    fn body<'a>(&self, view: &View<'a>, defaults: &Defaults<'a>, top: Span) -> Option<Body> {
        if let Some(entry) = view.entry("base-tool") {
            let diagnostic =
                Diagnostic::error(Code::AliasWithoutType, entry.key_span, "`base-tool` needs `type: alias`");
            self.sink.report(diagnostic.fix(
                "add `type: alias`",
                replace(
                    Span { start: entry.key_span.start, end: entry.key_span.start },
                    self.key_before(entry, "type", "alias"),
                ),
            ));
            if !view.entries.iter().any(|entry| view.section.key(&entry.key).is_some_and(|key| key.executes)) {
                return None;
            }
        } else if let Some(entry) = view.entry("default-parameters") {
            self.sink.warning(
                Code::UnusedKey,
                entry.key_span,
                "`default-parameters` has no effect without `type: alias`",
            );
        }
        match self.form(view, Scope::Call, defaults, top)? {
            Form::Command(command) => Some(Body::Command(command)),
            Form::Handler(handler) => Some(Body::Handler(handler)),
            Form::Use(tool_use) => Some(Body::Use(tool_use)),
            Form::Steps(view) => self.steps(&view, defaults).map(Body::Steps),
        }
    }

    /// Reports platforms that the tool says it works on but has no command for.
    fn check_platforms(&self, view: &View<'_>, command: &Command) {
        for text in view.texts("platforms") {
            let platform = match platform_keys(&text.scalar.text) {
                Some(PlatformKey::Exactly(platform)) => platform,
                Some(PlatformKey::Unix) => Platform::Linux,
                None => continue,
            };
            if command.for_platform(platform).is_none() {
                self.sink.report(
                    Diagnostic::warning(
                        Code::PlatformWithoutCommand,
                        text.span,
                        format!("there is no command for `{}`", text.scalar.text),
                    )
                    .label("running it there is refused")
                    .help("add a variant or `default` to `commands`, or remove the platform"),
                );
            }
        }
    }

    /// Text to insert before an entry so that a further key comes to stand there.
    fn key_before(&self, entry: &MappingEntry, key: &str, value: &str) -> String {
        let quote = if self.sink.text(entry.key_span).starts_with('"') { "\"" } else { "" };
        let line = self.sink.line_before(entry.key_span.start);
        let separator = if self.flow { "," } else { "" };
        let space = if line.trim().is_empty() { format!("\n{line}") } else { " ".to_owned() };
        format!("{quote}{key}{quote}: {quote}{value}{quote}{separator}{space}")
    }

    /// Reads the tags, of which some say how dangerous the tool is.
    fn tags(&self, view: &View<'_>) -> Vec<String> {
        let is_tag = |name: &str| view.texts("tags").iter().any(|tag| tag.scalar.text.eq_ignore_ascii_case(name));
        let declared = Level::NAMES.into_iter().rev().find(|(name, _)| is_tag(name)).map(|(_, level)| level);
        for text in view.texts("tags") {
            let written = text.scalar.text.trim().to_lowercase();
            let is_meant = |name: &str| {
                is_slip(&written, name) || (written == name && text.scalar.text.trim() != text.scalar.text)
            };
            let Some((name, meant)) = Level::NAMES.into_iter().find(|(name, _)| is_meant(name)) else { continue };
            // Where the tool has that level anyway, or a higher one, nothing depends on the word: `bun` beside `run`.
            if declared >= Some(meant) {
                continue;
            }
            self.sink.report(
                Diagnostic::error(
                    Code::MisspeltTag,
                    text.span,
                    format!(
                        "the tag `{}` looks like `{name}`, which declares how dangerous the tool is",
                        text.scalar.text
                    ),
                )
                .help(format!("did you mean `{name}`? another word has its place under `metadata.tags`"))
                .fix(format!("write `{name}`"), self.sink.rewrite(text.span, name)),
            );
        }
        view.strings("tags")
    }

    /// Reads which files it has on the fleet.
    fn workspace(&self, view: &View<'_>) -> FleetWorkspace {
        let Some(shared) = view.object("workspace") else {
            return match view.text("workspace").map(|text| text.scalar.text.as_str()) {
                Some("snapshot") => FleetWorkspace::Snapshot,
                _ => FleetWorkspace::None,
            };
        };
        let text = shared.text("shared");
        if let Some(name) = text.and_then(|text| SharedName::new(&text.scalar.text)) {
            return FleetWorkspace::Shared(name);
        }
        let (span, why) = match text {
            Some(text) => (text.span, format!("`{}` can't be the name of a shared directory", text.scalar.text)),
            None => (shared.span, "a shared directory needs its name".to_owned()),
        };
        let diagnostic = Diagnostic::error(Code::InvalidName, span, why).note(SHARED_NAME);
        self.sink.report(diagnostic.help("a worker says where it is: `cycod worker --shared NAME=PATH`"));
        FleetWorkspace::None
    }

    /// Reads a list of platforms.
    pub(crate) fn platforms(&self, view: &View<'_>, key: &str) -> BTreeSet<Platform> {
        let mut platforms = BTreeSet::new();
        for text in view.texts(key) {
            match platform_keys(&text.scalar.text) {
                Some(PlatformKey::Exactly(platform)) => {
                    platforms.insert(platform);
                }
                Some(PlatformKey::Unix) => platforms.extend([Platform::Linux, Platform::Macos]),
                None => {}
            }
        }
        platforms
    }
}

fn declared_risk(view: &View<'_>) -> Option<Level> {
    let risky = (view.flag("risky") == Some(true)).then_some(Level::Run);
    let level = view.choice("riskLevel").map(|level| match level {
        "low" => Level::Read,
        "medium" => Level::Write,
        _ => Level::Run,
    });
    risky.max(level)
}
