//! Follows values through a script: from the place where they stand, through variables, functions, loops and pipes, to every
//! program that gets them.
//!
//! The walk runs the script without running it. It keeps, for each variable, every text that is assigned to it anywhere; the order
//! of assignments and what conditions decide do not count. So the walk is repeated until no variable gains a text, and what the
//! last pass saw is everything that can happen. Functions are followed into their bodies at each call. Code that is evaluated
//! again is parsed when it is the author's text, and followed like the rest.
//!
//! ```text
//! ref="{REF}"; show() { git log "$1"; }; show "$ref"       {REF}: an operand of `git log`, where options are read
//! ```
//!
//! A hole that the walk never met is not proven. What it cannot follow it says, and then nothing in reach is proven either.

mod assigned;
mod builtin;
pub(crate) mod descriptors;
mod expand;
mod files;
mod filter;
mod graph;
mod sourced;
pub(crate) mod structure;
mod unpacked;
pub(crate) mod value;
pub(crate) mod watch;
mod zsh;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use self::files::{ANY_COMMAND, Except, Files, Touched, by_its_code, grow};
use self::graph::Graph;
use self::value::{
    Atom, Cut, Field, Tag, Text, beginning, holes_among, holes_of, literal, made_of, names_among, part_of, texts_among,
};
use crate::hole::Hole;
use crate::piece::{Kind, Mode, Shell};
use crate::programs::{self, Input as Reads, Known, Loads, Place, PlaceKind, Seen, State, Statements, Writes};
use crate::script::{Command, Form, Part, Redirect, Script, Target, Word};
use crate::track::{HOLE, Redirection, Spot, parse};
use crate::verdict::{Guard, Rule};

/// How much work following values may be, in words and pieces of words: at least this much, and more for long commands.
const LEAST_WORK: usize = 200_000;
const WORK_PER_BYTE: usize = 200;
/// How many commands a walk may visit, calls of functions included.
const MOST_VISITS: usize = 20_000;
/// How many readings of one command's words are tried.
const MOST_READINGS: usize = 20_000;
/// How often the script is walked until no variable gains a text.
const MOST_PASSES: usize = 12;
/// The pass from which on a new text of a variable is only known by whose values are in it.
const WIDENS_AFTER: usize = 3;
/// How many texts a command may print that are told apart.
const MOST_PRINTED: usize = 10;
/// How deep functions may call each other, and code may be evaluated in code.
const DEEPEST: usize = 16;

/// Something that the walk saw about a hole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) hole: usize,
    pub(crate) reason: Reason,
    pub(crate) guard: Option<Guard>,
}

/// What became of a value at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A program gets it as an operand, or as the argument of an option.
    Argument { program: Arc<str>, noun: &'static str, option: &'static str },
    /// The shell itself takes it as one word.
    Shell(&'static str),
    /// A program reads it as text.
    Input { program: Arc<str> },
    /// It is code to a program.
    Code { program: Arc<str>, language: &'static str },
    /// It is put together with other text, which is evaluated.
    Evaluated { by: Arc<str> },
    /// A builtin takes it for a name, and evaluates a subscript in it.
    Name { by: Arc<str> },
    /// It is evaluated as arithmetic.
    Arithmetic,
    /// It is the value of a variable that programs run or load from.
    Environment { name: Arc<str> },
    /// It is the name of the program that runs.
    Chooses,
    /// It stands in a file that the script then runs.
    Written,
    /// Nothing is known of the program, which another one may start in a container.
    UnknownProgram { program: Arc<str>, started_by: Option<Arc<str>> },
    /// Text other than names stands around it, and no table says that this is text.
    Mixed { program: Arc<str> },
    /// It is part of an option.
    PartOfOption { program: Arc<str> },
    /// It is the name of a subcommand.
    Subcommand { program: Arc<str> },
    /// What the shell made of it may begin with a `-`.
    Changed { program: Arc<str> },
    /// It decides what is unpacked in a directory, from which the script then runs something.
    Unpacked,
    /// Another reason for which nothing is proven.
    Unclear(Arc<str>),
}

impl Reason {
    /// The program that gets the value.
    pub(crate) fn program(&self) -> Option<&Arc<str>> {
        match self {
            Self::Argument { program, .. }
            | Self::Input { program }
            | Self::Code { program, .. }
            | Self::UnknownProgram { program, .. }
            | Self::Mixed { program }
            | Self::PartOfOption { program }
            | Self::Subcommand { program }
            | Self::Changed { program } => Some(program),
            Self::Evaluated { by } | Self::Name { by } => Some(by),
            Self::Shell(_)
            | Self::Arithmetic
            | Self::Environment { .. }
            | Self::Chooses
            | Self::Written
            | Self::Unpacked
            | Self::Unclear(_) => None,
        }
    }
}

/// What a command may read from its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    /// Nothing that values reach.
    Clean,
    /// Something that begins like one of these texts; each is all of it unless it says otherwise.
    Texts(Vec<Text>),
    /// What a program printed that had the values of these holes among its words or in its input.
    Printed(Vec<usize>),
}

impl Input {
    /// What a program prints.
    fn printed(holes: Vec<usize>) -> Self {
        if holes.is_empty() { Self::Clean } else { Self::Printed(holes) }
    }

    /// What the shell makes of values, behind a text that is known.
    fn made(before: &str, holes: &[usize]) -> Self {
        if holes.is_empty() { Self::Clean } else { Self::Texts(vec![behind(before, made_of(holes))]) }
    }

    /// Some piece of it.
    fn part(&self) -> Atom {
        match self {
            Self::Clean => Atom::Unknown(Tag::Somewhere),
            Self::Texts(texts) => part_of(&texts.concat()),
            Self::Printed(holes) => Atom::Output(holes.as_slice().into()),
        }
    }

    fn holes(&self) -> Vec<usize> {
        match self {
            Self::Clean => Vec::new(),
            Self::Texts(texts) => {
                let mut holes: Vec<usize> = texts.iter().flat_map(|text| holes_of(text)).collect();
                holes.sort_unstable();
                holes.dedup();
                holes
            }
            Self::Printed(holes) => holes.clone(),
        }
    }

    /// One of them.
    fn or(self, other: Self) -> Self {
        let either = match (&self, &other) {
            (Self::Texts(texts), Self::Texts(others)) => texts.iter().chain(others).cloned().collect(),
            _ => Vec::new(),
        };
        one_of(either).unwrap_or_else(|| self.and(other))
    }

    /// Both, one behind the other.
    fn and(self, other: Self) -> Self {
        if self == Self::Clean {
            return other;
        }
        if other == Self::Clean {
            return self;
        }
        let all = part_of(&[self.part(), other.part()]);
        match (&all, self) {
            (Atom::Derived(_), Self::Texts(texts)) => {
                let mut texts = texts.iter().map(|text| behind(beginning(text), all.clone())).collect();
                value::dedup(&mut texts);
                Self::Texts(texts)
            }
            (Atom::Derived(_), _) => Self::Texts(vec![vec![all]]),
            _ => Self::printed(all.holes().to_vec()),
        }
    }
}

/// What a command prints that prints one of these texts, when there are few.
fn one_of(mut texts: Vec<Text>) -> Option<Input> {
    value::dedup(&mut texts);
    (1..=MOST_PRINTED).contains(&texts.len()).then_some(Input::Texts(texts))
}

/// A text that begins as it is known, and goes on.
fn behind(before: &str, atom: Atom) -> Text {
    let mut text = Text::new();
    value::push(&mut text, Atom::text(before));
    value::push(&mut text, atom);
    text
}

/// A variable of the script.
#[derive(Debug, Clone, Default)]
struct Variable {
    /// Every text that is assigned to it.
    texts: Vec<Text>,
    /// Every text that is appended to it.
    appended: Vec<Text>,
    /// Every list that is assigned to it.
    lists: Vec<Vec<Field>>,
    /// Every list that is appended to it.
    elements: Vec<Vec<Field>>,
    /// Every key that one of its elements gets, where keys are text.
    keys: Vec<Text>,
    is_integer: bool,
    is_associative: bool,
    /// It is declared as an array.
    is_array: bool,
    /// The commands of the script have it in their environment, as far as the script says.
    is_exported: bool,
}

impl Variable {
    fn holes(&self) -> Vec<usize> {
        let texts = self.texts.iter().chain(&self.appended).chain(&self.keys);
        let mut holes: Vec<usize> = texts.flat_map(|text| holes_of(text)).collect();
        holes.extend(self.lists.iter().chain(&self.elements).flat_map(|fields| holes_among(fields)));
        holes
    }
}

/// The arguments of the script or of a function.
#[derive(Debug, Clone, Default)]
struct Arguments {
    lists: Vec<Vec<Field>>,
    appended: Vec<Vec<Field>>,
    /// Words may have been taken from the front.
    shifted: bool,
    /// They come from outside.
    is_unknown: bool,
    /// What `$0` may be, when a shell starts with them.
    zero: Option<Vec<Text>>,
}

/// A file that the script writes with values.
struct Kept {
    name: files::FileName,
    /// What writes it.
    command: u64,
    holes: Vec<usize>,
}

/// With what code is evaluated.
#[derive(Debug, Clone, Default)]
struct Called {
    /// What `$0` may be.
    zero: Option<Vec<Text>>,
    arguments: Vec<Field>,
}

pub(crate) struct Flow<'a> {
    shell: Shell,
    /// There are builtins and functions.
    is_shell: bool,
    holes: &'a [Hole<'a>],
    statements: &'a Statements<'a>,
    documents: HashMap<usize, Vec<Part>>,
    variables: HashMap<Arc<str>, Variable>,
    /// Commands to whose names the script gives another meaning, which is not followed.
    renamed: BTreeSet<Arc<str>>,
    /// In the order of their names, so that a script is always judged in the same way.
    functions: BTreeMap<Arc<str>, Arc<Command>>,
    called: HashSet<Arc<str>>,
    /// One for each function that is being walked, the script's own first.
    arguments: Vec<Arguments>,
    /// Files that hold what the script made of values.
    written: Files,
    /// Files with values, in the order in which this pass has seen the script write them; and those of the last one.
    kept: Vec<Kept>,
    kept_before: Vec<Kept>,
    /// How many loops are around the command that is being walked.
    loops: usize,
    /// The last names of the files that the script writes itself.
    authored: BTreeSet<String>,
    /// The names at which it puts other programs.
    copied: BTreeSet<Arc<str>>,
    /// The last names of the files that its commands write, and not fetch.
    own_files: BTreeSet<Arc<str>>,
    /// A value reaches arithmetic, where the name of any variable is evaluated in turn.
    calculates: bool,
    /// `IFS` is not what it is at the start.
    splits_otherwise: bool,
    /// The only character by which the command that runs divides words, when it has such an `IFS` of its own.
    own_separator: Option<char>,
    /// What `IFS` may be; nothing when it may be anything.
    separators: Option<String>,
    /// Which variables certainly have a value.
    assigned: assigned::Assigned,
    /// Something in it prints a text that no end of a line follows.
    leaves_lines_open: bool,
    /// Values in the environment of some command.
    in_environment: BTreeSet<usize>,
    /// What starts in a container, by the program that starts it there.
    in_containers: HashMap<Arc<str>, Arc<str>>,
    /// Files that a command may have written whose words, or input, hold values.
    touched: Touched,
    /// What its commands unpack.
    unpacked: unpacked::Unpacked,
    /// The values in the words of the command that is read.
    in_arguments: Vec<usize>,
    /// The values in its words and in its input, and what tells it from others.
    in_words: Vec<usize>,
    command: u64,
    /// The commands whose code is walked, as they are told when they write files that names in their code stand for.
    around: Vec<u64>,
    /// The same of a command that may have several names, of which only one is its own: that of the command with all of them.
    whole: Option<u64>,
    /// `echo` reads escapes in all that it prints.
    echo_escapes: bool,
    /// How many constructs around the command take what it prints.
    captured: usize,
    /// `set -a`: every variable is exported.
    exports_all: bool,
    has_grown: bool,
    /// New texts of variables are only known by whose values are in them.
    widens: bool,
    /// This pass tells what it sees; that counts when it finds nothing new.
    tells: bool,
    visits: usize,
    /// How much was looked at in all passes.
    work: usize,
    most_work: usize,
    depth: usize,
    outputs: usize,
    /// What the command that is being walked reads.
    input: Input,
    /// Values that a descriptor may hold which the script opened.
    held: BTreeSet<usize>,
    /// Values that are written to a descriptor by its number.
    spoken: BTreeSet<usize>,
    /// Values that name the file which is read there.
    input_files: Vec<usize>,
    /// It is piped or redirected to this very command, and not to one around it.
    is_input_its_own: bool,
    /// Values in files that the words of the command name.
    in_files: Vec<usize>,
    /// The same for files that other programs may have written.
    in_outputs: Vec<usize>,
    /// A program ran that may print its environment, and one that is there for that.
    prints_environment: bool,
    prints_all: bool,
    /// The command prints nothing but what it reads, or what stands in the files that it names; unknown before it was read.
    is_filter: Option<bool>,
    /// The command prints what it reads, also where a command around it was given that.
    prints_input: bool,
    lost: Option<&'static str>,
    /// Scripts of the project that this one reads.
    sourced: sourced::Sourced,
    findings: Vec<Finding>,
    /// What is started, when that is looked for.
    watch: Option<watch::Watch>,
}

/// Follows the values of a script.
///
/// Without a shell, the tree is one command that is started as it is. `environment` is what the author sets before it starts;
/// `input` is what it reads; `watch` notes what it starts, and comes back. The error says why nothing in it is proven.
pub(crate) fn follow<'a>(
    shell: Option<Shell>,
    tree: &crate::script::Tree,
    holes: &'a [Hole<'a>],
    statements: &'a Statements<'a>,
    environment: &[(&str, Text)],
    input: &Input,
    watch: Option<watch::Watch>,
) -> (Result<Vec<Finding>, &'static str>, Option<watch::Watch>) {
    let sourced = sourced::Sourced::default();
    let (followed, sourced, watch) = walk(shell, tree, holes, statements, environment, input, (sourced, watch));
    if sourced.has_any() && (followed.is_err() || sourced.is_doubtful()) {
        let off = sourced::Sourced::off();
        let (followed, _, watch) = walk(shell, tree, holes, statements, environment, input, (off, watch));
        return (followed, watch);
    }
    (followed, watch)
}

