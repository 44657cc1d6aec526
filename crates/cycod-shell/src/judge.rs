//! Says of every placeholder of a template, before there are values, whether a value can only be data there.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use cycod_code::Code;
use indexmap::IndexSet;

use crate::argv;
use crate::flow::left::{Around, Before, Left, Trace};
use crate::flow::value::{Atom, Cut, Tag, Text};
use crate::flow::{Finding, Input, Reason, follow};
use crate::hole::{Branch, Format, Hole, Segment, Trust};
use crate::piece::{Kind, Mode, Shell};
use crate::programs::{Grounds, Programs, Statements};
use crate::rewrite::{Rewriter, says_how};
use crate::script::{Command, Form, Part, Script, Tree, Word, build};
use crate::track::{HOLE, Spot, parse, track};
use crate::verdict::{Proof, Rule, Verdict};
use crate::{cmd, powershell};

/// How often commands that run at the same time are judged until none of them leaves anything new for the others.
const MOST_ROUNDS: usize = 8;

/// How many programs a template with choices is tried as.
const MOST_VARIANTS: usize = 64;

/// How many places of one command get a rewrite, each of which is as long as the command.
const MOST_REWRITES: usize = 16;

/// How many values may be missing for it to be tried what would be if one were there.
const MOST_MISSING: usize = 8;

/// How many places of one command get a hint, each of which is looked for in the whole command.
const MOST_HINTS: usize = 100;

/// Who reads a command.
#[derive(Debug, Clone, Copy)]
pub enum Reader<'a> {
    /// A shell whose grammar is known.
    Shell(Shell),
    /// Nobody: its words are the argument vector of a program.
    Words,
    /// An interpreter whose grammar is not tracked, by the words it is started with.
    Interpreter(&'a [String]),
}

/// A command with everything that reaches it.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Who reads it.
    pub reader: Reader<'a>,
    /// The command itself.
    pub command: &'a [Segment<'a>],
    /// Variables that are set before it starts.
    pub environment: &'a [(&'a str, Vec<Segment<'a>>)],
    /// What it reads from its standard input.
    pub input: &'a [Segment<'a>],
    /// What is known about programs beside the tables.
    pub programs: &'a Programs,
}

/// What is known about each placeholder, in the order in which they stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Of the command.
    pub command: Vec<Verdict>,
    /// Of each variable.
    pub environment: Vec<Vec<Verdict>>,
    /// Of the input.
    pub input: Vec<Verdict>,
    /// What a later command of the same place does with them, and which: of the command's, then the input's, then those of variables.
    pub crossing: Vec<Option<(usize, Verdict)>>,
    /// What stands outside of the tool that any of it may rest on.
    pub grounds: Grounds,
}

/// Judges a command and what reaches it.
pub fn judge(question: &Question<'_>) -> Judgement {
    let stage = Stage { question: *question, name: "", directory: &[], output: &[], repeats: false };
    judge_together(&[stage], false, &|_, _| false).pop().unwrap_or_default()
}

/// One of several commands that work in the same place, so that the later ones find the files of those before.
#[derive(Debug, Clone, Copy)]
pub struct Stage<'a> {
    /// The command.
    pub question: Question<'a>,
    /// How messages call it: "step `build`".
    pub name: &'a str,
    /// Where it works, when that is not where the others do.
    pub directory: &'a [Segment<'a>],
    /// The file that gets what it prints.
    pub output: &'a [Segment<'a>],
    /// It may run several times.
    pub repeats: bool,
}

/// Judges commands that work in the same place, in the order in which they stand.
///
/// `before(a, b)` says whether the first one may have run when the second one starts. Where that holds for one that stands behind,
/// `is_parallel` says so.
pub fn judge_together(
    stages: &[Stage<'_>],
    is_parallel: bool,
    before: &dyn Fn(usize, usize) -> bool,
) -> Vec<Judgement> {
    let mut judged = judge_all(stages, is_parallel, before);
    if judged.iter().flat_map(Judgement::verdicts).any(|verdict| !verdict.is_placeable()) {
        tell_of_missing(stages, &mut judged, &|stages| judge_all(stages, is_parallel, before));
    }
    judged
}

impl Judgement {
    fn verdicts(&self) -> impl Iterator<Item = &Verdict> {
        self.command.iter().chain(&self.input).chain(self.environment.iter().flatten())
    }
}

/// Where a value is refused only because the words behind another one move up when that one is missing, the verdict says so.
fn tell_of_missing(stages: &[Stage<'_>], judged: &mut [Judgement], judge: &dyn Fn(&[Stage<'_>]) -> Vec<Judgement>) {
    let commands = stages.iter().flat_map(|stage| holes_of(stage.question.command));
    let names: IndexSet<&str> = commands.filter(|hole| hole.vanishes).map(|hole| hole.name).collect();
    // Each costs as much as the judgement itself.
    if names.len() > MOST_MISSING {
        return;
    }
    let before = judged.to_vec();
    for name in names {
        let commands: Vec<Vec<Segment<'_>>> =
            stages.iter().map(|stage| present(stage.question.command, name)).collect();
        let with_it = stages
            .iter()
            .zip(&commands)
            .map(|(stage, command)| Stage { question: Question { command, ..stage.question }, ..*stage });
        let others = judge(&with_it.collect::<Vec<_>>());
        for ((known, before), other) in judged.iter_mut().zip(&before).zip(&others) {
            let crossing = known.crossing.iter_mut().zip(&before.crossing).zip(&other.crossing);
            let crossing = crossing.filter_map(|((known, before), other)| {
                Some((&mut known.as_mut()?.1, &before.as_ref()?.1, other.as_ref().map(|(_, other)| other)))
            });
            let own = known.command.iter_mut().chain(&mut known.input).chain(known.environment.iter_mut().flatten());
            let own = own.zip(before.verdicts()).zip(other.verdicts());
            for (known, before, other) in
                own.map(|((known, before), other)| (known, before, Some(other))).chain(crossing)
            {
                let is_other = !before.is_placeable() && other.is_none_or(Verdict::is_placeable);
                if is_other && known == before {
                    known.rests_on(name);
                }
            }
        }
    }
}

