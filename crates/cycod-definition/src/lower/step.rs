//! Reads the steps of a workflow and what each waits for.

use cycod_diagnostic::{Code, Diagnostic, Span};
use cycod_syntax::{
    condition::{self, Expr, ExprPosition},
    template::{HoleValue, ITEM, Reference, StepAttribute, Template, TemplatePart},
    yaml::{MappingEntry, NodeKind},
};

use super::{
    Lowering, Scope, Text, View,
    command::{Defaults, Form},
    literal::Expected,
    settings::delay,
};
use crate::{
    Backoff, Command, Environment, ForEach, Literal, OnLost, OutputMode, ParameterType, Retry, Step, StepAction,
    StepOutput, StreamTarget, WORKER_LABEL, check::graph::cycles, is_worker_label, table::ENVIRONMENT,
};

/// How many steps, or items of a step, run at once at the most, whatever a file says.
const MOST_PARALLEL: usize = 64;

/// A step, and where its dependencies were written.
struct Draft {
    step: Step,
    /// Where the name stands.
    span: Span,
    /// Steps it depends on, with the reason's place and wording.
    edges: Vec<Edge>,
    /// Whether it starts when everything above it has ended.
    barrier: bool,
}

#[derive(Clone)]
struct Edge {
    to: usize,
    span: Span,
    why: &'static str,
}

/// Whether `name` can name a step: a letter, digit or `_`, then also `-`. A dot would read as an attribute.
fn is_step_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphanumeric() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

