//! What is known about programs: how they read their words, and what each word is to them.
//!
//! The knowledge is data. One file below `programs/` describes a program or a family; the build script compiles them into one table
//! of entries (`entry`, `table`), which one interpreter of option syntax (`walk`) reads. A table never lists options that are
//! dangerous: no value can become an option. It says what the argument of the *author's own* option is.
//!
//! A program that no table describes proves nothing about its arguments, until somebody who knows says what it is
//! ([`Programs`]).

mod entry;
mod project;
mod stated;
mod table;
mod walk;

use std::sync::LazyLock;

use crate::flow::value::{Text, beginning, literal};

use entry::{Condition, Number, Operand, Options, Syntax, Takes};
pub(crate) use entry::{Entry, FileNames, Input, Into as UnpacksInto, Loads, Place, PlaceKind, Unlisted, Writes};
pub use project::{Built, Directory, Project, ScriptPath, Scripts};
use stated::Said;
pub(crate) use stated::Statements;
pub use stated::{Grounds, Nature, Programs, SharedPrograms};
pub(crate) use walk::{Named, Seen, State};

/// The tables live as long as the process.
pub(crate) type Known = &'static Entry<'static>;

/// Finds what a program does, by the name it is called by. One name may stand for several programs.
pub(crate) fn find(name: &str, statements: &Statements<'_>) -> Vec<Known> {
    let base = base(name);
    let known = in_table(base).or_else(|| in_table(package(name)?));
    // `@scope/name` is a package, and none of the project's files.
    let is_of_project = name.contains('/') && !name.starts_with('@');
    // A program that a table knows is that one, whatever a project calls its own.
    let is_built = known.is_none() && !name.contains('/') && statements.is_built(name);
    match statements.about(&[name, base], || known.is_some() || is_of_project || is_built) {
        Said::Nature(nature) => vec![of_nature(nature)],
        Said::Withheld => vec![&*WITHHELD],
        Said::Nothing => match known {
            // It may as well be a script of the project that has the same name.
            Some(known) if is_of_project && !is_installed(name) => [known, &[&*OF_SAME_NAME]].concat(),
            Some(known) => known.to_vec(),
            None if is_of_project => vec![&*OF_PROJECT],
            None if is_built => {
                statements.note_built(name);
                vec![&*BUILT]
            }
            None => vec![&*UNKNOWN],
        },
    }
}

/// Whether nothing is known of a program of this name.
pub(crate) fn is_unknown(name: &str, statements: &Statements<'_>) -> bool {
    find(name, statements).iter().any(|entry| std::ptr::eq(*entry, &*UNKNOWN))
}

/// Finds what a module does that an interpreter runs by its name; one that no table knows is the project's.
pub(crate) fn find_module(name: &str, statements: &Statements<'_>) -> Vec<Known> {
    match statements.about(&[name], || true) {
        Said::Nature(nature) => vec![of_nature(nature)],
        Said::Withheld => vec![&*WITHHELD],
        Said::Nothing => {
            let known = in_table(&format!("-m {name}")).or_else(|| in_table(name));
            known.map_or_else(|| vec![&*OF_PROJECT], <[_]>::to_vec)
        }
    }
}

/// Whether a table describes the words of the program of this name, so that nobody needs to say what they are.
pub fn is_described(name: &str) -> bool {
    let entries = in_table(base(name)).or_else(|| in_table(package(name)?));
    entries.is_some_and(|entries| entries.iter().any(|entry| entry.syntax != Syntax::Undescribed))
}

/// Whether a program that a table describes may print, when it runs again, what it was told before.
pub(crate) fn remembers(name: &str) -> bool {
    is_of_table(name, |entry| entry.remembers)
}

/// Whether a program that a table describes prints what other processes were given.
pub(crate) fn shows_processes(name: &str) -> bool {
    is_of_table(name, |entry| entry.shows_processes)
}

