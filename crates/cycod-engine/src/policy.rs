//! What may be done here: the rules, and the question that a plan puts to them.

use std::{
    collections::BTreeSet,
    convert::Infallible,
    path::{Path, PathBuf},
    sync::Arc,
};

use cycod_call::{Call, Given, NoSteps};
use cycod_catalog::Scopes;
use cycod_definition::{
    AccessKind, Body, Host, Isolation, Level, Parameter, Permission, Privilege, StartedProgram, StepAction, Tool,
    Value, level,
};
use cycod_file::Look;
use cycod_plan::{
    ContainerNetwork, Library, Plan, PlanError, PlannedAction, PlannedConfinement, Reach, asking, effective_level,
};
use cycod_policy::{
    Argument, Decision, Held, Meant, NetworkReach, Places, Policy, ProgramTerms, Question, Reading, Rule, Subject,
    Surface,
};
use cycod_run::{How, TouchedPath};
use cycod_settings::policy::Rules;

use crate::{Engine, beginning::run_id, moment::Once, registry::scope_of};

impl Engine {
    /// Adds rules that hold as long as this engine does, such as those of a command line.
    pub fn add_rules(&mut self, rules: Vec<Rule>) {
        self.rules.given.extend(rules);
        self.rules.read = Once::default();
    }

    /// The rules that hold now: those of files that have changed are read again.
    pub fn policy(&self) -> Arc<Policy> {
        self.moments.begin();
        self.policy_now()
    }

    /// The rules that hold for the call that is planned.
    fn policy_now(&self) -> Arc<Policy> {
        let look = self.look();
        let read = || {
            let rules = Rules::load_in(self.catalog().scopes(), self.host(), &look);
            let policy = Arc::new(rules.policy(&self.rules.given));
            Ok::<_, Infallible>((rules, policy))
        };
        let Ok(known) = self.rules.read.get(&self.moments, |(rules, _)| rules.are_current_in(&look), read);
        Arc::clone(&known.1)
    }

    /// Decides whether a plan may run, and asks nobody.
    pub fn decide(&self, plan: &Plan, surface: Surface) -> Decision {
        self.moments.begin();
        let decision = self.ask_policy(plan, surface, Policy::decide);
        self.with_doubt(plan, decision)
    }

    /// Everything that applies to a plan, by weight; the first decides.
    pub fn explain(&self, plan: &Plan, surface: Surface) -> Vec<Decision> {
        self.moments.begin();
        self.ask_policy(plan, surface, Policy::explain)
    }

    /// Everything that may apply to a tool of which no call is planned, so that its arguments may be anything.
    pub fn explain_unplanned(&self, tool: &Arc<Tool>, surface: Surface) -> Vec<Decision> {
        self.moments.begin();
        self.ask_unplanned(tool, surface, Policy::explain)
    }

    /// Decides about a call that was made from a directory, by the rules that hold now and by those of a draft. Without
    /// arguments, they may be anything.
    ///
    /// # Errors
    /// When such a call can't be made any more.
    pub fn decide_by_both(
        &self,
        tool: &Arc<Tool>,
        arguments: Option<Vec<(String, Given)>>,
        from: &Path,
        surface: Surface,
        draft: &Policy,
    ) -> Result<[Decision; 2], PlanError> {
        let both = |now: &Policy, question: &Question<'_>| [now.decide(question), draft.decide(question)];
        let Some(arguments) = arguments else {
            self.moments.begin();
            return Ok(self.ask_unplanned(tool, surface, both));
        };
        let host = if *from == self.host().working_directory {
            Arc::clone(self.host())
        } else {
            Arc::new(Host { working_directory: from.to_owned(), ..Host::clone(self.host()) })
        };
        let plan = self.plan_on(&host, &run_id(), tool, self.by_person(tool, arguments)?, &[], None)?;
        Ok(self.ask_policy(&plan, surface, both).map(|decision| self.with_doubt(&plan, decision)))
    }

