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
mod assignments;
mod braces;
mod builtin;
mod calculated;
mod commands;
pub(crate) mod descriptors;
mod evaluated;
mod expand;
mod files;
mod filter;
mod forms;
mod graph;
mod input;
pub(crate) mod left;
mod memory;
mod pasted;
mod pieces;
mod places;
mod reason;
mod run_files;
mod running;
mod small;
mod sourced;
pub(crate) mod structure;
mod unpacked;
pub(crate) mod value;
mod variables;
pub(crate) mod watch;
mod xargs;
mod zsh;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use indexmap::IndexSet;

use self::files::{Earlier, Touched, Written, grow};
pub(crate) use self::input::Input;
use self::left::{Around, Before, Left, Trace};
pub(crate) use self::reason::{Finding, Reason};
use self::run_files::NamedFile;
use self::running::Running;
use self::value::{Cut, Field, Tag, Text, beginning, holes_among, holes_of, literal, texts_among};
use crate::hole::Hole;
use crate::piece::{Kind, Shell};
use crate::programs::{State, Statements};
use crate::script::{Command, Part, Word};
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
        let mut holes: Vec<usize> = texts.flat_map(holes_of).collect();
        holes.extend(self.lists.iter().chain(&self.elements).flat_map(|fields| holes_among(fields)));
        holes
    }
}

/// The arguments of the script or of a function.
#[derive(Debug, Clone, Default)]
struct Arguments {
    lists: Vec<Vec<Field>>,
    appended: Vec<Vec<Field>>,
    /// What the lists are behind a `shift` that certainly ran.
    left: Option<Vec<Vec<Field>>>,
    /// Words may have been taken from the front somewhere.
    shifted: bool,
    /// How deep the code is that certainly runs once.
    depth: usize,
    /// They come from outside.
    is_unknown: bool,
    /// What `$0` may be, when a shell starts with them.
    zero: Option<Vec<Text>>,
}

impl Arguments {
    /// What they may be, before anything is appended.
    fn lists(&self) -> &[Vec<Field>] {
        self.left.as_ref().unwrap_or(&self.lists)
    }

    /// The lists without so many words at the front; nothing when it is not certain which words those are.
    fn behind(&self, count: usize) -> Option<Vec<Vec<Field>>> {
        let is_one = |field: &Field| matches!(field, Field::Word(text) if !value::is_absent(text));
        let is_certain = !self.shifted && self.lists().iter().all(|list| list.iter().take(count).all(is_one));
        is_certain.then(|| self.lists().iter().map(|list| list.get(count..).unwrap_or_default().to_vec()).collect())
    }

    /// Notes that any number of words may be gone; tells whether that was not known.
    fn shift_anywhere(&mut self) -> bool {
        !std::mem::replace(&mut self.shifted, true)
    }

    /// `shift`; tells whether it is certain which words go. A list that has fewer words stays as it is. Source: bash(1).
    fn shift(&mut self, count: usize) -> bool {
        let Some(mut left) = self.behind(count) else { return false };
        for (left, list) in left.iter_mut().zip(self.lists()) {
            if list.len() < count {
                left.clone_from(list);
            }
        }
        self.left = Some(left);
        true
    }
}

/// A file that the script writes with values.
struct Kept {
    name: files::FileName,
    /// What writes it.
    command: u64,
    holes: Vec<usize>,
}

/// The text that the script writes to a file.
#[derive(Debug, Default)]
struct WrittenCode {
    /// Texts of the author's, each of which may be all of it.
    texts: Vec<Text>,
    /// Other text may be in it.
    is_unclear: bool,
}

/// With what code is evaluated.
#[derive(Debug, Clone, Default)]
struct Called {
    /// What `$0` may be.
    zero: Option<Vec<Text>>,
    arguments: Vec<Field>,
}

