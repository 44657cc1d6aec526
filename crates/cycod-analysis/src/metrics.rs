use std::collections::BTreeMap;

use big_code_analysis::{Ast, FuncSpace, Metric, MetricsOptions, SpaceKind};

use crate::Language;

/// How many levels of functions in functions are looked at.
const DEEPEST: usize = 64;

/// What a file measures.
#[derive(Clone, Debug, PartialEq)]
pub struct FileMetrics {
    /// The language.
    pub language: Language,
    /// What it amounts to.
    pub totals: Totals,
    /// From 0, which nobody can maintain, to 100. A file without code has none.
    pub maintainability: Option<f64>,
    /// Whether all of it could be parsed.
    pub is_sound: bool,
    /// Its functions, in the order in which they begin.
    pub functions: Vec<FunctionMetrics>,
}

/// What files amount to together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// How many files.
    pub files: u64,
    /// Lines.
    pub lines: u64,
    /// Lines with code.
    pub code: u64,
    /// Lines with comments.
    pub comments: u64,
    /// Empty lines.
    pub blank: u64,
    /// Functions and methods, with names or without.
    pub functions: u64,
    /// Ways through the code: cyclomatic complexity, summed.
    pub cyclomatic: u64,
    /// How hard it is to follow: cognitive complexity, summed.
    pub cognitive: u64,
}

/// What a function measures, without the functions in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionMetrics {
    /// Its name; anonymous ones have none.
    pub name: Option<String>,
    /// Its first line, from 1.
    pub line: u32,
    /// How many lines it has.
    pub lines: u64,
    /// How many arguments it takes.
    pub arguments: u64,
    /// Ways through it.
    pub cyclomatic: u64,
    /// How hard it is to follow.
    pub cognitive: u64,
}

impl Totals {
    /// Adds the sums of others.
    pub fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.lines += other.lines;
        self.code += other.code;
        self.comments += other.comments;
        self.blank += other.blank;
        self.functions += other.functions;
        self.cyclomatic += other.cyclomatic;
        self.cognitive += other.cognitive;
    }

    /// Sums by language, and over all.
    pub(crate) fn of<'a>(files: impl Iterator<Item = &'a FileMetrics>) -> (Self, BTreeMap<&'static str, Self>) {
        let (mut all, mut languages) = (Self::default(), BTreeMap::<_, Self>::new());
        for file in files {
            all.add(&file.totals);
            languages.entry(file.language.name()).or_default().add(&file.totals);
        }
        (all, languages)
    }
}

impl FileMetrics {
    /// Measures what was parsed.
    pub(crate) fn measure(language: Language, ast: &Ast) -> Option<Self> {
        let wanted = [
            Metric::Loc,
            Metric::Cyclomatic,
            Metric::Cognitive,
            Metric::Nom,
            Metric::Nargs,
            Metric::Halstead,
            Metric::Mi,
        ];
        let whole = ast.metrics(MetricsOptions::default().with_only(&wanted)).ok()?;
        let metrics = &whole.metrics;
        let totals = Totals {
            files: 1,
            lines: metrics.loc.sloc(),
            code: metrics.loc.ploc(),
            comments: metrics.loc.cloc(),
            blank: metrics.loc.blank(),
            functions: metrics.nom.total(),
            cyclomatic: metrics.cyclomatic.cyclomatic_sum(),
            cognitive: metrics.cognitive.cognitive_sum(),
        };
        let maintainability = (!metrics.mi.is_empty()).then(|| round(metrics.mi.visual_studio().clamp(0.0, 100.0)));
        let is_sound = !ast.root_node().has_error();
        Some(Self { language, totals, maintainability, is_sound, functions: functions(&whole) })
    }
}

/// Two digits are plenty, and the same on every machine.
fn round(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

fn functions(whole: &FuncSpace) -> Vec<FunctionMetrics> {
    let (mut found, mut pending) = (Vec::new(), vec![(whole, 0)]);
    while let Some((space, depth)) = pending.pop() {
        if space.kind == SpaceKind::Function {
            let metrics = &space.metrics;
            found.push(FunctionMetrics {
                name: space.name.clone().filter(|name| !name.starts_with('<')),
                line: u32::try_from(space.start_line).unwrap_or(u32::MAX),
                lines: metrics.loc.sloc(),
                arguments: metrics.nargs.own_args(),
                cyclomatic: metrics.cyclomatic.cyclomatic(),
                cognitive: metrics.cognitive.cognitive(),
            });
        }
        if depth < DEEPEST {
            pending.extend(space.spaces.iter().map(|inner| (inner, depth + 1)));
        }
    }
    found.sort_by(|one, other| (one.line, &one.name).cmp(&(other.line, &other.name)));
    found
}
