//! What a rule wants of arguments.

use std::{
    cmp::Ordering,
    path::{Component, Path, PathBuf},
};

use cycod_definition::Decimal;
use cycod_schema::Pattern as Regex;

use crate::{
    Meant, Places, Verdict,
    value::{Kind, Readings, Text},
};

/// What a rule wants of one argument.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(crate) name: String,
    pub(crate) test: Test,
    pub(crate) is_negated: bool,
}

/// What a text is held to.
#[derive(Clone, Debug)]
pub(crate) enum Test {
    /// It is this.
    Equals(String),
    /// This is found in it.
    Matches(Regex),
    /// It begins so.
    Starts(String),
    /// It is a number on this side of the limit, or the limit itself.
    Bound { side: Ordering, includes: bool, limit: Decimal },
    /// It is a path in this directory.
    Under(PathBuf),
}

/// What counts of a path: what it is called, and what it leads to. A link is as much a way out as `..` is.
#[derive(Clone, Copy)]
enum Links {
    /// One of them is enough.
    Either,
    /// Both.
    Both,
}

impl Condition {
    /// Whether it holds, doubts counted against the call: what may hold does for a rule that denies or asks, and only what
    /// certainly holds does for one that allows. Nothing holds of a parameter that the tool does not have.
    pub(crate) fn holds(&self, verdict: Verdict, arguments: &[Readings<'_>], places: &Places<'_>) -> bool {
        let exactly = arguments.iter().find(|argument| argument.name() == self.name);
        let nearly = || arguments.iter().find(|argument| argument.name().eq_ignore_ascii_case(&self.name));
        let Some(argument) = exactly.or_else(nearly) else { return false };
        // A key is no number, and says nothing about those that are.
        let counts = |text: &&Text<'_>| !(self.test.is_of_numbers() && matches!(text.kind, Kind::Key));
        let texts: Vec<&Text<'_>> = argument.texts().iter().filter(counts).collect();
        let may = |text: &Text<'_>| self.test.may_hold(text, places);
        let must = |text: &Text<'_>| self.test.must_hold(text, places);
        let certainly = !texts.is_empty() && texts.iter().copied().all(must);
        match (verdict, self.is_negated) {
            (Verdict::Allow, false) => certainly,
            // An absent value is whatever the command makes of it.
            (Verdict::Allow, true) => !texts.is_empty() && texts.iter().all(|&text| !text.is_blank() && !may(text)),
            (_, false) => argument.is_later() || texts.iter().copied().any(may),
            (_, true) => !certainly,
        }
    }
}

impl Test {
    /// Whether it holds of anything that the text may be taken for.
    fn may_hold(&self, text: &Text<'_>, places: &Places<'_>) -> bool {
        if let Some(meant) = text.meant {
            return self.may_hold_of_path(meant, &text.plain, places);
        }
        text.is_code
            || text.forms().any(|form| self.holds(form, &text.kind, places, Links::Either))
            || text.is_live && text.words.iter().any(|word| self.may_become(word, places))
            || self.is_of_numbers() && matches!(text.kind, Kind::Text) && Decimal::parse(text.plain.trim()).is_none()
    }

    /// Whether it holds of everything that the text may be taken for.
    fn must_hold(&self, text: &Text<'_>, places: &Places<'_>) -> bool {
        if let Some(meant) = text.meant {
            return self.must_hold_of_path(meant.path, places);
        }
        let holds = |form: &str| self.holds(form, &text.kind, places, Links::Both);
        // Several words are several paths, and a beginning is said of each; anything else is said of the whole.
        let is_of_words = matches!(self, Self::Starts(_) | Self::Under(_));
        (!text.is_code || matches!(self, Self::Equals(_)))
            && holds(&text.plain)
            && text.joined.as_deref().is_none_or(holds)
            && (!is_of_words || text.words.iter().all(|word| holds(word)))
    }

    /// Whether it holds of a path in any of the ways to write it, or of something that a search meets below it.
    fn may_hold_of_path(&self, meant: Meant<'_>, written: &str, places: &Places<'_>) -> bool {
        let meets = |path: &Path, wanted: &Path| meant.is_searched && wanted.starts_with(path);
        both_names(meant.path, places).iter().any(|path| match self {
            Self::Under(directory) => {
                let named = rule_path(directory, places);
                let real = (places.real)(&named);
                [named, real].iter().any(|inside| path.starts_with(inside) || meets(path, inside))
            }
            Self::Equals(wanted) => {
                let wanted = rule_path(Path::new(wanted), places);
                *path == wanted || meets(path, &wanted)
            }
            Self::Starts(start) => meets(path, &rule_path(Path::new(start), places)),
            Self::Matches(_) | Self::Bound { .. } => false,
        }) || std::iter::once(written.to_owned())
            .chain(both_names(meant.path, places).iter().flat_map(|path| spellings(path, places)))
            .any(|form| match self {
                // A path is another one than its spelling may say.
                Self::Under(_) => false,
                _ => self.holds(&form, &Kind::Text, places, Links::Either),
            })
    }