/// A command in which one value is never missing.
fn present<'a>(command: &[Segment<'a>], name: &str) -> Vec<Segment<'a>> {
    let mut command = command.to_vec();
    let fill = |hole: &mut Hole<'a>| hole.vanishes &= hole.name != name;
    for segment in &mut command {
        match segment {
            Segment::Text(_) => {}
            Segment::Hole(hole) => fill(hole),
            Segment::Choice(branches) => {
                let holes = branches.iter_mut().filter_map(|branch| match branch {
                    Branch::Hole(hole) => Some(hole),
                    Branch::Text(_) => None,
                });
                holes.for_each(fill);
            }
        }
    }
    command
}

fn judge_all(stages: &[Stage<'_>], is_parallel: bool, before: &dyn Fn(usize, usize) -> bool) -> Vec<Judgement> {
    let mut place = Together::of(stages);
    if place.holes.is_empty() {
        let none = |stage: &Stage<'_>| {
            let environment = vec![Vec::new(); stage.question.environment.len()];
            Judgement { environment, ..Judgement::default() }
        };
        return stages.iter().map(none).collect();
    }
    let mut left = Left::default();
    let mut judged: Vec<Judged<'_>> = Vec::new();
    for round in 0..MOST_ROUNDS {
        let mut has_grown = false;
        judged.clear();
        for (index, stage) in stages.iter().enumerate() {
            let counts = |other: usize| before(other, index);
            let (one, traces) = place.judge_one(index, stage, &left, &counts);
            judged.push(one);
            let is_value = |hole: usize| place.holes.get(hole).is_some_and(|hole| hole.kind == Kind::Text);
            for trace in traces {
                has_grown |= left.add(index, trace, &is_value);
            }
        }
        if !has_grown || !is_parallel {
            break;
        }
        if round + 1 == MOST_ROUNDS {
            let why = "what commands that run at the same time leave for each other is not followed to its end";
            judged.iter_mut().for_each(|one| one.fail(&unclear(why, "let one of them wait for the other")));
        }
    }
    place.gather(stages, judged)
}

/// What was judged of one command.
struct Judged<'a> {
    /// Of its own values.
    own: Vec<Verdict>,
    /// Of those of commands before it.
    of_others: HashMap<usize, Verdict>,
    statements: Statements<'a>,
}

impl Judged<'_> {
    /// Nothing of it is proven.
    fn fail(&mut self, verdict: &Verdict) {
        let own = std::mem::take(&mut self.own);
        self.own = own.into_iter().map(|known| known.and(verdict.clone())).collect();
    }
}

/// Commands that work in the same place. Their values are numbered one behind the other: of each command its own, those of its
/// input, those of its variables.
struct Together<'a> {
    holes: Vec<Hole<'a>>,
    /// The first number of each command, and of one behind the last.
    starts: Vec<usize>,
    /// How messages call each command through whose code no value is followed.
    codes: Vec<Option<&'a str>>,
}

