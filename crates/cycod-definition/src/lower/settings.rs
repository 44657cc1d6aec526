//! Reads what a tool says about itself besides what it does: metadata, security, environment, limits, requirements.

use std::{collections::HashSet, time::Duration};

use cycod_diagnostic::{Code, Diagnostic, Severity, Span};
use cycod_schedule::{Schedule, ScheduleError};
use cycod_shell::Programs;
use cycod_syntax::{template, yaml::Node};

use super::{
    Lowering, Scope, Text, View,
    literal::{Expected as Wanted, static_value},
    parameter::{Refused, disclosure},
};
use crate::{
    AccessKind, Approval, Caching, ChangelogEntry, Cleanup, Container, Environment, Expected, FilePaths,
    FunctionCalling, Interactive, Isolation, Metadata, ParameterType, Permission, Privilege, Requires, Resources,
    Secret, Security, TestCase, ToolName, Value, table::SECRET,
};

impl Lowering<'_> {
    pub(crate) fn version(&self, view: &View<'_>) -> Option<String> {
        let text = view.text("version")?;
        if lenient_version(&text.scalar.text).is_none() {
            self.sink.report(
                Diagnostic::warning(
                    Code::InvalidVersion,
                    text.span,
                    format!("`{}` is not a version", text.scalar.text),
                )
                .note("versions are written `MAJOR.MINOR.PATCH`"),
            );
        }
        Some(text.to_owned())
    }

    pub(crate) fn min_cycod_version(&self, view: &View<'_>) -> Option<semver::Version> {
        let text = view.text("min-cycod-version")?;
        let version = lenient_version(&text.scalar.text);
        if version.is_none() {
            self.sink.report(
                Diagnostic::error(Code::InvalidVersion, text.span, format!("`{}` is not a version", text.scalar.text))
                    .note("versions are written `MAJOR.MINOR.PATCH`"),
            );
        }
        version
    }

    pub(crate) fn timeout(&self, view: &View<'_>) -> Option<Duration> {
        let resources = view.object("resources").and_then(|resources| resources.milliseconds("timeout"));
        match (view.milliseconds("timeout"), resources) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn opt_template(&self, view: &View<'_>, key: &str, scope: Scope) -> Option<template::Template> {
        view.text(key).map(|text| self.template(text, scope))
    }

    pub(crate) fn templates(&self, view: &View<'_>, key: &str, scope: Scope) -> Vec<template::Template> {
        view.texts(key).into_iter().map(|text| self.template(text, scope)).collect()
    }

    /// Reads when the tool starts by the clock.
    pub(crate) fn schedule(&self, view: &View<'_>) -> Option<Schedule> {
        let schedule = view.object("schedule")?;
        let entry = view.entry("schedule")?;
        let choice = |name: &str| schedule.choice(name).unwrap_or_default();
        let read = Schedule {
            cron: schedule.string("cron").unwrap_or_default(),
            zone: schedule.string("zone").unwrap_or_else(|| "UTC".to_owned()),
            missed: choice("missed").parse().unwrap_or_default(),
            overlap: choice("overlap").parse().unwrap_or_default(),
        };
        match read.times() {
            Ok(_) => Some(read),
            Err(error) => {
                let at = schedule.text(if matches!(error, ScheduleError::Zone(_)) { "zone" } else { "cron" });
                let span = at.map_or(entry.key_span, |text| text.span);
                self.sink.report(
                    Diagnostic::error(Code::InvalidSchedule, span, error.to_string())
                        .label("it names no times")
                        .help("write, for example, `schedule: {cron: \"0 3 * * 1-5\", zone: Europe/Berlin}`"),
                );
                None
            }
        }
    }

    /// Reads what decides a result that may be used again.
    pub(crate) fn caching(&self, view: &View<'_>, scope: Scope) -> Option<Caching> {
        let cache = view.object("cache")?;
        Some(Caching {
            inputs: self.templates(&cache, "inputs", scope),
            outputs: self.templates(&cache, "outputs", scope),
            env: cache.strings("env"),
        })
    }

    pub(crate) fn environment(&self, view: &View<'_>, scope: Scope) -> Environment {
        let mut variables = Vec::new();
        for entry in view.map("variables") {
            let Some(scalar) = entry.value.as_scalar() else { continue };
            self.check_variable_name(&entry.key, entry.key_span);
            variables.push((entry.key.clone(), self.template(Text { scalar, span: entry.value.span }, scope)));
        }
        let known: HashSet<&str> = variables
            .iter()
            .map(|(name, _)| name.as_str())
            .chain(self.names.parameters.iter().map(String::as_str))
            .collect();
        for secret in view.texts("secrets").into_iter().filter(|secret| !known.contains(secret.scalar.text.as_str())) {
            let name = &secret.scalar.text;
            // A secret may also be kept elsewhere, so a stranger is fine unless it looks like a slip of the pen.
            if let Some((near, help)) = self.sink.did_you_mean(name, known.iter().copied()) {
                self.sink.report(
                    Diagnostic::warning(
                        Code::UnknownSecret,
                        secret.span,
                        format!("`{name}` is neither a variable nor a parameter of this tool"),
                    )
                    .label("treated as a secret from `cycod secret set`")
                    .help(help)
                    .fix(format!("write `{near}`"), self.sink.rewrite(secret.span, near)),
                );
            }
        }
        let secrets = view.one_or_many("secrets").iter().filter_map(|node| self.secret(node)).collect();
        Environment { variables, inherit: view.flag("inherit").unwrap_or(true), secrets }
    }

    /// An entry of `secrets`: a name, or a mapping that says more.
    fn secret(&self, node: &Node) -> Option<Secret> {
        if let Some(scalar) = node.as_scalar() {
            return Some(Secret { name: scalar.text.clone(), kept_as: scalar.text.clone(), hosts: Vec::new() });
        }
        let view = View::new(node, &SECRET)?;
        let Some(name) = view.text("name") else {
            self.sink.error(Code::InvalidName, view.span, "a secret needs a `name`".to_owned());
            return None;
        };
        self.check_variable_name(&name.scalar.text, name.span);
        let kept_as = view.text("secret").unwrap_or(name);
        // Tools and what is kept go by names of one form.
        if ToolName::new(&kept_as.scalar.text).is_none() {
            let message = format!("no secret can be kept as `{}`", kept_as.scalar.text);
            self.sink.report(
                Diagnostic::error(Code::InvalidName, kept_as.span, message)
                    .note("names start with a letter or digit and hold letters, digits, `_`, `.` and `-`, at most 64"),
            );
        }
        let hosts = view.texts("for");
        for host in &hosts {
            let is_plain = is_host(&host.scalar.text) && !host.scalar.text.contains('*');
            if !is_plain {
                let message = format!("`{}` is not a host", host.scalar.text);
                self.sink.error(Code::UnknownPermission, host.span, message);
            }
            self.secret_hosts.borrow_mut().extend(is_plain.then(|| (host.scalar.text.clone(), host.span)));
        }
        Some(Secret {
            name: name.to_owned(),
            kept_as: kept_as.to_owned(),
            hosts: hosts.into_iter().map(Text::to_owned).collect(),
        })
    }

    pub(crate) fn check_variable_name(&self, name: &str, span: Span) {
        if name.is_empty() || name.contains(['=', '\0']) {
            self.sink.error(Code::InvalidName, span, format!("`{name}` cannot name an environment variable"));
        }
    }

    pub(crate) fn security(&self, view: &View<'_>) -> Security {
        let Some(view) = view.object("security") else { return Security::default() };
        let isolation = match view.choice("isolation") {
            Some("none") => Isolation::None,
            Some("container") => Isolation::Container,
            _ => Isolation::Process,
        };
        if isolation != Isolation::Container
            && let Some(entry) = view.entry("container")
        {
            self.sink.report(
                Diagnostic::error(Code::ContainerUnused, entry.key_span, "`container` needs `isolation: container`")
                    .note("otherwise the tool would run with less confinement than this asks for"),
            );
        }
        Security {
            privilege: match view.choice("execution-privilege") {
                Some("reduced") => Privilege::Reduced,
                Some("elevated") => Privilege::Elevated,
                _ => Privilege::SameAsUser,
            },
            isolation,
            permissions: view
                .texts("required-permissions")
                .into_iter()
                .filter_map(|text| self.permission(text))
                .collect(),
            approval: view
                .choice("approval")
                .and_then(|word| Approval::NAMES.into_iter().find(|(name, _)| *name == word))
                .map_or(Approval::ByRules, |(_, approval)| approval),
            justification: view.string("justification"),
            container: view.object("container").map(|container| Container {
                image: container.string("image"),
                network: container.string("network"),
                mounts: container.strings("mounts"),
            }),
        }
    }

    fn permission(&self, text: Text<'_>) -> Option<Permission> {
        let source = &text.scalar.text;
        let refuse = |message: String, help: Option<String>| {
            let diagnostic = Diagnostic::error(Code::UnknownPermission, text.span, message).note(
                "permissions are `filesystem:read|write|execute:<path>`, `network:external|loopback:<host[:port]|*>` and \
                 `model:complete:<PROVIDER/NAME|PROVIDER/*|*>`",
            );
            self.sink.report(match help {
                Some(help) => diagnostic.help(help),
                None => diagnostic,
            });
            None
        };
        let mut parts = source.splitn(3, ':');
        let (family, kind, target) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
        let kinds: &[(&str, AccessKind)] = match family {
            "filesystem" => &[
                ("read", AccessKind::FilesystemRead),
                ("write", AccessKind::FilesystemWrite),
                ("execute", AccessKind::FilesystemExecute),
            ],
            "network" => &[("external", AccessKind::NetworkExternal), ("loopback", AccessKind::NetworkLoopback)],
            "model" => &[("complete", AccessKind::ModelComplete)],
            _ => {
                let help = self.sink.did_you_mean(family, ["filesystem", "network", "model"]).map(|(_, help)| help);
                return refuse(format!("`{source}` is not a permission we know"), help);
            }
        };
        let Some(kind) = kind else {
            return refuse(format!("`{source}` does not say what it permits"), None);
        };
        let Some((_, access)) = kinds.iter().find(|(name, _)| *name == kind) else {
            let help = self.sink.did_you_mean(kind, kinds.iter().map(|(name, _)| *name)).map(|(_, help)| help);
            return refuse(format!("`{family}:{kind}` is not a permission we know"), help);
        };
        let Some(target) = target.filter(|target| !target.trim().is_empty()) else {
            let what = match family {
                "network" => "host",
                "model" => "model",
                _ => "path",
            };
            return refuse(format!("`{source}` names no {what}"), None);
        };
        let offset = source.len() - target.len();
        let (template, diagnostics) = template::parse(target, |at| text.scalar.origin(offset + at), &self.names);
        self.sink.extend(diagnostics);
        self.check_references(&template, Scope::Call);
        crate::check::transforms::check(&template, self);
        if family == "network"
            && let Some(host) = template.as_text()
            && !is_host(host)
        {
            return refuse(
                format!("`{host}` is not a host"),
                host.contains("://").then(|| "write the host alone, without `https://` and path".to_owned()),
            );
        }
        Some(Permission { access: *access, target: template, source: source.clone() })
    }

    pub(crate) fn file_paths(&self, view: &View<'_>) -> FilePaths {
        let own = self.opt_template(view, "working-directory", Scope::Call);
        let Some(paths) = view.object("file-paths") else {
            return FilePaths { working_directory: own, ..FilePaths::default() };
        };
        if let (Some(entry), Some(first)) = (paths.entry("working-directory"), view.entry("working-directory")) {
            self.sink.report(
                Diagnostic::warning(Code::UnusedKey, entry.key_span, "`working-directory` is given twice")
                    .also(first.key_span, "this one is used"),
            );
        }
        let inner = self.opt_template(&paths, "working-directory", Scope::Call);
        let cross = paths.object("cross-platform");
        let auto_convert = cross.and_then(|cross| cross.flag("auto-convert"));
        let separator = |key: &str, default: char| {
            let Some(text) = cross.and_then(|cross| cross.text(key)) else { return default };
            let mut characters = text.scalar.text.chars();
            match (characters.next(), characters.next()) {
                (Some(separator), None) => separator,
                _ => {
                    self.sink.error(Code::WrongType, text.span, format!("`{key}` takes one character"));
                    default
                }
            }
        };
        FilePaths {
            normalize: paths.flag("normalize").or(auto_convert).unwrap_or(false),
            working_directory: own.or(inner),
            temp_directory: self.opt_template(&paths, "temp-directory", Scope::Call),
            windows_separator: separator("windows-separator", '\\'),
            unix_separator: separator("unix-separator", '/'),
        }
    }

    pub(crate) fn metadata(&self, view: &View<'_>) -> Metadata {
        let Some(view) = view.object("metadata") else { return Metadata::default() };
        Metadata {
            category: view.string("category"),
            subcategory: view.string("subcategory"),
            tags: view.strings("tags"),
            search_keywords: view.strings("search-keywords"),
        }
    }

    pub(crate) fn function_calling(&self, view: &View<'_>) -> FunctionCalling {
        let default = FunctionCalling::default();
        let Some(view) = view.object("function-calling").and_then(|view| view.object("schema-generation")) else {
            return default;
        };
        let mut parameter_mapping = Vec::new();
        for entry in view.map("parameter-mapping") {
            let Some(scalar) = entry.value.as_scalar() else { continue };
            let types = ParameterType::NAMES.map(|(name, _)| name);
            if !types.contains(&entry.key.as_str()) {
                let diagnostic = Diagnostic::warning(
                    Code::UnknownKey,
                    entry.key_span,
                    format!("`{}` is not a parameter type", entry.key),
                );
                self.sink.report(match self.sink.did_you_mean(&entry.key, types) {
                    Some((near, help)) => {
                        diagnostic.help(help).fix(format!("write `{near}`"), self.sink.rewrite(entry.key_span, near))
                    }
                    None => diagnostic,
                });
            }
            let schema = ["string", "number", "integer", "boolean", "array", "object", "null"];
            if !schema.contains(&scalar.text.as_str()) {
                self.sink.report(
                    Diagnostic::error(
                        Code::UnknownChoice,
                        entry.value.span,
                        format!("`{}` is not a JSON Schema type", scalar.text),
                    )
                    .note(format!("it is {}", crate::table::one_of(&schema))),
                );
            }
            parameter_mapping.push((entry.key.clone(), scalar.text.clone()));
        }
        FunctionCalling {
            parameter_mapping,
            include_descriptions: view.flag("include-descriptions").unwrap_or(default.include_descriptions),
            include_defaults: view.flag("include-defaults").unwrap_or(default.include_defaults),
            example_generation: view.flag("example-generation").unwrap_or(default.example_generation),
            sanitize_schemas: view.flag("sanitize-schemas").unwrap_or(default.sanitize_schemas),
        }
    }

    pub(crate) fn interactive(&self, view: &View<'_>) -> Option<Interactive> {
        let options = view.object("interactive-options");
        if view.flag("interactive") != Some(true) {
            if let Some(entry) = view.entry("interactive-options") {
                self.sink.warning(
                    Code::UnusedKey,
                    entry.key_span,
                    "`interactive-options` has no effect without `interactive: true`",
                );
            }
            return None;
        }
        Some(Interactive {
            timeout: options.and_then(|options| options.milliseconds("timeout")),
            default_response: options.and_then(|options| self.opt_template(&options, "default-response", Scope::Call)),
        })
    }

    pub(crate) fn resources(&self, view: &View<'_>) -> Resources {
        let Some(view) = view.object("resources") else { return Resources::default() };
        let mut cleanup = Vec::new();
        for action in view.objects("cleanup") {
            if action.flag("delete-temp-files") == Some(true) {
                cleanup.push(Cleanup::DeleteTempFiles);
            }
            if let Some(text) = action.text("final-command") {
                cleanup.push(Cleanup::Command(self.default_command(text, Scope::Steps)));
            }
        }
        Resources { max_memory: view.size("max-memory"), cleanup }
    }

    pub(crate) fn requires(&self, view: &View<'_>) -> Requires {
        let Some(view) = view.object("requires") else { return Requires::default() };
        Requires {
            commands: view.strings("commands"),
            env: view.strings("env"),
            platforms: self.platforms(&view, "platforms"),
        }
    }

    pub(crate) fn programs(&self, view: &View<'_>) -> Programs {
        let mut programs = Programs::default();
        for (name, nature) in crate::programs_file::statements(view.map("programs"), &self.sink) {
            programs.insert(name, nature);
        }
        let shared = self.beside.programs.as_ref().map(|file| file.says().clone()).unwrap_or_default();
        programs.with_shared(shared).with_project(self.beside.project.clone())
    }

    pub(crate) fn changelog(&self, view: &View<'_>) -> Vec<ChangelogEntry> {
        let changes = view.objects("changelog").into_iter();
        changes
            .map(|view| ChangelogEntry {
                version: view.string("version").unwrap_or_default(),
                changes: view.string("changes").unwrap_or_default(),
            })
            .collect()
    }

    pub(crate) fn tests(&self, view: &View<'_>) -> Vec<TestCase> {
        let mut tests: Vec<(TestCase, Span)> = Vec::new();
        for view in view.objects("tests") {
            let (name, span) = match view.text("name") {
                Some(text) if !text.scalar.text.trim().is_empty() => (text.to_owned(), text.span),
                _ => {
                    let span = Span {
                        start: view.span.start,
                        end: view.entries.first().map_or(view.span.end, |entry| entry.key_span.end),
                    };
                    self.sink.error(Code::NoName, span, "a test needs a `name`");
                    continue;
                }
            };
            if let Some((_, first)) = tests.iter().find(|(test, _)| test.name == name) {
                self.sink.report(
                    Diagnostic::error(Code::DuplicateTest, span, format!("a second test is called `{name}`"))
                        .also(*first, "the first"),
                );
            }
            let test = TestCase {
                name,
                description: view.string("description"),
                parameters: self.test_parameters(&view),
                platforms: self.platforms(&view, "platforms"),
                expected: self.expected(&view),
                cleanup: view
                    .texts("cleanup")
                    .into_iter()
                    .map(|text| self.default_command(text, Scope::Steps))
                    .collect(),
            };
            tests.push((test, span));
        }
        tests.into_iter().map(|(test, _)| test).collect()
    }

    fn test_parameters(&self, view: &View<'_>) -> Vec<(String, crate::Literal)> {
        let mut arguments = Vec::new();
        for entry in view.map("parameters") {
            let parameter = self.parameters.iter().find(|parameter| parameter.name.eq_ignore_ascii_case(&entry.key));
            let wanted = parameter.map_or(Wanted::ANY, |parameter| Wanted::new(parameter.kind, &parameter.validation));
            let literal = self.literal(&entry.value, wanted, Scope::Call);
            match parameter {
                // Without parameters of its own the tool may be an alias, whose base is not known here.
                None if !self.parameters.is_empty() => {
                    let names = self.parameters.iter().map(|parameter| parameter.name.as_str());
                    let diagnostic = Diagnostic::error(
                        Code::UnknownParameter,
                        entry.key_span,
                        format!("the tool has no parameter `{}`", entry.key),
                    );
                    self.sink.report(match self.sink.did_you_mean(&entry.key, names) {
                        Some((near, help)) => diagnostic
                            .help(help)
                            .fix(format!("write `{near}`"), self.sink.rewrite(entry.key_span, near)),
                        None => diagnostic,
                    });
                }
                None => {}
                Some(parameter) => {
                    // A test may give a wrong value on purpose, to see it refused.
                    let expects_failure = view
                        .object("expected")
                        .and_then(|expected| expected.integer("exit-code"))
                        .is_some_and(|code| code != 0);
                    // A null is the same as no argument.
                    let given = static_value(&literal).filter(|value| !expects_failure && *value != Value::Null);
                    if let Some(Err(rejection)) = given.map(|value| parameter.accept(value, disclosure(parameter))) {
                        let (code, severity) = (Code::InvalidArgument, Severity::Warning);
                        let refused = Refused { code, severity, what: "the value" };
                        self.rejected(&refused, &parameter.name, &rejection, &entry.value);
                    }
                }
            }
            arguments.push((entry.key.clone(), literal));
        }
        arguments
    }

    fn expected(&self, view: &View<'_>) -> Expected {
        let Some(view) = view.object("expected") else { return Expected::default() };
        Expected {
            exit_code: view.integer("exit-code"),
            output_contains: self.templates(&view, "output-contains", Scope::Call),
            output_contains_any: self.templates(&view, "output-contains-any", Scope::Call),
            file_exists: self.templates(&view, "file-exists", Scope::Call),
            directory_exists: self.templates(&view, "directory-exists", Scope::Call),
        }
    }
}

