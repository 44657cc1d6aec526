use std::path::{Path, PathBuf};

use cycod_definition::{Level, Privilege, StartedProgram, Value};
use cycod_policy::{
    Argument, Decision, Held, Layer, Origin, Pattern, Places, Policy, Question, Reading, Rule, Standing, Subject,
    Surface, Verdict,
};

/// A tool with its arguments, owned.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) level: Level,
    pub(crate) tags: Vec<String>,
    pub(crate) remote: Option<(&'static str, &'static str)>,
    pub(crate) programs: Option<Vec<StartedProgram>>,
    pub(crate) arguments: Vec<(&'static str, Option<Value>, Reading)>,
}

impl Tool {
    pub(crate) fn new(name: &'static str, level: Level) -> Self {
        Self { name, level, tags: Vec::new(), remote: None, programs: Some(Vec::new()), arguments: Vec::new() }
    }

    /// Whether it is known which programs it starts, and all of them are `listed`.
    pub(crate) fn starts_only(&self, listed: impl Fn(&str) -> bool) -> bool {
        self.programs.as_ref().is_some_and(|programs| {
            programs.iter().all(|program| match program {
                StartedProgram::Named(name) => listed(name),
                StartedProgram::Unknown(_) => false,
            })
        })
    }

    pub(crate) fn tagged(mut self, tag: &str) -> Self {
        self.tags.push(tag.to_owned());
        self
    }

    pub(crate) fn with(self, name: &'static str, value: Value) -> Self {
        self.read_as(name, value, Reading::Words)
    }

    pub(crate) fn read_as(mut self, name: &'static str, value: Value, reading: Reading) -> Self {
        self.arguments.push((name, Some(value), reading));
        self
    }

    pub(crate) fn without(mut self, name: &'static str) -> Self {
        self.arguments.push((name, None, Reading::Words));
        self
    }

    pub(crate) fn subject(&self) -> Subject<'_> {
        let arguments = self.arguments.iter().map(|(name, value, reading)| {
            let value = value.as_ref().map_or(Held::Nothing, Held::Value);
            Argument { name, value, reading: *reading, meant: None }
        });
        Subject {
            name: self.name,
            level: self.level,
            tags: &self.tags,
            source: if self.remote.is_some() { "mcp" } else { "custom" },
            remote: self.remote,
            programs: self.programs.clone(),
            arguments: arguments.collect(),
        }
    }
}

pub(crate) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// A question about a trusted tool without special demands.
pub(crate) fn question(tool: &Tool, surface: Surface) -> Question<'_> {
    Question {
        tool: tool.subject(),
        reached: Vec::new(),
        privilege: Privilege::SameAsUser,
        asks_always: false,
        asks_unless_named: &[],
        surface,
        standing: Standing::Trusted,
        unmet: &[],
        programs: Vec::new(),
        places: places(),
    }
}

pub(crate) fn places() -> Places<'static> {
    let [workspace, directory, home] = ["/work", "/work/src", "/home/ada"].map(Path::new);
    Places { workspace, directory, others: &[], home, real: real_path }
}

fn real_path(path: &Path) -> PathBuf {
    // One link, out of the project.
    path.strip_prefix("/work/src/out").map_or_else(|_| path.to_owned(), |below| Path::new("/etc").join(below))
}

/// `VERDICT PATTERN`, in a layer.
pub(crate) fn rule(text: &str, layer: Layer) -> Rule {
    let (verdict, pattern) = text.split_once(' ').expect("a verdict");
    let verdict = Verdict::NAMES.iter().find(|(name, _)| *name == verdict).expect("a verdict").1;
    let pattern = Pattern::parse(pattern).unwrap_or_else(|error| panic!("{text}: {error}"));
    Rule::new(verdict, pattern, Origin::new(layer, "here"))
}

pub(crate) fn policy(rules: &[&str]) -> Policy {
    Policy::new(rules.iter().map(|text| rule(text, Layer::User)).collect(), Vec::new())
}

/// What becomes of a model's call.
pub(crate) fn decide(rules: &[&str], tool: &Tool) -> Decision {
    policy(rules).decide(&question(tool, Surface::Mcp))
}

#[track_caller]
pub(crate) fn check(rules: &[&str], tool: &Tool, expect: Verdict) {
    let decision = decide(rules, tool);
    assert_eq!(decision.verdict, expect, "{rules:?} {tool:?}: {}", decision.rule);
}