/// Walks a script until nothing new is found.
fn walk<'a>(
    shell: Option<Shell>,
    tree: &crate::script::Tree,
    holes: &'a [Hole<'a>],
    statements: &'a Statements<'a>,
    environment: &[(&str, Text)],
    input: &Input,
    (sourced, watch): (sourced::Sourced, Option<watch::Watch>),
) -> (Result<Vec<Finding>, &'static str>, sourced::Sourced, Option<watch::Watch>) {
    let length = tree.script.commands().map(|command| command.span.end).max().unwrap_or(0);
    let mut flow = Flow {
        shell: shell.unwrap_or(Shell::Sh),
        is_shell: shell.is_some(),
        holes,
        statements,
        documents: tree.documents.clone(),
        variables: HashMap::new(),
        renamed: BTreeSet::new(),
        functions: BTreeMap::new(),
        called: HashSet::new(),
        arguments: vec![Arguments::default()],
        written: Files::default(),
        kept: Vec::new(),
        kept_before: Vec::new(),
        loops: 0,
        authored: BTreeSet::new(),
        copied: BTreeSet::new(),
        own_files: BTreeSet::new(),
        calculates: false,
        splits_otherwise: false,
        own_separator: None,
        in_environment: BTreeSet::new(),
        in_containers: HashMap::new(),
        touched: Touched::default(),
        unpacked: unpacked::Unpacked::default(),
        in_arguments: Vec::new(),
        in_words: Vec::new(),
        command: 0,
        around: Vec::new(),
        whole: None,
        echo_escapes: shell.is_some_and(|shell| shell != Shell::Bash),
        captured: 0,
        separators: Some(String::new()),
        assigned: assigned::Assigned::default(),
        leaves_lines_open: false,
        exports_all: false,
        has_grown: true,
        widens: false,
        tells: false,
        visits: 0,
        work: 0,
        most_work: LEAST_WORK.max(length * WORK_PER_BYTE),
        depth: 0,
        outputs: 0,
        input: input.clone(),
        held: BTreeSet::new(),
        spoken: BTreeSet::new(),
        input_files: Vec::new(),
        is_input_its_own: false,
        in_files: Vec::new(),
        in_outputs: Vec::new(),
        prints_environment: false,
        prints_all: false,
        is_filter: None,
        prints_input: false,
        lost: None,
        sourced,
        findings: Vec::new(),
        watch,
    };
    for (name, text) in environment {
        flow.variables.entry((*name).into()).or_default().texts.push(text.clone());
        flow.assigned.give(name);
    }
    // In the first pass the variables are not known yet, and programs need not be asked what they do with their words.
    for pass in 0..MOST_PASSES {
        if flow.tells && !flow.has_grown || flow.lost.is_some() {
            break;
        }
        flow.tells = pass > 0;
        // What still grows then grows out of itself.
        flow.widens = pass >= WIDENS_AFTER;
        flow.begin_pass();
        for (name, text) in environment {
            flow.in_environment.extend(holes_of(text));
            flow.note_variable(name, text);
        }
        flow.script(&tree.script);
        flow.uncalled();
        flow.has_grown |= flow.touched.end_pass();
    }
    let followed = match flow.lost {
        Some(why) => Err(why),
        None if flow.has_grown => Err("its variables are built from each other in too many ways"),
        None => {
            flow.spread_arithmetic();
            Ok(std::mem::take(&mut flow.findings))
        }
    };
    (followed, flow.sourced, flow.watch)
}