impl<'a> Together<'a> {
    fn of(stages: &[Stage<'a>]) -> Self {
        let mut place = Self { holes: Vec::new(), starts: vec![0], codes: Vec::new() };
        for stage in stages {
            place.codes.push(is_not_followed(stage.question.reader).then_some(stage.name));
            let environment = stage.question.environment.iter().flat_map(|(_, segments)| holes_of(segments));
            let all = holes_of(stage.question.command).chain(holes_of(stage.question.input)).chain(environment);
            place.holes.extend(all.cloned());
            place.starts.push(place.holes.len());
        }
        place
    }

    /// Judges one of them, with what those left that count; says what it leaves itself.
    fn judge_one(
        &mut self,
        index: usize,
        stage: &Stage<'a>,
        left: &Left,
        before: Before<'_>,
    ) -> (Judged<'a>, Vec<Trace>) {
        let question = &stage.question;
        let own = self.starts[index]..self.starts[index + 1];
        let mut judged =
            Judged { own: Vec::new(), of_others: HashMap::new(), statements: Statements::new(question.programs) };
        let mut verdicts: Vec<Option<Verdict>> = vec![None; own.len()];
        let mut traces = Vec::new();
        let mut forms = variants(question.command, false);
        if forms.iter().flatten().any(|variant| !variant.has_plain_formats() || has_misplaced_format(question, variant))
        {
            forms = variants(question.command, true);
        }
        match &forms {
            Some(forms) => {
                for variant in forms {
                    let run = Run { stage, variant, own: own.clone(), left, before };
                    let of_variant = self.judge_variant(&run, &judged.statements);
                    merge(&mut verdicts, of_variant.own);
                    of_variant.of_others.into_iter().for_each(|(hole, verdict)| judged.of_others_and(hole, verdict));
                    traces.extend(of_variant.trace);
                }
            }
            None => {
                let why = format!("the command has more than {MOST_VARIANTS} forms, by its conditions");
                let verdict = unclear(&why, "make the conditions steps, or parameters with a `format`");
                verdicts.iter_mut().for_each(|place| *place = Some(verdict.clone()));
                let of_others = verdict.in_stage(stage.name);
                left.holes(before).into_iter().for_each(|hole| judged.of_others_and(hole, of_others.clone()));
            }
        }
        let unreached = || unclear("its place was not reached by what follows values", "");
        judged.own = verdicts.into_iter().map(|verdict| verdict.unwrap_or_else(unreached)).collect();
        (judged, traces)
    }

    /// What a later command finds about a value that the code of an earlier one has, through which no value is followed: the code may
    /// have written it to what runs, and nothing proves that it did.
    fn of_code(&self, hole: usize, verdict: Verdict, stage: &str) -> Verdict {
        let of = self.starts.partition_point(|&first| first <= hole).checked_sub(1);
        let Some(from) = of.and_then(|of| *self.codes.get(of)?) else { return verdict };
        let about = self.holes.get(hole);
        let (name, is_meant) = about.map_or(("", false), |hole| (hole.name, hole.trust == Trust::Code));
        if verdict.proof != Proof::Code || is_meant {
            // What the code makes of a value is its own: no condition about the value would be one about that.
            return Verdict { guards: Vec::new(), ..verdict };
        }
        let why = format!("nothing proves that `{name}` is data: the code of {from} may write it to what {stage} runs");
        let help = format!(
            "if running it is what the tool is for, write `placing: program` at `{name}`; if the code writes it to no such file, \
             write `placing: data`"
        );
        unclear(&why, &help)
    }

    /// Joins what each found about its own values with what the others found about them.
    fn gather(&self, stages: &[Stage<'a>], judged: Vec<Judged<'a>>) -> Vec<Judgement> {
        let mut of_others: HashMap<usize, (usize, Verdict)> = HashMap::new();
        for (by, one) in judged.iter().enumerate() {
            for (&hole, verdict) in &one.of_others {
                let Some(about) = self.holes.get(hole) else { continue };
                let verdict = settle(Some(verdict.clone()), about);
                let worst = match of_others.remove(&hole) {
                    Some((first, known)) if known.proof >= verdict.proof => (first, known.and(verdict)),
                    Some((_, known)) => (by, known.and(verdict)),
                    None => (by, verdict),
                };
                of_others.insert(hole, worst);
            }
        }
        let gathered = stages.iter().zip(judged).enumerate().map(|(index, (stage, one))| {
            let first = self.starts[index];
            let mut crossing = Vec::new();
            let mut verdicts =
                one.own.into_iter().enumerate().map(|(at, verdict)| match of_others.get(&(first + at)) {
                    Some((_, other)) => verdict.and(other.clone()),
                    None => verdict,
                });
            let question = &stage.question;
            let command = verdicts.by_ref().take(count_holes(question.command)).collect();
            let input = verdicts.by_ref().take(count_holes(question.input)).collect();
            let variables = question.environment.iter().map(|(_, segments)| count_holes(segments));
            let environment = variables.map(|count| verdicts.by_ref().take(count).collect()).collect();
            crossing.extend((first..self.starts[index + 1]).map(|hole| of_others.get(&hole).cloned()));
            Judgement { command, environment, input, crossing, grounds: one.statements.into_grounds() }
        });
        gathered.collect()
    }
}

impl Judged<'_> {
    fn of_others_and(&mut self, hole: usize, verdict: Verdict) {
        let known = self.of_others.remove(&hole);
        self.of_others.insert(hole, known.map_or(verdict.clone(), |known| known.and(verdict)));
    }
}

impl Verdict {
    /// Says that a value is refused only where another one is missing.
    fn rests_on(&mut self, name: &str) {
        self.reason = format!("if `{name}` is missing, the words behind it move up: {}", self.reason);
        self.help = format!(
            "write `required: true` at `{name}`; or put its option into its `format`, as in `format: \"--name {{value}}\"`"
        );
        self.rewrite = None;
    }

