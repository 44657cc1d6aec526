//! Says of every placeholder of a template, before there are values, whether a value can only be data there.

use cycod_code::Code;

use std::borrow::Cow;
use std::collections::HashMap;

use crate::argv;
use crate::flow::value::{Atom, Text};
use crate::flow::{Finding, Input, Reason, follow};
use crate::hole::{Branch, Format, Hole, Segment, Trust};
use crate::piece::{Kind, Mode, Shell};
use crate::programs::{Grounds, Programs, Statements};
use crate::rewrite::{Rewriter, says_how};
use crate::script::{Command, Form, Part, Script, Tree, Word, build};
use crate::track::{HOLE, Spot, parse, track};
use crate::verdict::{Proof, Rule, Verdict};
use crate::{cmd, powershell};

/// How many programs a template with choices is tried as.
const MOST_VARIANTS: usize = 64;

/// How many places of one command get a rewrite, each of which is as long as the command.
const MOST_REWRITES: usize = 16;

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
    /// What stands outside of the tool that any of it may rest on.
    pub grounds: Grounds,
}

/// Judges a command and what reaches it.
pub fn judge(question: &Question<'_>) -> Judgement {
    let counts = [question.command, question.input].map(count_holes);
    let in_environment: Vec<usize> = question.environment.iter().map(|(_, segments)| count_holes(segments)).collect();
    let count = counts[0] + counts[1] + in_environment.iter().sum::<usize>();
    let mut verdicts: Vec<Option<Verdict>> = vec![None; count];
    if count == 0 {
        let environment = vec![Vec::new(); question.environment.len()];
        return Judgement { environment, ..Judgement::default() };
    }
    let statements = Statements::new(question.programs);
    let mut forms = variants(question.command, false);
    if forms.iter().flatten().any(|variant| !variant.has_plain_formats() || has_misplaced_format(question, variant)) {
        forms = variants(question.command, true);
    }
    match &forms {
        Some(forms) => {
            for variant in forms {
                merge(&mut verdicts, judge_variant(question, variant, &statements));
            }
        }
        None => {
            let why = format!("the command has more than {MOST_VARIANTS} forms, by its conditions");
            let verdict = unclear(&why, "make the conditions steps, or parameters with a `format`");
            verdicts.iter_mut().for_each(|place| *place = Some(verdict.clone()));
        }
    }
    let mut verdicts = verdicts
        .into_iter()
        .map(|verdict| verdict.unwrap_or_else(|| unclear("its place was not reached by what follows values", "")));
    let command = verdicts.by_ref().take(counts[0]).collect();
    let input = verdicts.by_ref().take(counts[1]).collect();
    let environment = in_environment.iter().map(|&count| verdicts.by_ref().take(count).collect()).collect();
    Judgement { command, environment, input, grounds: statements.into_grounds() }
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

/// A verdict for each hole that this variant has.
fn judge_variant(question: &Question<'_>, variant: &Variant<'_>, statements: &Statements<'_>) -> Vec<Option<Verdict>> {
    let command = match question.reader {
        Reader::Shell(Shell::PowerShell) => powershell::judge(&variant.source, &variant.of_source(), statements),
        Reader::Shell(Shell::Cmd) => cmd::judge(&variant.source, &variant.of_source(), statements),
        Reader::Interpreter(words) => {
            let program = words.first().map_or("the interpreter", String::as_str);
            variant.of_source().iter().map(|hole| inline(hole, program)).collect()
        }
        Reader::Shell(shell) => return judge_shell(question, variant, Some(shell), statements),
        Reader::Words => return judge_shell(question, variant, None, statements),
    };
    simple_verdicts(question, variant, command)
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

/// Every place of a value, those in branches of conditions as well.
fn holes_of<'q, 'a>(segments: &'q [Segment<'a>]) -> impl Iterator<Item = &'q Hole<'a>> {
    segments.iter().flat_map(|segment| {
        let (one, branches) = match segment {
            Segment::Text(_) => (None, &[][..]),
            Segment::Hole(hole) => (Some(hole), &[][..]),
            Segment::Choice(branches) => (None, branches.as_slice()),
        };
        let in_branches = branches.iter().filter_map(|branch| match branch {
            Branch::Hole(hole) => Some(hole),
            Branch::Text(_) => None,
        });
        one.into_iter().chain(in_branches)
    })
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
    verdict.help =
        format!("read it from the environment variable `CYCOD_PARAM_{}` in the script", environment_name(hole.name));
    verdict
}

/// A parameter's name as the end of a variable's name.
pub(crate) fn environment_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}