impl Flow<'_> {
    fn begin_pass(&mut self) {
        self.has_grown = false;
        self.visits = 0;
        self.outputs = 0;
        self.findings.clear();
        self.called.clear();
        self.kept_before = std::mem::take(&mut self.kept);
        self.sourced.begin_pass();
        self.assigned.begin_pass();
        self.arguments.truncate(1);
    }

    /// Notes that so much has to be looked at. A command that makes more of itself than its length allows is given up.
    fn spend(&mut self, work: usize) {
        self.work += work;
        if self.work > self.most_work {
            self.lose("what it says can be read in too many ways to be followed");
        }
    }

    fn lose(&mut self, why: &'static str) {
        self.lost.get_or_insert(why);
    }

    fn find(&mut self, hole: usize, reason: Reason) {
        self.find_guarded(hole, reason, None);
    }

    fn find_guarded(&mut self, hole: usize, reason: Reason, guard: Option<Guard>) {
        if !self.tells {
            return;
        }
        let finding = Finding { hole, reason, guard };
        // What is read in several ways tells the same again and again.
        if !self.findings.iter().rev().take(8).any(|known| *known == finding) {
            self.findings.push(finding);
        }
    }

    fn find_all(&mut self, holes: impl IntoIterator<Item = usize>, reason: &Reason) {
        for hole in holes {
            self.find(hole, reason.clone());
        }
    }

    /// Lets only those texts pass whose values follow a rule.
    fn guard_texts(&mut self, holes: impl IntoIterator<Item = usize>, rule: &Rule, program: &str, noun: &'static str) {
        for hole in holes.into_iter().filter(|hole| self.is_text(*hole)).collect::<Vec<_>>() {
            let guard = Guard { rule: rule.clone(), cut: Cut::WHOLE, program: program.into() };
            self.find_guarded(hole, Reason::Shell(noun), Some(guard));
        }
    }

    /// Finds what a value does where only a text can do it, and what the place is to the shell where it cannot.
    fn find_by_kind(&mut self, holes: impl IntoIterator<Item = usize>, of_text: &Reason, otherwise: &'static str) {
        for hole in holes {
            let reason = if self.is_text(hole) { of_text.clone() } else { Reason::Shell(otherwise) };
            self.find(hole, reason);
        }
    }

    /// Whether the value of a hole can be any text.
    fn is_text(&self, hole: usize) -> bool {
        self.holes.get(hole).is_none_or(|hole| hole.kind == Kind::Text)
    }

    /// Functions that nothing calls by name: a trap may, or another program.
    fn uncalled(&mut self) {
        loop {
            let next = self.functions.iter().find(|(name, _)| !self.called.contains(*name));
            let Some((name, body)) = next.map(|(name, body)| (Arc::clone(name), Arc::clone(body))) else { return };
            self.called.insert(name);
            self.arguments.push(Arguments { is_unknown: true, ..Arguments::default() });
            self.assigned.begin_shell();
            self.reading(Input::Clean, false, |flow| flow.command(&body));
            self.assigned.end_shell();
            self.arguments.pop();
        }
    }

    /// A text in arithmetic is the name of a variable whose value is evaluated in turn, so every value in a variable counts.
    fn spread_arithmetic(&mut self) {
        if !self.calculates {
            return;
        }
        self.guard_arithmetic(&self.holes_of_variables());
    }

    fn guard_arithmetic(&mut self, holes: &[usize]) {
        for &hole in holes {
            if self.is_text(hole) {
                self.has_grown |= !self.calculates;
                self.calculates = true;
                let guard = Guard { rule: Rule::Arithmetic, cut: Cut::WHOLE, program: "arithmetic".into() };
                self.find_guarded(hole, Reason::Shell("a variable that is calculated with"), Some(guard));
            }
        }
    }

    // Scripts.

    /// Walks a script, and tells what it may print.
    fn script(&mut self, script: &Script) -> Input {
        self.pipelines(script)
    }

    /// What two commands print, each of which may not run.
    fn then(&self, first: Input, second: Input) -> Input {
        // Few texts that are known are told apart. Which files start is asked of what is printed, not of what may be missing.
        let is_known = |input: &Input| match input {
            Input::Clean => true,
            Input::Texts(texts) => {
                texts.iter().all(|text| text.len() <= 8 && !text.iter().any(|atom| matches!(atom, Atom::Derived(_))))
            }
            Input::Printed(_) => false,
        };
        if self.watches() || !is_known(&first) || !is_known(&second) {
            return first.and(second);
        }
        let joined = match (&first, &second) {
            (Input::Texts(first), Input::Texts(second)) if first.len() * second.len() <= MOST_PRINTED => {
                let joints: &[&str] = if self.leaves_lines_open { &["\n", ""] } else { &["\n"] };
                let join = |before: &Text, after: &Text, joint: &str| {
                    let mut text = before.clone();
                    value::push(&mut text, Atom::text(joint));
                    after.iter().for_each(|atom| value::push(&mut text, atom.clone()));
                    text
                };
                let is_there = |text: &&Text| !text.is_empty();
                let both = first
                    .iter()
                    .filter(is_there)
                    .flat_map(|before| second.iter().filter(is_there).map(move |after| (before, after)))
                    .flat_map(|(before, after)| joints.iter().map(move |joint| join(before, after, joint)));
                first.iter().chain(second).cloned().chain(both).chain([Text::new()]).collect()
            }
            (Input::Clean, Input::Texts(texts)) => {
                let begun = texts.iter().filter(|_| self.leaves_lines_open).map(|text| {
                    let mut begun = vec![Atom::Unknown(Tag::Somewhere)];
                    begun.extend(text.iter().cloned());
                    begun
                });
                texts.iter().cloned().chain(begun).chain([Text::new()]).collect()
            }
            (Input::Texts(texts), Input::Clean) => texts.iter().cloned().chain([Text::new()]).collect(),
            _ => Vec::new(),
        };
        one_of(joined).unwrap_or_else(|| first.and(second))
    }

    fn pipeline(&mut self, stages: &[Command]) -> Input {
        let Some((last, others)) = stages.split_last() else { return self.input.clone() };
        let Some((first, others)) = others.split_first() else { return self.command(last) };
        // Each of them is a shell of its own.
        self.captured += 1;
        let mut printed = self.perhaps(|flow| flow.command(first)).0;
        for stage in others {
            printed = self.perhaps(|flow| flow.reading(printed, true, |flow| flow.command(stage))).0;
        }
        self.captured -= 1;
        self.perhaps(|flow| flow.reading(printed, true, |flow| flow.command(last))).0
    }

    /// Walks something that has an input of its own.
    fn reading<T>(&mut self, input: Input, is_its_own: bool, walk: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.input, input);
        let was_its_own = std::mem::replace(&mut self.is_input_its_own, is_its_own);
        let outer_files = if is_its_own { std::mem::take(&mut self.input_files) } else { self.input_files.clone() };
        let result = walk(self);
        self.input = outer;
        self.input_files = outer_files;
        self.is_input_its_own = was_its_own;
        result
    }

    fn command(&mut self, command: &Command) -> Input {
        self.visits += 1;
        if self.visits > MOST_VISITS {
            self.lose("it has too many commands to be followed");
        }
        if self.lost.is_some() {
            return Input::Clean;
        }
        let mut outputs = Vec::new();
        let (mut redirected, mut files) = (None, Vec::new());
        for redirect in &command.redirects {
            self.redirect(redirect, &mut redirected, &mut files, &mut outputs);
        }
        outputs.iter().for_each(|target| self.note_authored(target));
        if !outputs.is_empty() && !fetches(&command.form) {
            let names: Vec<Arc<str>> = outputs.iter().filter_map(last_name).map(Arc::from).collect();
            for name in names {
                self.has_grown |= self.own_files.insert(name);
            }
        }
        if is_redirection(&command.form) {
            self.redirects_all(&outputs, redirected.as_ref());
            let all: Vec<usize> = (0..self.holes.len()).collect();
            self.writes_to_commands(&command.redirects, &Input::made("", &all));
        }
        let printed_before = std::mem::replace(&mut self.prints_environment, false);
        let printed = match redirected {
            Some(input) => self.reading(input, true, |flow| {
                // It may be another descriptor than the standard input.
                flow.hold(&flow.input.holes());
                flow.input_files = files;
                flow.form(&command.form)
            }),
            None => self.form(&command.form),
        };
        if self.prints_environment && !outputs.is_empty() {
            let holes: Vec<usize> = self.in_environment.iter().copied().collect();
            outputs.iter().for_each(|target| self.touched.add(target, ANY_COMMAND, &holes));
        }
        self.prints_environment |= printed_before;
        let holes = printed.holes();
        if !holes.is_empty() {
            self.writes_to_commands(&command.redirects, &printed);
            outputs.iter().for_each(|file| self.guard_file(file, &printed));
            for target in outputs {
                self.note_written(&target, &holes);
                self.written_to_descriptor(&target, &holes);
            }
            if command.redirects.iter().any(is_to_descriptor) {
                self.descriptors_hold(&holes);
                self.speak(&holes);
            }
        }
        // `3>&1`: what is written there is printed after all.
        if !self.spoken.is_empty() && command.redirects.iter().any(is_to_output) {
            return printed.and(Input::printed(self.spoken.iter().copied().collect()));
        }
        printed
    }

    /// Values are written to a descriptor that is not the output.
    fn speak(&mut self, holes: &[usize]) {
        self.has_grown |= grow(&mut self.spoken, holes);
    }

    /// `> >(…)`: what the command prints is what is read there.
    fn writes_to_commands(&mut self, redirects: &[Redirect], printed: &Input) {
        for redirect in redirects.iter().filter(|redirect| redirect.kind.writes()) {
            let Target::Word(word) = &redirect.target else { continue };
            for part in &word.parts {
                if let Part::Process(script) = part {
                    self.perhaps(|flow| flow.reading(printed.clone(), true, |flow| flow.captured(script)));
                }
            }
        }
    }

    /// `exec` with redirections alone: they count for every command that follows.
    fn redirects_all(&mut self, outputs: &[Text], input: Option<&Input>) {
        let all: Vec<usize> = (0..self.holes.len()).collect();
        for target in outputs {
            self.note_written(target, &all);
        }
        if let Some(input) = input {
            self.descriptors_hold(&input.holes());
        }
    }

    /// Values that were written to a descriptor, or can be read from one: what is read from here on may be them.
    fn descriptors_hold(&mut self, holes: &[usize]) {
        if !holes.is_empty() {
            self.hold(holes);
            let input = std::mem::replace(&mut self.input, Input::Clean);
            self.input = input.and(Input::made("", holes));
        }
    }

    /// Values that can be read from a descriptor by its name, wherever that stands.
    fn hold(&mut self, holes: &[usize]) {
        self.has_grown |= grow(&mut self.held, holes);
    }

    fn form(&mut self, form: &Form) -> Input {
        if let Form::Simple { assignments, words } = form {
            return self.simple(assignments, words);
        }
        let is_loop = matches!(form, Form::Loop(_) | Form::For { .. });
        self.sourced.nesting += 1;
        self.loops += usize::from(is_loop);
        let printed = self.compound(form);
        self.loops -= usize::from(is_loop);
        self.sourced.nesting -= 1;
        printed
    }

    fn compound(&mut self, form: &Form) -> Input {
        match form {
            Form::Simple { .. } => Input::Clean,
            Form::Test(words) => {
                self.test(words);
                Input::Clean
            }
            Form::Arithmetic(parts) => {
                self.arithmetic(parts);
                Input::Clean
            }
            Form::Group(scripts) => {
                let mut printed: Option<Input> = None;
                for script in scripts {
                    let new = self.script(script);
                    printed = Some(match printed {
                        Some(before) => self.then(before, new),
                        None => new,
                    });
                }
                printed.unwrap_or(Input::Clean)
            }
            Form::Subshell(script) => self.perhaps(|flow| flow.script(script)).0,
            Form::If(scripts) => self.conditions(scripts),
            Form::Loop(scripts) => {
                let Some((begin, bodies)) = scripts.split_first() else { return Input::Clean };
                let first = self.script(begin);
                let walk = |flow: &mut Self| bodies.iter().fold(first, |printed, body| printed.and(flow.script(body)));
                let printed = self.perhaps(walk).0;
                printed.clone().and(printed)
            }
            Form::For { name, words, body } => {
                let walk = |flow: &mut Self| {
                    flow.loop_over(name, words.as_deref());
                    flow.inside(body)
                };
                let printed = self.perhaps(walk).0;
                printed.clone().and(printed)
            }
            Form::Case { subject, arms } => {
                self.place_in_shell(subject, "the subject of `case`");
                for (patterns, _) in arms {
                    patterns.iter().for_each(|pattern| self.place_in_shell(pattern, "a pattern of `case`"));
                }
                let input = self.input.clone();
                let all = self.reading(input, false, |flow| flow.arms(arms));
                let printed = all.into_iter().fold(Input::Clean, Input::or);
                // None of them may fit.
                match printed {
                    Input::Texts(_) => printed.or(Input::Texts(vec![Text::new()])),
                    printed => printed,
                }
            }
            Form::Function { name, body } => {
                match name.literal() {
                    Some(name) => {
                        if self.functions.get(name).is_none_or(|known| **known != **body) {
                            if self.functions.insert(name.into(), Arc::new((**body).clone())).is_some() {
                                self.lose("a function in it is defined twice");
                            }
                            self.has_grown = true;
                        }
                    }
                    None => self.lose("the name of a function in it is not plain"),
                }
                Input::Clean
            }
        }
    }

    /// Walks commands of which something takes what they print.
    fn captured(&mut self, body: &Script) -> Input {
        self.captured += 1;
        let printed = self.inside(body);
        self.captured -= 1;
        printed
    }

    /// Walks the body of a construct, whose commands may read what it reads.
    fn inside(&mut self, body: &Script) -> Input {
        let input = self.input.clone();
        self.reading(input, false, |flow| flow.script(body))
    }

    fn note_written(&mut self, target: &Text, holes: &[usize]) {
        if !holes.is_empty() {
            self.kept.push(Kept { name: files::FileName::of(target), command: self.command, holes: holes.to_vec() });
        }
        self.has_grown |= self.written.add(target, ANY_COMMAND, holes);
    }

    /// Values in the files that these words name.
    fn holes_in_files(&self, fields: &[Field]) -> Vec<usize> {
        if self.written.is_empty() {
            return Vec::new();
        }
        let texts = texts_among(fields);
        let mut holes: Vec<usize> = texts.iter().flat_map(|text| self.written.holes(text, Except::default())).collect();
        holes.sort_unstable();
        holes.dedup();
        holes
    }

    /// Notes what may be in a file that is read.
    fn reads_file(&mut self, file: &Text) {
        if self.knows_files() {
            self.in_files.extend(self.written.holes_of_file(file, Except::default()));
            self.in_outputs.extend(self.touched.holes_of_file(file, self.itself()));
        }
    }

    /// Whether there are files to ask for, which costs something.
    fn knows_files(&mut self) -> bool {
        let files = self.written.len() + self.touched.len();
        self.spend(files / 8);
        !self.written.is_empty() || !self.touched.is_empty()
    }

    /// A file runs, or something is loaded from it.
    fn runs_file(&mut self, file: &Text) {
        self.runs_unpacked(file, None);
        self.runs_written(file);
    }

    fn runs_written(&mut self, file: &Text) {
        if self.knows_files() {
            self.find_all(self.written.holes_of_file(file, Except::default()), &Reason::Written);
            self.find_all(self.touched.holes_of_file(file, self.itself()), &Reason::Written);
        }
    }

    /// The script writes a file.
    fn note_authored(&mut self, file: &Text) {
        let name = literal(file).and_then(|path| path.rsplit('/').next()).filter(|name| !name.is_empty());
        if let Some(name) = name {
            self.has_grown |= self.authored.insert(name.to_owned());
        }
    }

    fn is_authored(&self, file: &Text) -> bool {
        let name = literal(file).and_then(|path| path.rsplit('/').next());
        name.is_some_and(|name| self.authored.contains(name))
    }

    /// A file runs as a script of a shell, or as its first line says. One that the script writes is not one of the project, and
    /// what it does with values is not followed.
    fn runs_script(&mut self, file: &Text, arguments: &[usize]) {
        // What is fetched is as a program of the project is.
        let is_own = last_name(file).is_some_and(|name| self.own_files.contains(name));
        if is_own && self.is_authored(file) {
            let holes: Vec<usize> = arguments.iter().chain(&self.in_environment).copied().collect();
            self.find_unclear(holes, "it gets to a script that this command writes itself, which is not followed");
        }
    }

    /// A shell reads a file into itself. What one that the script writes makes of the names of commands is not followed.
    fn becomes_part(&mut self, file: &Text) {
        if self.is_authored(file) {
            let all: Vec<usize> = (0..self.holes.len()).collect();
            self.find_unclear(all, "a shell reads a script into itself that the command writes, which is not followed");
        }
    }

    /// The script puts a program at another name. What a table says of that name is of another program then.
    fn copies(&mut self, fields: &[Field]) {
        let how = fields.iter().enumerate().find_map(|(at, field)| match field {
            Field::Word(word) => Some((at, programs::copies(last_name(word)?)?)),
            _ => None,
        });
        let Some((at, how)) = how else { return };
        let mut sources = Vec::new();
        let mut targets = Vec::new();
        let (mut is_target, mut is_unclear) = (false, false);
        for field in &fields[at + 1..] {
            let Field::Word(word) = field else {
                is_unclear = true;
                continue;
            };
            let text = beginning(word);
            if std::mem::take(&mut is_target) {
                targets.push(word.clone());
            } else if let Some(prefix) = how.iter().find(|prefix| prefix.ends_with('=') && text.starts_with(**prefix)) {
                targets.push(without_beginning(word, prefix.len()));
            } else if text.starts_with('-') {
                match how.iter().find_map(|option| behind_option(text, option)) {
                    Some(from) if from < text.len() || word.len() > 1 => targets.push(without_beginning(word, from)),
                    Some(_) => is_target = true,
                    None => {}
                }
            } else {
                let source = text.split_once('=').filter(|(name, _)| name.chars().all(|c| c.is_ascii_lowercase()));
                sources.push(source.map_or_else(|| word.clone(), |(name, _)| without_beginning(word, name.len() + 1)));
            }
        }
        if how.contains(&"last") {
            targets.extend(sources.pop());
        } else if how.contains(&"all") {
            targets.append(&mut sources);
        }
        // What is fetched is the program that it is called here, unless it has the name of another one.
        let is_fetching = is_fetching(how);
        for target in targets.iter().filter_map(last_name) {
            let is_same = |source: &Text| match last_name(source) {
                Some(name) if name == target || programs::is_same(name, target) => true,
                Some(name) if is_fetching => !programs::is_described(name) || !beginning(source).contains("://"),
                None => is_fetching,
                Some(name) if name.bytes().all(|byte| byte.is_ascii_digit()) => true,
                // A program of the project stays one.
                Some(name) => {
                    let is_of_project = literal(source).is_some_and(|path| !path.starts_with(['/', '~']));
                    is_of_project && !programs::is_described(name) && !programs::is_described(target)
                }
            };
            if is_unclear && !is_fetching || !sources.iter().all(is_same) {
                self.has_grown |= self.copied.insert(target.into());
            } else if sources.is_empty() && !is_fetching {
                // What it reads is kept there.
                self.has_grown |= self.own_files.insert(target.into());
            }
        }
    }

    /// A program runs by a name at which the script may put another one, or a file of its own.
    fn runs_copy(&mut self, name: &str, is_path: bool) {
        let is_found = is_path || self.variables.contains_key("PATH");
        let is_own = is_found && self.own_files.contains(name) && programs::is_described(name);
        if is_own || self.copied.contains(name) {
            let why = format!("the command puts another program at the name `{name}`, which is not followed");
            let holes: Vec<usize> = self.in_words.iter().chain(&self.in_environment).copied().collect();
            self.find_unclear(holes, &why);
        }
    }

    /// What stands in a directory runs, or something is loaded from it.
    fn runs_below(&mut self, directory: &Text, counts: impl Fn(&str) -> bool) {
        self.runs_unpacked_below(directory);
        self.runs_written_below(directory, counts);
    }

    fn runs_written_below(&mut self, directory: &Text, counts: impl Fn(&str) -> bool) {
        if self.knows_files() {
            self.find_all(self.written.holes_below(directory, Except::default(), &counts), &Reason::Written);
            self.find_all(self.touched.holes_below(directory, self.itself(), &counts), &Reason::Written);
        }
    }

    /// Follows a redirection: what is read from now on, values that name the file, and what is written to.
    fn redirect(
        &mut self,
        redirect: &Redirect,
        input: &mut Option<Input>,
        files: &mut Vec<usize>,
        outputs: &mut Vec<Text>,
    ) {
        match (&redirect.target, redirect.kind) {
            (Target::Document(serial), _) => {
                let parts = self.documents.get(serial).cloned().unwrap_or_default();
                let texts = self.single(&Word { parts, span: 0..0 });
                self.note_shell(&texts, "a here-document");
                *input = Some(Input::Texts(texts));
            }
            (Target::Word(word), Redirection::HereString) => {
                let texts = self.single(word);
                self.note_shell(&texts, "a here-string");
                *input = Some(Input::Texts(texts));
            }
            (Target::Word(word), Redirection::Input) if let [Part::Process(script)] = word.parts.as_slice() => {
                *input = Some(self.script(script));
            }
            // What is written there is read when it is known.
            (Target::Word(word), kind) if kind.writes() && matches!(word.parts.as_slice(), [Part::Process(_)]) => {}
            (Target::Word(word), kind) => {
                let texts = self.single(word);
                self.note_shell(&texts, "the target of a redirection");
                if matches!(self.shell, Shell::Bash | Shell::Sh) {
                    texts.iter().for_each(|text| self.guard_target(text));
                }
                match kind {
                    Redirection::DuplicateInput => {
                        let own = input.take().unwrap_or_else(|| self.input.clone());
                        // From now on there may be another name for it.
                        self.hold(&own.holes());
                        *input = Some(self.opened(&own));
                    }
                    Redirection::Input => {
                        let own = input.clone().unwrap_or_else(|| self.input.clone());
                        let opened = texts.iter().find_map(|text| self.read_as_descriptor(text, &own));
                        if opened.is_some() {
                            self.hold(&own.holes());
                            *input = opened;
                            return;
                        }
                        let of_written = |text| self.written.holes_of_file(text, Except::default());
                        let of_touched = |text| self.touched.holes_of_file(text, Except::default());
                        let mut holes: Vec<usize> = texts.iter().flat_map(of_written).collect();
                        let outputs: Vec<usize> = texts.iter().flat_map(of_touched).collect();
                        holes.extend(texts.iter().filter_map(|text| self.content_of(text)).collect::<Vec<_>>());
                        *input = Some(Input::made("", &holes).and(Input::printed(outputs)));
                        *files = texts.iter().flat_map(|text| holes_of(text)).collect();
                    }
                    Redirection::Output => outputs.extend(texts),
                    // `>& FILE` writes to a file, as `&> FILE` does.
                    Redirection::Duplicate => outputs.extend(texts.into_iter().filter(|text| !is_number(text))),
                    Redirection::HereString => {}
                }
            }
        }
    }

    /// bash takes the names of some files for addresses to connect to.
    fn guard_target(&mut self, file: &Text) {
        let ([Atom::Value { hole, cut }, ..] | [Atom::Text(_), Atom::Value { hole, cut }, ..]) = file.as_slice() else {
            return;
        };
        for prefix in ["/dev/tcp/", "/dev/udp/"] {
            let rest = prefix.strip_prefix(beginning(file)).filter(|rest| !rest.is_empty() && self.is_text(*hole));
            if let Some(rest) = rest {
                let rule = Rule::Prefix { prefix: rest.to_owned(), goes_on: holes_of(file).len() > 1 };
                let guard = Guard { rule, cut: *cut, program: "bash".into() };
                self.find_guarded(*hole, Reason::Shell("the target of a redirection"), Some(guard));
            }
        }
    }

    fn note_shell(&mut self, texts: &[Text], noun: &'static str) {
        for text in texts {
            self.find_all(holes_of(text), &Reason::Shell(noun));
        }
    }

    fn place_in_shell(&mut self, word: &Word, noun: &'static str) {
        let texts = self.single(word);
        self.note_shell(&texts, noun);
    }

    fn loop_over(&mut self, name: &Word, words: Option<&[Word]>) {
        let fields = match words {
            Some(words) => words.iter().flat_map(|word| self.fields(word)).collect(),
            None => self.all_arguments(),
        };
        let texts = texts_among(&fields);
        self.note_shell(&texts, "a word that a loop goes over");
        match name.literal() {
            Some(name) => texts.into_iter().for_each(|text| self.assign(name, text)),
            None => self.lose("the name of a loop variable in it is not plain"),
        }
        // `select` keeps the line that it reads.
        if !self.input.holes().is_empty() {
            self.pieces_of_input(Some(Cut::LINE)).into_iter().for_each(|line| self.assign("REPLY", line));
        }
    }

    /// `[[ … ]]`.
    fn test(&mut self, words: &[Word]) {
        let texts: Vec<Vec<Text>> = words.iter().map(|word| self.single(word)).collect();
        for texts in &texts {
            self.note_shell(texts, "a word of `[[ ]]`");
        }
        for (index, word) in words.iter().enumerate() {
            match word.literal() {
                Some("-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge") => {
                    for side in [index.checked_sub(1), Some(index + 1)].into_iter().flatten() {
                        if let (Some(word), Some(texts)) = (words.get(side), texts.get(side)) {
                            self.calculated_word(word, texts);
                        }
                    }
                }
                Some("=~") => {
                    let compared = index.checked_sub(1).and_then(|before| texts.get(before));
                    let holes: Vec<usize> = compared.into_iter().flatten().flat_map(|text| holes_of(text)).collect();
                    self.matched(&holes);
                }
                Some("-v" | "-R") => {
                    if let (Some(word), Some(texts)) = (words.get(index + 1), texts.get(index + 1)) {
                        self.named_word(word, texts, "[[ -v");
                    }
                }
                _ => {}
            }
        }
    }

    /// The shell keeps the parts of what it compared with a regular expression. Source: bash(1), zshmisc(1).
    fn matched(&mut self, holes: &[usize]) {
        let names: &[&str] = if self.shell == Shell::Zsh { &["MATCH", "match"] } else { &["BASH_REMATCH"] };
        for name in names.iter().filter(|_| !holes.is_empty()) {
            self.assign(name, vec![made_of(holes)]);
        }
    }

    /// A word whose text is evaluated as arithmetic.
    fn calculated_word(&mut self, word: &Word, texts: &[Text]) {
        for part in &word.parts {
            if let Part::Hole { hole, .. } = part
                && self.is_text(*hole)
            {
                self.find(*hole, Reason::Arithmetic);
            }
        }
        texts.iter().for_each(|text| self.calculated_text(text));
    }

    /// A text that is evaluated as arithmetic.
    fn calculated_text(&mut self, text: &Text) {
        self.guard_arithmetic(&holes_of(text));
        self.names_in(text);
        self.keys_in(text);
    }

    /// A word that is taken for the name of a variable.
    fn named_word(&mut self, word: &Word, texts: &[Text], by: &str) {
        for part in &word.parts {
            if let Part::Hole { hole, .. } = part
                && self.is_text(*hole)
            {
                self.find(*hole, Reason::Name { by: by.into() });
            }
        }
        for text in texts {
            self.guard_arithmetic(&holes_of(text));
        }
    }

    /// Variables whose names stand in text that is calculated. What they hold is calculated in turn.
    fn names_in(&mut self, text: &Text) {
        let mut names: Vec<String> = names_among(text).map(str::to_owned).collect();
        let mut at = 0;
        while let Some(name) = names.get(at).cloned() {
            at += 1;
            let Some(variable) = self.variables.get(name.as_str()) else { continue };
            let holes = variable.holes();
            let lists = texts_among(variable.lists.iter().chain(&variable.elements).flatten());
            for text in variable.texts.iter().chain(&variable.appended).chain(&lists) {
                for name in names_among(text) {
                    if self.variables.contains_key(name) && !names.iter().any(|known| known == name) {
                        names.push(name.to_owned());
                    }
                }
            }
            self.spend(1);
            self.guard_arithmetic(&holes);
        }
    }

    /// `((count[$word]++))` makes a key of a value, where the keys of the array are text.
    fn keys_in(&mut self, text: &[Atom]) {
        let holes = holes_of(text);
        let key = if holes.is_empty() { return } else { vec![made_of(&holes)] };
        let is_associative = |name: &&str| self.variables.get(*name).is_some_and(|variable| variable.is_associative);
        let names: Vec<String> = names_among(text).filter(is_associative).map(str::to_owned).collect();
        names.iter().for_each(|name| self.add_key(name, key.clone()));
    }

    /// All holes whose values any variable holds.
    fn holes_of_variables(&self) -> Vec<usize> {
        let mut holes: Vec<usize> = self.variables.values().flat_map(Variable::holes).collect();
        for arguments in &self.arguments {
            holes.extend(arguments.lists.iter().chain(&arguments.appended).flat_map(|fields| holes_among(fields)));
        }
        holes.sort_unstable();
        holes.dedup();
        holes
    }

    /// Walks arithmetic: what is inserted there, and what is named there.
    fn arithmetic(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::Hole { hole, .. } if self.is_text(*hole) => self.find(*hole, Reason::Arithmetic),
                Part::Hole { hole, .. } => self.find(*hole, Reason::Shell("arithmetic")),
                Part::Text { text, .. } => self.names_in(&vec![Atom::text(text)]),
                part => {
                    let texts = self.single(&Word { parts: vec![part.clone()], span: 0..0 });
                    for text in texts {
                        self.guard_arithmetic(&holes_of(&text));
                        self.names_in(&text);
                    }
                }
            }
        }
        let may_have_key = |part: &Part| matches!(part, Part::Text { text, .. } if text.contains('['));
        if parts.len() > 1 && parts.iter().any(may_have_key) {
            for text in self.single(&Word { parts: parts.to_vec(), span: 0..0 }) {
                self.keys_in(&text);
            }
        }
    }

    // Simple commands.

    fn simple(&mut self, assignments: &[Word], words: &[Word]) -> Input {
        // Its words are expanded before it gets its environment.
        let fields: Vec<Field> = words.iter().flat_map(|word| self.fields(word)).collect();
        if words.is_empty() {
            assignments.iter().for_each(|word| self.assignment(word, false));
            // `$(< file)` prints the file.
            let prints = self.is_input_its_own && assignments.is_empty();
            return if prints { self.input.clone() } else { Input::Clean };
        }
        self.spend(value::size_of(&fields));
        let splits_otherwise = assignments.iter().any(is_other_ifs);
        if assignments.is_empty() {
            return self.run(fields, words, splits_otherwise);
        }
        let passed = self.assigned.passed();
        let separator = assignments.iter().rfind(|word| is_other_ifs(word)).and_then(own_separator);
        let outer_separator = std::mem::replace(&mut self.own_separator, separator);
        let run = |flow: &mut Self| {
            for word in assignments {
                // It counts for that command alone; `read` gets `splits_otherwise` for it.
                if !is_other_ifs(word) {
                    flow.assignment(word, true);
                }
                if let Some(name) = assigned_name(word) {
                    flow.assigned.pass(name);
                }
            }
            flow.run(fields, words, splits_otherwise)
        };
        let printed = self.perhaps(run).0;
        self.own_separator = outer_separator;
        self.assigned.passed_back(passed);
        printed
    }

    /// Runs a command for each name that it may have.
    fn run(&mut self, fields: Vec<Field>, words: &[Word], splits_otherwise: bool) -> Input {
        let mut printed = Input::Clean;
        // `$sudo ./run.sh`: with what the environment says or without it, but never both.
        let is_one = fields.first().is_some_and(|field| self.is_of_environment(field));
        let whole = is_one.then(|| identity(&fields));
        for fields in heads(fields) {
            let outer = std::mem::replace(&mut self.whole, whole);
            printed = printed.or(self.run_as(&fields, words, splits_otherwise));
            self.whole = outer;
        }
        printed
    }

    /// Runs a command by one of its names.
    fn run_as(&mut self, fields: &[Field], words: &[Word], splits_otherwise: bool) -> Input {
        if matches!(fields.first(), Some(Field::Word(text)) if value::is_absent(text)) {
            return self.run_absent(&fields[1..], words, splits_otherwise);
        }
        let name = match fields.first() {
            Some(Field::Word(text)) => literal(text).map(str::to_owned),
            _ => None,
        };
        // A variable that is empty leaves an option alone, and no program has the name of one.
        let is_option =
            |name: &str| name.is_empty() || name.starts_with('-') && !(name == "-" && self.shell == Shell::Zsh);
        if self.is_shell && name.as_deref().is_some_and(is_option) {
            return Input::Clean;
        }
        if let Some(name) = name.as_deref().filter(|name| self.is_shell && self.renamed.contains(*name)) {
            let why = format!("the script gives `{name}` another meaning, which is not followed");
            let holes = [holes_among(fields), self.input.holes(), self.in_environment.iter().copied().collect()];
            self.find_unclear(holes.concat(), &why);
        }
        let one = match name.as_deref() {
            Some(name) => self.builtin(name, &without_absent(&fields[1..]), words, splits_otherwise),
            None => None,
        };
        one.unwrap_or_else(|| self.programs_of(fields))
    }

    /// The script says what the name of a command means.
    fn renames(&mut self, name: Option<&str>) {
        match name {
            Some(name) => self.has_grown |= self.renamed.insert(name.into()),
            None => self.lose("a name in it, which is not plain, gets the meaning of a command"),
        }
    }

    /// Whether a word is a variable that the script never sets.
    fn is_of_environment(&self, field: &Field) -> bool {
        match field {
            Field::Word(text) => match text.as_slice() {
                [Atom::Unknown(Tag::Variable(name))] => !self.variables.contains_key(&**name),
                _ => false,
            },
            Field::Choice(ways) | Field::Many(ways) => ways.iter().flatten().all(|field| self.is_of_environment(field)),
        }
    }

    /// Runs what is left of a command whose program was not found: `$docker run …`, where the variable is empty. The next word is
    /// the program then. When there is none that is known by this name, it is what the author wrote for the program that is missing.
    fn run_absent(&mut self, fields: &[Field], words: &[Word], splits_otherwise: bool) -> Input {
        let mut printed = Input::Clean;
        for mut fields in heads(fields.to_vec()) {
            let name = match fields.first() {
                Some(Field::Word(text)) => literal(text),
                _ => None,
            };
            let is_meant = name
                .is_some_and(|name| !self.functions.contains_key(name) && programs::is_unknown(name, self.statements));
            if is_meant && let Some(first) = fields.first_mut() {
                *first = Field::Word(vec![Atom::Unknown(Tag::Missing)]);
            }
            printed = printed.or(self.run(fields, words, splits_otherwise));
        }
        printed
    }

    /// Calls a function of the script.
    fn call(&mut self, name: &str, arguments: Vec<Field>) -> Option<Input> {
        let (name, body) =
            self.functions.get_key_value(name).map(|(name, body)| (Arc::clone(name), Arc::clone(body)))?;
        if self.depth >= DEEPEST {
            self.lose("its functions call each other too deeply");
            return Some(Input::Clean);
        }
        self.called.insert(name);
        self.depth += 1;
        let mut printed = Input::Clean;
        self.arguments.push(Arguments { lists: vec![arguments], ..Arguments::default() });
        // The body may change its own arguments.
        for _ in 0..MOST_PASSES {
            let before = self.arguments.last().cloned();
            let input = self.input.clone();
            self.assigned.begin_call(true);
            printed = printed.or(self.reading(input, false, |flow| flow.command(&body)));
            self.assigned.end_call();
            let after = self.arguments.last();
            let is_same = before.as_ref().zip(after).is_none_or(|(before, after)| {
                (before.lists.len(), before.appended.len(), before.shifted)
                    == (after.lists.len(), after.appended.len(), after.shifted)
            });
            if is_same {
                break;
            }
        }
        self.arguments.pop();
        self.depth -= 1;
        Some(printed)
    }

    /// Reads the words of a command as its program does; tells what it may print.
    fn programs_of(&mut self, fields: &[Field]) -> Input {
        if self.watches()
            && let Some(printed) = self.printed_directory(fields)
        {
            return printed;
        }
        self.copies(fields);
        let holes = holes_among(fields);
        let mut in_files = self.holes_in_files(fields);
        in_files.extend(self.contents_of_words(fields));
        let with_input = [holes.clone(), self.input.holes()].concat();
        let outer_words = std::mem::replace(&mut self.in_words, with_input);
        let outer_arguments = std::mem::replace(&mut self.in_arguments, holes.clone());
        let command = self.whole.unwrap_or_else(|| identity(fields));
        let outer_command = std::mem::replace(&mut self.command, command);
        let outer = std::mem::replace(&mut self.in_files, in_files);
        let outer_outputs = std::mem::take(&mut self.in_outputs);
        let was_filter = self.is_filter.take();
        let outer_input = self.input.clone();
        let mut prints_environment = false;
        if self.concerns_values(fields, &holes) {
            self.prints_input = false;
            let printed_before = std::mem::replace(&mut self.prints_all, false);
            if self.read_words(fields) {
                // What it reads becomes arguments of the command that it starts.
                let with_arguments = self.with_arguments(fields);
                let named: Vec<usize> = with_arguments.iter().flat_map(|fields| self.holes_in_files(fields)).collect();
                self.in_files.extend(named);
                self.reading(Input::Clean, false, |flow| {
                    for fields in &with_arguments {
                        flow.read_words(fields);
                    }
                });
            }
            prints_environment = std::mem::replace(&mut self.prints_all, printed_before);
        }
        self.input = outer_input;
        self.in_words = outer_words;
        self.in_arguments = outer_arguments;
        self.command = outer_command;
        // What it reads, it may print as it is.
        let in_files = std::mem::replace(&mut self.in_files, outer);
        let in_outputs = std::mem::replace(&mut self.in_outputs, outer_outputs);
        let environment = if prints_environment { self.in_environment.iter().copied().collect() } else { Vec::new() };
        let read = if self.is_input_its_own || self.prints_input { self.input.clone() } else { Input::Clean };
        let read = match read {
            Input::Texts(texts) => match filter::filtered(fields, &texts) {
                Some(parts) => {
                    if filter::is_xargs_alone(fields) {
                        self.guard_input_of_xargs(parts.iter().flat_map(|part| holes_of(part)));
                    }
                    Input::Texts(parts)
                }
                None => Input::made("", &Input::Texts(texts).holes()),
            },
            read => read,
        };
        let is_filter = std::mem::replace(&mut self.is_filter, was_filter);
        let holes = match self.output_of(fields).filter(|_| is_filter != Some(true)) {
            Some(output) => [holes, vec![output]].concat(),
            None => holes,
        };
        let printed = match prints_its_words(fields) {
            Some(before) => Input::made(before, &holes),
            None => Input::printed(holes),
        };
        let of_files = match fields.first() {
            // The name of a file is not what stands in it.
            Some(Field::Word(text)) if literal(text).is_some_and(|name| ECHOING.contains(&name)) => Input::Clean,
            _ => Input::made("", &in_files).and(Input::printed(in_outputs)),
        };
        read.and(of_files).and(printed).and(Input::made("", &environment))
    }

    /// Whether reading a command can tell anything: values reach it, or it may run code or a file that has to be followed.
    fn concerns_values(&self, fields: &[Field], holes: &[usize]) -> bool {
        if self.watches() {
            return true;
        }
        let has_open = self.input != Input::Clean || !self.input_files.is_empty() || !self.held.is_empty();
        let reaches = !holes.is_empty() || has_open || !self.in_environment.is_empty();
        let is_known_to_files = !self.written.is_empty() || !self.touched.is_empty();
        let mut may_run =
            is_known_to_files || !self.unpacked.is_empty() || !self.in_environment.is_empty() || self.tells && reaches;
        let runs_values = |word: &str| programs::runs_shell_code(word) || is_make(word);
        for field in fields {
            field.each(&mut |text| may_run |= literal(text).is_some_and(runs_values));
        }
        may_run
    }

    /// `xargs` takes quotes and backslashes out of what it reads.
    fn guard_input_of_xargs(&mut self, holes: impl Iterator<Item = usize>) {
        self.guard_texts(holes, &Rule::Without { characters: "\\\"'" }, "xargs", "text that `xargs` reads");
    }

    /// The words of a command to which `xargs` adds what it reads: at the end, and where what may be the author's mark stands.
    fn with_arguments(&mut self, fields: &[Field]) -> Vec<Vec<Field>> {
        let pieces = self.literal_input().unwrap_or_else(|| self.pieces_of_input(Some(Cut::WORD)));
        if !reads_plain_text(fields) {
            self.guard_input_of_xargs(pieces.iter().flat_map(|piece| holes_of(piece)));
        }
        let mut mark = None;
        let mut words = fields.iter().filter_map(|field| match field {
            Field::Word(text) => literal(text),
            _ => None,
        });
        while let Some(word) = words.next() {
            if word == "-i" || word == "--replace" {
                mark = Some("{}");
            } else if let Some(rest) = word.strip_prefix("--replace=") {
                mark = Some(rest);
            } else if let Some((_, rest)) =
                word.split_once(['I', 'J']).filter(|_| word.starts_with('-') && !word.starts_with("--"))
            {
                mark = if rest.is_empty() { words.next() } else { Some(rest) };
            }
        }
        let added: Vec<Vec<Field>> = pieces.iter().map(|piece| vec![Field::Word(piece.clone())]).collect();
        let added: Vec<Field> = fields.iter().cloned().chain([Field::Many(added.into())]).collect();
        let Some(mark) = mark.filter(|mark| !mark.is_empty()) else { return vec![added] };
        let replaced = |text: &Text, piece: &Text| {
            let mut out = Text::new();
            for atom in text {
                let Atom::Text(own) = atom else {
                    value::push(&mut out, atom.clone());
                    continue;
                };
                for (at, part) in own.split(mark).enumerate() {
                    if at > 0 {
                        piece.iter().for_each(|atom| value::push(&mut out, atom.clone()));
                    }
                    value::push(&mut out, Atom::text(part));
                }
            }
            out
        };
        let of_field = |field: &Field| match field {
            Field::Word(text) if text.iter().any(|atom| matches!(atom, Atom::Text(own) if own.contains(mark))) => {
                Field::choice(pieces.iter().map(|piece| vec![Field::Word(replaced(text, piece))]).collect())
            }
            field => vec![field.clone()],
        };
        vec![added, fields.iter().flat_map(of_field).collect()]
    }

    /// Tells what a program does when no word comes any more.
    fn end_of(&mut self, state: &State, fields: &[Field]) {
        self.prints_input |= state.is_filter();
        self.is_filter = Some(self.is_filter.unwrap_or(true) && state.entry().is_filter);
        self.note_run(state, fields);
        self.loads(state);
        if is_make(state.label()) {
            self.includes();
        }
        self.writes_unnamed(state);
        self.unpacks(state);
        self.input_of(state);
    }

    /// Tells what the words of a command are to its programs; and whether one makes arguments of what it reads, for another.
    fn read_words(&mut self, fields: &[Field]) -> bool {
        let mut makes_arguments = false;
        self.unpacked.begin_command();
        let graph = Graph::of(fields);
        let mut queue: Vec<(usize, Arc<Reading>)> = vec![(Graph::START, Arc::new(Reading::Name(None)))];
        // For each node, which of the queue stand there.
        let mut seen: Vec<Vec<usize>> = vec![Vec::new(); graph.len()];
        let reach =
            |node: usize, reading: Arc<Reading>, seen: &mut [Vec<usize>], queue: &mut Vec<(usize, Arc<Reading>)>| {
                let known = |&known: &usize| Arc::ptr_eq(&queue[known].1, &reading) || queue[known].1 == reading;
                if !seen[node].iter().any(known) {
                    seen[node].push(queue.len());
                    queue.push((node, reading));
                }
            };
        let mut at = 0;
        while let Some((node, reading)) = queue.get(at).map(|(node, reading)| (*node, Arc::clone(reading))) {
            at += 1;
            if at > MOST_READINGS {
                self.lose("a command in it can be read in too many ways");
                break;
            }
            let edges = graph.edges(node);
            self.spend(1 + edges.len());
            if self.lost.is_some() {
                break;
            }
            if graph.is_end(node)
                && let Reading::Words(state) = &*reading
            {
                self.end_of(state, fields);
            }
            for &(word, to) in edges {
                let Some(word) = word else {
                    reach(to, Arc::clone(&reading), &mut seen, &mut queue);
                    continue;
                };
                let is_absent = value::is_absent(word);
                match &*reading {
                    // The program was not found, and the next word is one, or is what was meant for it.
                    Reading::Name(outer) | Reading::Missing(outer) if is_absent => {
                        reach(to, Arc::new(Reading::Missing(outer.clone())), &mut seen, &mut queue);
                    }
                    Reading::Words(state) if is_absent => {
                        let step = state.step(word, &mut |_| {});
                        if !step.next.is_empty() || step.command.is_none() {
                            reach(to, Arc::clone(&reading), &mut seen, &mut queue);
                        }
                        if let Some(outer) = step.command {
                            reach(node, Arc::new(Reading::Name(outer)), &mut seen, &mut queue);
                        }
                    }
                    Reading::Missing(outer) => {
                        // An option is one of the program around it.
                        let is_meant = literal(word)
                            .is_some_and(|name| !name.starts_with('-') && programs::is_unknown(name, self.statements));
                        let meant = if is_meant { &vec![Atom::Unknown(Tag::Missing)] } else { word };
                        for state in self.name(meant, outer.as_ref(), (false, node != Graph::START)) {
                            reach(to, Arc::new(Reading::Words(state)), &mut seen, &mut queue);
                        }
                    }
                    Reading::Name(outer) => {
                        for state in self.name(word, outer.as_ref(), (false, node != Graph::START)) {
                            reach(to, Arc::new(Reading::Words(state)), &mut seen, &mut queue);
                        }
                    }
                    Reading::Module(outer) => {
                        for state in self.name(word, outer.as_ref(), (true, true)) {
                            reach(to, Arc::new(Reading::Words(state)), &mut seen, &mut queue);
                        }
                    }
                    Reading::Words(state) => {
                        let mut parts = Vec::new();
                        let copies = !self.in_files.is_empty()
                            || !self.in_words.is_empty()
                            || self.watches()
                            || !self.unpacked.is_empty()
                            || self.knows_files();
                        let step = state.step(word, &mut |seen| parts.extend(Owned::of(&seen, copies)));
                        for part in parts {
                            self.part_of(state, part, &graph, to);
                        }
                        if step.next.iter().any(|next| state.ends_before(next)) {
                            self.input_of(state);
                        }
                        if step.command.is_some() {
                            self.note_run(state, fields);
                            self.note_container(state, word);
                        }
                        makes_arguments |= step.command.is_some() && state.entry().input == Reads::Arguments;
                        let plugin = step.plugin.map(|name| self.plugin(&name, state)).unwrap_or_default();
                        for state in step.next.into_iter().chain(plugin) {
                            reach(to, Arc::new(Reading::Words(state)), &mut seen, &mut queue);
                        }
                        // The word is read again, as a program's name or as a word of another program.
                        let module = step.module.then(|| Reading::Module(state.outer().cloned()));
                        let again = step.again.map(Reading::Words).into_iter().chain(step.command.map(Reading::Name));
                        for reading in again.chain(module) {
                            reach(node, Arc::new(reading), &mut seen, &mut queue);
                        }
                    }
                }
            }
        }
        makes_arguments && (self.watches() || !self.input.holes().is_empty() || self.knows_files())
    }

    /// `make` takes each variable of its environment for one of its own, expands what is in it, and pastes it into recipes.
    fn pasted_by_make(&mut self, word: &Text) {
        if !literal(word).is_some_and(is_make) {
            return;
        }
        let exported = self.variables.values().filter(|variable| variable.is_exported).flat_map(Variable::holes);
        let holes: BTreeSet<usize> = exported.chain(self.in_environment.iter().copied()).collect();
        self.guard_texts(holes, &Rule::Plain, "make", "a variable");
    }

    /// What reads the words behind the name of a plugin.
    fn plugin(&self, name: &str, state: &State) -> Vec<State> {
        let entries = programs::find(name, self.statements).into_iter();
        entries.map(|entry| State::new(entry, name, state.outer().cloned())).collect()
    }

    /// Finds what runs by the name of a command, which may be one of a module, and one that another program starts.
    fn name(&mut self, word: &Text, outer: Option<&Arc<State>>, (is_module, is_inside): (bool, bool)) -> Vec<State> {
        self.note_command(word, is_module, is_inside);
        self.start_descriptor(word);
        // Without a `/` it is looked for where programs are.
        if literal(word).is_none_or(|name| name.contains('/') || name.contains("{}")) {
            self.runs_file(word);
            self.runs_script(word, &self.in_arguments.clone());
        } else if self.knows_files() {
            self.find_all(self.written.holes(word, Except::default()), &Reason::Written);
        }
        if is_module && let Some(name) = literal(word) {
            let file = name.rsplit('.').next().map(|last| vec![Atom::text(&format!("{last}.py"))]);
            file.iter().for_each(|file| self.runs_file(file));
            let directory = vec![Atom::text(name.split('.').next().unwrap_or(name))];
            self.runs_below(&directory, |_| true);
        }
        self.pasted_by_make(word);
        let start = |entries: Vec<Known>, label: &str| {
            entries.into_iter().map(|entry| State::new(entry, label, outer.cloned())).collect()
        };
        // Nothing runs that has no name.
        if literal(word).is_some_and(str::is_empty) {
            return Vec::new();
        }
        if let Some(name) = literal(word) {
            if is_module {
                return start(programs::find_module(name, self.statements), name);
            }
            let base = name.rsplit('/').next().unwrap_or(name);
            self.runs_copy(base, name.contains('/'));
            return start(programs::find(name, self.statements), base);
        }
        self.find_by_kind(holes_of(word), &Reason::Chooses, "the name of a command");
        // `"$DIR/git"` is a git.
        if let Some(Atom::Text(end)) = word.last()
            && let Some((_, base)) = end.rsplit_once('/')
            && !base.is_empty()
        {
            self.runs_copy(base, true);
            return start(programs::find(&format!("./{base}"), self.statements), base);
        }
        let is_interpreter = matches!(word.as_slice(), [Atom::Unknown(Tag::Variable(name) | Tag::Given(name))]
            if matches!(&**name, "SHELL" | "BASH" | "EDITOR" | "VISUAL" | "PAGER" | "BROWSER"));
        let label = match word.as_slice() {
            [Atom::Unknown(Tag::Variable(name) | Tag::Given(name))] => format!("${name}"),
            _ => "the program".to_owned(),
        };
        start(vec![programs::unnamed(is_interpreter)], &label)
    }

    /// Notes that a program starts another one in a container.
    fn note_container(&mut self, state: &State, word: &Text) {
        let starts_in_container =
            matches!(state.entry().input, Reads::Code { language, .. } if language == programs::UNKNOWN_LANGUAGE);
        if let Some(name) = literal(word).filter(|_| starts_in_container) {
            self.in_containers.insert(name.into(), Arc::clone(state.label()));
        }
    }

    /// Nothing is known of this program.
    fn unknown_program(&self, program: &Arc<str>) -> Reason {
        Reason::UnknownProgram { program: Arc::clone(program), started_by: self.in_containers.get(program).cloned() }
    }

    /// What a program does with its standard input.
    fn input_of(&mut self, state: &State) {
        let holes = self.input.holes();
        let program = state.label();
        match state.entry().input {
            Reads::Code { language, unless_operand, with_operand, unless, always } => {
                // A command that was joined from its words has read the input.
                let is_unread = if state.has_operand() { unless_operand } else { with_operand };
                let is_code =
                    state.seen() & always != 0 || !(state.is_done() || is_unread) && state.seen() & unless == 0;
                if is_code && language == programs::UNKNOWN_LANGUAGE {
                    let holes = [holes, self.input_files.clone()].concat();
                    let why = format!(
                        "the program that `{program}` starts in the container reads it, and nothing says which that is"
                    );
                    return self.find_unclear(holes, &why);
                }
                if is_code {
                    self.find_code(self.input_files.clone(), program, "program");
                }
                if !is_code {
                    self.find_all(holes, &Reason::Input { program: Arc::clone(program) });
                    let program = Arc::clone(program);
                    self.guard_input(&program, by_itself);
                } else if let (true, Input::Texts(texts)) = (is_shell(language), self.input.clone()) {
                    // `bash -s -- "{X}"`: which of its words the script gets as which argument is not told apart.
                    let any =
                        self.in_arguments.iter().map(|hole| vec![Field::Word(vec![Atom::value(*hole)])]).collect();
                    let arguments = if self.in_arguments.is_empty() { Vec::new() } else { vec![Field::Many(any)] };
                    self.reading(Input::Clean, false, |flow| {
                        for text in &texts {
                            flow.evaluate(text, program, Called { zero: None, arguments: arguments.clone() });
                        }
                    });
                } else {
                    self.find_code(holes, program, language);
                }
            }
            Reads::Unknown if state.is_of_unknown_program() => {
                for hole in holes {
                    if self.is_text(hole) {
                        self.find(hole, self.unknown_program(program));
                    }
                }
            }
            Reads::Text | Reads::Arguments | Reads::Unknown => {
                self.find_all(holes, &Reason::Input { program: Arc::clone(program) });
                let program = Arc::clone(program);
                self.guard_input(&program, by_itself);
            }
            Reads::TextWithout(characters) => {
                self.find_all(holes, &Reason::Input { program: Arc::clone(program) });
                let program = Arc::clone(program);
                self.guard_input(&program, |_, _, _| Some(Rule::Without { characters }));
            }
            Reads::Message => {
                self.find_all(holes, &Reason::Input { program: Arc::clone(program) });
                let program = Arc::clone(program);
                let rule = |before: &structure::Before, _: bool, _: bool| {
                    structure::is_in_head(&before.text).then_some(Rule::Without { characters: "\n\r" })
                };
                self.guard_input(&program, rule);
            }
            Reads::Dialog => {
                self.find_all(holes, &Reason::Input { program: Arc::clone(program) });
                let program = Arc::clone(program);
                self.guard_input(&program, |before, is_whole, is_json_string| {
                    let ends_line = (!is_whole).then_some(Rule::Without { characters: "\n\r" });
                    before.rule(is_json_string).or(ends_line)
                });
            }
            Reads::Yaml => {
                self.find_all(holes, &Reason::Input { program: Arc::clone(program) });
                let program = Arc::clone(program);
                self.guard_input(&program, |before, _, is_json_string| before.rule_of_yaml(is_json_string));
            }
        }
    }

    /// What the values in the input of a program must not hold, by what stands before each.
    fn guard_input(&mut self, program: &Arc<str>, rule: impl Fn(&structure::Before, bool, bool) -> Option<Rule>) {
        match self.input.clone() {
            Input::Texts(texts) => texts.iter().for_each(|text| self.guard_document(text, program, &rule)),
            // Where in it they are is not known.
            Input::Printed(_) | Input::Clean => {}
        }
    }

    /// What the values in a text must not hold, by what stands before each.
    fn guard_document(
        &mut self,
        text: &Text,
        program: &Arc<str>,
        rule: &impl Fn(&structure::Before, bool, bool) -> Option<Rule>,
    ) {
        if text.len() == 1 && !matches!(text[0], Atom::Value { .. } | Atom::Derived(_)) {
            return;
        }
        let mut before = structure::Before::START;
        // Nothing but the end of a line stands around it.
        let is_whole =
            text.len() == 1 || text.len() == 2 && matches!(text.last(), Some(Atom::Text(end)) if &**end == "\n");
        for atom in text {
            match atom {
                Atom::Text(text) => before.read(text),
                Atom::Unknown(_) | Atom::Output(_) => before.pass(),
                Atom::Value { hole, cut } => {
                    if self.is_text(*hole)
                        && let Some(rule) = rule(&before, is_whole, self.is_json_string(*hole))
                    {
                        let guard = Guard { rule, cut: *cut, program: Arc::clone(program) };
                        self.find_guarded(*hole, Reason::Input { program: Arc::clone(program) }, Some(guard));
                    }
                    before.pass();
                }
                Atom::Derived(holes) => {
                    for &hole in holes.iter().filter(|hole| self.is_text(**hole)).collect::<Vec<_>>() {
                        if let Some(rule @ Rule::Without { .. }) = rule(&before, is_whole, false) {
                            let guard = Guard { rule, cut: Cut::WHOLE, program: Arc::clone(program) };
                            self.find_guarded(hole, Reason::Input { program: Arc::clone(program) }, Some(guard));
                        }
                    }
                    before.pass();
                }
            }
        }
    }

    /// What is printed goes to a file: its values stay the parts of what that is, by its name.
    fn guard_file(&mut self, file: &Text, printed: &Input) {
        let Input::Texts(texts) = printed else { return };
        if let Some((program, language)) = files::runs_later(file) {
            for text in texts.iter().filter(|text| !holes_of(text).is_empty()) {
                match language {
                    "sh" => self.evaluate(text, &program.into(), Called::default()),
                    language => self.find_code(holes_of(text), &program.into(), language),
                }
            }
            return;
        }
        let kind = files::kind(file);
        if kind != structure::FileKind::Text {
            let rule = |before: &structure::Before, is_whole: bool, is_json_string: bool| {
                kind.rule(before, is_whole, is_json_string)
            };
            texts.iter().for_each(|text| self.guard_document(text, &kind.name().into(), &rule));
        }
    }

    /// Whether the text of a hole is the inside of a JSON string.
    fn is_json_string(&self, hole: usize) -> bool {
        self.holes.get(hole).is_some_and(|hole| hole.is_json_string)
    }

    fn find_code(&mut self, holes: impl IntoIterator<Item = usize>, program: &Arc<str>, language: &'static str) {
        let code = Reason::Code { program: Arc::clone(program), language };
        self.find_by_kind(holes, &code, "code, where it can do no harm");
    }

    fn find_unclear(&mut self, holes: impl IntoIterator<Item = usize>, why: &str) {
        self.find_by_kind(holes, &Reason::Unclear(why.into()), "an argument");
    }

    /// Judges what a word, or a part of it, is to its program.
    fn part_of(&mut self, state: &State, part: Owned, graph: &Graph<'_>, to: usize) {
        let program = Arc::clone(state.label());
        match part {
            Owned::Place { place, text, is_option_read, option } => {
                let place = place.behind(beginning(&text));
                self.note_place(state, place, &text);
                self.run_descriptor(place, &text, &program);
                self.file_at(state, place, &text, !option.is_empty());
                let is_unknown = state.is_of_unknown_program();
                if let PlaceKind::CodeIn(language) = place.kind
                    && is_shell(language)
                {
                    let rest = graph.rest(to);
                    if !state.is_inside() || self.in_arguments.is_empty() {
                        return self.shell_code(&text, language, &program, rest);
                    }
                    let rest = rest.into_iter().map(|field| match field {
                        Field::Word(text) => Field::Word(self.with_names(&text)),
                        field => field,
                    });
                    let rest = rest.collect();
                    if literal(&text).is_some_and(|code| code.contains("{}")) {
                        let why = format!("names of files become code of `{program}`, and the value decides which");
                        self.find_unclear(self.in_arguments.clone(), &why);
                    }
                    return self.shell_code(&text, language, &program, rest);
                }
                if state.is_inside() {
                    self.replaced_by_names(&text, &program);
                }
                let options = is_option_read.then(|| state.reader(place));
                self.place(place, &text, options.as_ref(), option, &program, is_unknown);
            }
            Owned::Option { text } => {
                self.find_by_kind(holes_of(&text), &Reason::PartOfOption { program }, "part of an option");
            }
            Owned::Subcommand { text } => {
                self.find_by_kind(holes_of(&text), &Reason::Subcommand { program }, "the name of a subcommand");
            }
            Owned::Lost { text, why } => self.find_unclear(holes_of(&text), &why),
        }
    }

    /// A word may be the name of a file, which the program reads, writes or runs.
    fn file_at(&mut self, state: &State, place: &'static Place<'static>, text: &Text, is_of_option: bool) {
        if state.entry().unpacks.into != programs::UnpacksInto::Nothing || !self.unpacked.is_empty() {
            self.note_unpacking(place.kind, text);
        }
        let argument = literal(text).and_then(|text| text.split_once('=')).map(|(_, file)| vec![Atom::text(file)]);
        let files: Vec<Text> = [Some(text.clone()), argument].into_iter().flatten().collect();
        let entry = state.entry();
        let is_prefix = place.kind == PlaceKind::Data("prefix");
        if place.is_file() || is_prefix {
            if is_of_option && matches!(entry.input, Reads::Arguments | Reads::Code { .. }) {
                // `xargs -a`: it is read as the input is.
                let holes = self.written.holes_of_file(text, Except::default());
                let outputs = self.touched.holes_of_file(text, self.itself());
                let input = std::mem::replace(&mut self.input, Input::Clean);
                self.input = input.and(Input::made("", &holes)).and(Input::printed(outputs));
            }
            self.reads_file(text);
            let is_here = literal(text).is_some_and(|text| text.ends_with('.'));
            let below = if is_here { Vec::new() } else { self.written.holes_below(text, Except::default(), |_| true) };
            if !below.is_empty() {
                // A directory is copied with what is in it.
                self.in_files.extend(&below);
            }
            if entry.writes != Writes::Nothing && !matches!(place.kind, PlaceKind::Data("directory" | "recipe")) {
                for mut file in files.clone() {
                    if is_prefix {
                        file.push(Atom::Unknown(Tag::Somewhere));
                    }
                    // What stands in one file, or is read, may be copied to the other.
                    let copied = [self.in_files.clone(), self.input.holes(), below.clone()].concat();
                    for file in files::unpacked(&file).into_iter().chain([file]).filter(|file| !files::is_any(file)) {
                        self.note_written(&file, &copied);
                        self.touch(&file, self.command);
                    }
                }
            }
        } else if entry.writes != Writes::Nothing {
            // Only the program knows which words name files, and its code which it writes.
            let names = match place.kind {
                PlaceKind::Unknown => {
                    files.iter().filter(|file| literal(file).is_some_and(files::is_name)).cloned().collect()
                }
                PlaceKind::CodeIn(language) if !is_file_of_code(language) && !is_of_reading(language) => {
                    let is_harmless = literal(text).is_some_and(|code| watch::writes_nothing(language, code));
                    if is_harmless { Vec::new() } else { files::names_in(text) }
                }
                _ => Vec::new(),
            };
            // Code of a shell is followed by itself, and what it runs is not what its names may write.
            let is_followed = matches!(place.kind, PlaceKind::CodeIn(language) if is_shell(language));
            let command = if is_followed { by_its_code(self.command) } else { self.command };
            names.iter().for_each(|file| self.touch(file, command));
            if !names.is_empty() {
                // It may write what is in its environment.
                let holes: Vec<usize> = self.in_environment.iter().copied().collect();
                names.iter().for_each(|file| self.touched.add(file, command, &holes));
            }
        }
        if place.is_file() && matches!(&**state.label(), "tee" | "sponge") {
            let input = self.input.clone();
            files.iter().for_each(|file| self.guard_file(file, &input));
        }
        let is_input = matches!(literal(text), Some("-" | "/dev/stdin"));
        if is_input && is_make(state.label()) && !matches!(self.input, Input::Texts(_)) {
            // What it reads may include any file.
            self.runs_file(&vec![Atom::Unknown(Tag::Somewhere)]);
        }
        if !self.authored.is_empty() && place.runs_its_file() && programs::runs_shell_code(state.label()) {
            let arguments = self.in_arguments.clone();
            files.iter().for_each(|file| self.runs_script(file, &arguments));
        }
        match place.kind {
            PlaceKind::Program => {
                files.iter().for_each(|file| self.runs_file(file));
                files.iter().for_each(|file| self.runs_below(file, |_| true));
            }
            PlaceKind::CodeIn(language) if is_file_of_code(language) => {
                files.iter().for_each(|file| self.runs_file(file));
            }
            PlaceKind::Data("recipe") => files.iter().for_each(|file| self.runs_file(file)),
            // A number is no file.
            PlaceKind::CodeIn("arithmetic") => {}
            PlaceKind::CodeIn(language) if self.knows_files() => {
                for file in &files {
                    self.find_all(self.written.holes(file, Except::default()), &Reason::Written);
                    self.find_all(self.touched.holes(file, self.itself()), &Reason::Written);
                }
                self.read_by_code(text, language, state.label());
            }
            PlaceKind::Environment | PlaceKind::Data("variable") => {
                if let Some(((name, _), value)) = beginning(text).split_once('=').zip(behind_name(text)) {
                    self.loaded_by(name, &value, true);
                }
            }
            _ if state.is_of_unknown_program() && self.knows_files() => {
                let unknown = self.unknown_program(state.label());
                let holes =
                    files.iter().flat_map(|file| self.written.holes(file, Except::default())).collect::<Vec<_>>();
                self.find_all(holes, &unknown);
            }
            _ => {}
        }
    }

    /// The author's code in another language names a file, which it may run.
    fn read_by_code(&mut self, code: &Text, language: &str, program: &str) {
        // Code of a shell is followed.
        let is_harmless = is_shell(language)
            || is_of_reading(language)
            || literal(code).is_some_and(|code| watch::writes_nothing(language, code));
        if is_harmless {
            return;
        }
        for file in files::names_in(code).iter().filter(|file| !literal(file).is_some_and(files::is_data)) {
            let holes = self.written.holes(file, Except::default());
            self.find_unclear(holes, &format!("the code of `{program}` may run the file that holds it"));
        }
    }

    /// Notes that a command may write what it was given to a file.
    fn touch(&mut self, file: &Text, command: u64) {
        self.touched.add(file, command, &self.in_words);
        if !self.in_outputs.is_empty() {
            self.touched.add(file, command, &self.in_outputs);
        }
    }

    /// What is not told from the command that is read: it runs nothing that it writes itself, and the code that it was given runs
    /// nothing that only a name in that code says it writes.
    fn itself(&self) -> Except<'_> {
        Except { command: Some(self.command), around: &self.around }
    }

    /// What a program writes that its words do not name.
    fn writes_unnamed(&mut self, state: &State) {
        let writes = state.entry().writes;
        self.prints_all |= state.entry().prints_environment;
        if writes == Writes::Nothing {
            return;
        }
        self.prints_environment |= !self.in_environment.is_empty();
        let read = [self.input.holes(), self.in_files.clone(), self.in_outputs.clone()].concat();
        if writes == Writes::Anything {
            self.touched.add(&vec![Atom::Unknown(Tag::Somewhere)], self.command, &read);
        }
        let all = [self.in_words.clone(), read].concat();
        self.touched.add_unnamed(self.command, &all);
    }

    /// What a program loads that neither its words nor its input name.
    fn loads(&mut self, state: &State) {
        let files = if let Loads::Files(files) = &state.entry().loads { files.as_slice() } else { &[] };
        let own = state.entry().own.iter().map(|file| (file, Some(&**state.label())));
        for (file, is_own_of) in files.iter().map(|file| (file, None)).chain(own) {
            let file = vec![Atom::text(file)];
            self.runs_unpacked(&file, is_own_of);
            self.runs_written(&file);
            self.runs_written_below(&file, |_| true);
        }
        self.finds_files(state);
    }

    /// A program looks for files by itself: its settings, and code that other code names. One with a value that was written before
    /// may be among them, unless it is known to look for no such file.
    fn finds_files(&mut self, state: &State) {
        let is_known = !state.is_of_unknown_program() && !state.is_of_project();
        if is_known && state.entry().loads == Loads::Unknown {
            self.finds_unpacked(state.label());
        }
        // What a loop or a function runs may run again after what it writes.
        let is_once = self.loops == 0 && self.arguments.len() == 1;
        let earlier: &[_] = if is_once { &[] } else { &self.kept_before };
        if self.kept.is_empty() && earlier.is_empty() {
            return;
        }
        let entry = state.entry();
        let may_find = |name: &files::FileName| {
            let is_own = if is_known { entry.loads == Loads::Unknown && !name.is_inert() } else { name.is_code() };
            is_own
                || entry.has_settings && name.is_hidden() && !name.is_inert()
                || entry.modules.iter().any(|end| name.ends_with(end))
        };
        let others = earlier.iter().chain(&self.kept).filter(|file| file.command != self.command);
        let found = others.filter(|file| may_find(&file.name));
        let holes: Vec<usize> = found.flat_map(|file| file.holes.iter().copied()).collect();
        if !holes.is_empty() {
            let why = format!("`{}` may take the file that holds it for its settings or code", state.label());
            self.find_unclear(holes, &why);
        }
    }

    /// `include` in what `make` reads names a file.
    fn includes(&mut self) {
        let Input::Texts(texts) = self.input.clone() else { return };
        if !self.knows_files() {
            return;
        }
        for file in texts.iter().flat_map(files::names_in) {
            self.find_all(self.written.holes(&file, Except::default()), &Reason::Written);
            self.find_all(self.touched.holes(&file, self.itself()), &Reason::Written);
        }
    }

    /// What a variable names that programs run, or load from.
    pub(super) fn loaded_by(&mut self, name: &str, value: &Text, is_exported: bool) {
        let is_exported =
            is_exported || self.exports_all || self.variables.get(name).is_some_and(|variable| variable.is_exported);
        if matches!(name, "BASH_ENV" | "ENV") {
            self.becomes_part(value);
        }
        if !programs::runs_variable(name, is_exported) {
            return;
        }
        if !self.unpacked.is_empty() {
            watch::pieces(value).iter().for_each(|piece| self.runs_unpacked_below(piece));
        }
        if !self.knows_files() {
            return;
        }
        for piece in watch::pieces(value) {
            let glued = literal(&piece)
                .filter(|text| text.starts_with('-'))
                .and_then(|text| text.get(2..))
                .map(|text| vec![Atom::text(text)]);
            for piece in [Some(piece), glued].into_iter().flatten() {
                // Programs are found by the last part of their names.
                if name != "PATH" {
                    self.runs_below(&piece, |name| !files::is_data(name));
                }
                let mut stem = piece.clone();
                value::push(&mut stem, Atom::text("."));
                stem.push(Atom::Unknown(Tag::Somewhere));
                for file in [piece, stem] {
                    let mut holes = self.written.holes(&file, Except::default());
                    holes.extend(self.touched.holes(&file, self.itself()));
                    self.find_by_kind(holes, &Reason::Written, "a file");
                }
            }
        }
    }

    /// A value, or what was made of it, stands at a place.
    fn place(
        &mut self,
        place: &'static Place<'static>,
        text: &Text,
        options: Option<&(&'static str, Arc<str>)>,
        option: &'static str,
        program: &Arc<str>,
        is_unknown: bool,
    ) {
        let holes = holes_of(text);
        if holes.is_empty() {
            return;
        }
        let (language, opening) = place.code_behind;
        // A value that is all of it is what the author means to be asked.
        if !opening.is_empty() && beginning(text).starts_with(opening) && (text.len() > 2 || beginning(text) != opening)
        {
            return self.find_code(holes, program, language);
        }
        let noun = match place.kind {
            PlaceKind::CodeIn(language) => return self.find_code(holes, program, language),
            PlaceKind::Program => return self.find_code(holes, program, "program"),
            PlaceKind::Arguments if !place.word_behind.is_empty() => {
                return self.words_in_arguments(place, text, program);
            }
            PlaceKind::Arguments => return self.find_code(holes, program, "arguments"),
            PlaceKind::Environment => return self.environment(text, program),
            PlaceKind::Command | PlaceKind::CommandUntil | PlaceKind::Module | PlaceKind::As(_) => return,
            PlaceKind::Data(noun) => {
                if noun == "variable" {
                    // It is one of another machine, or of a container, whose programs read it as those here do.
                    match beginning(text).split_once('=') {
                        Some((name, _)) if programs::runs_variable(name, true) => {
                            let name = name.into();
                            return self.find_by_kind(holes, &Reason::Environment { name }, "a variable");
                        }
                        Some(_) => self.assign_in_command(text),
                        None => return self.find_code(holes, program, "environment"),
                    }
                }
                noun
            }
            PlaceKind::Plain => "plain word",
            PlaceKind::Format => "format",
            PlaceKind::Unknown => "argument",
        };
        let is_mixed = !is_name_like(text);
        for hole in holes {
            if !self.is_text(hole) {
                self.find(hole, Reason::Argument { program: Arc::clone(program), noun, option });
            } else if is_unknown {
                self.find(hole, self.unknown_program(program));
            } else if is_mixed && matches!(place.kind, PlaceKind::Plain | PlaceKind::Unknown) {
                self.find(hole, Reason::Mixed { program: Arc::clone(program) });
            } else {
                self.find(hole, Reason::Argument { program: Arc::clone(program), noun, option });
            }
        }
        self.guards(place, text, options, program);
    }

    /// A text of several arguments, in one of which a value may be a word: `-s -w -X main.version={VERSION}`.
    fn words_in_arguments(&mut self, place: &Place<'_>, text: &Text, program: &Arc<str>) {
        let mut before = String::new();
        for atom in text {
            match atom {
                Atom::Text(text) => before.push_str(text),
                Atom::Unknown(_) | Atom::Output(_) => before.push('?'),
                Atom::Value { hole, cut } => {
                    let mut words = before.split_ascii_whitespace().rev();
                    let is_word = words.next().is_some_and(|word| word.contains('='))
                        && words.next() == Some(place.word_behind)
                        && !before.ends_with(|c: char| c.is_ascii_whitespace());
                    if is_word && !cut.is_joined() && self.is_text(*hole) {
                        let guard = Guard { rule: Rule::Plain, cut: *cut, program: Arc::clone(program) };
                        let noun = Reason::Argument { program: Arc::clone(program), noun: "plain word", option: "" };
                        self.find_guarded(*hole, noun, Some(guard));
                    } else {
                        self.find_code([*hole], program, "arguments");
                    }
                    before.push('?');
                }
                Atom::Derived(holes) => {
                    self.find_code(holes.iter().copied(), program, "arguments");
                    before.push('?');
                }
            }
        }
    }

    /// `find` puts the name of a file for each `{}` in the words of its command.
    fn replaced_by_names(&mut self, text: &Text, program: &Arc<str>) {
        for hole in holes_of(text).into_iter().filter(|hole| self.is_text(*hole)).collect::<Vec<_>>() {
            let rule = Rule::Lacks { text: "{}" };
            let guard = Guard { rule, cut: Cut::WHOLE, program: Arc::clone(program) };
            let reason = Reason::Argument { program: Arc::clone(program), noun: "argument", option: "" };
            self.find_guarded(hole, reason, Some(guard));
        }
    }

    /// A word in which `find` puts names of files for `{}`: what its words say decides which, as with what a program prints.
    fn with_names(&self, text: &Text) -> Text {
        let mut named = Text::new();
        for atom in text {
            let Atom::Text(own) = atom else {
                value::push(&mut named, atom.clone());
                continue;
            };
            for (index, part) in own.split("{}").enumerate() {
                if index > 0 {
                    value::push(&mut named, Atom::Output(self.in_arguments.as_slice().into()));
                }
                value::push(&mut named, Atom::text(part));
            }
        }
        named
    }

    /// What the values of a word must not look like.
    fn guards(
        &mut self,
        place: &'static Place<'static>,
        text: &Text,
        options: Option<&(&'static str, Arc<str>)>,
        program: &Arc<str>,
    ) {
        // What certainly stands before a value; and what does, with a mark for all that is not the author's.
        let (mut before, mut author) = (String::new(), structure::Before::START);
        for (index, atom) in text.iter().enumerate() {
            let is_first = before.is_empty();
            match atom {
                Atom::Text(text) => {
                    before.push_str(text);
                    author.read(text);
                }
                Atom::Unknown(tag) => {
                    author.pass();
                    if matches!(tag, Tag::Number(_) | Tag::Given(_)) {
                        before.push('?');
                    }
                }
                // It may be empty, and then what follows begins the word.
                Atom::Output(_) => author.pass(),
                Atom::Value { hole, cut } => {
                    let is_text = self.is_text(*hole);
                    let mut rules = Vec::new();
                    let is_number = place.kind == PlaceKind::Data("number");
                    if let Some((signs, _)) = options.filter(|_| is_first && (is_text || !is_number)) {
                        let is_allowed = self.holes.get(*hole).is_some_and(|hole| hole.options);
                        if !is_allowed {
                            rules.push(Rule::Option { signs });
                        }
                    }
                    if is_text {
                        for prefix in &place.prefixes {
                            if let Some(rest) = prefix.strip_prefix('=') {
                                if before.ends_with('=') && before.matches('=').count() == 1 {
                                    rules.push(Rule::Prefix {
                                        prefix: rest.to_owned(),
                                        goes_on: index + 1 < text.len(),
                                    });
                                } else if !before.contains('=') {
                                    rules.push(Rule::Lacks { text: prefix });
                                }
                                continue;
                            }
                            if let Some(rest) = prefix.strip_prefix(before.as_str()).filter(|rest| !rest.is_empty()) {
                                let goes_on = index + 1 < text.len();
                                rules.push(Rule::Prefix { prefix: rest.to_owned(), goes_on });
                            }
                        }
                        rules.extend(self.rules_of_text(place, (&before, &author), text, index, program));
                        let content = content_rules(place);
                        if cut.is_joined() && !(content.is_empty() && place.prefixes.is_empty()) {
                            self.find(*hole, Reason::Changed { program: Arc::clone(program) });
                        }
                        rules.extend(content);
                    }
                    let noun = Reason::Argument { program: Arc::clone(program), noun: "argument", option: "" };
                    for rule in rules {
                        let reader = match (&rule, options) {
                            (Rule::Option { .. }, Some((_, reader))) => reader,
                            _ => program,
                        };
                        let guard = Guard { rule, cut: *cut, program: Arc::clone(reader) };
                        self.find_guarded(*hole, noun.clone(), Some(guard));
                    }
                    // The value may be empty, and then what follows begins the word.
                    author.pass();
                }
                Atom::Derived(holes) => {
                    let is_open = is_first && (options.is_some() || !place.prefixes.is_empty());
                    for &hole in holes.iter() {
                        if !self.is_text(hole) {
                            continue;
                        }
                        if is_open {
                            self.find(hole, Reason::Changed { program: Arc::clone(program) });
                        }
                        for rule in content_rules(place) {
                            let guard = Guard { rule, cut: Cut::WHOLE, program: Arc::clone(program) };
                            let noun = Reason::Argument { program: Arc::clone(program), noun: "argument", option: "" };
                            self.find_guarded(hole, noun, Some(guard));
                        }
                    }
                }
            }
        }
    }

    /// What a value must be to stay the part of the author's text in which it stands.
    fn rules_of_text(
        &self,
        place: &'static Place<'static>,
        (certain, author): (&str, &structure::Before),
        text: &Text,
        index: usize,
        program: &str,
    ) -> Vec<Rule> {
        let Some(Atom::Value { hole, .. }) = text.get(index) else { return Vec::new() };
        let goes_on = index + 1 < text.len();
        let mut rules = Vec::new();
        let opening = place.code_behind.1.strip_prefix(certain).filter(|rest| !rest.is_empty());
        rules.extend(opening.map(|rest| Rule::Prefix { prefix: rest.to_owned(), goes_on }));
        rules.extend(author.rule(self.is_json_string(*hole)));
        let behind = beginning(&text[index + 1..]);
        if !ECHOING.contains(&program) {
            let is_clear = !goes_on || !behind.is_empty();
            let is_address = place.kind == PlaceKind::Data("url");
            rules.extend(structure::in_address(&author.text, is_clear.then_some(behind), is_address));
        }
        if place.kind == PlaceKind::Data("form") && structure::is_in_form(&author.text) {
            rules.push(Rule::Without { characters: "&" });
        }
        if !place.without_behind.is_empty() && !author.text.is_empty() && !author.text.contains(structure::MARK) {
            rules.push(Rule::Without { characters: place.without_behind });
        }
        if !place.without_at_end.is_empty() && !goes_on {
            rules.push(Rule::End { characters: place.without_at_end });
        }
        rules
    }

    /// `NAME=value` for the environment of a command.
    fn environment(&mut self, text: &Text, program: &Arc<str>) {
        match beginning(text).split_once('=') {
            Some((name, _)) => {
                let name = name.to_owned();
                self.variable_of_environment(&name, &holes_of(text), true);
                self.assign_in_command(text);
            }
            None => self.find_code(holes_of(text), program, "environment"),
        }
    }

    /// The command that gets `NAME=value` in its environment may be a script.
    fn assign_in_command(&mut self, text: &Text) {
        let Some(((name, _), value)) = beginning(text).split_once('=').zip(behind_name(text)) else { return };
        let name = name.to_owned();
        self.perhaps(|flow| flow.assign(&name, value));
        self.assigned.pass(&name);
    }

    /// A variable gets its value from holes: some variables are run, or loaded from.
    fn variable_of_environment(&mut self, name: &str, holes: &[usize], is_exported: bool) {
        if holes.is_empty() {
            return;
        }
        let is_exported =
            is_exported || self.exports_all || self.variables.get(name).is_some_and(|variable| variable.is_exported);
        if is_exported {
            self.has_grown |= grow(&mut self.in_environment, holes);
        }
        let runs = programs::runs_variable(name, is_exported) || self.shell == Shell::Zsh && zsh::runs_list(name);
        let reason = if runs { Reason::Environment { name: name.into() } } else { Reason::Shell("a variable") };
        self.find_by_kind(holes.iter().copied(), &reason, "a variable");
    }

    // Code in code.

    /// Text that a program hands to a shell. `rest` are the words behind it, which the shell gets as arguments.
    fn shell_code(&mut self, text: &Text, language: &'static str, program: &Arc<str>, rest: Vec<Field>) {
        self.around.push(by_its_code(self.command));
        self.follow_shell_code(text, language, program, rest);
        self.around.pop();
    }

    fn follow_shell_code(&mut self, text: &Text, language: &'static str, program: &Arc<str>, rest: Vec<Field>) {
        if language == "sh-joined" {
            // The program joins its words with blanks.
            let mut whole = text.clone();
            for field in rest {
                let Field::Word(next) = field else {
                    let holes = holes_among(&[field]);
                    self.find_code(holes, program, "sh");
                    continue;
                };
                value::push(&mut whole, Atom::text(" "));
                next.into_iter().for_each(|atom| value::push(&mut whole, atom));
            }
            return self.evaluate(&whole, program, Called::default());
        }
        // The word behind the code is `$0`; which it is cannot be told where it may be none, or several.
        let called = match rest.split_first() {
            None => Called::default(),
            Some((Field::Word(zero), arguments)) => {
                Called { zero: Some(vec![zero.clone()]), arguments: arguments.to_vec() }
            }
            Some(_) => {
                let any = texts_among(&rest);
                Called { zero: Some(any.clone()), arguments: vec![Field::any_of(any)] }
            }
        };
        self.evaluate(text, program, called);
    }

    /// Follows text that is evaluated as a script; the values in it are code, unless they are quoted for that.
    fn evaluate(&mut self, text: &Text, by: &Arc<str>, called: Called) {
        if text.iter().all(|atom| matches!(atom, Atom::Unknown(_))) {
            if !text.is_empty() {
                self.note_unpinned(|| format!("the code that `{by}` evaluates"));
            }
            return;
        }
        if self.depth >= DEEPEST {
            return self.lose("code in it is evaluated in code too deeply");
        }
        let mut source = String::new();
        let mut holes = Vec::new();
        for atom in text {
            match atom {
                Atom::Text(text) => source.push_str(text),
                Atom::Unknown(Tag::Variable(name)) if self.watches() => source.push_str(&format!("${{{name}}}")),
                Atom::Unknown(_) => {
                    self.note_unpinned(|| format!("a part of the code that `{by}` evaluates"));
                    source.push_str(watch::UNKNOWN);
                }
                Atom::Value { hole, cut: Cut::WHOLE } if self.is_fragment(*hole) => {
                    holes.push(*hole);
                    source.push(HOLE as char);
                }
                Atom::Value { hole, .. } if !self.is_text(*hole) => {
                    self.find(*hole, Reason::Shell("code, where it can do no harm"));
                    source.push('1');
                }
                atom => {
                    let evaluated = Reason::Evaluated { by: Arc::clone(by) };
                    self.find_by_kind(atom.holes().iter().copied(), &evaluated, "code");
                    source.push_str(watch::UNKNOWN);
                }
            }
        }
        let shell = match (&**by, self.shell) {
            ("zsh", _) => Shell::Zsh,
            ("eval" | "trap" | "." | "source", shell) => shell,
            _ => Shell::Bash,
        };
        let mut found = parse(shell, source.as_bytes());
        for (hole, place) in holes.iter().zip(&found.holes) {
            if !matches!(place.spot, Spot::Words | Spot::One { .. }) {
                self.find(*hole, Reason::Evaluated { by: Arc::clone(by) });
            }
        }
        let first = self.documents.keys().max().map_or(0, |last| last + 1);
        match crate::script::build(&mut found, &holes, first) {
            Ok(tree) => {
                self.documents.extend(tree.documents);
                self.depth += 1;
                let outer = std::mem::replace(&mut self.shell, shell);
                let is_here = matches!(&**by, "eval" | "trap" | "." | "source");
                let echo_escapes = is_here && self.echo_escapes || !is_here && !by.starts_with("bash");
                let outer_echo = std::mem::replace(&mut self.echo_escapes, echo_escapes);
                let functions = if is_here { None } else { Some(std::mem::take(&mut self.functions)) };
                let has_arguments = !is_here || !called.arguments.is_empty();
                if has_arguments {
                    let zero = if is_here { None } else { Some(called.zero.unwrap_or_default()) };
                    self.arguments.push(Arguments { lists: vec![called.arguments], zero, ..Arguments::default() });
                }
                if !is_here {
                    self.assigned.begin_shell();
                }
                self.script(&tree.script);
                if has_arguments {
                    self.arguments.pop();
                }
                if let Some(functions) = functions {
                    self.assigned.end_shell();
                    self.functions = functions;
                }
                self.echo_escapes = outer_echo || is_here && self.echo_escapes;
                self.shell = outer;
                self.depth -= 1;
            }
            Err(_) => {
                // Not a program for a shell that is known; what its variables hold may be run.
                self.note_unpinned(|| format!("the code that `{by}` evaluates, which is not understood"));
                self.find_unclear(
                    self.holes_of_variables(),
                    &format!("the code that `{by}` evaluates is not understood"),
                );
            }
        }
    }

    fn is_fragment(&self, hole: usize) -> bool {
        self.holes.get(hole).is_some_and(|hole| hole.mode == Mode::Fragment)
    }
}

/// The value in `NAME=value`.
fn behind_name(text: &Text) -> Option<Text> {
    let (_, before) = beginning(text).split_once('=')?;
    let mut value = Text::new();
    std::iter::once(&Atom::text(before)).chain(&text[1..]).for_each(|atom| value::push(&mut value, atom.clone()));
    Some(value)
}

/// Programs that print what their words say, wherever in a command their names stand.
const ECHOING: [&str; 8] = ["basename", "dirname", "echo", "expr", "print", "printf", "readlink", "realpath"];

/// Whether a command prints what its words say, more or less; behind which text.
fn prints_its_words(fields: &[Field]) -> Option<&'static str> {
    let mut words = Vec::new();
    fields.iter().for_each(|field| field.each(&mut |text| words.extend(literal(text).map(str::to_owned))));
    let name = |word: &str| word.rsplit('/').next().and_then(|name| ECHOING.into_iter().find(|known| *known == name));
    let found = words.iter().find_map(|word| name(word))?;
    let is_first = words.first().is_some_and(|word| name(word) == Some(found));
    let is_absolute = match found {
        "realpath" => !words.iter().any(|word| word.starts_with("--relative")),
        "readlink" => words.iter().any(|word| matches!(word.as_str(), "-f" | "-e" | "-m" | "--canonicalize")),
        _ => false,
    };
    Some(if is_first && is_absolute { "/" } else { "" })
}