pub(crate) struct Flow<'a> {
    /// The numbers of the script's own values, and the first of those of choices; what is between them is of other scripts.
    own: std::ops::Range<usize>,
    choices: usize,
    /// What other scripts left before, and which of them count.
    earlier: Option<(&'a Left, Before<'a>)>,
    /// Where the script works, when that is not where others do.
    directory: Option<Text>,
    /// It may run several times.
    repeats: bool,
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
    /// The names of those that bash gets which other programs start.
    exported_functions: HashSet<Arc<str>>,
    called: HashSet<Arc<str>>,
    /// One for each function that is being walked, the script's own first.
    arguments: Vec<Arguments>,
    /// Files that hold what the script made of values.
    written: Written<'a>,
    /// Files with values, in the order in which this pass has seen the script write them; and those of the last one.
    kept: Vec<Kept>,
    kept_before: Vec<Kept>,
    /// Placeholders whose values are texts of the author's where the walk is.
    narrowed: Vec<Arc<str>>,
    /// How many loops are around the command that is being walked.
    loops: usize,
    /// The last names of the files that the script writes itself, and what stands in those that have only text of its author's.
    authored: BTreeSet<String>,
    codes: HashMap<String, WrittenCode>,
    /// Values of the environment that a program has put into a text.
    substituted: BTreeSet<usize>,
    /// A command reads or prints a text of the author's that may be code of a shell.
    holds_code: bool,
    /// What each process substitution prints, as far as it is known.
    substitutions: HashMap<usize, Vec<Text>>,
    /// The names at which it puts other programs.
    copied: BTreeSet<Arc<str>>,
    /// The names at which it puts what it fetches.
    fetched_at: HashSet<Arc<str>>,
    /// The last names of the files that its commands write, and not fetch.
    own_files: BTreeSet<Arc<str>>,
    /// A value reaches arithmetic, where the name of any variable is evaluated in turn.
    calculates: bool,
    /// The files with values that values name.
    targets: BTreeSet<NamedFile>,
    /// Values of which something may have made other characters: what came of them is no longer what a guard sees.
    respelt: BTreeSet<usize>,
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
    /// Values in the environment of some command, and by the variable in which they are.
    in_environment: BTreeSet<usize>,
    in_variables: HashMap<Arc<str>, BTreeSet<usize>>,
    /// What starts in a container, by the program that starts it there.
    in_containers: HashMap<Arc<str>, Arc<str>>,
    /// Files that a command may have written whose words, or input, hold values.
    touched: Touched<'a>,
    /// What its commands unpack.
    unpacked: unpacked::Unpacked,
    /// What its programs remember, and names of files.
    memories: memory::Memories,
    /// What the command that is read pastes into its code.
    pasted: pasted::Pasted,
    /// The command that is read.
    running: Running,
    /// The commands whose code is walked, as they are told when they write files that names in their code stand for.
    around: Vec<u64>,
    /// The same of a command that may have several names, of which only one is its own: that of the command with all of them.
    whole: Option<u64>,
    /// `echo` reads escapes in all that it prints.
    echo_escapes: bool,
    /// How many constructs around the command take what it prints.
    captured: usize,
    /// How many redirections around the command do.
    redirected: usize,
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
    /// A program ran that may print its environment.
    prints_environment: bool,
    /// The command prints what it reads, also where a command around it was given that.
    prints_input: bool,
    lost: Option<&'static str>,
    /// Scripts of the project that this one reads.
    sourced: sourced::Sourced,
    findings: IndexSet<Finding>,
    /// What is started, when that is looked for.
    watch: Option<watch::Watch>,
}

/// What following a script has come to.
pub(crate) struct Followed {
    /// What it saw; the error says why nothing in it is proven.
    pub(crate) findings: Result<IndexSet<Finding>, &'static str>,
    /// What is started, when that was looked for.
    pub(crate) watch: Option<watch::Watch>,
    /// What it leaves for those that run after it.
    pub(crate) trace: Trace,
    /// Values that came back when their command had ended, each with what says how.
    pub(crate) back: BTreeMap<usize, Arc<str>>,
}

/// Follows the values of a script.
///
/// Without a shell, the tree is one command that is started as it is. `watch` notes what it starts, and comes back.
pub(crate) fn follow<'a>(
    shell: Option<Shell>,
    tree: &crate::script::Tree,
    holes: &'a [Hole<'a>],
    statements: &'a Statements<'a>,
    around: &Around<'a>,
    watch: Option<watch::Watch>,
) -> Followed {
    let sourced = sourced::Sourced::default();
    let (followed, sourced) = walk(shell, tree, holes, statements, around, (sourced, watch));
    if sourced.has_any() && (followed.findings.is_err() || sourced.is_doubtful()) {
        let off = sourced::Sourced::off();
        return walk(shell, tree, holes, statements, around, (off, followed.watch)).0;
    }
    followed
}

/// Walks a script until nothing new is found.
fn walk<'a>(
    shell: Option<Shell>,
    tree: &crate::script::Tree,
    holes: &'a [Hole<'a>],
    statements: &'a Statements<'a>,
    around: &Around<'a>,
    (sourced, watch): (sourced::Sourced, Option<watch::Watch>),
) -> (Followed, sourced::Sourced) {
    let length = tree.script.commands().map(|command| command.span.end).max().unwrap_or(0);
    let environment = around.environment;
    let mut flow = Flow::new(shell, length, holes, statements, around, (sourced, watch));
    flow.documents.clone_from(&tree.documents);
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
            flow.in_variables.entry((*name).into()).or_default().extend(holes_of(text));
            flow.note_variable(name, text);
        }
        if let Some(directory) = &around.directory {
            flow.works_in(directory);
        }
        let printed = flow.script(&tree.script);
        if let Some(file) = &around.output {
            flow.guard_file(file, &printed);
            flow.note_written(file, &printed.holes());
        }
        flow.uncalled();
        flow.has_grown |= flow.touched.end_pass();
    }
    let findings = match flow.lost {
        Some(why) => Err(why),
        None if flow.has_grown => Err("its variables are built from each other in too many ways"),
        None => {
            flow.spread_arithmetic();
            Ok(std::mem::take(&mut flow.findings))
        }
    };
    let trace = flow.trace();
    let back = flow.memories.ways();
    (Followed { findings, watch: flow.watch, trace, back }, flow.sourced)
}