/// Whether something is true of a program by one of its descriptions.
fn is_of_table(name: &str, is: impl Fn(&Entry<'_>) -> bool) -> bool {
    in_table(base(name)).is_some_and(|entries| entries.iter().any(|entry| is(entry)))
}

/// Whether a table says the same of two names.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    let tables = in_table(one).zip(in_table(other));
    tables.is_some_and(|(one, other)| {
        one.len() == other.len() && one.iter().zip(other).all(|(one, other)| std::ptr::eq(*one, *other))
    })
}

/// The name of a program without its directory.
fn base(name: &str) -> &str {
    let base = name.rsplit('/').next().unwrap_or(name);
    base.strip_suffix(".exe").unwrap_or(base)
}

fn of_nature(nature: Nature) -> Known {
    match nature {
        Nature::Text => &TEXT,
        Nature::Plain => &PLAIN,
        Nature::Command => &COMMAND,
        Nature::Code => &OPAQUE,
    }
}

/// What is known of a program whose name only the run decides: an interpreter, or one of the project's.
pub(crate) fn unnamed(is_interpreter: bool) -> Known {
    if is_interpreter { &OPAQUE } else { &OF_PROJECT }
}

/// The package of `npx name@version`; those of a scope keep it.
fn package(name: &str) -> Option<&str> {
    let at = name.rfind('@').filter(|at| *at > 0).unwrap_or(name.len());
    (at < name.len() || name.starts_with('@')).then_some(&name[..at])
}

/// The word that ends the options of a program, or of its subcommand, by the name people know it by.
pub(crate) fn end_of_options(label: &str) -> Option<&'static str> {
    let mut names = label.split(' ');
    let mut entry = *in_table(names.next()?)?.first()?;
    for name in names {
        entry = entry.subcommand(name)?;
    }
    // Behind `--`, words may be something else.
    let has_end = !entry.end.is_empty() && (entry.end != "--" || entry.after_end.is_none());
    (has_end && entry.syntax != Syntax::None).then_some(entry.end)
}

/// Which word of a command its program takes for its first operand, with options before it alone; nothing when that isn't certain,
/// or when it isn't known whether a word before it is one.
pub(crate) fn first_operand(words: &[Option<Text>]) -> Option<usize> {
    first_word(words, |seen| matches!(seen, Seen::Place { option: "", is_option_read: true, .. }))
}

/// Which word of a command is the first of those that its program joins for a shell.
pub(crate) fn first_joined(words: &[Option<Text>]) -> Option<usize> {
    let is_joined = |place: &Place<'_>| place.kind == PlaceKind::CodeIn("sh-joined");
    first_word(words, |seen| matches!(seen, Seen::Place { option: "", place, .. } if is_joined(place)))
}

/// The first word of a command that is something to its program; nothing when what is before it isn't certain.
fn first_word(words: &[Option<Text>], is_it: impl Fn(&Seen<'_>) -> bool) -> Option<usize> {
    let name = literal(words.first()?.as_ref()?)?;
    let mut state = State::new(in_table(base(name))?.first()?, name, None);
    for (index, word) in words.iter().enumerate().skip(1) {
        let (mut is_found, mut is_certain) = (false, true);
        let step = state.step(word.as_ref()?, &mut |seen| {
            is_certain &= matches!(seen, Seen::Place { .. });
            is_found |= is_it(&seen);
        });
        if is_found {
            return is_certain.then_some(index);
        }
        let mut next = step.next.into_iter();
        state = next.next().filter(|_| is_certain && next.len() == 0)?;
    }
    None
}

/// The entry of a program, or of a subcommand, by names that `/` divides.
fn described(path: &str) -> Option<Known> {
    let mut names = path.split('/');
    let mut entry = *in_table(names.next()?)?.first()?;
    for name in names {
        entry = entry.subcommand(name)?;
    }
    Some(entry)
}

/// Whether a program that is called so may hand its words, or its input, to a shell.
pub(crate) fn runs_shell_code(name: &str) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name);
    in_table(base).is_some_and(|entries| entries.iter().any(|entry| entry.runs_shell_code))
}

/// Whether a program that is called so makes arguments of what it reads.
pub(crate) fn makes_arguments(name: &str) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name);
    in_table(base).is_some_and(|entries| entries.iter().any(|entry| entry.input == Input::Arguments))
}

