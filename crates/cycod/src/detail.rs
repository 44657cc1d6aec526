//! Everything a person wants to know about one tool, on a page.

use std::sync::Arc;

use cycod_app::{
    command_line::literal,
    shown_path,
    views::{Beyond, OriginView, example, examples, kind, notes, stated},
};
use cycod_engine::{
    Engine,
    catalog::{Entry, Scope, ScopeFilter},
    definition::{
        Approval, Body, Cleanup, Hints, Interpreter, Isolation, Level, Literal, OfferedAs, Parameter,
        ParameterValidation, PlatformKey, Privilege, Produces, RunSite, Runtime, Step, StepAction, TaskSupport, Tool,
        Transform, Value, Verdict, Whom, verdicts_by_parameter, worker_with,
    },
    diagnostic::Shown,
    group_of, tags_of,
};
use cycod_syntax::template::{KnownNames, Template};

use crate::{page::Page, run::duration};

/// A tool with all that decides how it stands here.
pub(crate) struct Detail<'a> {
    engine: &'a Engine,
    entry: &'a Entry,
    /// What a caller meets; absent when the file is broken.
    tool: Option<&'a Tool>,
}

impl<'a> Detail<'a> {
    /// Collects nothing yet.
    pub(crate) fn new(engine: &'a Engine, entry: &'a Entry, tool: Option<&'a Tool>) -> Self {
        Self { engine, entry, tool }
    }

    /// The page. Text of the file cannot drive the terminal.
    pub(crate) fn text(&self, colour: bool) -> Shown {
        let mut page = Page::default();
        let version = self.entry.summary.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        page.heading(&format!("{}{version}", self.entry.name));
        let description =
            self.tool.and_then(|tool| tool.description.as_deref()).or(self.entry.summary.description.as_deref());
        page.paragraph(2, description.unwrap_or_default());
        page.blank();
        self.standing(&mut page);
        if let Some(tool) = self.tool {
            settings(&mut page, tool);
            parameters(&mut page, tool);
            asks(&mut page, tool);
            self.body(&mut page, tool);
            tests(&mut page, tool);
            changes(&mut page, tool);
            page.section("RUN IT");
            page.paragraph(2, &example(self.entry, self.tool));
        }
        page.finish(colour)
    }

    /// Who offers what is in no file of the user's.
    fn origin(&self, page: &mut Page) {
        let origin = OriginView::of(self.entry);
        page.fact("origin", &origin.owner.map(|_| origin.in_words()).unwrap_or_default());
        let team = self.engine.catalog().scopes().team_of(&self.entry.path);
        if let Some(release) = team.and_then(|team| team.release().ok()) {
            page.fact("release", &format!("{} of {}, enforced", release.number, release.team));
            page.fact("signed by", &release.signers.join(", "));
        }
    }

    /// What somebody wants to know who is to use the tool: what it is for, what it takes, how it stands here.
    pub(crate) fn info(&self, colour: bool) -> Shown {
        let host = self.engine.host();
        let summary = &self.entry.summary;
        let mut page = Page::default();
        let version = summary.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        let title = summary.title.as_ref().map(|title| format!("  {title}")).unwrap_or_default();
        page.heading(&format!("{}{version}{title}", self.entry.name));
        let description = self.tool.and_then(|tool| tool.description.as_deref());
        page.paragraph(2, description.or(summary.description.as_deref()).unwrap_or_default());
        page.blank();
        page.fact("group", group_of(self.entry));
        if let Some(tool) = self.tool {
            page.fact("level", &self.level(tool));
            page.fact("hints", &hints(tool));
        }
        page.fact("tags", &tags_of(self.entry).join(", "));
        page.fact("source", &kind(self.entry, self.tool));
        self.origin(&mut page);
        page.fact("file", &shown_path(&self.entry.path, host));
        page.fact("scope", self.entry.scope.name());
        let beyond = Beyond::of(self.engine, self.entry);
        let trust = beyond.trust.as_ref();
        page.fact("trust", trust.map(|trust| trust.name()).unwrap_or_default());
        if let Some(tool) = self.tool {
            self.interpreters(&mut page, tool);
            for what in self.engine.unpinned(&Arc::new(tool.clone())) {
                page.fact("unpinned", &what);
            }
        }
        let notes = notes(self.entry, &beyond, host);
        let limits = notes.iter().filter(|note| trust.is_none_or(|trust| note.word != trust.name()));
        let limits: Vec<String> = limits.map(|note| format!("{}{}", note.word, note.reason)).collect();
        let is_off = summary.is_off;
        page.fact(
            "available",
            &match limits.as_slice() {
                [] if is_off => "no, it is switched off in its file".to_owned(),
                [] => "yes".to_owned(),
                limits => limits.join("; "),
            },
        );
        let Some(tool) = self.tool else { return page.finish(colour) };
        page.fact("programs", &stated(tool, host).unwrap_or_default());
        page.fact("requires", &tool.requires.commands.join(", "));
        page.fact("requires env", &tool.requires.env.join(", "));
        page.fact("runs on", &runs_on(tool));
        page.fact("files", &tool.workspace.words(self.entry.level).unwrap_or_default());
        page.fact("timeout", &duration(tool.timeout.unwrap_or(Tool::DEFAULT_TIMEOUT)));
        if let Some(cost) = tool.token_cost {
            page.fact("declared cost", &format!("{cost} tokens"));
        }
        parameters(&mut page, tool);
        page.section("PERMISSIONS");
        for line in permissions(tool) {
            page.paragraph(2, &line);
        }
        page.section("EXAMPLES");
        for example in examples(self.entry, self.tool) {
            page.paragraph(2, &example);
        }
        if !tool.tests.is_empty() {
            page.paragraph(2, &format!("cycod test {}", self.entry.name));
        }
        page.finish(colour)
    }

