//! What is wrong between a tool and those it uses, as soon as both are known and whatever is known later.

use std::{collections::HashSet, sync::Arc};

use cycod_definition::{
    Body, Crossing, Disclosure, Fault, Literal, StepAction, Tool, ToolUse, Value, argument_verdicts, crossings,
    static_value,
};
use cycod_diagnostic::{Code, Refusal, closest};

/// A use of another tool that cannot work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misuse {
    /// The step that uses it.
    pub step: Option<String>,
    /// The tool that is used, as it is called there.
    pub used: String,
    /// The argument, as it is called there.
    pub argument: Option<String>,
    /// A slug of `docs/errors/`.
    pub code: Code,
    /// What is wrong: a lowercase fragment without a final period.
    pub why: String,
    /// How to go on.
    pub help: Option<String>,
}

impl Misuse {
    /// The refusal of a call of `tool`, whose use this is.
    pub fn refusal(&self, tool: &Tool) -> Refusal {
        let place = match &self.step {
            Some(step) => format!("`{}`, step `{step}`", tool.name),
            None => format!("`{}`", tool.name),
        };
        let refusal = Refusal::new(self.code, format!("{place}: {}", self.why));
        let refusal = match &self.argument {
            Some(argument) => refusal.place(argument),
            None => refusal.place(&self.used),
        };
        // Everything else is to be done in the file, and there it is shown.
        match &self.help {
            Some(near) if near.starts_with("did you mean") => refusal.attempt(near),
            _ => refusal.attempt(format!("cycod validate {}", tool.name)),
        }
    }
}

/// Holds what `tool` gives to the tools that it uses against their parameters; `find` returns what a name leads to, aliases
/// resolved.
///
/// A value that only a run can tell is taken on trust here and bound to its parameter then.
pub fn misuses(tool: &Tool, find: &dyn Fn(&str) -> Option<Arc<Tool>>) -> Vec<Misuse> {
    let of_use = |step: Option<&str>, tool_use: &ToolUse| {
        let Some(used) = find(&tool_use.tool) else { return Vec::new() };
        let mut found = Uses { tool, step, name: &tool_use.tool, used: &used, found: Vec::new() };
        found.arguments(&tool_use.with);
        found.missing(&tool_use.with);
        found.found
    };
    let mut found = match &tool.body {
        Body::Use(tool_use) => of_use(None, tool_use),
        Body::Steps(steps) => {
            let uses = steps.iter().filter_map(|step| match &step.action {
                StepAction::Use(tool_use) => Some((step.name.as_str(), tool_use)),
                StepAction::Command(_) => None,
            });
            uses.flat_map(|(step, tool_use)| of_use(Some(step), tool_use)).collect()
        }
        Body::Alias { base, .. } => find(base).map(|base| of_alias(tool, &base)).unwrap_or_default(),
        Body::Command(_) | Body::Handler(_) | Body::BuiltIn(_) | Body::Remote(_) => Vec::new(),
    };
    found.extend(crossings(tool, find).into_iter().filter_map(of_crossing));
    found
}

/// A value that a later step runs is shown where it stands; in a command, which has no argument, at the step that runs it.
fn of_crossing(crossing: Crossing) -> Option<Misuse> {
    let code = crossing.verdict.code?;
    let why = crossing.verdict.reason;
    let help = Some(crossing.verdict.help).filter(|help| !help.is_empty());
    Some(match (crossing.used, crossing.by) {
        (Some(used), _) => Misuse { step: crossing.step, used, argument: Some(crossing.argument), code, why, help },
        (None, Some((step, used))) => {
            let why = match crossing.step {
                Some(from) => format!("in step `{from}`, {why}"),
                None => why,
            };
            Misuse { step: Some(step), used, argument: None, code, why, help }
        }
        (None, None) => return None,
    })
}

/// Holds what an alias sets against the parameters of its base.
pub(crate) fn of_alias(alias: &Tool, base: &Tool) -> Vec<Misuse> {
    let Body::Alias { base: name, defaults } = &alias.body else { return Vec::new() };
    let mut found = Uses { tool: alias, step: None, name, used: base, found: Vec::new() };
    for parameter in &alias.parameters {
        // A question's answer stays one, whatever the alias says.
        if base.parameter(&parameter.name).is_some_and(|of_base| !of_base.asked) {
            let why = format!("`{name}` has a parameter `{}`, which an alias cannot replace", parameter.name);
            let help = format!(
                "give its default in `default-parameters`, or call yours something else than `{}`",
                parameter.name
            );
            found.add(Code::IgnoredByAlias, Some(&parameter.name), why, Some(help));
        }
    }
    let own = |name: &str| alias.parameter(name).is_some() && base.parameter(name).is_none();
    let of_base: Vec<_> = defaults.iter().filter(|(name, _)| !own(name)).cloned().collect();
    // A default is found by its very name.
    found.exactly(&of_base);
    found.found
}