    /// The verdict that a later command gives about a value of an earlier one.
    fn in_stage(mut self, stage: &str) -> Self {
        if self.proof >= Proof::Unproven && !stage.is_empty() {
            self.reason = format!("{}, in {stage}", self.reason);
        }
        self.rewrite = None;
        self.hint = None;
        self
    }
}

/// What a finding in a later command says about the value of an earlier one.
fn told_of_earlier(finding: &Finding, hole: &Hole<'_>, stage: &str) -> Verdict {
    let verdict = told(finding, hole);
    let name = hole.name;
    let reason = match finding.reason {
        Reason::Written => format!("the value of `{name}` is part of a file that {stage} then runs"),
        Reason::Unpacked => {
            format!(
                "the value of `{name}` decides which files are fetched or unpacked, and {stage} then runs one of them"
            )
        }
        _ => return verdict.in_stage(stage),
    };
    Verdict { reason, ..verdict }
}

pub(crate) fn count_holes(segments: &[Segment<'_>]) -> usize {
    holes_of(segments).count()
}

/// Whether several words are to be put where the grammar takes one, so that they would be read otherwise.
fn has_misplaced_format(question: &Question<'_>, variant: &Variant<'_>) -> bool {
    let Reader::Shell(shell @ (Shell::Bash | Shell::Sh | Shell::Zsh)) = question.reader else {
        return !matches!(question.reader, Reader::Words) && variant.holes.iter().any(|hole| !hole.format.is_empty());
    };
    if variant.holes.iter().all(|hole| hole.format.is_empty()) {
        return false;
    }
    let found = track(shell, variant.source.as_bytes());
    let is_words = |spot: &Spot| matches!(spot, Spot::Words | Spot::Double | Spot::Single);
    found
        .holes
        .iter()
        .zip(&variant.order)
        .any(|(place, &hole)| !variant.holes[hole].format.is_empty() && !is_words(&place.spot))
}

/// Keeps the worse of two verdicts, and the guards of both.
fn merge(into: &mut [Option<Verdict>], verdicts: Vec<Option<Verdict>>) {
    for (known, new) in into.iter_mut().zip(verdicts) {
        let Some(new) = new else { continue };
        *known = Some(match known.take() {
            None => new,
            Some(known) => known.and(new),
        });
    }
}

impl Verdict {
    /// The worse of two verdicts about one value, with the guards of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let (mut worse, better) = if other.proof > self.proof { (other, self) } else { (self, other) };
        for guard in better.guards {
            if !worse.guards.contains(&guard) {
                worse.guards.push(guard);
            }
        }
        worse.hint = worse.hint.or(better.hint);
        worse
    }
}

/// One program that a template may become: what its author wrote, with holes.
#[derive(Clone)]
pub(crate) struct Variant<'a> {
    pub(crate) source: String,
    /// The command's own holes, then choices of words.
    pub(crate) holes: Vec<Hole<'a>>,
    /// For each hole of the source, in order, its number in `holes`.
    pub(crate) order: Vec<usize>,
}

/// Every program that a template may become, by what its conditions choose; nothing when there are too many.
///
/// Choices between plain words stay holes: such a word is one or the other wherever it goes. So does a value with the words around
/// it that its author gave it, unless `splices` says that their text is to be put in as it is.
pub(crate) fn variants<'a>(segments: &[Segment<'a>], splices: bool) -> Option<Vec<Variant<'a>>> {
    let holes = holes_of(segments).cloned().collect();
    let mut variants = vec![Variant { source: String::new(), holes, order: Vec::new() }];
    let mut next = 0;
    for segment in segments {
        match segment {
            Segment::Text(text) => variants.iter_mut().for_each(|variant| variant.source.push_str(text)),
            Segment::Hole(hole) => {
                variants.iter_mut().for_each(|variant| variant.add(next, hole, splices));
                next += 1;
            }
            Segment::Choice(branches) => {
                let texts: Option<Vec<&'a str>> = branches
                    .iter()
                    .map(|branch| if let Branch::Text(text) = branch { Some(*text) } else { None })
                    .collect();
                if let Some(texts) = texts.filter(|texts| texts.iter().all(|text| is_plain_words(text))) {
                    for variant in &mut variants {
                        variant.source.push(HOLE as char);
                        variant.order.push(variant.holes.len());
                        variant.holes.push(choice(&texts));
                    }
                    continue;
                }
                if variants.len() * branches.len() > MOST_VARIANTS {
                    return None;
                }
                let mut forks = Vec::new();
                for branch in branches {
                    let mut fork = variants.clone();
                    for variant in &mut fork {
                        match branch {
                            Branch::Text(text) => variant.source.push_str(text),
                            Branch::Hole(hole) => variant.add(next, hole, splices),
                        }
                    }
                    next += usize::from(matches!(branch, Branch::Hole(_)));
                    forks.extend(fork);
                }
                variants = forks;
            }
        }
    }
    Some(variants)
}

impl<'a> Variant<'a> {
    /// Adds the place of a value.
    fn add(&mut self, number: usize, hole: &Hole<'a>, splices: bool) {
        if !splices || hole.format.is_empty() {
            self.source.push(HOLE as char);
            self.order.push(number);
            return;
        }
        self.holes[number].format.clear();
        for part in &hole.format {
            match part {
                Format::Text(text) => self.source.push_str(text),
                Format::Value => {
                    self.source.push(HOLE as char);
                    self.order.push(number);
                }
            }
        }
    }

    /// Whether the words around values mean the same wherever they are put.
    fn has_plain_formats(&self) -> bool {
        let is_plain = |text: &str| {
            let mut quote = None;
            let fine = text.chars().all(|c| match (quote, c) {
                (None, '"' | '\'') => {
                    quote = Some(c);
                    true
                }
                (Some(open), c) if c == open => {
                    quote = None;
                    true
                }
                (Some(_), c) => !matches!(c, '$' | '`' | '\\' | '!' | '\'' | '"'),
                (None, ' ' | '=') => true,
                (None, c) => c == HOLE as char || c.is_ascii() && crate::track::is_word_byte(c as u8),
            });
            fine && quote.is_none()
        };
        self.holes.iter().all(|hole| {
            let text: String = hole
                .format
                .iter()
                .map(|part| if let Format::Text(text) = part { text.as_ref() } else { "\0" })
                .collect();
            is_plain(&text)
        })
    }
}

/// Whether a text means the same in every place of a shell's grammar: words, blanks between them.
fn is_plain_words(text: &str) -> bool {
    text.bytes().all(|byte| byte == b' ' || byte == b'=' || crate::track::is_word_byte(byte))
}