    /// What somebody wants to know who is about to call the tool by `usage`.
    pub(crate) fn usage(&self, usage: &str, width: Option<usize>, colour: bool) -> Shown {
        let Some(tool) = self.tool else { return self.info(colour) };
        let mut page = Page::default();
        page.heading(self.entry.name.as_str());
        page.paragraph(2, tool.description.as_deref().unwrap_or_default());
        for note in notes(self.entry, &Beyond::of(self.engine, self.entry), self.engine.host()) {
            page.paragraph(2, &format!("{}{}", note.word, note.reason));
        }
        page.section("USAGE");
        page.paragraph(2, usage);
        parameters(&mut page, tool);
        page.section("WHAT IT MAY DO");
        page.paragraph(2, &format!("level {}", self.level(tool)));
        for line in permissions(tool) {
            page.paragraph(2, &line);
        }
        page.section("EXAMPLES");
        for example in examples(self.entry, self.tool) {
            page.paragraph(2, &example);
        }
        page.section("SEE ALSO");
        page.paragraph(2, &format!("cycod run {} --dry-run    What would happen", self.entry.name));
        page.paragraph(2, "cycod help run    The options of every run");
        page.folded(width).finish(colour)
    }

    fn standing(&self, page: &mut Page) {
        let host = self.engine.host();
        page.fact("file", &shown_path(&self.entry.path, host));
        page.fact("scope", self.entry.scope.name());
        self.origin(page);
        for scope in Scope::ALL.into_iter().filter(|scope| *scope > self.entry.scope) {
            let hidden = self.engine.catalog().find(&self.entry.name, ScopeFilter::Only(scope));
            if let Some(hidden) = hidden.filter(|hidden| hidden.path != self.entry.path) {
                page.fact("hides", &shown_path(&hidden.path, host));
            }
        }
        let beyond = Beyond::of(self.engine, self.entry);
        let notes = notes(self.entry, &beyond, host);
        if notes.is_empty() {
            page.fact("state", "can be called");
        }
        for note in notes {
            page.fact("state", &format!("{}{}", note.word, note.reason));
        }
        let Some(tool) = self.tool else { return };
        page.fact("title", tool.title.as_deref().unwrap_or_default());
        page.fact("group", tool.group.as_deref().unwrap_or_default());
        page.fact("level", &self.level(tool));
        page.fact("programs", &stated(tool, host).unwrap_or_default());
        self.interpreters(page, tool);
        for what in self.engine.unpinned(&Arc::new(tool.clone())) {
            page.fact("unpinned", &what);
        }
        page.fact("tags", &tags_of(self.entry).join(", "));
        let summary = &self.entry.summary;
        let category: Vec<&str> =
            [&summary.category, &summary.subcategory].into_iter().flatten().map(String::as_str).collect();
        page.fact("category", &category.join(" / "));
        page.fact("keywords", &summary.keywords.join(", "));
    }