/// Whether this is the name of a `make`.
fn is_make(word: &str) -> bool {
    matches!(word.rsplit('/').next(), Some("make" | "gmake" | "bmake" | "nmake" | "remake"))
}

/// Whether the first options of `xargs` say that quotes and backslashes mean nothing in what it reads.
fn reads_plain_text(fields: &[Field]) -> bool {
    let texts = fields.iter().map(|field| if let Field::Word(text) = field { literal(text) } else { None });
    let own = texts.skip_while(|text| text.is_none_or(|text| !text.ends_with("xargs"))).skip(1);
    let mut options = own.map_while(|text| text.filter(|text| text.starts_with('-')));
    options.any(|option| match option.strip_prefix("--") {
        Some(long) => long.starts_with("nul") || long.starts_with("del"),
        None => option.contains(['0', 'd']),
    })
}

/// Whether a command is `exec` without a program.
fn is_redirection(form: &Form) -> bool {
    let Form::Simple { words, .. } = form else { return false };
    let mut words = words.iter().map(Word::literal).skip_while(|word| matches!(word, Some("command" | "builtin")));
    words.next() == Some(Some("exec")) && words.all(|word| word.is_some_and(|word| word.starts_with('-')))
}

/// Tells a command from others.
fn identity(fields: &[Field]) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(fields)
}