fn choice<'a>(texts: &[&'a str]) -> Hole<'a> {
    Hole {
        name: "",
        shown: Cow::Borrowed(""),
        kind: Kind::Enum,
        mode: Mode::Arguments,
        texts: texts.iter().map(|text| Cow::Borrowed(*text)).collect(),
        vanishes: true,
        is_list: false,
        format: Vec::new(),
        options: true,
        is_json_string: false,
        trust: Trust::Author,
    }
}

/// One form of a command, among others of its place.
struct Run<'r, 'a> {
    stage: &'r Stage<'a>,
    variant: &'r Variant<'a>,
    /// The numbers of its values.
    own: Range<usize>,
    left: &'r Left,
    before: Before<'r>,
}

/// What was found about one form.
struct OfVariant {
    own: Vec<Option<Verdict>>,
    of_others: Vec<(usize, Verdict)>,
    trace: Option<Trace>,
}

impl<'a> Together<'a> {
    /// A verdict for each hole that this variant has.
    fn judge_variant(&mut self, run: &Run<'_, 'a>, statements: &Statements<'_>) -> OfVariant {
        let (question, variant) = (&run.stage.question, run.variant);
        let (command, reader) = match question.reader {
            Reader::Shell(Shell::PowerShell) => {
                (powershell::judge(&variant.source, &variant.of_source(), statements), "PowerShell")
            }
            Reader::Shell(Shell::Cmd) => (cmd::judge(&variant.source, &variant.of_source(), statements), "cmd.exe"),
            Reader::Interpreter(words) => {
                let program = words.first().map_or("the interpreter", String::as_str);
                (variant.of_source().iter().map(|hole| inline(hole, program)).collect(), program)
            }
            Reader::Shell(shell) => return self.judge_shell(run, Some(shell), statements),
            Reader::Words => return self.judge_shell(run, None, statements),
        };
        let why = format!("the code of `{reader}` may run the file that holds it");
        let named = run.left.named_in(&variant.source, run.before).into_iter();
        let of_others = named.map(|hole| {
            let name = self.holes.get(hole).map_or("", |hole| hole.name);
            let reason = format!("nothing proves that `{name}` is data: {why}");
            (hole, unclear(&reason, &format!("vouch for it with `placing: data` on `{name}`")).in_stage(run.stage.name))
        });
        let of_others = of_others.collect();
        // What it is given, it may write to each file that it names, and to where its output goes.
        let values: Vec<usize> = run.own.clone().collect();
        let output = self.text_of(run.stage.output);
        let trace = Some(Trace::of_code(&variant.source, output.as_ref(), &values));
        OfVariant { own: simple_verdicts(question, variant, command), of_others, trace }
    }
}

impl<'a> Variant<'a> {
    /// The holes in the order of the source.
    fn of_source(&self) -> Vec<&Hole<'a>> {
        self.order.iter().map(|&hole| &self.holes[hole]).collect()
    }
}

/// Verdicts for a reader through which values are not followed: the command's own, in the order of its source, those of its input,
/// those of variables.
fn simple_verdicts(question: &Question<'_>, variant: &Variant<'_>, of_source: Vec<Verdict>) -> Vec<Option<Verdict>> {
    let mut verdicts = vec![None; count_holes(question.command)];
    for (verdict, &hole) in of_source.into_iter().zip(&variant.order) {
        // A choice of the author's words is none of the command's holes.
        if hole < verdicts.len() {
            let place: &mut Option<Verdict> = &mut verdicts[hole];
            merge(std::slice::from_mut(place), vec![Some(verdict)]);
        }
    }
    verdicts.extend(holes_of(question.input).map(|hole| {
        let is_text = hole.kind == Kind::Text;
        Some(if is_text { Verdict::of(Proof::Data, "it is read from standard input") } else { Verdict::free() })
    }));
    for (name, segments) in question.environment {
        verdicts.extend(holes_of(segments).map(|hole| Some(variable(name, hole))));
    }
    verdicts
}

/// Whether no value is followed through what this reads.
fn is_not_followed(reader: Reader<'_>) -> bool {
    matches!(reader, Reader::Interpreter(_) | Reader::Shell(Shell::PowerShell | Shell::Cmd))
}

/// Every place of a value, those in branches of conditions as well.
fn holes_of<'q, 'a>(segments: &'q [Segment<'a>]) -> impl Iterator<Item = &'q Hole<'a>> {
    segments.iter().flat_map(Segment::holes)
}

fn variable(name: &str, hole: &Hole<'_>) -> Verdict {
    if hole.kind != Kind::Text {
        return Verdict::free();
    }
    if crate::programs::runs_variable(name, true) {
        let finding = Finding { hole: 0, reason: Reason::Environment { name: name.into() }, guard: None };
        return told(&finding, hole);
    }
    Verdict::of(Proof::Data, "it is the value of a variable")
}

/// Code for an interpreter that we cannot read takes nothing but what cannot be misread.
fn inline(hole: &Hole<'_>, program: &str) -> Verdict {
    if hole.mode == Mode::Raw {
        return Verdict::raw();
    }
    if hole.kind != Kind::Text {
        return Verdict::free();
    }
    if hole.trust == Trust::Machine {
        // Such code takes a value of plain characters, and no other.
        return Verdict::of(Proof::Data, "the machine defines it, and only plain characters are placed");
    }
    let mut verdict = Verdict::of(
        Proof::Code,
        &format!("`{}` is in code for `{program}`: any value would be read as code", hole.name),
    );
    verdict.code = Some(Code::InlineValue);
    verdict.help = crate::variable::advice(hole.name);
    verdict
}