    /// What runs its functions here, where that is not the first of the search path.
    fn interpreters(&self, page: &mut Page, tool: &Tool) {
        for interpreter in self.engine.interpreters(&Arc::new(tool.clone())) {
            page.fact("interpreter", &interpreter);
        }
    }

    /// The level and what decides it.
    fn level(&self, tool: &Tool) -> String {
        let tagged = Level::NAMES
            .into_iter()
            .filter(|(name, _)| tool.tags.iter().any(|tag| tag.eq_ignore_ascii_case(name)))
            .map(|(_, level)| level)
            .max();
        let level = self.entry.level;
        let own = self.entry.summary.own_level.unwrap_or(Level::Run);
        let why = match tagged {
            Some(tagged) if tagged == level => format!("tagged `{level}`"),
            _ if level > own => format!("because of what it uses: {}", self.entry.summary.uses.join(", ")),
            None if tool.declared_risk.is_none() && !matches!(tool.body, Body::Alias { .. }) => {
                "no tag says `read`, `write` or `run`".to_owned()
            }
            _ if tool.declared_risk == Some(level) => "its author calls it risky".to_owned(),
            None if matches!(tool.body, Body::Alias { .. }) => "that of the tool it is an alias of".to_owned(),
            _ if matches!(&tool.body, Body::Handler(handler) if handler.starts_anything()) => {
                "its code may start any program: give it an `allowlist`, or permissions".to_owned()
            }
            _ => "a value is placed as program text".to_owned(),
        };
        format!("{level} ({why})")
    }

    fn body(&self, page: &mut Page, tool: &Tool) {
        match &tool.body {
            Body::Command(command) => {
                page.section("COMMAND");
                self.command(page, 2, command);
            }
            Body::Steps(steps) => {
                page.section("STEPS");
                for step in steps {
                    self.step(page, step, steps);
                }
            }
            Body::Use(tool_use) => {
                page.section("COMMAND");
                page.code(2, &format!("use-tool: {}{}", tool_use.tool, arguments(&tool_use.with)));
            }
            Body::Alias { base, defaults } => {
                page.section("ALIAS");
                page.code(2, &format!("base-tool: {base}{}", arguments(defaults)));
            }
            Body::Handler(handler) => {
                page.section("HANDLER");
                page.paragraph(2, &format!("a function in {}", handler.runtime));
                page.code(2, handler.code.trim_end());
            }
            Body::BuiltIn(_) => {
                page.section("HANDLER");
                page.paragraph(2, "built in");
            }
            Body::Remote(remote) => {
                page.section("SERVER");
                page.code(2, &format!("mcp: {remote}"));
            }
        }
        let cleanup: Vec<_> = tool.resources.cleanup.iter().collect();
        if !cleanup.is_empty() {
            page.section("AT THE END, WHATEVER HAPPENS");
            for action in cleanup {
                match action {
                    Cleanup::DeleteTempFiles => page.paragraph(2, "delete the run's temporary files"),
                    Cleanup::Command(command) => self.command(page, 2, command),
                }
            }
        }
    }

    fn command(&self, page: &mut Page, indent: usize, command: &cycod_engine::definition::Command) {
        use cycod_engine::definition::Command;
        let mut one = |label: &str, text: &cycod_engine::definition::CommandText| {
            page.code(indent, &format!("{label}{}: {}", interpreter(&text.interpreter), source(&text.template)));
        };
        match command {
            Command::One(text) => one("", text),
            Command::ByPlatform(commands) => {
                for (key, text) in &commands.variants {
                    match key {
                        PlatformKey::Exactly(platform) => one(&format!("on {platform}, "), text),
                        PlatformKey::Unix => one("on unix, ", text),
                    }
                }
                if let Some(text) = &commands.default {
                    one("elsewhere, ", text);
                }
            }
        }
    }