    fn ask_unplanned<T>(&self, tool: &Arc<Tool>, surface: Surface, ask: impl FnOnce(&Policy, &Question<'_>) -> T) -> T {
        let policy = self.policy_now();
        let library = self.library(tool).unwrap_or_default();
        let effective = |tool: &Arc<Tool>| library.effective(tool).unwrap_or_else(|_| Arc::clone(tool));
        let (own, reached) = (effective(tool), library.tools().map(effective).collect::<Vec<_>>());
        let level = effective_level(tool, &library).max(effective_level(&own, &library));
        let (asks_always, asks_unless_named) = asking(std::iter::once(&own).chain(&reached).map(|tool| &**tool));
        let (host, at) = (self.host(), self.known(&policy));
        let question = Question {
            tool: Subject { level, ..later(at, &own, &library) },
            reached: reached.iter().map(|tool| later(at, tool, &library)).collect(),
            privilege: tool.security.privilege,
            asks_always,
            asks_unless_named: &asks_unless_named,
            surface,
            standing: self.standing_of_tool(tool),
            unmet: &[],
            programs: std::iter::once(&own).chain(&reached).filter_map(|tool| terms_of_tool(tool)).collect(),
            places: Places {
                workspace: &host.workspace,
                directory: &host.working_directory,
                others: &[],
                home: &host.home,
                real,
            },
        };
        ask(&policy, &question)
    }

    fn known(&self, policy: &Policy) -> Known<'_> {
        Known { scopes: self.catalog().scopes(), programs: policy.limits_programs() }
    }

    fn ask_policy<T>(&self, plan: &Plan, surface: Surface, ask: impl FnOnce(&Policy, &Question<'_>) -> T) -> T {
        let policy = self.policy_now();
        let used = names(&plan.library, &plan.tool().uses());
        let mut reached = Vec::new();
        self.add_steps(plan, &mut reached);
        let at = self.known(&policy);
        let touches = self.touches(plan);
        let mut others = plan.other_directories();
        for reached in &reached {
            if let Reached::Call(plan, ..) = reached {
                others.push(plan.working_directory.clone());
                others.extend(plan.other_directories());
            }
        }
        others.retain(|other| *other != plan.working_directory);
        others.sort_unstable();
        others.dedup();
        // What its own body does not use, the tool stands for: the bases of an alias take its arguments.
        let is_base = |tool: &&Arc<Tool>| !used.contains(&tool.name.key());
        let bases = plan.library.tools().filter(is_base).map(|base| behind(at, base, plan, &touches));
        let through = plan.through.as_ref().map(|through| Subject {
            // The programs are those of the plan that is carried out in its place.
            programs: Some(Vec::new()),
            ..subject(at, &through.call.tool, plan.level, given(&through.call, &[]))
        });
        let host = plan.host();
        let mut programs: Vec<_> = terms(plan).into_iter().collect();
        programs.extend(reached.iter().filter_map(|reached| match reached {
            Reached::Call(plan, ..) => terms(plan),
            // It is confined as it declares, or more.
            Reached::Later(tool) => terms_of_tool(tool),
        }));
        let question = Question {
            tool: called(at, plan, &touches),
            reached: bases
                .chain(through)
                .chain(reached.iter().flat_map(|reached| reached.subjects(at, &plan.library)))
                .collect(),
            privilege: plan.privilege,
            asks_always: plan.asks_always,
            asks_unless_named: &plan.asks_unless_named,
            surface,
            standing: self.standing_for(plan, surface),
            unmet: &plan.unmet,
            programs,
            places: Places {
                workspace: &host.workspace,
                directory: &plan.working_directory,
                others: &others,
                home: &host.home,
                real,
            },
        };
        ask(&policy, &question)
    }

    /// Adds what the steps of a plan call, with the arguments as far as they are known before anything runs.
    fn add_steps(&self, plan: &Plan, reached: &mut Vec<Reached>) {
        for step in &plan.steps {
            let PlannedAction::Tool(tool_use) = &step.action else { continue };
            match plan.nested(step, tool_use, &NoSteps, &self.scripts) {
                Ok(nested) => {
                    self.add_steps(&nested, reached);
                    let touches = self.touches(&nested);
                    reached.push(Reached::Call(Box::new(nested), tool_use.tool.clone(), touches));
                }
                Err(_) => {
                    let tools = names(&plan.library, &[&tool_use.tool]);
                    let tools = tools.iter().filter_map(|name| plan.library.get(name));
                    // An alias has the parameters of its base as well.
                    let effective = tools.map(|tool| plan.library.effective(tool).unwrap_or_else(|_| Arc::clone(tool)));
                    reached.extend(effective.map(Reached::Later));
                }
            }
        }
    }
}

/// What subjects are made from.
#[derive(Clone, Copy)]
struct Known<'a> {
    scopes: &'a Scopes,
    /// Whether the rules ask which programs tools start.
    programs: bool,
}

/// A tool that a step calls.
enum Reached {
    /// The call, the name that it was called by, and the paths that it uses.
    Call(Box<Plan>, String, Vec<TouchedPath>),
    /// The arguments are known when other steps have run.
    Later(Arc<Tool>),
}