fn judge_shell(
    question: &Question<'_>,
    variant: &Variant<'_>,
    shell: Option<Shell>,
    statements: &Statements<'_>,
) -> Vec<Option<Verdict>> {
    // Every hole has a number: those of the command, those of the input, those of variables, choices.
    let own = count_holes(question.command);
    let mut holes: Vec<Hole<'_>> = variant.holes[..own].to_vec();
    let mut input = Text::new();
    add_text(question.input, &mut holes, &mut input);
    let mut environment = Vec::new();
    for (name, segments) in question.environment {
        let mut text = Text::new();
        add_text(segments, &mut holes, &mut text);
        environment.push((*name, text));
    }
    let told_of = holes.len();
    let choices = holes.len();
    holes.extend(variant.holes[own..].iter().cloned());
    let number = |hole: usize| if hole < own { hole } else { choices + hole - own };
    let order: Vec<usize> = variant.order.iter().map(|&hole| number(hole)).collect();

    let mut verdicts: Vec<Option<Verdict>> = vec![None; told_of];
    let mut add = |hole: usize, verdict: Verdict| {
        if let Some(place) = verdicts.get_mut(hole) {
            *place = Some(match place.take() {
                None => verdict,
                Some(known) => known.and(verdict),
            });
        }
    };
    let (tree, found) = match shell {
        Some(shell) => {
            let mut found = parse(shell, variant.source.as_bytes());
            (build(&mut found, &order, 0), Some(found))
        }
        None => (argv::tree(&variant.source, &order), None),
    };
    if let Some(found) = &found {
        for (index, place) in found.holes.iter().enumerate() {
            let hole = order[index];
            match place.spot {
                Spot::Unsupported(why) => add(hole, misplaced(&holes[hole], why)),
                Spot::Comment => add(hole, Verdict::of(Proof::Data, "it is in a comment")),
                _ => {}
            }
        }
    }
    let names: Vec<(&str, Text)> = environment;
    let reads = if input.is_empty() { Input::Clean } else { Input::Texts(vec![input]) };
    let findings = match tree {
        Ok(tree) => {
            let (findings, _) = follow(shell, &tree, &holes, statements, &names, &reads, None);
            Some((tree, findings))
        }
        Err(why) => {
            let verdict = not_understood(why, question.reader);
            for hole in 0..told_of {
                add(hole, verdict.clone());
            }
            None
        }
    };
    if let Some((tree, findings)) = findings {
        match findings {
            Err(why) => {
                for hole in 0..told_of {
                    let help = "put parts of it into steps, or into a program of the project";
                    add(hole, unclear(&format!("the command is not followed: {why}"), help));
                }
            }
            Ok(findings) => {
                let rewriter = Rewriter { source: &variant.source, tree: &tree, holes: &holes, order: &order };
                for (hole, verdict) in verdicts_of(&findings, &rewriter, told_of, statements) {
                    add(hole, verdict);
                }
            }
        }
    }
    // What a variable is for counts whether the command looks at it or not.
    let mut hole = own + count_holes(question.input);
    for (name, segments) in question.environment {
        for about in holes_of(segments) {
            add(hole, variable(name, about));
            hole += 1;
        }
    }
    for (at, _) in holes_of(question.input).enumerate() {
        add(own + at, Verdict::of(Proof::Data, "it is read from standard input"));
    }
    let mut is_here = vec![false; own];
    variant.order.iter().filter(|&&hole| hole < own).for_each(|&hole| is_here[hole] = true);
    verdicts
        .into_iter()
        .zip(&holes)
        .enumerate()
        .map(|(number, (verdict, hole))| is_here.get(number).unwrap_or(&true).then(|| settle(verdict, hole)))
        .collect()
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

/// The verdict of each finding about the first `told_of` holes, with a way to write the command so that the value is data.
fn verdicts_of(
    findings: &[Finding],
    rewriter: &Rewriter<'_>,
    told_of: usize,
    statements: &Statements<'_>,
) -> Vec<(usize, Verdict)> {
    let (mut rewrites, mut hints) = (0, 0);
    let mut verdicts = Vec::new();
    for finding in findings {
        let Some(hole) = rewriter.holes.get(finding.hole).filter(|_| finding.hole < told_of) else { continue };
        let mut verdict = with_manifest(told(finding, hole), finding, statements);
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
        verdicts.push((finding.hole, verdict));
    }
    verdicts
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
    if hole.trust == Trust::Code && verdict.proof == Proof::Code {
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

pub(crate) fn add_text<'a>(segments: &[Segment<'a>], holes: &mut Vec<Hole<'a>>, text: &mut Text) {
    let mut add = |hole: &Hole<'a>, text: &mut Text| {
        text.push(Atom::value(holes.len()));
        holes.push(hole.clone());
    };
    for segment in segments {
        match segment {
            Segment::Text(author) => crate::flow::value::push(text, Atom::text(author)),
            Segment::Hole(hole) => add(hole, text),
            Segment::Choice(branches) => {
                text.push(Atom::Unknown(crate::flow::value::Tag::Somewhere));
                for branch in branches {
                    if let Branch::Hole(hole) = branch {
                        add(hole, text);
                    }
                }
            }
        }
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
    match follow(None, &tree, &holes, statements, &[], input, None).0 {
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
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    match noun {
        "text" | "form" => "text".to_owned(),
        noun => format!("{article} {noun}"),
    }
}