    fn step(&self, page: &mut Page, step: &Step, steps: &[Step]) {
        let after: Vec<&str> = step.after.iter().filter_map(|&index| Some(steps.get(index)?.name.as_str())).collect();
        let after = if after.is_empty() { "starts at once".to_owned() } else { format!("after {}", after.join(", ")) };
        page.paragraph(2, &format!("{}  {after}", step.name));
        if let Some(each) = &step.each {
            page.paragraph(4, &each.line(None));
        }
        match &step.action {
            StepAction::Command(command) => self.command(page, 4, command),
            StepAction::Use(tool_use) => {
                page.code(4, &format!("use-tool: {}{}", tool_use.tool, arguments(&tool_use.with)));
            }
        }
        if let Some((_, condition)) = &step.condition {
            page.paragraph(4, &format!("only if {condition}"));
        }
        if let Some(retry) = &step.retry {
            let times = if retry.attempts == 1 { "once".to_owned() } else { format!("{} times", retry.attempts) };
            page.paragraph(4, &format!("tried again {times}, first after {}", duration(retry.delay)));
        }
        if let Some(fallback) = &step.fallback {
            page.paragraph(4, "if all tries fail:");
            self.command(page, 6, fallback);
        }
        if let Some(timeout) = step.timeout {
            page.paragraph(4, &format!("each try may take {}", duration(timeout)));
        }
        if step.on_failure {
            page.paragraph(4, "runs only if another step failed");
        }
        if step.continue_on_error == Some(true) {
            page.paragraph(4, "may fail: the run continues");
        }
    }
}

/// Where a tool runs, if that is not the machine of its caller.
fn runs_on(tool: &Tool) -> String {
    match tool.on {
        RunSite::Here => String::new(),
        RunSite::Fleet if tool.keep_on => format!("{}, the same for all steps", worker_with(tool.worker_labels())),
        RunSite::Fleet => worker_with(tool.worker_labels()),
    }
}

fn settings(page: &mut Page, tool: &Tool) {
    let security = &tool.security;
    interface(page, tool);
    page.fact("platforms", &tool.platforms.iter().map(|platform| platform.name()).collect::<Vec<_>>().join(", "));
    page.fact("requires", &tool.requires.commands.join(", "));
    page.fact("requires env", &tool.requires.env.join(", "));
    if let Some(version) = &tool.min_cycod_version {
        page.fact("needs", &format!("cycod {version} or newer"));
    }
    page.fact("runs on", &runs_on(tool));
    page.fact("timeout", &duration(tool.timeout.unwrap_or(Tool::DEFAULT_TIMEOUT)));
    if let Some(memory) = tool.resources.max_memory {
        page.fact("memory", &format!("at most {} MB", memory >> 20));
    }
    if let Some(directory) = &tool.file_paths.working_directory {
        page.fact("runs in", &source(directory));
    }
    for (name, value) in &tool.environment.variables {
        // A value that is masked in output is not to be read here either.
        let is_secret = tool.environment.is_secret(name);
        page.fact("environment", &format!("{name}={}", if is_secret { "****".to_owned() } else { source(value) }));
    }
    if !tool.environment.inherit {
        page.fact("environment", "nothing else is inherited but the basics");
    }
    match security.privilege {
        Privilege::SameAsUser => {}
        Privilege::Reduced => page.fact("privilege", "reduced"),
        Privilege::Elevated => page.fact("privilege", "elevated: asked for each time"),
    }
    match security.isolation {
        Isolation::Process => {}
        Isolation::None => page.fact("isolation", "none"),
        Isolation::Container => page.fact("isolation", "container"),
    }
    for permission in &security.permissions {
        page.fact("permission", &permission.source);
    }
    page.fact("justification", security.justification.as_deref().unwrap_or_default());
}

/// What it gives back, and how hosts see it.
fn interface(page: &mut Page, tool: &Tool) {
    let gives = match &tool.produces {
        Produces::Text => String::new(),
        Produces::Json => "one JSON value".to_owned(),
        Produces::Blocks => "content blocks".to_owned(),
        Produces::Media(media_type) => format!("a file of type {media_type}"),
    };
    let held = tool.returns.as_ref().map(|schema| format!(" that fits {}", schema.json())).unwrap_or_default();
    page.fact("gives back", &format!("{gives}{held}"));
    match &tool.offer {
        OfferedAs::Tool => {}
        OfferedAs::Prompt => page.fact("offered as", "a prompt"),
        OfferedAs::Resource { uri } => page.fact("offered as", &format!("the resource {uri}")),
    }
    page.fact("hints", &hints(tool));
    if tool.reports {
        page.fact("reports", "its progress, while it runs");
    }
    match tool.task {
        TaskSupport::Never => {}
        TaskSupport::Offered => page.fact("as a task", "where the host knows them"),
        TaskSupport::Required => page.fact("as a task", "always"),
    }
}