impl Reached {
    fn subjects<'a>(&'a self, at: Known<'_>, library: &'a Library) -> Vec<Subject<'a>> {
        match self {
            Self::Call(plan, name, touches) => {
                let base = |tool: &&'a Arc<Tool>| match &tool.body {
                    Body::Alias { base, .. } => library.get(base),
                    _ => None,
                };
                let bases = std::iter::successors(library.get(name).as_ref().and_then(base), base);
                let bases = bases.map(|base| behind(at, base, plan, touches));
                std::iter::once(called(at, plan, touches)).chain(bases).collect()
            }
            Self::Later(tool) => vec![later(at, tool, library)],
        }
    }
}

/// What the programs are held to that a plan starts itself; nothing if it starts none.
fn terms(plan: &Plan) -> Option<ProgramTerms<'_>> {
    let starts_some = |action: &PlannedAction| match action {
        PlannedAction::Command(_) | PlannedAction::Handler(_) | PlannedAction::Remote(_) => true,
        // Of those that this program carries out, the ones that start programs have level run.
        PlannedAction::BuiltIn => plan.level == Level::Run,
        PlannedAction::Tool(_) => false,
    };
    let starts_some = !plan.cleanup.is_empty() || plan.steps.iter().any(|step| starts_some(&step.action));
    let PlannedConfinement { privilege, layers, container } = &plan.confinement;
    let reaches_none = |layer: &Vec<Reach>| !layer.iter().any(Reach::is_network);
    let network = match container.as_ref().map(|container| &container.network) {
        Some(ContainerNetwork::None) => NetworkReach::None,
        Some(ContainerNetwork::Host) if layers.is_empty() => NetworkReach::Any,
        None if layers.is_empty() => NetworkReach::Any,
        _ if layers.iter().any(reaches_none) => NetworkReach::None,
        _ => NetworkReach::Declared,
    };
    let is_remote = plan.steps.iter().any(|step| matches!(step.action, PlannedAction::Remote(_)));
    starts_some.then(|| ProgramTerms {
        tool: plan.tool().name.as_str(),
        privilege: *privilege,
        // A server of other programs runs as its own entry says.
        is_confined: plan.confinement.is_confined() && !is_remote,
        is_contained: container.is_some() && !is_remote,
        network: if is_remote { NetworkReach::Any } else { network },
    })
}

/// The same for a tool of which no call is planned.
fn terms_of_tool(tool: &Tool) -> Option<ProgramTerms<'_>> {
    let starts_some = match &tool.body {
        Body::Alias { .. } | Body::Use(_) => false,
        Body::Steps(steps) => steps.iter().any(|step| !matches!(step.action, StepAction::Use(_))),
        Body::BuiltIn(_) => level(tool, &|_| None) == Level::Run,
        _ => true,
    };
    let starts_some = starts_some || !tool.resources.cleanup.is_empty();
    let security = &tool.security;
    let is_contained = security.isolation == Isolation::Container;
    let declares = |permission: &Permission| {
        matches!(permission.access, AccessKind::NetworkExternal | AccessKind::NetworkLoopback)
    };
    let of_container = security.container.as_ref().and_then(|container| container.network.as_deref());
    let network = match of_container {
        None | Some("none") if is_contained => NetworkReach::None,
        _ if security.permissions.iter().any(declares) => NetworkReach::Declared,
        _ if !security.permissions.is_empty() => NetworkReach::None,
        Some(name) if is_contained && name != "host" => NetworkReach::Declared,
        _ => NetworkReach::Any,
    };
    let is_remote = matches!(tool.body, Body::Remote(_));
    let is_confined = is_contained || security.privilege == Privilege::Reduced || !security.permissions.is_empty();
    starts_some.then(|| ProgramTerms {
        tool: tool.name.as_str(),
        privilege: security.privilege,
        is_confined: is_confined && !is_remote,
        is_contained: is_contained && !is_remote,
        network: if is_remote { NetworkReach::Any } else { network },
    })
}

/// A tool whose arguments are not known.
fn later<'a>(at: Known<'_>, tool: &'a Tool, library: &Library) -> Subject<'a> {
    let arguments = tool.parameters.iter().map(|parameter| argument(tool, parameter, Held::Later));
    subject(at, tool, effective_level(tool, library), arguments.collect())
}

/// The tool of a plan.
fn called<'a>(at: Known<'_>, plan: &'a Plan, touches: &'a [TouchedPath]) -> Subject<'a> {
    subject(at, plan.tool(), plan.level, given(&plan.call, touches))
}

