//! The dependency graph of a tool, and drawings of it.
//!
//! [`Graph::of`] reads a tool; an arrow leads from a step to one that starts after it. Most arrows of a workflow say
//! what others say already (a step without `parallel` waits for *everything* above it), so the model keeps those that
//! are needed: its transitive reduction. No order is lost by it.

mod layers;
mod mermaid;
mod rails;
mod svg;

use cycod_definition::{Body, Command, Interpreter, RemoteTool, Step, StepAction, Tool};
use cycod_syntax::template::{Reference, TemplatePart};

pub use rails::Charset;

/// What a tool does, as a graph without circles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// The tool.
    pub name: String,
    /// The steps, in source order; one for a tool without steps.
    pub nodes: Vec<GraphNode>,
    /// The arrows that are needed, ordered by their ends.
    pub edges: Vec<Edge>,
}

/// Steps beyond which rails are no help.
const LARGEST: usize = 300;

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphNode {
    /// Its name.
    pub name: String,
    /// What it does.
    pub kind: GraphNodeKind,
    /// What it runs for, as in `for-each: {FILES}, 4 at once`.
    pub each: Option<String>,
    /// When it is skipped otherwise, as its author wrote it.
    pub condition: Option<String>,
    /// How often it is tried again.
    pub retries: u32,
    /// Whether another command takes its place when all tries failed.
    pub has_fallback: bool,
    /// Whether it runs only if another step failed.
    pub on_failure: bool,
    /// Whether the workflow goes on when it fails.
    pub continues_on_error: bool,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphNodeKind {
    /// Runs a command.
    Command {
        /// Who reads it, as the key of a file says it.
        interpreter: String,
        /// Its first line.
        text: String,
    },
    /// Calls another tool.
    Tool(String),
}

/// `to` starts when `from` has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Index of the earlier step.
    pub from: usize,
    /// Index of the later step.
    pub to: usize,
    /// Why.
    pub reason: EdgeReason,
}

/// Why a step waits for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EdgeReason {
    /// It uses results of it: the names of the attributes.
    Uses(Vec<&'static str>),
    /// `wait-for` names it.
    WaitFor,
    /// It waits for everything above it.
    Order,
}

impl Graph {
    /// Reads the graph of a tool.
    pub fn of(tool: &Tool) -> Self {
        let name = tool.name.to_string();
        let only = |kind| GraphNode {
            name: name.clone(),
            kind,
            each: None,
            condition: None,
            retries: 0,
            has_fallback: false,
            on_failure: false,
            continues_on_error: tool.ignore_errors,
        };
        let (nodes, edges) = match &tool.body {
            Body::Command(command) => (vec![only(command_kind(command))], Vec::new()),
            Body::Use(tool_use) => (vec![only(GraphNodeKind::Tool(tool_use.tool.clone()))], Vec::new()),
            Body::Alias { base, .. } => (vec![only(GraphNodeKind::Tool(base.clone()))], Vec::new()),
            Body::Handler(handler) => {
                let kind = GraphNodeKind::Command { interpreter: handler.runtime.to_string(), text: name.clone() };
                (vec![only(kind)], Vec::new())
            }
            Body::BuiltIn(_) => {
                let kind = GraphNodeKind::Command { interpreter: "built-in".to_owned(), text: name.clone() };
                (vec![only(kind)], Vec::new())
            }
            Body::Remote(RemoteTool { server, tool, .. }) => {
                let kind = GraphNodeKind::Command { interpreter: "mcp".to_owned(), text: format!("{server}/{tool}") };
                (vec![only(kind)], Vec::new())
            }
            Body::Steps(steps) => (steps.iter().map(|step| node(step, tool.ignore_errors)).collect(), edges(steps)),
        };
        Self { name, nodes, edges }
    }

    /// Draws the graph with rails, one line for each step; one too large to be looked at becomes a list.
    pub fn text(&self, charset: Charset) -> String {
        if self.nodes.len() > LARGEST { rails::list(self) } else { rails::draw(self, charset) }
    }