/// What its author says about its effects.
fn hints(tool: &Tool) -> String {
    let Hints { read_only, destructive, idempotent, open_world } = tool.hints;
    let hints = [
        ("read-only", read_only),
        ("destructive", destructive),
        ("idempotent", idempotent),
        ("open-world", open_world),
    ];
    let hints =
        hints.into_iter().filter_map(|(name, hint)| Some(if hint? { name.to_owned() } else { format!("not {name}") }));
    hints.collect::<Vec<_>>().join(", ")
}

/// With whose rights it runs and what it may reach, one line each.
fn permissions(tool: &Tool) -> Vec<String> {
    let security = &tool.security;
    let mut lines = Vec::new();
    match security.privilege {
        Privilege::SameAsUser => {}
        Privilege::Reduced => lines.push("with reduced rights".to_owned()),
        Privilege::Elevated => lines.push("with elevated rights, asked for each time".to_owned()),
    }
    lines.extend(security.permissions.iter().map(|permission| permission.source.clone()));
    if let Body::Handler(handler) = &tool.body
        && let Some(allowlist) = &handler.allowlist
    {
        let commands: Vec<String> = allowlist.iter().map(|pattern| format!("`{pattern}`")).collect();
        lines.push(format!(
            "may start {}",
            if commands.is_empty() { "nothing".to_owned() } else { commands.join(", ") }
        ));
    }
    if security.permissions.is_empty() {
        lines.push(match &tool.body {
            Body::Handler(handler) if handler.runtime == Runtime::Engine => {
                "reaches nothing by itself; the host reads and writes for it, inside of the workspace".to_owned()
            }
            _ => "no permissions declared: it runs with all your rights".to_owned(),
        });
    }
    match security.approval {
        Approval::ByRules => {}
        Approval::Always => lines.push("needs approval each time a model wants to run it".to_owned()),
        Approval::UnlessNamed => lines.push(
            "needs approval each time a model wants to run it, unless your own policy allows it by its name".to_owned(),
        ),
    }
    lines
}

/// What it asks of others before it runs.
fn asks(page: &mut Page, tool: &Tool) {
    if tool.asks.is_empty() {
        return;
    }
    page.section("ASKS");
    for ask in &tool.asks {
        let whom = match ask.whom {
            Whom::Person { .. } | Whom::Consent { .. } => "the user",
            Whom::Model { .. } => "the model",
            Whom::Roots => "the host, for its directories",
        };
        page.paragraph(2, &format!("{}  {whom}", ask.name));
        page.paragraph(6, &ask.words().map(source).unwrap_or_default());
        if let Whom::Person { .. } = ask.whom {
            let fields: Vec<&Parameter> = ask.fields.iter().filter_map(|field| tool.parameter(field)).collect();
            described(page, 6, tool, fields);
        }
    }
}

fn parameters(page: &mut Page, tool: &Tool) {
    let parameters: Vec<&Parameter> = tool.given_parameters().collect();
    if !parameters.is_empty() {
        page.section("PARAMETERS");
        described(page, 2, tool, parameters);
    }
}

fn described(page: &mut Page, indent: usize, tool: &Tool, parameters: Vec<&Parameter>) {
    let deeper = indent + 4;
    let verdicts = verdicts_by_parameter(tool);
    for parameter in parameters {
        let mut traits = vec![parameter.kind.name().to_owned()];
        match &parameter.default {
            Some(default) => traits.push(format!("default {}", literal(default))),
            None => traits.push(if parameter.required { "required" } else { "optional" }.to_owned()),
        }
        if parameter.sensitive {
            traits.push("masked".to_owned());
        }
        page.paragraph(indent, &format!("{}  {}", parameter.name, traits.join(", ")));
        page.paragraph(deeper, &parameter.description);
        let rules = rules(&parameter.validation);
        page.labelled(deeper, "must", &rules.join("; "));
        if let Some(schema) = &parameter.schema {
            page.labelled(deeper, "must fit", &schema.json().to_string());
        }
        let examples: Vec<String> = parameter.examples.iter().map(Value::to_string).collect();
        page.labelled(deeper, "examples", &examples.join(", "));
        match &parameter.transform {
            Some(Transform::Named(_)) | None => {}
            Some(Transform::Script(script)) => page.labelled(deeper, "transformed by", script),
        }
        if let Some(format) = &parameter.format {
            page.labelled(deeper, "written as", &source(&format.template));
        }
        let verdict = verdicts.iter().find(|(name, _)| *name == parameter.name).map(|(_, verdict)| verdict);
        page.labelled(deeper, "placed as", &verdict.map(Verdict::describe).unwrap_or_default());
        if parameter.words {
            page.paragraph(deeper, "several words: the caller chooses options");
        } else if parameter.options {
            page.paragraph(deeper, "may be an option: the caller chooses it");
        }
        if let Some(deprecation) = &parameter.deprecated {
            let instead = deprecation.message.clone();
            let instead = instead.or_else(|| deprecation.alternative.as_ref().map(|name| format!("use {name}")));
            page.paragraph(
                deeper,
                &format!("deprecated{}", instead.map(|text| format!(": {text}")).unwrap_or_default()),
            );
        }
        page.paragraph(deeper, parameter.detailed_help.as_deref().unwrap_or_default());
    }
}