impl<'a> Flow<'a> {
    /// A walk that has seen nothing yet, of a script of this length.
    fn new(
        shell: Option<Shell>,
        length: usize,
        holes: &'a [Hole<'a>],
        statements: &'a Statements<'a>,
        around: &Around<'a>,
        (sourced, watch): (sourced::Sourced, Option<watch::Watch>),
    ) -> Self {
        let earlier_files = |files: fn(&'a Left) -> &'a files::Files| {
            around.earlier.map(|(left, before)| Earlier { files: files(left), before })
        };
        Self {
            own: around.own.clone(),
            choices: around.choices,
            earlier: around.earlier,
            directory: around.directory.clone(),
            repeats: around.repeats,
            shell: shell.unwrap_or(Shell::Sh),
            is_shell: shell.is_some(),
            holes,
            statements,
            documents: HashMap::new(),
            variables: HashMap::new(),
            renamed: BTreeSet::new(),
            functions: BTreeMap::new(),
            exported_functions: HashSet::new(),
            called: HashSet::new(),
            arguments: vec![Arguments::default()],
            written: Written { own: files::Files::default(), earlier: earlier_files(|left| &left.written) },
            kept: Vec::new(),
            kept_before: Vec::new(),
            narrowed: Vec::new(),
            loops: 0,
            authored: BTreeSet::new(),
            copied: BTreeSet::new(),
            fetched_at: HashSet::new(),
            own_files: BTreeSet::new(),
            calculates: false,
            splits_otherwise: false,
            own_separator: None,
            codes: HashMap::new(),
            substituted: BTreeSet::new(),
            holds_code: false,
            substitutions: HashMap::new(),
            in_environment: BTreeSet::new(),
            in_variables: HashMap::new(),
            in_containers: HashMap::new(),
            touched: Touched::behind(earlier_files(|left| &left.touched)),
            unpacked: unpacked::Unpacked::default(),
            memories: memory::Memories::default(),
            pasted: pasted::Pasted::default(),
            running: Running::default(),
            around: Vec::new(),
            whole: None,
            echo_escapes: shell.is_some_and(|shell| shell != Shell::Bash),
            captured: 0,
            redirected: usize::from(around.output.is_some()),
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
            targets: BTreeSet::new(),
            respelt: BTreeSet::new(),
            input: around.input.clone(),
            held: BTreeSet::new(),
            spoken: BTreeSet::new(),
            input_files: Vec::new(),
            is_input_its_own: false,
            prints_environment: false,
            prints_input: false,
            lost: None,
            sourced,
            findings: IndexSet::new(),
            watch,
        }
    }
}

impl Flow<'_> {
    fn begin_pass(&mut self) {
        self.has_grown = false;
        self.visits = 0;
        self.outputs = 0;
        self.substitutions.clear();
        self.findings.clear();
        self.called.clear();
        self.kept_before = std::mem::take(&mut self.kept);
        self.memories.begin_pass();
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
        let (reason, guard) = match self.holes.get(hole) {
            Some(known) if self.narrowed.iter().any(|name| **name == *known.shown) => {
                (Reason::Shell("one of the texts that `case` lets through"), None)
            }
            _ => (reason, guard),
        };
        // What is read in several ways tells the same again and again.
        self.findings.insert(Finding { hole, reason, guard });
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

    fn find_code(&mut self, holes: impl IntoIterator<Item = usize>, program: &Arc<str>, language: &'static str) {
        let code = Reason::Code { program: Arc::clone(program), language };
        self.find_by_kind(holes, &code, "code, where it can do no harm");
    }

    fn find_unclear(&mut self, holes: impl IntoIterator<Item = usize>, why: &str) {
        self.find_by_kind(holes, &Reason::Unclear(why.into()), "an argument");
    }

    /// The same for what a program gets once nothing more is known of its words.
    fn find_lost(&mut self, holes: impl IntoIterator<Item = usize>, state: &State, why: &str) {
        let reason = if state.is_chosen() { Reason::OfChosenCommand } else { Reason::Unclear };
        self.find_by_kind(holes, &reason(why.into()), "an argument");
    }
}