/// One use, and what is wrong with it.
struct Uses<'a> {
    /// The tool that uses the other one.
    tool: &'a Tool,
    step: Option<&'a str>,
    name: &'a str,
    used: &'a Tool,
    found: Vec<Misuse>,
}

impl Uses<'_> {
    fn add(&mut self, code: Code, argument: Option<&str>, why: String, help: Option<String>) {
        let (step, used) = (self.step.map(str::to_owned), self.name.to_owned());
        self.found.push(Misuse { step, used, argument: argument.map(str::to_owned), code, why, help });
    }

    /// The arguments of a call.
    fn arguments(&mut self, arguments: &[(String, Literal)]) {
        let mut given = HashSet::new();
        for (name, literal) in arguments {
            match self.used.parameter_meant(name) {
                Some(index) if !given.insert(index) => {
                    let why = format!("`{}` is given `{}` more than once", self.name, self.used.parameters[index].name);
                    self.add(Code::RepeatedArgument, Some(name), why, None);
                }
                Some(index) => self.value(index, name, literal),
                None if self.used.takes_more() => {}
                None => self.unknown(name),
            }
        }
    }

    /// The defaults of an alias.
    fn exactly(&mut self, defaults: &[(String, Literal)]) {
        for (name, literal) in defaults {
            match self.used.parameters.iter().position(|parameter| parameter.name == *name) {
                Some(index) => self.value(index, name, literal),
                None => self.unknown(name),
            }
        }
    }

    fn unknown(&mut self, name: &str) {
        let known = || self.used.given_parameters().map(|parameter| parameter.name.as_str());
        let help = match closest(name, known()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known().next().is_none() => format!("`{}` takes nothing: leave it out", self.name),
            None => {
                let names: Vec<String> = known().take(20).map(|name| format!("`{name}`")).collect();
                format!("`{}` takes {}", self.name, names.join(", "))
            }
        };
        self.add(Code::UnknownArgument, Some(name), format!("`{}` takes no `{name}`", self.name), Some(help));
    }

    fn value(&mut self, index: usize, name: &str, literal: &Literal) {
        let parameter = &self.used.parameters[index];
        if parameter.asked {
            let why =
                format!("`{}` of `{}` is the answer to a question, not given by the caller", parameter.name, self.name);
            return self.add(Code::AskedParameter, Some(name), why, Some("leave it out".to_owned()));
        }
        if let Some(reader) = parameter.code_reader() {
            let templates = literal.templates();
            for verdict in templates.into_iter().flat_map(|template| argument_verdicts(self.tool, template, reader)) {
                if let Some(code) = verdict.code.filter(|_| !verdict.is_placeable()) {
                    let help = Some(verdict.help).filter(|help| !help.is_empty());
                    self.add(
                        code,
                        Some(name),
                        format!("`{}` of `{}`: {}", parameter.name, self.name, verdict.reason),
                        help,
                    );
                }
            }
        }
        let Some(value) = static_value(literal).filter(|value| *value != Value::Null) else { return };
        let is_secret = parameter.sensitive || self.used.environment.is_secret(&parameter.name);
        let disclosure = if is_secret { Disclosure::Masked } else { Disclosure::Shown };
        let Err(rejection) = parameter.accept(value, disclosure) else { return };
        let code = match rejection.fault {
            Fault::Type => Code::WrongArgumentType,
            Fault::Rule => Code::InvalidArgument,
        };
        for violation in rejection.violations {
            let why = format!("`{}{}` of `{}`: {}", parameter.name, violation.path, self.name, violation.message);
            self.add(code, Some(name), why, violation.help);
        }
    }

    /// What must be given and is not.
    fn missing(&mut self, arguments: &[(String, Literal)]) {
        let used = self.used;
        let is_given = |index: usize| {
            arguments
                .iter()
                .any(|(name, literal)| *literal != Literal::Null && used.parameter_meant(name) == Some(index))
        };
        for (index, parameter) in used.parameters.iter().enumerate() {
            if parameter.is_needed() && !parameter.asked && !is_given(index) {
                let why = format!("`{}` needs `{}`, which is not given", self.name, parameter.name);
                let help = format!("give `{}` in `with`", parameter.name);
                self.add(Code::MissingArgument, Some(&parameter.name), why, Some(help));
            }
        }
    }
}