/// Whether programs run, or load from, what this variable of their environment says. One that a script does not export may still
/// be known to its commands, when the script got it; names that are only of a form, as `MY_COMMAND` is, are then the script's own.
pub(crate) fn runs_variable(name: &str, is_exported: bool) -> bool {
    table::is_variable(name, is_exported)
}

/// How the words of a program say which file it puts at which name: `last` operand, `all` of them, what stands behind an option or
/// a `name=`; nothing when it does no such thing.
pub(crate) fn copies(path: &str) -> Option<&'static [&'static str]> {
    table::copies(path.rsplit('/').next().unwrap_or(path))
}

/// Looks a name up, also with the version that some carry: `python3.11`, `gcc-12`. A digit alone may be another program's name.
/// Tools that make programs for another machine carry its name before theirs: `arm-none-eabi-gcc`.
fn in_table(base: &str) -> Option<&'static [Known]> {
    let versioned = || {
        let stem = base.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let is_version = stem.len() < base.len() && (stem.ends_with('-') || base[stem.len()..].contains('.'));
        is_version.then(|| table::named(stem.trim_end_matches('-'))).flatten()
    };
    table::named(base).or_else(versioned).or_else(|| table::named(without_target(base)?))
}

/// The name of a compiler or of one of its tools behind the machine that it makes programs for.
fn without_target(name: &str) -> Option<&str> {
    const MACHINES: [&str; 18] = [
        "aarch64",
        "arm",
        "avr",
        "i386",
        "i486",
        "i586",
        "i686",
        "loongarch64",
        "m68k",
        "mips",
        "powerpc",
        "riscv32",
        "riscv64",
        "s390x",
        "sparc",
        "wasm32",
        "x86_64",
        "xtensa",
    ];
    const TOOLS: [&str; 23] = [
        "addr2line",
        "ar",
        "as",
        "c++",
        "c++filt",
        "clang",
        "clang++",
        "cpp",
        "g++",
        "gcc",
        "gcov",
        "gdb",
        "gfortran",
        "ld",
        "nm",
        "objcopy",
        "objdump",
        "pkg-config",
        "ranlib",
        "readelf",
        "size",
        "strings",
        "strip",
    ];
    let is_tool = |tool: &&str| name.strip_suffix(*tool).is_some_and(|machine| machine.ends_with('-'));
    let tool = TOOLS.into_iter().filter(is_tool).max_by_key(|tool| tool.len())?;
    MACHINES.iter().any(|machine| name.starts_with(machine)).then_some(tool)
}

/// The language of which everything is code for a program that may be any.
pub(crate) const WITHHELD_LANGUAGE: &str = "withheld";

/// The language of an input that a program reads which nobody knows.
pub(crate) const UNKNOWN_LANGUAGE: &str = "unknown";

/// The language of the words of a program that a table names and does not describe: any of them may be code.
pub(crate) const UNDESCRIBED_LANGUAGE: &str = "undescribed";

/// What the arguments of an option of the author's are, where nothing is known but what they are for a program of any kind.
static TEXT_PLACE: Place<'static> = Place::new(PlaceKind::Data("text"));
static UNKNOWN_PLACE: Place<'static> = Place::new(PlaceKind::Unknown);
static CODE_PLACE: Place<'static> = Place::new(PlaceKind::CodeIn("code"));
static UNDESCRIBED_PLACE: Place<'static> = Place::new(PlaceKind::CodeIn(UNDESCRIBED_LANGUAGE));
static WITHHELD_PLACE: Place<'static> = Place::new(PlaceKind::CodeIn(WITHHELD_LANGUAGE));
/// What stands before the name of a script, which an interpreter runs.
const SCRIPT: &str = "script ";
static PROGRAM_PLACE: Place<'static> = Place::new(PlaceKind::Program);