    /// Whether it holds of a path as it is called and as it is.
    fn must_hold_of_path(&self, path: &Path, places: &Places<'_>) -> bool {
        both_names(path, places).iter().all(|path| match self {
            Self::Under(directory) => {
                let named = rule_path(directory, places);
                let real = (places.real)(&named);
                path.starts_with(named) || path.starts_with(real)
            }
            Self::Equals(wanted) => {
                let wanted = rule_path(Path::new(wanted), places);
                *path == wanted || *path == (places.real)(&wanted)
            }
            _ => spellings(path, places).iter().any(|form| self.holds(form, &Kind::Text, places, Links::Both)),
        })
    }

    fn holds(&self, text: &str, kind: &Kind, places: &Places<'_>, links: Links) -> bool {
        match self {
            Self::Equals(wanted) => match kind {
                Kind::Bool(value) => boolean(wanted) == Some(*value),
                Kind::Number(Some(value)) => Decimal::parse(wanted).is_some_and(|wanted| wanted == *value),
                _ => text == wanted,
            },
            Self::Matches(regex) => regex.is_match(text),
            Self::Starts(start) => text.starts_with(&**start),
            Self::Bound { side, includes, limit } => Decimal::parse(text.trim()).is_some_and(|value| {
                let order = value.cmp(limit);
                order == *side || *includes && order == Ordering::Equal
            }),
            Self::Under(directory) => {
                let inside = rule_path(directory, places);
                let is_inside = |path: PathBuf| {
                    let by_name = path.starts_with(&inside);
                    let is_there = || (places.real)(&path).starts_with((places.real)(&inside));
                    match links {
                        Links::Either => by_name || is_there(),
                        Links::Both => by_name && is_there(),
                    }
                };
                let mut paths = value_paths(text, places);
                match links {
                    Links::Either => paths.any(is_inside),
                    Links::Both => paths.all(is_inside),
                }
            }
        }
    }

    /// Whether it holds of something that a pattern for files, or the home directory's sign, may become.
    fn may_become(&self, word: &str, places: &Places<'_>) -> bool {
        let is_live = |character| matches!(character, '*' | '?' | '[' | ']');
        match self {
            Self::Equals(wanted) => {
                let is_live = |character| is_live(character) || character == '~';
                let start = word.split(is_live).next().unwrap_or_default();
                let end = word.rsplit(is_live).next().unwrap_or_default();
                wanted.starts_with(start) && wanted.ends_with(end)
            }
            Self::Under(directory) if word.contains(is_live) => {
                let is_fixed = |part: &Component<'_>| !part.as_os_str().to_string_lossy().contains(is_live);
                let fixed: PathBuf = Path::new(word).components().take_while(is_fixed).collect();
                let inside = rule_path(directory, places);
                value_paths(&fixed.to_string_lossy(), places)
                    .any(|path| path.starts_with(&inside) || inside.starts_with(&path))
            }
            Self::Under(_) => false,
            _ => true,
        }
    }

    fn is_of_numbers(&self) -> bool {
        matches!(self, Self::Bound { .. })
    }
}

/// What a text for a boolean says.
fn boolean(text: &str) -> Option<bool> {
    let is_one_of = |words: [&str; 4]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is_one_of(["true", "1", "yes", "on"]) {
        Some(true)
    } else if is_one_of(["false", "0", "no", "off"]) {
        Some(false)
    } else {
        None
    }
}

/// The paths that a value may mean: one for each directory in which it may be read.
fn value_paths(text: &str, places: &Places<'_>) -> impl Iterator<Item = PathBuf> {
    let directories = std::iter::once(places.directory).chain(places.others.iter().map(PathBuf::as_path));
    directories.map(move |directory| normal(&directory.join(from_home(Path::new(text), places))))
}

/// A path as it is called, and as it is with links followed.
fn both_names(path: &Path, places: &Places<'_>) -> [PathBuf; 2] {
    let named = normal(path);
    // Where a link is followed by `..`, only the system knows.
    [(places.real)(path), named].map(|path| normal(&path))
}

/// The ways to write a path: whole, and from the workspace.
fn spellings(path: &Path, places: &Places<'_>) -> Vec<String> {
    let roots = [places.workspace.to_owned(), (places.real)(places.workspace)];
    let below = roots.iter().filter_map(|root| path.strip_prefix(root).ok());
    let mut all: Vec<String> = below.map(|below| below.to_string_lossy().into_owned()).collect();
    all.push(path.to_string_lossy().into_owned());
    all
}

/// The directory that a rule means.
fn rule_path(directory: &Path, places: &Places<'_>) -> PathBuf {
    normal(&places.workspace.join(from_home(directory, places)))
}

fn from_home<'p>(path: &'p Path, places: &Places<'_>) -> std::borrow::Cow<'p, Path> {
    match path.strip_prefix("~") {
        Ok(below) => places.home.join(below).into(),
        Err(_) => path.into(),
    }
}

/// The path without `.` and `..`, as it is written.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut normal, component| {
        match component {
            Component::CurDir => {}
            Component::ParentDir => _ = normal.pop(),
            other => normal.push(other),
        }
        normal
    })
}