/// The arguments of a call.
fn given<'a>(call: &'a Call, touches: &'a [TouchedPath]) -> Vec<Argument<'a>> {
    let meant = |name: &str| {
        let touch = touches.iter().find(|touch| touch.parameter == name)?;
        Some(Meant { path: &touch.path, is_searched: touch.how == How::Search })
    };
    let arguments = call.values.iter().map(|bound| {
        let held = bound.value.as_ref().map_or(Held::Nothing, Held::Value);
        match call.tool.parameter(&bound.name) {
            Some(parameter) => Argument { meant: meant(&bound.name), ..argument(&call.tool, parameter, held) },
            // What the author's schema takes beside its properties.
            None => Argument { name: &bound.name, value: held, reading: Reading::Words, meant: None },
        }
    });
    arguments.collect()
}

/// A tool that the tool of a plan stands for.
fn behind<'a>(at: Known<'_>, base: &'a Tool, plan: &'a Plan, touches: &'a [TouchedPath]) -> Subject<'a> {
    subject(at, base, plan.level, given(&plan.call, touches))
}

fn subject<'a>(at: Known<'_>, tool: &'a Tool, level: Level, mut arguments: Vec<Argument<'a>>) -> Subject<'a> {
    let remote = match &tool.body {
        Body::Remote(remote) => {
            // Rules about an argument hold for one that is fixed as well.
            arguments.extend(remote.fixed.iter().map(|(name, value)| Argument {
                name,
                value: Held::Value(value),
                reading: Reading::Literal,
                meant: None,
            }));
            Some((&*remote.server, &*remote.tool))
        }
        _ => None,
    };
    Subject {
        name: tool.name.as_str(),
        level,
        tags: &tool.tags,
        source: scope_of(at.scopes, tool).source().name(),
        remote,
        programs: at.programs.then(|| programs(tool, &arguments)),
        arguments,
    }
}

/// The programs that a tool starts itself.
fn programs(tool: &Tool, arguments: &[Argument<'_>]) -> Vec<StartedProgram> {
    let Body::BuiltIn(name) = &tool.body else { return StartedProgram::of_tool(tool) };
    let held =
        |name: &str| arguments.iter().find(|argument| argument.name == name).map_or(Held::Nothing, |found| found.value);
    let text = |name: &str| match held(name) {
        Held::Value(Value::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let unknown = |what: &str| vec![StartedProgram::Unknown(format!("{what} `{name}`"))];
    let list = |value: Held<'_>| match value {
        Held::Nothing | Held::Value(Value::Null) => Some(Vec::new()),
        Held::Value(Value::List(words)) => Some(words.clone()),
        Held::Value(_) | Held::Later => None,
    };
    let arguments = list(held("args"));
    let arguments = arguments.as_ref().map(|words| {
        words.iter().map(|word| match word {
            Value::Text(word) => Some(word.as_str()),
            _ => None,
        })
    });
    match (name.as_str(), text("command"), arguments) {
        // They start none.
        ("file_operations" | "file_search" | "list_files" | "read_file" | "search_files" | "write_file", ..) => {
            Vec::new()
        }
        ("cli_skills_search", ..) => Vec::new(),
        ("get_context", ..) => vec![StartedProgram::Named("git".to_owned())],
        ("git", _, Some(arguments)) => {
            StartedProgram::of_words([Some("git"), text("operation")].into_iter().chain(arguments))
        }
        ("bash_execution", Some(command), _) if matches!(held("args"), Held::Nothing | Held::Value(Value::Null)) => {
            StartedProgram::of_script(command)
        }
        // With arguments, it is one program, which no shell reads.
        ("bash_execution", Some(program), Some(arguments)) => {
            StartedProgram::of_words(std::iter::once(Some(program)).chain(arguments))
        }
        ("git" | "bash_execution", ..) => unknown("the arguments of"),
        _ => unknown("the programs of the built-in tool"),
    }
}

fn argument<'a>(tool: &Tool, parameter: &'a Parameter, value: Held<'a>) -> Argument<'a> {
    let reading = match tool.body {
        Body::Remote(_) | Body::Handler(_) | Body::BuiltIn(_) => Reading::Literal,
        _ => Reading::of(parameter),
    };
    Argument { name: &parameter.name, value, reading, meant: None }
}

/// The tools of these names and all that they reach.
fn names(library: &Library, tools: &[&str]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut pending: Vec<&str> = tools.to_vec();
    while let Some(name) = pending.pop() {
        if names.insert(name.to_ascii_lowercase())
            && let Some(tool) = library.get(name)
        {
            pending.extend(tool.uses());
        }
    }
    names
}

/// The path with links followed, as far as it exists.
fn real(path: &Path) -> PathBuf {
    Look::default().of_existing(path)
}