fn all(kind: PlaceKind<'static>, syntax: Syntax, unlisted: Unlisted) -> Entry<'static> {
    let operands = vec![Operand { place: Place::new(kind), many: true, unless: 0 }];
    Entry { syntax, end: "--", unlisted, operands, ..Entry::default() }
}

/// A program whose words and input are all code.
fn opaque(language: &'static str) -> Entry<'static> {
    let input = Input::Code { language, unless_operand: false, with_operand: false, unless: 0, always: 0 };
    Entry { syntax: Syntax::Opaque, input, end: "--", ..Entry::default() }
}

/// A program of which only the form of its words is known; some options announce code in programs of every kind.
fn loose() -> Entry<'static> {
    const CODE: [&str; 12] = [
        "--code",
        "--command",
        "--eval",
        "--exec",
        "--execute",
        "--expression",
        "--query",
        "--script",
        "--sql",
        "-E",
        "-c",
        "-e",
    ];
    let named = CODE.into_iter().map(|name| (name, Takes::Next, 0)).collect();
    let options = Options { kinds: vec![vec![Place::new(PlaceKind::CodeIn("code"))]], named };
    Entry { options, ..all(PlaceKind::Unknown, Syntax::Long, Unlisted::Loose) }
}

static TEXT: LazyLock<Entry<'static>> = LazyLock::new(|| all(PlaceKind::Data("text"), Syntax::Gnu, Unlisted::Text));
static PLAIN: LazyLock<Entry<'static>> = LazyLock::new(|| all(PlaceKind::Plain, Syntax::Gnu, Unlisted::Strict));
static COMMAND: LazyLock<Entry<'static>> =
    LazyLock::new(|| all(PlaceKind::Command, Syntax::Posix, Unlisted::Ambiguous));
static OPAQUE: LazyLock<Entry<'static>> = LazyLock::new(|| opaque("code"));
/// A program of which a file may say anything that cannot be understood.
static WITHHELD: LazyLock<Entry<'static>> = LazyLock::new(|| opaque(WITHHELD_LANGUAGE));
// What it loads belongs to its file, which is named.
static OF_PROJECT: LazyLock<Entry<'static>> = LazyLock::new(|| Entry { loads: Loads::Nothing, ..loose() });
/// A script of the project that has the name of a described program, which says what its options take.
static OF_SAME_NAME: LazyLock<Entry<'static>> =
    LazyLock::new(|| Entry { loads: Loads::Nothing, ..all(PlaceKind::Unknown, Syntax::Long, Unlisted::Loose) });
/// A program that the project builds. Where it was installed, and so what it loads, is not known.
static BUILT: LazyLock<Entry<'static>> = LazyLock::new(loose);
static UNKNOWN: LazyLock<Entry<'static>> = LazyLock::new(|| Entry { input: Input::Unknown, ..loose() });

impl Entry<'static> {
    /// The characters with which an option begins.
    pub(crate) fn signs(&self) -> &'static str {
        match (self.syntax, self.plus) {
            (Syntax::Expression, _) => "-()!,",
            (_, true) => "-+",
            (_, false) => "-",
        }
    }

    /// Whether a word may be the name of a subcommand. Where the program takes operands in its place, only one that is listed is.
    fn may_be_subcommand(&self, word: &Text) -> bool {
        let (begun, is_whole) = literal(word).map_or_else(|| (beginning(word), false), |word| (word, true));
        let is_listed = |name: &&str| match is_whole {
            true => *name == begun || name.contains('*') && fits(name, begun),
            false => begun.is_empty() || name.starts_with(begun) || name.contains('*'),
        };
        let is_any = self.operands.is_empty() && !self.subcommands.is_empty();
        is_any || self.otherwise.is_some() || self.subcommands.iter().any(|(names, _)| names.iter().any(is_listed))
    }

    fn subcommand(&self, name: &str) -> Option<Known> {
        let exact = self.subcommands.iter().find(|(names, _)| names.contains(&name));
        let is_like = |known: &&str| known.contains('*') && fits(known, name);
        let known = exact.or_else(|| self.subcommands.iter().find(|(names, _)| names.iter().any(is_like)));
        let known = known.map(|(_, number)| *number);
        table::entry(known.or(self.otherwise)?)
    }

    /// What does a subcommand whose name begins with this text, when no subcommand that is listed does, and all names are plain
    /// words: `yarn test:{PART}`.
    fn task(&self, beginning: &str) -> Option<Known> {
        let is_listed = |known: &&str| known.starts_with(beginning) || known.contains('*');
        if beginning.is_empty() || self.subcommands.iter().any(|(names, _)| names.iter().any(is_listed)) {
            return None;
        }
        let entry = table::entry(self.otherwise?)?;
        entry.operands.first().is_some_and(|operand| operand.place.kind == PlaceKind::Plain).then_some(entry)
    }

    /// Its options, and those it shares.
    fn lists(&'static self) -> impl Iterator<Item = &'static Options<'static>> {
        std::iter::once(&self.options).chain(self.also.iter().filter_map(|number| table::options(*number)))
    }
}