    /// Writes the graph as a Mermaid flowchart.
    pub fn mermaid(&self) -> String {
        mermaid::write(self)
    }

    /// Draws the graph as an SVG picture.
    pub fn svg(&self) -> String {
        svg::draw(self, true)
    }

    /// Draws the same for a page that has [`Graph::STYLE`] in its own style sheet, and allows no other.
    pub fn svg_in_page(&self) -> String {
        svg::draw(self, false)
    }

    /// The style of the picture. Every class in it begins with `cg-`.
    pub const STYLE: &str = svg::STYLE;

    /// The row of every step: 0 for those that start at once, else one below the lowest that it waits for.
    fn rows(&self) -> Vec<usize> {
        let count = self.nodes.len();
        let mut rows = vec![0; count];
        let mut waiting: Vec<usize> = (0..count).map(|node| self.before(node).count()).collect();
        let mut ready: Vec<usize> = (0..count).filter(|&node| waiting[node] == 0).collect();
        while let Some(next) = ready.pop() {
            for after in self.after(next) {
                rows[after] = rows[after].max(rows[next] + 1);
                waiting[after] -= 1;
                if waiting[after] == 0 {
                    ready.push(after);
                }
            }
        }
        rows
    }

    /// The steps that a step waits for.
    fn before(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.edges.iter().filter(move |edge| edge.to == node).map(|edge| edge.from)
    }

    /// The steps that wait for a step.
    fn after(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.edges.iter().filter(move |edge| edge.from == node).map(|edge| edge.to)
    }

    /// Whether some steps can run beside each other.
    pub fn is_parallel(&self) -> bool {
        let is_chain = self.edges.len() + 1 == self.nodes.len()
            && (0..self.nodes.len()).all(|node| self.before(node).count() <= 1 && self.after(node).count() <= 1);
        !is_chain && self.nodes.len() > 1
    }
}

impl GraphNode {
    /// What is special about it, as short remarks.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<String> = self.each.iter().cloned().collect();
        match self.retries {
            0 => {}
            1 => remarks.push("1 retry".to_owned()),
            many => remarks.push(format!("{many} retries")),
        }
        if self.has_fallback {
            remarks.push("fallback".to_owned());
        }
        if self.on_failure {
            remarks.push("on failure".to_owned());
        }
        if self.continues_on_error {
            remarks.push("may fail".to_owned());
        }
        remarks
    }

    /// Who carries it out.
    fn label(&self) -> String {
        match &self.kind {
            GraphNodeKind::Command { interpreter, .. } => interpreter.clone(),
            GraphNodeKind::Tool(tool) => format!("tool {tool}"),
        }
    }
}

fn node(step: &Step, ignore_errors: bool) -> GraphNode {
    GraphNode {
        name: step.name.clone(),
        kind: match &step.action {
            StepAction::Command(command) => command_kind(command),
            StepAction::Use(tool_use) => GraphNodeKind::Tool(tool_use.tool.clone()),
        },
        each: step.each.as_ref().map(|each| each.line(None)),
        condition: step.condition.as_ref().map(|(_, text)| one_line(text)),
        retries: step.retry.map_or(0, |retry| retry.attempts),
        has_fallback: step.fallback.is_some(),
        on_failure: step.on_failure,
        continues_on_error: step.continue_on_error.unwrap_or(ignore_errors),
    }
}