/// Whether what is printed goes to a descriptor other than the usual ones, from which something else may read it.
fn is_to_descriptor(redirect: &Redirect) -> bool {
    let Target::Word(word) = &redirect.target else { return false };
    redirect.kind == Redirection::Duplicate && !matches!(word.literal(), Some("0" | "1" | "2" | "-"))
}

/// Whether a word behind `>&` is the number of a descriptor, or closes one.
fn is_number(text: &Text) -> bool {
    literal(text).is_some_and(|text| text.trim_end_matches('-').chars().all(|c| c.is_ascii_digit()))
}

/// Whether what goes to some descriptor is printed.
fn is_to_output(redirect: &Redirect) -> bool {
    let Target::Word(word) = &redirect.target else { return false };
    redirect.kind == Redirection::Duplicate && word.literal() == Some("1")
}

/// How far a command has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reading {
    /// The name of a command comes next.
    Name(Option<Arc<State>>),
    /// The same, behind a program that was not found.
    Missing(Option<Arc<State>>),
    /// The name of a module comes next.
    Module(Option<Arc<State>>),
    Words(State),
}

/// A [`Seen`] that owns its text.
enum Owned {
    Place { place: &'static Place<'static>, text: Text, is_option_read: bool, option: &'static str },
    Option { text: Text },
    Subcommand { text: Text },
    Lost { text: Text, why: String },
}

impl Owned {
    /// Takes over what concerns values, and code.
    fn of(seen: &Seen<'_>, copies: bool) -> Option<Self> {
        let has_values = |text: &[Atom]| text.iter().any(|atom| !atom.holes().is_empty());
        Some(match *seen {
            Seen::Place { place, text, is_option_read, option }
                if has_values(text)
                    || copies
                        && (place.is_file()
                            || matches!(place.kind, PlaceKind::Data("prefix" | "variable"))
                            || matches!(place.kind, PlaceKind::Arguments | PlaceKind::Environment))
                    || place.runs_its_file()
                    || place.kind == PlaceKind::Unknown =>
            {
                Self::Place { place, text: text.to_vec(), is_option_read, option }
            }
            Seen::Option { text } if has_values(text) => Self::Option { text: text.to_vec() },
            Seen::Subcommand { text } if has_values(text) => Self::Subcommand { text: text.to_vec() },
            Seen::Lost { text, why } if has_values(text) => Self::Lost { text: text.to_vec(), why: why.to_owned() },
            _ => return None,
        })
    }
}

/// Every command that some words may be, each with a word at its front.
fn heads(fields: Vec<Field>) -> Vec<Vec<Field>> {
    const MOST: usize = 64;
    let mut queue = vec![fields];
    let mut heads: Vec<Vec<Field>> = Vec::new();
    let mut tried = 0;
    while let Some(fields) = queue.pop() {
        tried += 1;
        if tried > MOST {
            // The graph reads them all the same; only functions and builtins would be missed, and these are few.
            heads.push(fields);
            continue;
        }
        match fields.first() {
            None => {}
            Some(Field::Word(_)) => heads.push(fields),
            Some(Field::Choice(alternatives)) => {
                for alternative in alternatives.iter() {
                    queue.push(alternative.iter().chain(&fields[1..]).cloned().collect());
                }
            }
            Some(Field::Many(alternatives)) => {
                queue.push(fields[1..].to_vec());
                for alternative in alternatives.iter().filter(|alternative| !alternative.is_empty()) {
                    queue.push(alternative.iter().chain(&fields).cloned().collect());
                }
            }
        }
    }
    heads.dedup();
    heads
}

/// Whether code in this language stands in a file that a word names.
fn is_file_of_code(language: &str) -> bool {
    matches!(language, "config" | "program" | "make" | "library" | "plugin")
}

/// Whether no code in this language can write a file.
fn is_of_reading(language: &str) -> bool {
    const READING: [&str; 10] =
        ["arithmetic", "graphql", "jmespath", "jq", "keys", "mount", "name", "rego", "template", "xpath"];
    READING.contains(&language)
}

fn is_shell(language: &str) -> bool {
    matches!(language, "sh" | "sh-joined")
}

/// The name behind the last `/` of a path, where it is known.
fn last_name(path: &Text) -> Option<&str> {
    match path.last() {
        Some(Atom::Text(end)) if literal(path).is_some() || end.contains('/') => {
            end.rsplit('/').next().filter(|name| !name.is_empty())
        }
        _ => None,
    }
}

/// Where the argument of an option begins in a word that is that option, alone or among others: `-sSLoNAME`.
fn behind_option(word: &str, option: &str) -> Option<usize> {
    let letter = option.strip_prefix('-').filter(|letter| letter.len() == 1);
    match letter {
        Some(letter) if !word.starts_with("--") => word.find(letter).map(|at| at + 1),
        Some(_) => None,
        None => match word.strip_prefix(option)? {
            "" => Some(word.len()),
            rest => rest.starts_with('=').then_some(option.len() + 1),
        },
    }
}

/// Whether a program whose words say so which file it makes fetches what is in it.
fn is_fetching(how: &[&str]) -> bool {
    how.iter().all(|word| word.starts_with('-'))
}

/// Whether a command is of a program that fetches a file.
fn fetches(form: &Form) -> bool {
    let Form::Simple { words, .. } = form else { return false };
    let mut words = words.iter().filter_map(Word::literal);
    words.any(|word| programs::copies(word).is_some_and(is_fetching))
}

/// The word without so many bytes of the author's at its beginning.
fn without_beginning(word: &Text, length: usize) -> Text {
    let mut rest = Text::new();
    value::push(&mut rest, Atom::text(&beginning(word)[length..]));
    word[1..].iter().for_each(|atom| value::push(&mut rest, atom.clone()));
    rest
}

/// The rule for a value in a text that says itself what it is.
fn by_itself(before: &structure::Before, _: bool, is_json_string: bool) -> Option<Rule> {
    before.rule(is_json_string)
}

/// Whether all that stands around the values are characters that names are made of.
fn is_name_like(text: &Text) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_./:@%+=,~^#?&*[]-".contains(c);
    let holds = |atom: &Atom| match atom {
        Atom::Text(text) => text.chars().all(is_name),
        Atom::Value { .. } | Atom::Unknown(_) | Atom::Output(_) | Atom::Derived(_) => true,
    };
    text.iter().all(holds)
}