/// An option that an entry lists.
#[derive(Debug, Clone, Copy)]
struct Opt {
    name: &'static str,
    arguments: &'static [Place<'static>],
    takes: Takes,
}

impl Options<'static> {
    fn find(&'static self, name: &str) -> Option<Opt> {
        let at = self.named.binary_search_by(|(known, ..)| (*known).cmp(name)).ok()?;
        Some(self.option(at))
    }

    fn iter(&'static self) -> impl Iterator<Item = Opt> {
        (0..self.named.len()).map(|at| self.option(at))
    }

    fn option(&'static self, at: usize) -> Opt {
        let (name, takes, kind) = self.named[at];
        Opt { name, arguments: self.kinds.get(usize::from(kind)).map_or(&[], Vec::as_slice), takes }
    }
}

impl Writes {
    /// Whether what it is told or reads may stand in a file then.
    pub(crate) fn has_content(self) -> bool {
        matches!(self, Self::Named | Self::Anything)
    }
}

/// The program that an image always starts, whatever tag it has.
fn program_of_image(image: &str) -> Option<(Known, &'static str)> {
    let image = image.strip_prefix("docker.io/").unwrap_or(image);
    let (_, program) = file_names().images.iter().filter_map(|rule| rule.split_once('=')).find(|(name, _)| {
        image.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '@']))
    })?;
    Some((in_table(program)?.first().copied()?, program))
}

/// The program that a script of this name is, whatever runs it, and how it is called.
fn script(path: &str) -> Option<(Known, &str)> {
    if let Some(name) = path.strip_prefix("npm:") {
        let known = in_table(package(name).unwrap_or(name)).and_then(<[_]>::first);
        return Some((known.copied().unwrap_or(&UNKNOWN), name));
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    // What is installed is the program of its name; in the project, it may be any script.
    let known = table::named(&format!("{SCRIPT}{name}")).or_else(|| in_table(name).filter(|_| is_installed(path)))?;
    Some((known.first().copied()?, name))
}

/// Whether a path is one of where programs of the machine are, or those of a package that the project uses.
fn is_installed(path: &str) -> bool {
    const MACHINE: [&str; 8] = ["bin", "sbin", "lib", "usr", "opt", "nix", "snap", "gnu"];
    const PACKAGE: [&str; 4] = ["node_modules", "vendor", "venv", ".venv"];
    let of_machine = |path: &str| path.split('/').next().is_some_and(|first| MACHINE.contains(&first));
    path.strip_prefix('/').is_some_and(of_machine) || path.split('/').rev().skip(1).any(|part| PACKAGE.contains(&part))
}

/// What files are to the programs that read them, by their names.
pub(crate) fn file_names() -> &'static FileNames<'static> {
    &table::FILES
}

impl Entry<'_> {
    /// Whether names that are no paths say what is unpacked.
    pub(crate) fn unpacks_by_name(&self) -> bool {
        matches!(self.unpacks.into, UnpacksInto::Kept | UnpacksInto::FromKept | UnpacksInto::FromAnyKept)
    }
}

impl Condition {
    /// Whether it holds once these options were seen.
    pub(crate) fn holds(self, seen: u32) -> bool {
        (self.when == 0 || seen & self.when != 0) && seen & self.unless == 0
    }
}