fn command_kind(command: &Command) -> GraphNodeKind {
    let Some(text) = command.texts().next() else {
        return GraphNodeKind::Command { interpreter: "commands".to_owned(), text: String::new() };
    };
    let interpreter = match (command, &text.interpreter) {
        (Command::ByPlatform(_), _) => "commands".to_owned(),
        (_, Interpreter::Bash) => "bash".to_owned(),
        (_, Interpreter::Sh) => "sh".to_owned(),
        (_, Interpreter::Zsh) => "zsh".to_owned(),
        (_, Interpreter::PowerShell) => "pwsh".to_owned(),
        (_, Interpreter::Cmd) => "cmd".to_owned(),
        (_, Interpreter::Argv) => "run".to_owned(),
        (_, Interpreter::PlatformDefault) => "script".to_owned(),
        (_, Interpreter::Program(program)) => program.words.first().map_or_else(|| "script".to_owned(), Clone::clone),
    };
    let segment = |segment: &TemplatePart| match segment {
        TemplatePart::Text(text) => text.clone(),
        TemplatePart::Hole(hole) => hole.to_string(),
    };
    let whole: String = text.template.segments.iter().map(segment).collect();
    GraphNodeKind::Command { interpreter, text: one_line(&whole) }
}

/// The first line that says something, cut.
fn one_line(text: &str) -> String {
    const MOST: usize = 60;
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("#!"));
    let first = lines.next().unwrap_or_default();
    let shown: String = cycod_diagnostic::visible(first).chars().map(|c| if c == '\t' { ' ' } else { c }).collect();
    let is_cut = lines.next().is_some() || shown.chars().nth(MOST).is_some();
    if is_cut { shown.chars().take(MOST - 1).chain(['…']).collect() } else { shown }
}

fn edges(steps: &[Step]) -> Vec<Edge> {
    let reached = Reached::of(steps);
    let mut edges = Vec::new();
    for (to, step) in steps.iter().enumerate() {
        let used = uses(step);
        // `after` holds what `wait-for`, references and place come to. A step that waits for all above it does so
        // by its place; that it might have named them all makes no difference to anybody.
        let waits_for_all = !step.parallel && (0..to).all(|above| reached.has(to, above));
        for &from in &step.after {
            if step.after.iter().any(|&other| other != from && reached.has(other, from)) {
                continue;
            }
            let mut attributes =
                used.iter().filter(|(name, _)| *name == steps[from].name).map(|(_, attribute)| *attribute).peekable();
            let reason = match attributes.peek() {
                Some(_) => EdgeReason::Uses(attributes.collect()),
                None if waits_for_all && from < to => EdgeReason::Order,
                None => EdgeReason::WaitFor,
            };
            edges.push(Edge { from, to, reason });
        }
    }
    edges
}

/// For each step, a bit for each step that must have ended before it, directly or not.
struct Reached {
    words: usize,
    bits: Vec<u64>,
}

impl Reached {
    fn of(steps: &[Step]) -> Self {
        let words = steps.len().div_ceil(64);
        let mut reached = Self { words, bits: vec![0; words * steps.len()] };
        let mut later = vec![Vec::new(); steps.len()];
        let mut waiting: Vec<usize> = steps.iter().map(|step| step.after.len()).collect();
        for (index, step) in steps.iter().enumerate() {
            step.after.iter().for_each(|&before| later[before].push(index));
        }
        let mut ready: Vec<usize> = (0..steps.len()).filter(|&index| waiting[index] == 0).collect();
        while let Some(index) = ready.pop() {
            for &before in &steps[index].after {
                for word in 0..words {
                    let bits = reached.bits[before * words + word];
                    reached.bits[index * words + word] |= bits;
                }
                reached.bits[index * words + before / 64] |= 1 << (before % 64);
            }
            for &next in &later[index] {
                waiting[next] -= 1;
                if waiting[next] == 0 {
                    ready.push(next);
                }
            }
        }
        reached
    }

    /// Whether `before` must have ended before `step` starts.
    fn has(&self, step: usize, before: usize) -> bool {
        self.bits[step * self.words + before / 64] >> (before % 64) & 1 == 1
    }
}

/// The results of other steps that a step uses, each once.
fn uses(step: &Step) -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    for (reference, _) in step.references() {
        if let Reference::Step { step, attribute } = reference {
            let result = (step.clone(), attribute.name());
            if !found.contains(&result) {
                found.push(result);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