/// Reads `1`, `1.2` and `1.2.3` (a leading `v` is forgiven).
fn lenient_version(text: &str) -> Option<semver::Version> {
    let text = text.trim();
    let text = text.strip_prefix('v').unwrap_or(text);
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let padded = match text.matches('.').count() {
        0 if plain => format!("{text}.0.0"),
        1 if plain => format!("{text}.0"),
        _ => text.to_owned(),
    };
    semver::Version::parse(&padded).ok()
}

/// Whether `text` is `*`, a name, an address or one of them with a port.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => (address, rest.strip_prefix(':').or(rest.is_empty().then_some("1"))),
        None => match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, Some("1")),
        },
    };
    let port_is_fine = port.is_some_and(|port| port == "*" || port.parse::<u16>().is_ok_and(|port| port > 0));
    let host_is_fine = !host.is_empty()
        && host
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '*') || (c == ':' && text.starts_with('[')));
    port_is_fine && host_is_fine
}

/// Reads a pause in milliseconds.
pub(crate) fn delay(view: &View<'_>) -> Duration {
    view.milliseconds("delay").unwrap_or(Duration::from_secs(1))
}

#[cfg(test)]
mod tests {
    use cycod_diagnostic::{Code, SourceFile};

    #[test]
    fn a_schedule_that_names_no_times_is_an_error() {
        let codes = |schedule: &str| {
            let text = format!("name: a\ndescription: b\nbash: ls\ntags: [read]\nschedule: {schedule}\n");
            let found = crate::load(&SourceFile::new("a.yaml", &*text), None).diagnostics;
            found.iter().map(|diagnostic| diagnostic.code).collect::<Vec<_>>()
        };
        assert!(codes("{cron: '0 3 * * 1-5', zone: Europe/Berlin, missed: all, overlap: allow}").is_empty());
        assert!(codes("{cron: '@daily'}").is_empty());
        for wrong in ["{}", "{zone: UTC}", "{cron: '0 3 * *'}", "{cron: '0 3 30 2 *'}", "{cron: '@daily', zone: Mars}"]
        {
            assert_eq!(codes(wrong), [Code::InvalidSchedule], "{wrong}");
        }
    }
}