impl Place<'static> {
    /// Whether it names a file or a directory.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self.kind, PlaceKind::Data("file" | "output" | "directory" | "recipe"))
    }

    /// Whether what the program is told or reads may stand in the file that this names.
    pub(crate) fn is_written(&self, entry: &Entry<'_>) -> bool {
        match self.kind {
            PlaceKind::Data("output") => true,
            PlaceKind::Data("file" | "prefix") => entry.writes.has_content(),
            _ => false,
        }
    }

    /// Whether what stands in the file that it names is run.
    pub(crate) fn runs_its_file(&self) -> bool {
        matches!(self.kind, PlaceKind::CodeIn(_) | PlaceKind::Program | PlaceKind::Data("recipe"))
    }

    /// What a word is here that begins with this text of the author's.
    pub(crate) fn behind(&'static self, text: &str) -> &'static Self {
        let begins = |known: &&str| match *known {
            known if known.contains('*') && !known.ends_with('=') => fits(&format!("{known}*"), text),
            known if known.contains('*') => {
                text.split_once('=').is_some_and(|(name, _)| fits(known.trim_end_matches('='), name))
            }
            known => text.get(..known.len()).is_some_and(|start| start.eq_ignore_ascii_case(known)),
        };
        if self.text_behind.iter().any(begins) { &TEXT_PLACE } else { self }
    }

    /// Whether this word in place of a command is a file that the program gives to an interpreter: `main.py` of `uv run`.
    fn is_script(&self, word: &Text) -> bool {
        let end = |end: &&str| literal(word).is_some_and(|word| word.ends_with(end.trim_start_matches('*')));
        self.text_behind.iter().any(end)
    }
}

/// Whether a name fits a pattern in which `*` is any text.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern.eq_ignore_ascii_case(name),
        Some((before, after)) => {
            name.get(..before.len()).is_some_and(|start| start.eq_ignore_ascii_case(before))
                && (before.len()..=name.len()).any(|at| name.get(at..).is_some_and(|rest| fits(after, rest)))
        }
    }
}

impl State {
    /// Whether nothing is known of the program.
    pub(crate) fn is_of_unknown_program(&self) -> bool {
        std::ptr::eq(self.entry(), &*UNKNOWN)
    }

    /// Whether the words are those of a program of the project.
    pub(crate) fn is_of_project(&self) -> bool {
        std::ptr::eq(self.entry(), &*OF_PROJECT)
    }
}

/// The beginning of every command in which the table says that the word behind it names a file which runs, or from which code is
/// loaded.
#[cfg(test)]
pub(crate) fn runners() -> Vec<String> {
    // What `declare` takes is a name whose subscript is evaluated.
    fn runs(place: &'static Place<'static>) -> bool {
        place.runs_its_file() && place.text_behind.is_empty() && place.kind != PlaceKind::CodeIn("name")
    }
    fn collect(entry: Known, words: &str, runners: &mut Vec<String>) {
        if let Some(Operand { place, unless: 0, .. }) = entry.operands.first()
            && entry.subcommands.is_empty()
            && entry.otherwise.is_none()
            && runs(place)
        {
            runners.push(words.to_owned());
        }
        for option in entry.lists().flat_map(Options::iter) {
            let is_next = option.takes == Takes::Next && option.name.starts_with('-');
            if is_next && option.arguments.first().is_some_and(runs) {
                runners.push(format!("{words} {}", option.name));
            }
        }
        for (names, number) in &entry.subcommands {
            if let (Some(entry), Some(name)) = (table::entry(*number), names.first().filter(|name| !name.contains('*')))
            {
                collect(entry, &format!("{words} {name}"), runners);
            }
        }
    }
    let mut runners = Vec::new();
    // A module is no command, `coproc` names a command, and `eval` and `trap` run the text of their words.
    for name in table::names().into_iter().filter(|name| {
        !name.starts_with("-m ") && !name.starts_with(SCRIPT) && !["coproc", "eval", "trap"].contains(&name.as_str())
    }) {
        for entry in table::named(&name).unwrap_or_default() {
            collect(entry, &name, &mut runners);
        }
    }
    runners
}