impl<'a> Together<'a> {
    fn judge_shell(&mut self, run: &Run<'_, 'a>, shell: Option<Shell>, statements: &Statements<'_>) -> OfVariant {
        let Run { stage, variant, left, before, .. } = *run;
        let question = &stage.question;
        // Every hole has a number: those of all commands, and behind them the choices of this one.
        let (first, told_of) = (run.own.start, run.own.len());
        let own = count_holes(question.command);
        self.holes[first..first + own].clone_from_slice(&variant.holes[..own]);
        let choices = self.holes.len();
        self.holes.extend(variant.holes[own..].iter().cloned());
        let number = |hole: usize| if hole < own { first + hole } else { choices + hole - own };
        let order: Vec<usize> = variant.order.iter().map(|&hole| number(hole)).collect();
        let mut next = first + own;
        let mut input = Text::new();
        number_text(question.input, &mut next, &mut input);
        let mut environment = Vec::new();
        for (name, segments) in question.environment {
            let mut text = Text::new();
            number_text(segments, &mut next, &mut text);
            environment.push((*name, text));
        }
        // What stands in them is no value of this command, but of the tool.
        let directory = self.text_of(stage.directory);
        let output = self.text_of(stage.output);

        let mut told = Told { verdicts: vec![None; told_of], first, stage: stage.name, of_others: Vec::new() };
        let (tree, found) = match shell {
            Some(shell) => {
                let mut found = parse(shell, variant.source.as_bytes());
                (build(&mut found, &order, 0), Some(found))
            }
            None => (argv::tree(&variant.source, &order), None),
        };
        if let Some(found) = &found {
            for (place, &hole) in found.holes.iter().zip(&order) {
                match place.spot {
                    Spot::Unsupported(why) => told.add(hole, misplaced(&self.holes[hole], why)),
                    Spot::Comment => told.add(hole, Verdict::of(Proof::Data, "it is in a comment")),
                    _ => {}
                }
            }
        }
        let mut trace = None;
        match tree {
            Err(why) => told.add_all(&not_understood(why, question.reader), left.holes(before)),
            Ok(tree) => {
                let reads = if input.is_empty() { Input::Clean } else { Input::Texts(vec![input]) };
                let around = Around {
                    environment: &environment,
                    input: &reads,
                    directory,
                    output,
                    repeats: stage.repeats,
                    own: run.own.clone(),
                    choices,
                    earlier: (!left.is_empty()).then_some((left, before)),
                };
                let followed = follow(shell, &tree, &self.holes, statements, &around, None);
                trace = Some(followed.trace);
                match followed.findings {
                    Err(why) => {
                        let help = "put parts of it into steps, or into a program of the project";
                        let verdict = unclear(&format!("the command is not followed: {why}"), help);
                        told.add_all(&verdict, left.holes(before));
                    }
                    Ok(findings) => {
                        let rewriter =
                            Rewriter { source: &variant.source, tree: &tree, holes: &self.holes, order: &order };
                        let about = (&run.own, choices, stage.name);
                        tell_verdicts(&findings, &rewriter, about, statements, &followed.back, |hole, verdict| {
                            let is_own = run.own.contains(&hole);
                            told.add(hole, if is_own { verdict } else { self.of_code(hole, verdict, stage.name) });
                        });
                    }
                }
            }
        }
        // What a variable is for counts whether the command looks at it or not.
        let mut hole = first + own + count_holes(question.input);
        for (name, segments) in question.environment {
            for about in holes_of(segments) {
                told.add(hole, variable(name, about));
                hole += 1;
            }
        }
        for (at, _) in holes_of(question.input).enumerate() {
            told.add(first + own + at, Verdict::of(Proof::Data, "it is read from standard input"));
        }
        let mut is_here = vec![false; own];
        variant.order.iter().filter(|&&hole| hole < own).for_each(|&hole| is_here[hole] = true);
        let settled = told
            .verdicts
            .into_iter()
            .zip(&self.holes[run.own.clone()])
            .enumerate()
            .map(|(number, (verdict, hole))| is_here.get(number).unwrap_or(&true).then(|| settle(verdict, hole)));
        let own = settled.collect();
        self.holes.truncate(choices);
        OfVariant { own, of_others: told.of_others, trace }
    }

    /// A text about a command. A placeholder in it is told from others by its name, and what it is proven to be is not asked here.
    fn text_of(&self, segments: &[Segment<'a>]) -> Option<Text> {
        let mut text = Text::new();
        for segment in segments {
            let atom = match segment {
                Segment::Text(author) => Atom::text(author),
                Segment::Hole(hole) => Atom::Unknown(Tag::Given(hole.shown.as_ref().into())),
                Segment::Choice(_) => Atom::Unknown(Tag::Somewhere),
            };
            crate::flow::value::push(&mut text, atom);
        }
        (!text.is_empty()).then_some(text)
    }
}

/// What is said about values while a command is judged.
struct Told<'a> {
    /// How messages call it.
    stage: &'a str,
    /// Of its own.
    verdicts: Vec<Option<Verdict>>,
    /// The number of the first of these.
    first: usize,
    of_others: Vec<(usize, Verdict)>,
}