impl Lowering<'_> {
    /// Reads the steps of a tool and their dependencies.
    pub(crate) fn steps<'a>(&self, tool: &View<'a>, defaults: &Defaults<'a>) -> Option<Vec<Step>> {
        let views = tool.objects("steps");
        if views.is_empty() {
            if let Some(entry) = tool.entries.iter().find(|entry| entry.key == "steps")
                && entry.value.as_sequence().is_none_or(<[_]>::is_empty)
            {
                self.sink.report(
                    Diagnostic::error(Code::NoCommand, entry.key_span, "`steps` holds no step")
                        .help("add a step with `name` and a command such as `bash`"),
                );
            }
            return None;
        }
        let mut drafts: Vec<Draft> = Vec::new();
        let mut complete = true;
        for view in &views {
            match self.step(view, defaults, &drafts) {
                Some(draft) => drafts.push(draft),
                None => complete = false,
            }
        }
        self.connect(&mut drafts, &views);
        complete.then(|| drafts.into_iter().map(|draft| draft.step).collect())
    }

    fn step<'a>(&self, view: &View<'a>, defaults: &Defaults<'a>, before: &[Draft]) -> Option<Draft> {
        let head = Span {
            start: view.span.start,
            end: view.entries.first().map_or(view.span.end, |entry| entry.key_span.end),
        };
        let name = self.step_name(view, head, before);
        let span = view.text("name").map_or(head, |text| text.span);
        let condition = view.text("run-condition").and_then(|text| self.condition(text));
        let each = self.for_each(view, condition.as_ref());
        // Everything but the condition and the list itself belongs to an item.
        self.has_item.set(view.entry("for-each").is_some());
        let draft = self.step_of(view, defaults, name, span, (condition, each));
        self.has_item.set(false);
        draft
    }

    /// Reads the rest of a step.
    fn step_of<'a>(
        &self,
        view: &View<'a>,
        defaults: &Defaults<'a>,
        name: Option<String>,
        span: Span,
        (condition, each): (Option<(Expr, String)>, Option<ForEach>),
    ) -> Option<Draft> {
        let form = self.form(view, Scope::Steps, defaults, span);
        let handling = view.object("error-handling");
        let retry = handling.and_then(|handling| handling.object("retry")).map(|retry| self.retry(&retry));
        let fallback = handling.and_then(|handling| handling.text("fallback")).map(|text| {
            let (interpreter, options) = match &form {
                Some(Form::Command(Command::One(command))) => (command.interpreter.clone(), command.options.clone()),
                // A tool that is called has no shell of ours, but the step and the tool around it may name one.
                Some(Form::Use(_)) => match view.text("shell").or(defaults.shell) {
                    Some(shell) => {
                        let (interpreter, flags) = self.interpreter(shell);
                        let own = view.strings("shell-options");
                        let more = if own.is_empty() { defaults.options.clone() } else { own };
                        (interpreter, flags.into_iter().chain(more).collect())
                    }
                    None => (crate::Interpreter::PlatformDefault, Vec::new()),
                },
                _ => (crate::Interpreter::PlatformDefault, Vec::new()),
            };
            Command::One(self.command_text(text, interpreter, options, Scope::Steps))
        });
        let output = view.object("output").map(|output| self.output(&output)).unwrap_or_default();
        let environment = self.step_environment(view);
        let parallel = view.flag("parallel").unwrap_or(false);
        let template = |key: &str| view.text(key).map(|text| self.template(text, Scope::Steps));
        let step = Step {
            name: name?,
            working_directory: template("working-directory"),
            input: template("input"),
            action: match form? {
                Form::Command(command) => StepAction::Command(command),
                Form::Use(tool_use) => StepAction::Use(tool_use),
                // No step has these keys.
                Form::Steps(_) | Form::Handler(_) => return None,
            },
            after: Vec::new(),
            parallel,
            each,
            condition,
            continue_on_error: view.flag("continue-on-error"),
            on_failure: view.flag("on-failure").unwrap_or(false),
            on_lost: on_lost(view),
            runs_on: self.runs_on(view),
            retry,
            fallback,
            output,
            timeout: view.milliseconds("timeout"),
            environment,
            cache: self.caching(view, Scope::Steps),
            artifacts: self.step_artifacts(view),
        };
        crate::check::ignored::in_step(&step, view, self);
        let barrier = !parallel && !view.entries.iter().any(|entry| entry.key == "wait-for");
        Some(Draft { step, span, edges: Vec::new(), barrier })
    }

    /// Reads what the run keeps of a step: once of all its items, which are over by then.
    fn step_artifacts(&self, view: &View<'_>) -> Vec<Template> {
        let has_item = self.has_item.replace(false);
        let artifacts = self.templates(view, "artifacts", Scope::Steps);
        self.has_item.set(has_item);
        artifacts
    }

    fn step_name(&self, view: &View<'_>, head: Span, before: &[Draft]) -> Option<String> {
        let Some(text) = view.text("name") else {
            if view.entries.iter().all(|entry| entry.key != "name") {
                self.sink.report(
                    Diagnostic::error(Code::NoName, head, "a step needs a `name`")
                        .help("other steps refer to it by that, as in `{name.output}`"),
                );
            }
            return None;
        };
        let name = text.to_owned();
        if !is_step_name(&name) {
            self.sink.report(
                Diagnostic::error(Code::InvalidName, text.span, format!("`{name}` cannot name a step"))
                    .note("steps are named with letters, digits, `_` and `-`"),
            );
            return None;
        }
        if let Some(first) = before.iter().find(|draft| draft.step.name == name) {
            self.sink.report(
                Diagnostic::error(Code::DuplicateStep, text.span, format!("a second step is called `{name}`"))
                    .also(first.span, "the first"),
            );
        }
        Some(name)
    }

    fn condition(&self, text: Text<'_>) -> Option<(Expr, String)> {
        let (expression, diagnostics) = condition::parse(
            &text.scalar.text,
            |offset| text.scalar.origin(offset),
            &self.names,
            ExprPosition::RunCondition,
        );
        self.sink.extend(diagnostics);
        let expression = expression?;
        self.mark_used(expression.references().into_iter().map(|(reference, _)| reference));
        crate::check::conditions::check(&expression, text.span, self);
        Some((expression, text.to_owned()))
    }

    /// Reads what a step runs for.
    fn for_each(&self, view: &View<'_>, condition: Option<&(Expr, String)>) -> Option<ForEach> {
        let max_parallel = self.max_parallel(view);
        let Some(entry) = view.entry("for-each") else {
            if let Some(entry) = view.entry("max-parallel") {
                let message = "`max-parallel` has no effect on a step without `for-each`";
                self.sink.report(
                    Diagnostic::warning(Code::UnusedKey, entry.key_span, message)
                        .help("at the top of the file, it limits how many steps run at once"),
                );
            }
            return None;
        };
        if self.names.parameters.iter().any(|name| name == ITEM) {
            self.sink.report(
                Diagnostic::error(
                    Code::ShadowsPredefined,
                    entry.key_span,
                    format!("`{{{ITEM}}}` is the item here, and the tool has a parameter of this name"),
                )
                .help("rename the parameter"),
            );
        }
        if let Some((condition, _)) = condition
            && let Some((_, span)) =
                condition.references().into_iter().find(|(of, _)| **of == Reference::Environment(ITEM.to_owned()))
        {
            self.sink.report(
                Diagnostic::error(
                    Code::UnknownNameInCondition,
                    span,
                    format!("`{{{ITEM}}}` has no value here: a step is skipped or runs with all its items"),
                )
                .help("leave items out of the list, or decide in the command"),
            );
        }
        let list = self.literal(&entry.value, Expected::ANY, Scope::Steps);
        let is_list = match &list {
            Literal::List(items) => !self.too_many_items(items.len(), entry),
            Literal::Text(template) => self.gives_a_list(template, entry),
            _ => {
                self.no_list(entry, "it is no list");
                false
            }
        };
        is_list.then(|| ForEach { list, max_parallel: max_parallel.unwrap_or(1) })
    }

    fn too_many_items(&self, count: usize, entry: &MappingEntry) -> bool {
        let most = ForEach::MOST_ITEMS;
        if count > most {
            self.sink.error(Code::TooMany, entry.key_span, format!("a step has at most {most} items, not {count}"));
        }
        count > most
    }

    /// Whether a text is one placeholder whose value is a list; what is wrong is reported.
    fn gives_a_list(&self, template: &Template, entry: &MappingEntry) -> bool {
        let why = match template.segments.as_slice() {
            [TemplatePart::Hole(hole)] => match &hole.value {
                HoleValue::Reference { of, transforms, format: None } if transforms.is_empty() && !hole.raw => match of
                {
                    Reference::Step { attribute: StepAttribute::Output | StepAttribute::Error, .. } => return true,
                    Reference::Step { step, attribute } => format!("`{step}.{}` is no list", attribute.name()),
                    Reference::Parameter(name) => {
                        let known = self.parameters.iter().find(|parameter| parameter.name == *name);
                        match known.map(|parameter| parameter.kind) {
                            None | Some(ParameterType::Array | ParameterType::Any) => return true,
                            Some(kind) => format!("`{name}` is of type {}", kind.name()),
                        }
                    }
                    of => format!("`{of}` is one text"),
                },
                _ => "a list can't be changed here".to_owned(),
            },
            _ => "it is one text".to_owned(),
        };
        self.no_list(entry, &why);
        false
    }

    fn no_list(&self, entry: &MappingEntry, why: &str) {
        let is_words = matches!(&entry.value.kind, NodeKind::Scalar(_));
        let help = match is_words {
            true => {
                "write `[a, b]`, one parameter of type array such as `\"{FILES}\"`, or the output of a step, one item \
                     a line"
            }
            false => "write `[a, b]`",
        };
        self.sink.report(
            Diagnostic::error(Code::WrongType, entry.value.span, format!("`for-each` needs a list, and {why}"))
                .help(help),
        );
    }

    /// Reads how many steps of a tool, or items of a step, run at once at the most.
    pub(super) fn max_parallel(&self, view: &View<'_>) -> Option<usize> {
        let most = view.count("max-parallel").and_then(|count| usize::try_from(count).ok())?;
        if most > MOST_PARALLEL
            && let Some(entry) = view.entry("max-parallel")
        {
            self.sink.error(
                Code::OutOfRange,
                entry.value.span,
                format!("`max-parallel` is {most}, but must be at most {MOST_PARALLEL}"),
            );
        }
        Some(most)
    }

    /// Reads the labels that a worker must offer.
    pub(super) fn runs_on(&self, view: &View<'_>) -> Vec<String> {
        for text in view.texts("runs-on").iter().filter(|text| !is_worker_label(&text.scalar.text)) {
            self.sink.report(
                Diagnostic::error(
                    Code::InvalidName,
                    text.span,
                    format!("`{}` can't be the label of a worker", text.scalar.text),
                )
                .note(WORKER_LABEL),
            );
        }
        view.strings("runs-on")
    }

    fn retry(&self, view: &View<'_>) -> Retry {
        Retry {
            attempts: view.count("attempts").map_or(0, |attempts| u32::try_from(attempts).unwrap_or(u32::MAX)),
            delay: delay(view),
            backoff: match view.choice("backoff") {
                Some("linear") => Backoff::Linear,
                Some("fixed") => Backoff::Fixed,
                _ => Backoff::Exponential,
            },
        }
    }

    fn output(&self, view: &View<'_>) -> StepOutput {
        let default = StepOutput::default();
        let mode = match view.choice("mode") {
            Some("stream") => OutputMode::Stream,
            _ => OutputMode::Buffer,
        };
        let file = view.text("stream-file");
        let stream_callback = match (view.choice("stream-callback"), file) {
            (Some("function"), _) => StreamTarget::Function,
            (Some("file"), Some(file)) => StreamTarget::File(self.template(file, Scope::Steps)),
            (Some("file"), None) => {
                if let Some(entry) = view.entry("stream-callback") {
                    self.sink.report(
                        Diagnostic::error(
                            Code::NoStreamFile,
                            entry.value.span,
                            "`stream-callback: file` names no file",
                        )
                        .help("add `stream-file`"),
                    );
                }
                StreamTarget::Console
            }
            (None, Some(file)) => StreamTarget::File(self.template(file, Scope::Steps)),
            _ => StreamTarget::Console,
        };
        if let (Some(text), Some(file)) = (view.text("stream-callback"), view.entry("stream-file"))
            && text.scalar.text != "file"
        {
            self.sink.warning(
                Code::UnusedKey,
                file.key_span,
                "`stream-file` has no effect without `stream-callback: file`",
            );
        }
        StepOutput {
            mode,
            buffer_limit: view.size("buffer-limit").unwrap_or(default.buffer_limit),
            truncation: view.flag("truncation").unwrap_or(default.truncation),
            stream_callback,
            masked_values: self.templates(view, "masked-values", Scope::Steps),
        }
    }

    /// The environment of a step: with the keys of `environment`, or variables directly.
    fn step_environment(&self, view: &View<'_>) -> Environment {
        let entries = view.map("environment");
        if entries.iter().any(|entry| ENVIRONMENT.key(&entry.key).is_some()) {
            return view
                .object("environment")
                .map(|environment| self.environment(&environment, Scope::Steps))
                .unwrap_or_default();
        }
        let mut environment = Environment::default();
        for entry in entries {
            let Some(scalar) = entry.value.as_scalar() else { continue };
            self.check_variable_name(&entry.key, entry.key_span);
            let template = self.template(Text { scalar, span: entry.value.span }, Scope::Steps);
            environment.variables.push((entry.key.clone(), template));
        }
        environment
    }

    /// Finds every step's dependencies, from `wait-for`, references and order, and reports circles.
    fn connect(&self, drafts: &mut [Draft], views: &[View<'_>]) {
        let names: Vec<String> = drafts.iter().map(|draft| draft.step.name.clone()).collect();
        let index_of = |name: &str| names.iter().position(|known| known == name);
        for view in views {
            let Some(index) =
                view.text("name").and_then(|text| drafts.iter().position(|draft| draft.span == text.span))
            else {
                continue;
            };
            let own = names[index].clone();
            let mut edges = Vec::new();
            for text in view.texts("wait-for") {
                let name = &text.scalar.text;
                match index_of(name) {
                    Some(to) => edges.push(Edge { to, span: text.span, why: "waits for" }),
                    // A step that could not be read is there all the same.
                    None if self.names.steps.contains(name) => {}
                    None => self.unknown_step(&own, name, text.span, &names),
                }
            }
            for (reference, span) in drafts[index].step.references() {
                if let Reference::Step { step, .. } = reference
                    && let Some(to) = index_of(step)
                {
                    edges.push(Edge { to, span, why: "uses a result of" });
                }
            }
            drafts[index].edges = edges;
        }
        self.separate_failure_steps(drafts, &names);
        // What ended before the barrier above has ended before this one too. Steps that run on failure have an order of their own.
        for on_failure in [false, true] {
            let mut since_barrier = Vec::new();
            for (index, draft) in drafts.iter_mut().enumerate().filter(|(_, one)| one.step.on_failure == on_failure) {
                if draft.barrier {
                    let span = draft.span;
                    draft.edges.extend(since_barrier.drain(..).map(|to| Edge { to, span, why: "comes after" }));
                }
                since_barrier.push(index);
            }
        }
        self.check_circles(drafts, &names);
        for draft in drafts {
            let mut after: Vec<usize> = draft.edges.iter().map(|edge| edge.to).collect();
            after.sort_unstable();
            after.dedup();
            draft.step.after = after;
        }
    }

    /// Reports steps that need one that runs only on failure, and drops what such a step need not wait for: all others have ended
    /// when it begins.
    fn separate_failure_steps(&self, drafts: &mut [Draft], names: &[String]) {
        let on_failure: Vec<bool> = drafts.iter().map(|draft| draft.step.on_failure).collect();
        for (index, draft) in drafts.iter_mut().enumerate() {
            if draft.step.on_failure {
                draft.edges.retain(|edge| on_failure[edge.to]);
                continue;
            }
            for edge in draft.edges.iter().filter(|edge| on_failure[edge.to]) {
                let (own, other) = (&names[index], &names[edge.to]);
                let message =
                    format!("step `{own}` {} `{other}`, which runs only if the workflow has failed", edge.why);
                let help = format!("give `{own}` `on-failure: true` as well, or remove it from `{other}`");
                self.sink.report(Diagnostic::error(Code::OnFailureOrder, edge.span, message).help(help));
            }
            draft.edges.retain(|edge| !on_failure[edge.to]);
        }
        if let Some(draft) = drafts.first().filter(|_| on_failure.iter().all(|is| *is)) {
            let message = "every step has `on-failure: true`, so none of them ever runs";
            self.sink.report(
                Diagnostic::error(Code::OnFailureOrder, draft.span, message)
                    .help("add the steps whose failure these handle"),
            );
        }
    }

    fn unknown_step(&self, own: &str, name: &str, span: Span, names: &[String]) {
        let diagnostic =
            Diagnostic::error(Code::UnknownStep, span, format!("step `{own}` waits for `{name}`, which is not a step"))
                .label("no step has this name");
        let others = names.iter().map(String::as_str).filter(|other| *other != own);
        self.sink.report(match self.sink.did_you_mean(name, others) {
            Some((near, help)) => diagnostic.help(help).fix(format!("write `{near}`"), self.sink.rewrite(span, near)),
            None => diagnostic,
        });
    }

    fn check_circles(&self, drafts: &[Draft], names: &[String]) {
        let edges: Vec<Vec<usize>> =
            drafts.iter().map(|draft| draft.edges.iter().map(|edge| edge.to).collect()).collect();
        for cycle in cycles(&edges) {
            let steps: Vec<(usize, &Edge)> = cycle
                .iter()
                .zip(cycle.iter().cycle().skip(1))
                .filter_map(|(from, to)| Some((*from, drafts[*from].edges.iter().find(|edge| edge.to == *to)?)))
                .collect();
            let walk: Vec<String> =
                cycle.iter().chain(cycle.first()).map(|index| format!("`{}`", names[*index])).collect();
            // Of the links of the circle the one that was written out is the one to fix.
            let Some((_, first)) = steps.iter().find(|(_, edge)| edge.why != "comes after").or(steps.first()) else {
                continue;
            };
            let message = match cycle.as_slice() {
                [only] => format!("step `{}` {} itself", names[*only], first.why),
                _ => format!("steps wait for each other: {}", walk.join(" → ")),
            };
            let mut diagnostic = Diagnostic::error(Code::StepCycle, first.span, message);
            for (from, edge) in &steps {
                let text = format!("`{}` {} `{}`", names[*from], edge.why, names[edge.to]);
                diagnostic =
                    if edge.span == first.span { diagnostic.label(text) } else { diagnostic.also(edge.span, text) };
            }
            self.sink.report(if steps.iter().any(|(_, edge)| edge.why == "comes after") {
                diagnostic.help("move the step up, or give the earlier one `wait-for` or `parallel: true`")
            } else {
                diagnostic
            });
        }
    }
}

/// What follows when a crash interrupted a step, where a tool or a step says so.
pub(super) fn on_lost(view: &View<'_>) -> Option<OnLost> {
    match view.choice("on-lost")? {
        "retry" => Some(OnLost::Retry),
        "fail" => Some(OnLost::Fail),
        _ => Some(OnLost::Ask),
    }
}