fn tests(page: &mut Page, tool: &Tool) {
    if !tool.tests.is_empty() {
        page.section("TESTS");
        for test in &tool.tests {
            let what = test.description.as_ref().map(|text| format!("  {text}")).unwrap_or_default();
            page.paragraph(2, &format!("{}{what}", test.name));
        }
    }
}

fn changes(page: &mut Page, tool: &Tool) {
    if !tool.changelog.is_empty() {
        page.section("CHANGES");
        for change in &tool.changelog {
            page.paragraph(2, &format!("{}  {}", change.version, change.changes));
        }
    }
}

fn interpreter(interpreter: &Interpreter) -> String {
    match interpreter {
        Interpreter::Bash => "bash".to_owned(),
        Interpreter::Sh => "sh".to_owned(),
        Interpreter::Zsh => "zsh".to_owned(),
        Interpreter::PowerShell => "pwsh".to_owned(),
        Interpreter::Cmd => "cmd".to_owned(),
        Interpreter::Argv => "run".to_owned(),
        Interpreter::PlatformDefault => "the platform's shell".to_owned(),
        Interpreter::Program(program) => program.words.join(" "),
    }
}

/// The rules a value must keep, in words.
fn rules(validation: &ParameterValidation) -> Vec<String> {
    let mut rules = Vec::new();
    let mut rule = |text: Option<String>| rules.extend(text);
    let range = |least: Option<u64>, most: Option<u64>, noun: &str| {
        let nouns = |number: u64| if number == 1 { noun.to_owned() } else { format!("{noun}s") };
        match (least, most) {
            (Some(least), Some(most)) if least == most => Some(format!("have {least} {}", nouns(least))),
            (Some(least), Some(most)) => Some(format!("have {least} to {most} {}", nouns(most))),
            (Some(least), None) => Some(format!("have at least {least} {}", nouns(least))),
            (None, Some(most)) => Some(format!("have at most {most} {}", nouns(most))),
            (None, None) => None,
        }
    };
    rule(
        validation
            .allowed
            .as_ref()
            .map(|values| format!("be one of {}", values.iter().map(Value::to_string).collect::<Vec<_>>().join(", "))),
    );
    rule(range(validation.min_length, validation.max_length, "character"));
    rule(validation.pattern.as_ref().map(|pattern| format!("match {}", pattern.as_str())));
    rule(validation.minimum.as_ref().map(|limit| format!("be at least {limit}")));
    rule(validation.maximum.as_ref().map(|limit| format!("be at most {limit}")));
    rule(validation.exclusive_minimum.as_ref().map(|limit| format!("be more than {limit}")));
    rule(validation.exclusive_maximum.as_ref().map(|limit| format!("be less than {limit}")));
    rule(validation.multiple_of.as_ref().map(|factor| format!("be a multiple of {factor}")));
    rule(range(validation.min_items, validation.max_items, "element"));
    rule(validation.unique_items.then(|| "hold nothing twice".to_owned()));
    rule(validation.items.as_ref().map(|shape| format!("hold elements of type {}", shape.kind.name())));
    let properties = validation.properties.iter().map(|(name, shape)| {
        let is_required = validation.required_properties.contains(name);
        format!("{name} ({}{})", shape.kind.name(), if is_required { ", required" } else { "" })
    });
    let properties: Vec<String> = properties.collect();
    rule((!properties.is_empty()).then(|| format!("have the properties {}", properties.join(", "))));
    rules
}

fn source(template: &Template) -> String {
    template.source(&KnownNames::default())
}

fn arguments(with: &[(String, Literal)]) -> String {
    with.iter().map(|(name, value)| format!("\n{name}: {}", literal(value))).collect()
}