impl Told<'_> {
    fn add(&mut self, hole: usize, verdict: Verdict) {
        match hole.checked_sub(self.first).and_then(|at| self.verdicts.get_mut(at)) {
            Some(place) => {
                *place = Some(match place.take() {
                    None => verdict,
                    Some(known) => known.and(verdict),
                });
            }
            None => self.of_others.push((hole, verdict)),
        }
    }

    /// The same of every value of its own, and of those that others left.
    fn add_all(&mut self, verdict: &Verdict, left: impl IntoIterator<Item = usize>) {
        let own = self.first..self.first + self.verdicts.len();
        own.for_each(|hole| self.add(hole, verdict.clone()));
        let stage = self.stage;
        left.into_iter().for_each(|hole| self.add(hole, verdict.clone().in_stage(stage)));
    }
}

/// What is said of every place in a command that has no tree.
fn not_understood(why: &str, reader: Reader<'_>) -> Verdict {
    let help = "write the command so that the shell can read it";
    let mut verdict = unclear(&format!("the command is not understood: {why}"), help);
    if matches!(reader, Reader::Words) {
        verdict.code = Some(Code::MalformedWords);
        "close the quote, or write a backslash before it".clone_into(&mut verdict.help);
    }
    verdict
}

/// Tells the verdict of each finding about a hole that is no choice, with a way to write the command so that the value is data,
/// where that is one of its `own`.
fn tell_verdicts(
    findings: &IndexSet<Finding>,
    rewriter: &Rewriter<'_>,
    (own, choices, stage): (&Range<usize>, usize, &str),
    statements: &Statements<'_>,
    back: &BTreeMap<usize, Arc<str>>,
    mut tell: impl FnMut(usize, Verdict),
) {
    let (mut rewrites, mut hints) = (0, 0);
    // Of several reasons people are told the first: what is code by itself, before what some file makes of it.
    let is_of_file = |finding: &&Finding| matches!(finding.reason, Reason::Written | Reason::Unpacked);
    let others = findings.iter().filter(|finding| !is_of_file(finding));
    for finding in others.chain(findings.iter().filter(is_of_file)) {
        let Some(hole) = rewriter.holes.get(finding.hole).filter(|_| finding.hole < choices) else { continue };
        let is_own = own.contains(&finding.hole);
        let mut verdict = if is_own {
            with_manifest(told(finding, hole), finding, statements)
        } else {
            told_of_earlier(finding, hole, stage)
        };
        if let Some(how) = back.get(&finding.hole).filter(|_| !verdict.is_placeable() && !rewriter.is_direct(finding)) {
            verdict.reason = format!("{}; {how}", verdict.reason);
        }
        if !is_own {
            tell(finding.hole, verdict);
            continue;
        }
        if verdict.proof == Proof::Code && verdict.code != Some(Code::BrokenProgramsFile) && rewrites < MOST_REWRITES {
            rewrites += 1;
            let (help, rewrite) = rewriter.rewrite(finding);
            verdict.rewrite = rewrite;
            if let Some(help) = help {
                verdict.help = help;
            }
        }
        if finding.guard.is_some() && hints < MOST_HINTS {
            hints += 1;
            verdict.hint = crate::hints::of(finding, rewriter);
        }
        tell(finding.hole, verdict);
    }
}

/// The verdict of a hole, with what its author says about it.
fn settle(verdict: Option<Verdict>, hole: &Hole<'_>) -> Verdict {
    if hole.mode == Mode::Raw {
        return Verdict::raw();
    }
    let verdict = verdict.unwrap_or_else(|| {
        unclear(&format!("where the value of `{}` goes is not followed", hole.name), "use it in a command of its own")
    });
    if hole.kind != Kind::Text {
        let is_misplaced = verdict.code == Some(Code::UnsupportedPlace);
        let mut free = if is_misplaced { verdict.clone() } else { Verdict::free() };
        free.guards = verdict.guards;
        return free;
    }
    // What may be code may be meant as code.
    let may_be_code = verdict.proof == Proof::Code || verdict.code == Some(Code::UnknownProgram);
    if hole.trust == Trust::Code && may_be_code {
        return Verdict { guards: verdict.guards, ..Verdict::raw() };
    }
    if hole.trust != Trust::Data {
        return verdict;
    }
    let mut vouched = verdict;
    if vouched.proof == Proof::Unproven && vouched.code != Some(Code::UnsupportedPlace) {
        let guards = vouched.guards;
        vouched =
            Verdict { guards, ..Verdict::of(Proof::Data, "its author vouches that it is data (`placing: data`)") };
    }
    vouched.guards.retain(|guard| guard.rule != Rule::Plain);
    vouched
}

/// A text whose holes have numbers already, of which the next one is given.
fn number_text(segments: &[Segment<'_>], next: &mut usize, text: &mut Text) {
    let mut number = |_: &Hole<'_>| {
        *next += 1;
        *next - 1
    };
    push_segments(segments, &mut number, text);
}

pub(crate) fn add_text<'a>(segments: &[Segment<'a>], holes: &mut Vec<Hole<'a>>, text: &mut Text) {
    let mut number = |hole: &Hole<'a>| {
        holes.push(hole.clone());
        holes.len() - 1
    };
    push_segments(segments, &mut number, text);
}