fn content_rules(place: &'static Place<'static>) -> Vec<Rule> {
    let mut rules = Vec::new();
    match place.kind {
        PlaceKind::Plain => rules.push(Rule::Plain),
        PlaceKind::Format => rules.push(Rule::Without { characters: "%\\" }),
        _ => {}
    }
    if !place.without.is_empty() {
        rules.push(Rule::Without { characters: place.without });
    }
    rules
}

/// Words in which no word stands for a program that was not found.
fn without_absent(fields: &[Field]) -> Vec<Field> {
    let is_absent = |field: &Field| matches!(field, Field::Word(text) if value::is_absent(text));
    let mut left = Vec::with_capacity(fields.len());
    for field in fields {
        match field {
            Field::Word(text) if value::is_absent(text) => {}
            Field::Choice(alternatives) if alternatives.iter().flatten().any(is_absent) => {
                let alternatives = alternatives.iter().map(|fields| without_absent(fields)).collect();
                left.extend(Field::choice(alternatives));
            }
            field => left.push(field.clone()),
        }
    }
    left
}

/// Whether a text can be the name of a program that is looked for.
fn is_program_name(text: &str) -> bool {
    !text.starts_with('-') && !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_.+-".contains(c))
}

/// The name of the variable that a word assigns.
fn assigned_name(word: &Word) -> Option<&str> {
    let Some(Part::Text { text, .. }) = word.parts.first() else { return None };
    text.split_once('=').map(|(name, _)| name.trim_end_matches('+'))
}

/// The character to which a word sets `IFS`, when it is one that is no blank.
fn own_separator(word: &Word) -> Option<char> {
    let text: Option<String> =
        word.parts.iter().map(|part| if let Part::Text { text, .. } = part { Some(&**text) } else { None }).collect();
    let text = text?;
    let mut characters = text.strip_prefix("IFS=")?.chars();
    let only = characters.next().filter(|c| c.is_ascii_punctuation() && *c != '\\')?;
    characters.next().is_none().then_some(only)
}

/// Whether a word sets `IFS` to something of the author's own.
fn is_other_ifs(word: &Word) -> bool {
    let is_ifs = matches!(word.parts.first(), Some(Part::Text { text, .. }) if text.starts_with("IFS="));
    is_ifs
        && word.literal() != Some("IFS=")
        && !matches!(word.parts.as_slice(), [_, Part::Text { text, .. }] if text.is_empty())
}