/// Adds segments to a text, in which `number` says which number each hole has.
fn push_segments<'a>(segments: &[Segment<'a>], number: &mut dyn FnMut(&Hole<'a>) -> usize, text: &mut Text) {
    for segment in segments {
        match segment {
            Segment::Text(author) => crate::flow::value::push(text, Atom::text(author)),
            Segment::Choice(_) => text.push(Atom::Unknown(Tag::Somewhere)),
            Segment::Hole(_) => {}
        }
        segment.holes().for_each(|hole| {
            let cut = if hole.mode == Mode::Fragment { Cut::QUOTED } else { Cut::WHOLE };
            text.push(Atom::Value { hole: number(hole), cut });
        });
    }
}

/// The words of programs that are piped to one another. A word is its text, with a NUL for each value.
pub(crate) type Stages = Vec<Vec<String>>;

/// Judges the value of number `index` among the words of programs that are started without following variables.
pub(crate) fn judge_words(stages: &Stages, index: usize, about: &Hole<'_>, statements: &Statements<'_>) -> Verdict {
    judge_stages(stages, index, 0, &Input::Clean, about, statements)
}

/// Judges a value that such programs read.
pub(crate) fn judge_input(stages: &Stages, about: &Hole<'_>, statements: &Statements<'_>) -> Verdict {
    judge_stages(stages, 0, 1, &Input::Texts(vec![vec![Atom::value(0)]]), about, statements)
}

/// `first` is the number of the first value among the words.
fn judge_stages(
    stages: &Stages,
    index: usize,
    first: usize,
    input: &Input,
    about: &Hole<'_>,
    statements: &Statements<'_>,
) -> Verdict {
    let mut count = first;
    let mut word = |word: &String| {
        let mut parts = Vec::new();
        for (place, text) in word.split(HOLE as char).enumerate() {
            if place > 0 {
                parts.push(Part::Hole { hole: count, quoted: true });
                count += 1;
            }
            parts.push(Part::Text { text: text.into(), quoted: true });
        }
        Word { parts, span: 0..0 }
    };
    let command = |words: &Vec<String>| {
        let form = Form::Simple { assignments: Vec::new(), words: words.iter().map(&mut word).collect() };
        Command { form, redirects: Vec::new(), span: 0..0 }
    };
    let script = Script::of(stages.iter().map(command).collect());
    let tree = Tree { script, documents: HashMap::new() };
    // Every value counts as text, whichever is asked about.
    let holes: Vec<Hole<'_>> =
        (0..count).map(|_| Hole { kind: Kind::Text, texts: Vec::new(), ..about.clone() }).collect();
    match follow(None, &tree, &holes, statements, &Around::alone(&[], input, count), None).findings {
        Ok(findings) => {
            let own = findings.iter().filter(|finding| finding.hole == index);
            settle(
                own.map(|finding| with_manifest(told(finding, about), finding, statements)).reduce(Verdict::and),
                about,
            )
        }
        Err(why) => unclear(why, ""),
    }
}

pub(crate) fn unclear(why: &str, help: &str) -> Verdict {
    let mut verdict = Verdict::of(Proof::Unproven, why);
    verdict.code = Some(Code::UnprovenPlace);
    verdict.help = help.to_owned();
    verdict
}

/// The verdict for a place that the grammar does not allow a value in.
pub(crate) fn misplaced(hole: &Hole<'_>, why: &str) -> Verdict {
    let mut verdict = Verdict::of(Proof::Unproven, &format!("`{}` is where no value can be placed: {why}", hole.name));
    verdict.code = Some(Code::UnsupportedPlace);
    verdict.help = format!("assign it to a variable first, `value={}`, and use `\"$value\"` there", hole.shown);
    verdict
}

/// What a finding says about a hole, for people.
fn told(finding: &Finding, hole: &Hole<'_>) -> Verdict {
    let name = hole.name;
    let mut verdict = match &finding.reason {
        Reason::Chooses | Reason::Environment { .. } | Reason::Code { language: "program", .. }
            if hole.trust == Trust::Machine =>
        {
            Verdict::of(Proof::Data, "the machine chooses which file or program it names, and not the caller")
        }
        Reason::Argument { program, noun, option: "" } => {
            Verdict::of(Proof::Data, &format!("`{program}` takes it as {}", a(noun)))
        }
        Reason::Argument { program, noun, option } => {
            Verdict::of(Proof::Data, &format!("`{program} {option}` takes it as {}", a(noun)))
        }
        Reason::Input { program } => Verdict::of(Proof::Data, &format!("`{program}` reads it as text")),
        Reason::Shell(what) => Verdict::of(Proof::Data, &format!("the shell takes it as {what}")),
        reason => match says_how(reason, name) {
            Some((proof, code, reason, help)) => {
                let mut verdict = Verdict::of(proof, &reason);
                verdict.code = Some(code);
                verdict.help = help;
                verdict
            }
            None => Verdict::of(Proof::Data, "it is data"),
        },
    };
    verdict.guards.extend(finding.guard.clone());
    verdict
}

/// A verdict that says where the name of its program comes from, when that is a file of the project.
fn with_manifest(mut verdict: Verdict, finding: &Finding, statements: &Statements<'_>) -> Verdict {
    if let Some((program, manifest)) =
        finding.reason.program().and_then(|program| Some((program, statements.manifest(program)?)))
    {
        verdict.reason.push_str(&format!(" (`{program}` is built by this project: `{manifest}`)"));
    }
    verdict
}

fn a(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
    match noun {
        "text" | "form" => "text".to_owned(),
        "url" => "a URL".to_owned(),
        noun => format!("{article} {noun}"),
    }
}
