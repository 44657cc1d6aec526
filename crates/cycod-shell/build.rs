//! Compiles what is known about programs, `programs/*.toml`, into one table that the crate carries.
//!
//! `programs/README.md` describes the format of the files. Whatever is not understood in them is an error that names the file and
//! the program.

#[path = "src/programs/entry.rs"]
mod entry;

use std::{
    collections::{BTreeMap, HashMap},
    env, fs,
    path::Path,
    process::ExitCode,
};

use entry::{
    Condition, Entry, FileNames, Input, Into, Loads, Number, Operand, Options, Place, PlaceKind, Syntax, Takes,
    Unlisted, Unpacks, Writes,
};
use serde::Serialize;
use toml_edit::{DocumentMut, Item, Table, TableLike};

/// Nouns for what is plain data to a program.
const NOUNS: [&str; 23] = [
    "text",
    "file",
    "output",
    "image",
    "prefix",
    "directory",
    "name",
    "url",
    "host",
    "ref",
    "number",
    "json",
    "variable",
    "pattern",
    "recipe",
    "time",
    "size",
    "date",
    "form",
    "key",
    "address",
    "user",
    "list",
];

/// Which word names the file that a program makes, where no option does.
const COPIES: [&str; 2] = ["last", "all"];

/// What the names of variables stand for in the table: programs run what they say, or it is data although a pattern fits the name.
const IS_RUN: u64 = 0;
const IS_DATA: u64 = 1;

type Error = Box<dyn std::error::Error>;

#[expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "this is how a build script is told where, and how it tells what is wrong"
)]
fn main() -> Result<ExitCode, Error> {
    println!("cargo::rerun-if-changed=programs");
    let directory = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("programs");
    let mut files: Vec<_> =
        fs::read_dir(&directory)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let mut compiler = Compiler::default();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match fs::read_to_string(&path)?.parse::<DocumentMut>() {
            Ok(document) => compiler.file(&name, document.as_table()),
            Err(error) => compiler.problems.push(format!("{name}: {error}")),
        }
    }
    if !compiler.problems.is_empty() {
        eprintln!("{}", compiler.problems.join("\n"));
        return Ok(ExitCode::FAILURE);
    }
    compiler.write(Path::new(&env::var("OUT_DIR")?))?;
    Ok(ExitCode::SUCCESS)
}

/// Texts live as long as the script does.
fn kept(text: &str) -> &'static str {
    text.to_owned().leak()
}

#[derive(Default)]
struct Compiler {
    problems: Vec<String>,
    /// Everything that has a number, which is where it begins.
    table: Vec<u8>,
    /// Numbers of what is in the table: many subcommands are one another's equals.
    numbers: HashMap<Vec<u8>, Number>,
    /// By name: the options that entries of the program that is being compiled share.
    shared: BTreeMap<String, (Number, Vec<&'static str>)>,
    /// Entries that hand text to a shell.
    shells: Vec<Number>,
    names: BTreeMap<String, Vec<Number>>,
    /// What counts for a name that nothing else describes.
    fallback: Vec<(String, Number)>,
    variables: Vec<String>,
    data: Vec<String>,
    /// Programs that put files at other names, and how their words say so.
    copying: BTreeMap<String, Vec<String>>,
    files: FileNames<'static>,
    /// What counts for the programs of a file, or the subcommands of a program, unless they say otherwise.
    inherited: Inherited,
    place: String,
}

/// What a table leaves to the table around it if it says nothing.
#[derive(Clone)]
struct Inherited {
    loads: Loads<'static>,
    writes: Writes,
    own: Vec<&'static str>,
    modules: Vec<&'static str>,
    has_settings: bool,
    remembers: bool,
    lists: bool,
    /// What it reads is text to it, or it reads nothing.
    reads_text: bool,
}

impl Default for Inherited {
    fn default() -> Self {
        let (own, modules) = (Vec::new(), Vec::new());
        Self {
            loads: Loads::Unknown,
            writes: Writes::Named,
            own,
            modules,
            has_settings: true,
            remembers: true,
            lists: false,
            reads_text: false,
        }
    }
}

impl Compiler {
    /// Writes `programs.table`, and `programs.names`, which finds in it the numbers of the entries of a name.
    fn write(mut self, out: &Path) -> Result<(), Error> {
        for (name, number) in std::mem::take(&mut self.fallback) {
            self.names.entry(name).or_insert_with(|| vec![number]);
        }
        let mut numbers = BTreeMap::new();
        for (name, entries) in std::mem::take(&mut self.names) {
            numbers.insert(name, u64::from(self.add(&entries)?));
        }
        let (patterns, variables): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.variables).into_iter().partition(|name| name.contains('*'));
        let (data_patterns, data): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.data).into_iter().partition(|name| name.contains('*'));
        // No program has such names.
        numbers.insert(String::new(), u64::from(self.add(&(data_patterns, patterns))?));
        let copying: Vec<_> = std::mem::take(&mut self.copying).into_iter().collect();
        numbers.insert(" copying".to_owned(), u64::from(self.add(&copying)?));
        let files = std::mem::take(&mut self.files);
        numbers.insert(" files".to_owned(), u64::from(self.add(&files)?));
        let named = |names: Vec<String>, number| names.into_iter().map(move |name| (format!("${name}"), number));
        numbers.extend(named(data, IS_DATA));
        numbers.extend(named(variables, IS_RUN));
        fs::write(out.join("programs.table"), &self.table)?;
        fs::write(out.join("programs.names"), fst::Map::from_iter(numbers)?.as_fst().as_bytes())?;
        Ok(())
    }

    fn add(&mut self, value: &impl Serialize) -> Result<Number, Error> {
        let bytes = postcard::to_allocvec(value)?;
        if let Some(number) = self.numbers.get(&bytes) {
            return Ok(*number);
        }
        let number = Number::try_from(self.table.len())?;
        self.table.extend(&bytes);
        self.numbers.insert(bytes, number);
        Ok(number)
    }

    fn add_or_complain(&mut self, value: &impl Serialize) -> Number {
        self.add(value).unwrap_or_else(|error| {
            self.problem(error);
            0
        })
    }

    fn problem(&mut self, what: impl std::fmt::Display) {
        self.problems.push(format!("{}: {what}", self.place));
    }

    fn file(&mut self, file: &str, table: &Table) {
        self.place = file.to_owned();
        self.inherited = Inherited::default();
        self.inherited = self.inherit(table);
        if let Some(variables) = table.get("variables") {
            let words = self.words(variables);
            self.variables.extend(words);
            if let Some(data) = table.get("data") {
                let words = self.words(data);
                self.data.extend(words);
            }
        }
        match table.get("program") {
            Some(Item::ArrayOfTables(programs)) => {
                for program in programs {
                    self.program(file, program);
                }
            }
            _ if table.contains_key("names") => self.program(file, table),
            _ if table.contains_key("variables") => {}
            _ if let Some(files) = table.get("files").and_then(Item::as_table) => self.file_names(files),
            _ => self.problem("neither `names` nor `[[program]]`"),
        }
    }

    /// What the names of files say.
    fn file_names(&mut self, table: &Table) {
        for (key, item) in table {
            let words: Vec<&'static str> = self.words(item).iter().map(|word| kept(word)).collect();
            let names = &mut self.files;
            let list = match key {
                "yaml" => &mut names.yaml,
                "commas" => &mut names.commas,
                "tabs" => &mut names.tabs,
                "markup" => &mut names.markup,
                "settings" => &mut names.settings,
                "inert" => &mut names.inert,
                "code" => &mut names.code,
                "data" => &mut names.data,
                "packed" => &mut names.packed,
                "of-jobs" => &mut names.of_jobs,
                "of-shells" => &mut names.of_shells,
                "documents" => &mut names.documents,
                "below-shells" => &mut names.below_shells,
                "of-programs" => &mut names.of_programs,
                "below-rules" => &mut names.below_rules,
                "rules" => &mut names.rules,
                "images" => &mut names.images,
                other => {
                    self.problem(format!("`files` has no `{other}`"));
                    continue;
                }
            };
            list.extend(words);
        }
    }

    fn program(&mut self, file: &str, table: &Table) {
        let names = table.get("names").map(|names| self.words(names)).unwrap_or_default();
        self.place = format!("{file}, {}", names.first().map_or("a program", String::as_str));
        if names.is_empty() {
            self.problem("`names` is missing");
        }
        if table.get("source").and_then(Item::as_str).is_none_or(str::is_empty) {
            self.problem("`source` is missing: the manual and the version that were read");
        }
        self.shared.clear();
        if let Some(item) = table.get("copies") {
            let words = self.words(item);
            if let Some(word) = words
                .iter()
                .find(|word| !(word.starts_with('-') || word.ends_with('=') || COPIES.contains(&word.as_str())))
            {
                self.problem(format!("`copies` does not know `{word}`"));
            }
            self.copying.extend(names.iter().map(|name| (name.clone(), words.clone())));
        }
        let number = self.entry(table, None);
        if self.flag(table, "fallback", false) {
            self.fallback.extend(names.into_iter().map(|name| (name, number)));
            return;
        }
        for name in names {
            self.names.entry(name).or_default().push(number);
        }
    }

    /// A list of words: an array, or a text with blanks.
    fn words(&mut self, item: &Item) -> Vec<String> {
        if let Some(text) = item.as_str() {
            return text.split_whitespace().map(str::to_owned).collect();
        }
        let words = item
            .as_array()
            .map(|array| array.iter().map(|value| value.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>());
        match words {
            Some(Some(words)) => words,
            _ => {
                self.problem(format!("a text or a list of texts is wanted, not {}", item.type_name()));
                Vec::new()
            }
        }
    }

    fn text<'t>(&mut self, table: &'t dyn TableLike, key: &str) -> Option<&'t str> {
        let item = table.get(key)?;
        let text = item.as_str();
        if text.is_none() {
            self.problem(format!("`{key}` is not a text"));
        }
        text
    }

    fn flag(&mut self, table: &dyn TableLike, key: &str, default: bool) -> bool {
        match table.get(key).map(|item| item.as_bool()) {
            None => default,
            Some(Some(value)) => value,
            Some(None) => {
                self.problem(format!("`{key}` is not true or false"));
                default
            }
        }
    }

    /// What a table says, and what the table around it says otherwise.
    fn inherit(&mut self, table: &dyn TableLike) -> Inherited {
        let above = self.inherited.clone();
        Inherited {
            loads: self.loads(table),
            writes: self.writes(table),
            own: self.list(table, "own").unwrap_or(above.own),
            modules: self.list(table, "modules").unwrap_or(above.modules),
            has_settings: self.flag(table, "settings", above.has_settings),
            remembers: self.flag(table, "remembers", above.remembers),
            lists: self.flag(table, "lists", above.lists),
            reads_text: above.reads_text || table.get("stdin").and_then(Item::as_str) == Some("text"),
        }
    }

    fn list(&mut self, table: &dyn TableLike, key: &str) -> Option<Vec<&'static str>> {
        let words = self.words(table.get(key)?);
        Some(words.iter().map(|name| kept(name)).collect())
    }

    /// What a table says about what runs beside what words name; what it does not say, the table around it does.
    fn loads(&mut self, table: &dyn TableLike) -> Loads<'static> {
        match self.text(table, "loads") {
            None => self.inherited.loads.clone(),
            Some("nothing") => Loads::Nothing,
            Some("modules") => Loads::Modules,
            Some("unknown") => Loads::Unknown,
            Some(files) => Loads::Files(files.split_whitespace().map(kept).collect()),
        }
    }

    /// What a table says about the files that are written; what it does not say, the table around it does.
    fn writes(&mut self, table: &dyn TableLike) -> Writes {
        match self.text(table, "writes") {
            None => self.inherited.writes,
            Some("nothing") => Writes::Nothing,
            Some("empty") => Writes::Empty,
            Some("named") => Writes::Named,
            Some("anything") => Writes::Anything,
            Some(other) => {
                self.problem(format!("`writes` is {other:?}, not nothing, empty, named or anything"));
                Writes::Named
            }
        }
    }

    /// Compiles one entry and what is below it; returns its number. What it does not say, `above` does.
    fn entry(&mut self, table: &dyn TableLike, above: Option<&str>) -> Number {
        const KEYS: [&str; 42] = [
            "names",
            "source",
            "aliases",
            "shared",
            "also",
            "syntax",
            "abbreviate",
            "plus",
            "first-cluster",
            "end",
            "unlisted",
            "operands",
            "after-end",
            "when",
            "stdin",
            "loads",
            "writes",
            "makes",
            "searches",
            "unpacks",
            "own",
            "modules",
            "settings",
            "prints-environment",
            "remembers",
            "shows-processes",
            "lists",
            "builds",
            "keeps-input",
            "feeds",
            "filter",
            "inherit",
            "drops-end",
            "copies",
            "skips",
            "last-options",
            "options",
            "sub",
            "default",
            "note",
            "fallback",
            "plugins",
        ];
        for (key, _) in table.iter() {
            if !KEYS.contains(&key) {
                self.problem(format!("`{key}` is not a key of a program"));
            }
        }
        let syntax_name = self.text(table, "syntax").or(above).unwrap_or("").to_owned();
        let syntax = match syntax_name.as_str() {
            "gnu" => Syntax::Gnu,
            "posix" => Syntax::Posix,
            "long" => Syntax::Long,
            "long-first" => Syntax::LongFirst,
            "expression" => Syntax::Expression,
            "none" => Syntax::None,
            "opaque" => Syntax::Opaque,
            "undescribed" => Syntax::Undescribed,
            other => {
                self.problem(format!(
                    "`syntax` is {other:?}, not gnu, posix, long, long-first, expression, none, opaque or undescribed"
                ));
                Syntax::Opaque
            }
        };
        let unlisted = match self.text(table, "unlisted").unwrap_or("strict") {
            "strict" => Unlisted::Strict,
            "flag" => Unlisted::Flag,
            "text" => Unlisted::Text,
            "ambiguous" => Unlisted::Ambiguous,
            other => {
                self.problem(format!("`unlisted` is {other:?}, not strict, flag, text or ambiguous"));
                Unlisted::Strict
            }
        };
        let options = self.options(table.get("options"));
        let mut runs_shell_code = runs_shell(options.kinds.iter().flatten());
        let mut known: Vec<&str> = options.named.iter().map(|(name, ..)| *name).collect();
        if let Some(groups) = table.get("shared").and_then(Item::as_table_like) {
            for (name, item) in groups.iter() {
                let options = self.options(Some(item));
                let number = self.add_or_complain(&options);
                if runs_shell(options.kinds.iter().flatten()) {
                    self.shells.push(number);
                }
                self.shared.insert(name.to_owned(), (number, options.named.iter().map(|(name, ..)| *name).collect()));
            }
        }
        let mut also = Vec::new();
        for name in table.get("also").map(|item| self.words(item)).unwrap_or_default() {
            match self.shared.get(&name) {
                Some((number, names)) => {
                    also.push(*number);
                    known.extend(names);
                }
                None => self.problem(format!("`{name}` is not among the shared options of the program")),
            }
        }
        let mut watched = Vec::new();
        let operands = self.operands(table.get("operands"), &mut watched, &known);
        let after_end = table.get("after-end").map(|item| self.operands(Some(item), &mut watched, &known));
        let when = self.when(table, &mut watched, &known);
        let last = table.get("last-options").map(|item| self.words(item)).unwrap_or_default();
        let last_options = self.bits(&last, &mut watched, &known);
        let input = self.input(table, syntax, &mut watched, &known);
        let unpacks = table.get("unpacks").map(|item| self.words(item)).unwrap_or_default();
        let unpacks = self.unpacks(&unpacks, &mut watched, &known);
        let searches = table.get("searches").map(|item| self.words(item));
        let searches = searches.map(|options| self.condition(&options, &mut watched, &known));
        let abbreviates = self.flag(table, "abbreviate", syntax == Syntax::Gnu);
        let (plus, first_cluster, inherits) = (
            self.flag(table, "plus", false),
            self.flag(table, "first-cluster", false),
            self.flag(table, "inherit", false),
        );
        let is_filter = self.flag(table, "filter", false);
        let builds = self.flag(table, "builds", false);
        let keeps_input = self.flag(table, "keeps-input", false);
        let feeds = self.flag(table, "feeds", false);
        let skips = self.list(table, "skips").unwrap_or_default();
        let makes = self.list(table, "makes").unwrap_or_default();
        let drops_end = self.flag(table, "drops-end", false);
        let mut inherited = self.inherit(table);
        if syntax.is_opaque() && table.get("loads").is_none() {
            // What is not described may do anything, whatever its neighbours do.
            inherited.loads = Loads::Unknown;
        }
        let inherited_above = std::mem::replace(&mut self.inherited, inherited.clone());
        let prints_environment = self.list(table, "prints-environment").unwrap_or_default();
        let shows_processes = self.flag(table, "shows-processes", false);
        let end = match table.get("end") {
            None if matches!(syntax, Syntax::Gnu | Syntax::Posix) => "--",
            None => "",
            Some(_) => kept(self.text(table, "end").unwrap_or_default()),
        };
        let place = self.place.clone();
        let mut subcommands = Vec::new();
        if let Some(subs) = table.get("sub").and_then(Item::as_table_like) {
            for (name, item) in subs.iter() {
                self.place = format!("{place} {name}");
                let Some(sub) = item.as_table_like() else {
                    self.problem("a subcommand is a table");
                    continue;
                };
                let mut names = vec![kept(name)];
                if let Some(aliases) = sub.get("aliases") {
                    names.extend(self.words(aliases).iter().map(|name| kept(name)));
                }
                subcommands.push((names, self.entry(sub, Some(&syntax_name))));
            }
        }
        self.place = format!("{place}, default");
        // Any other command may be a shell of the program's own.
        self.inherited.reads_text = false;
        let otherwise =
            table.get("default").and_then(Item::as_table_like).map(|item| self.entry(item, Some(&syntax_name)));
        self.place = place;
        self.inherited = inherited_above;
        let all =
            operands.iter().chain(after_end.iter().flatten()).chain(when.iter().flat_map(|(_, operands)| operands));
        runs_shell_code |= runs_shell(all.map(|operand| &operand.place));
        runs_shell_code |= matches!(input, Input::Code { language, .. } if is_shell(language));
        runs_shell_code |= subcommands
            .iter()
            .map(|(_, number)| number)
            .chain(&otherwise)
            .chain(&also)
            .any(|number| self.shells.contains(number));
        let entry = Entry {
            syntax,
            abbreviates,
            plus,
            first_cluster,
            end,
            unlisted,
            drops_end,
            skips,
            operands,
            after_end,
            when,
            watched,
            last_options,
            input,
            loads: inherited.loads,
            own: inherited.own,
            modules: inherited.modules,
            has_settings: inherited.has_settings,
            writes: inherited.writes,
            makes,
            searches,
            unpacks,
            builds,
            keeps_input,
            feeds,
            prints_environment,
            shows_processes,
            remembers: inherited.remembers,
            lists: inherited.lists,
            is_filter,
            runs_shell_code,
            options,
            also,
            inherits,
            subcommands,
            otherwise,
            plugins: self.text(table, "plugins").map_or("", kept),
        };
        let number = self.add_or_complain(&entry);
        if runs_shell_code {
            self.shells.push(number);
        }
        number
    }

    fn options(&mut self, item: Option<&Item>) -> Options<'static> {
        let Some(item) = item else { return Options::default() };
        let Some(by_kind) = item.as_table_like() else {
            self.problem("`options` is a table of kinds");
            return Options::default();
        };
        let mut kinds: Vec<Vec<Place<'static>>> = Vec::new();
        let mut named = BTreeMap::new();
        for (names, item) in by_kind.iter() {
            let places: Vec<_> = match names {
                "flag" => Vec::new(),
                names => names.split(' ').map(|kind| self.place_of(kind)).collect(),
            };
            for word in self.words(item) {
                // `-?` is an option, too, and so is `-`.
                let name = word.trim_end_matches("?#").trim_end_matches('?');
                let name = if name == "-" && word != "-" { "-?" } else { name };
                let (takes, marks) = match word.len() - name.len() {
                    0 => (Takes::Next, ""),
                    1 => (Takes::Attached, "?"),
                    _ if word.ends_with('#') => (Takes::Number, "?#"),
                    _ => (Takes::Either, "??"),
                };
                if word != format!("{name}{marks}")
                    || !(name.starts_with(['-', '+']) || matches!(name, "(" | ")" | "!" | ","))
                {
                    self.problem(format!("`{word}` is no option"));
                }
                // An argument that is only ever attached, of a flag: text.
                let is_text = takes != Takes::Next && places.is_empty();
                let arguments = if is_text { vec![Place::new(PlaceKind::Data("text"))] } else { places.clone() };
                let kind = kinds.iter().position(|known| *known == arguments).unwrap_or_else(|| {
                    kinds.push(arguments);
                    kinds.len() - 1
                });
                let kind = u8::try_from(kind).unwrap_or_else(|_| {
                    self.problem("options of more than 256 kinds");
                    0
                });
                if named.insert(kept(name), (takes, kind)).is_some() {
                    self.problem(format!("option `{name}` is listed twice"));
                }
            }
        }
        Options { kinds, named: named.into_iter().map(|(name, (takes, kind))| (name, takes, kind)).collect() }
    }

    fn place_of(&mut self, kind: &str) -> Place<'static> {
        let (kind, word_behind) = kind.split_once('@').filter(|(kind, _)| *kind == "arguments").unwrap_or((kind, ""));
        let mut parts = kind.split('^');
        let kind = parts.next().unwrap_or_default();
        let text_behind = parts.map(kept).collect();
        let (kind, without) = kind.split_once('~').unwrap_or((kind, ""));
        let without = if without.contains(r"\c") { kept(&without.replace(r"\c", &controls())) } else { without };
        let (mut without_behind, mut without_at_end, mut code_behind) = ("", "", Vec::new());
        let mut pasted = "";
        let (kind, rest) = kind.split_once('{').unwrap_or((kind, ""));
        let (about, prefixes) = rest.split_once('}').unwrap_or(("", rest));
        for about in about.split(';').filter(|about| !about.is_empty()) {
            match about.split_once('=') {
                Some(("behind", characters)) => {
                    // A blank divides kinds, and a `;` what is said here.
                    without_behind =
                        kept(&characters.replace("\\s", " \t\r\n").replace("\\d", ";").replace("\\b", "{}"));
                }
                Some(("end", characters)) => without_at_end = characters,
                Some(("pasted", mark)) => pasted = mark,
                Some((language, beginning)) if language.starts_with("code:") => {
                    code_behind.push((kept(&language["code:".len()..]), kept(beginning)));
                }
                _ => self.problem(format!("`{about}` says nothing about an argument")),
            }
        }
        let kind = format!("{kind}{prefixes}");
        let mut parts = kind.split('!');
        let kind = parts.next().unwrap_or_default();
        let prefixes = parts.map(kept).collect();
        let kind = match kind {
            "plain" => PlaceKind::Plain,
            "format" => PlaceKind::Format,
            "unknown" => PlaceKind::Unknown,
            "program" => PlaceKind::Program,
            "arguments" => PlaceKind::Arguments,
            "environment" => PlaceKind::Environment,
            "command" => PlaceKind::Command,
            "command;" => PlaceKind::CommandUntil,
            "module" => PlaceKind::Module,
            noun if NOUNS.contains(&noun) => PlaceKind::Data(kept(noun)),
            other if other.starts_with("as:") => PlaceKind::As(kept(&other[3..])),
            other => match other.strip_prefix("code:").filter(|language| !language.is_empty()) {
                Some(language) => PlaceKind::CodeIn(kept(language)),
                None => {
                    self.problem(format!("`{other}` is no kind of argument"));
                    PlaceKind::Unknown
                }
            },
        };
        Place {
            kind,
            prefixes,
            without: kept(without),
            without_behind: kept(without_behind),
            without_at_end: kept(without_at_end),
            code_behind,
            text_behind,
            word_behind: kept(word_behind),
            pasted: kept(pasted),
        }
    }

    fn operands(
        &mut self,
        item: Option<&Item>,
        watched: &mut Vec<&'static str>,
        known: &[&'static str],
    ) -> Vec<Operand<'static>> {
        let Some(item) = item else { return Vec::new() };
        let Some(array) = item.as_array() else {
            self.problem("operands are a list of texts");
            return Vec::new();
        };
        array.iter().filter_map(|value| value.as_str()).map(|text| self.operand(text, watched, known)).collect()
    }

    fn operand(&mut self, text: &str, watched: &mut Vec<&'static str>, known: &[&'static str]) -> Operand<'static> {
        let (kind, unless) = match text.split_once(" unless ") {
            Some((kind, options)) => {
                let options: Vec<String> = options.split_whitespace().map(str::to_owned).collect();
                (kind, self.bits(&options, watched, known))
            }
            None => (text, 0),
        };
        let (kind, many) = kind.strip_suffix('*').map_or((kind, false), |kind| (kind, true));
        Operand { place: self.place_of(kind), many, unless }
    }

    /// The bits of some options, which are watched from now on.
    fn bits(&mut self, options: &[String], watched: &mut Vec<&'static str>, known: &[&'static str]) -> u32 {
        let mut bits = 0;
        for option in options {
            let Some(name) = known.iter().find(|name| *name == option) else {
                self.problem(format!("`{option}` is not among its options"));
                continue;
            };
            let at = watched.iter().position(|known| known == name).unwrap_or_else(|| {
                watched.push(name);
                watched.len() - 1
            });
            if at >= 32 {
                self.problem("more than 32 options decide about operands");
                continue;
            }
            bits |= 1 << at;
        }
        bits
    }

    /// Where a program unpacks something, and with which options: `last -r !-n`.
    fn unpacks(&mut self, words: &[String], watched: &mut Vec<&'static str>, known: &[&'static str]) -> Unpacks {
        let Some((into, options)) = words.split_first() else { return Unpacks::default() };
        let into = match into.as_str() {
            "here" => Into::Here,
            "below" => Into::Below,
            "last" => Into::Last,
            "named" => Into::Named,
            "kept" => Into::Kept,
            "from-kept" => Into::FromKept,
            "from-any-kept" => Into::FromAnyKept,
            "beside" => Into::Beside,
            other => {
                self.problem(format!(
                    "`unpacks` is {other:?}, not here, below, last, named, beside, kept, from-kept or from-any-kept"
                ));
                Into::Nothing
            }
        };
        Unpacks { into, with: self.condition(options, watched, known) }
    }

    /// With which options something is so, and, behind `!`, with which it isn't.
    fn condition(&mut self, options: &[String], watched: &mut Vec<&'static str>, known: &[&'static str]) -> Condition {
        let (unless, when): (Vec<String>, Vec<String>) =
            options.iter().cloned().partition(|option| option.starts_with('!'));
        let unless: Vec<String> = unless.iter().map(|option| option[1..].to_owned()).collect();
        Condition { when: self.bits(&when, watched, known), unless: self.bits(&unless, watched, known) }
    }

    fn when(
        &mut self,
        table: &dyn TableLike,
        watched: &mut Vec<&'static str>,
        known: &[&'static str],
    ) -> Vec<(u8, Vec<Operand<'static>>)> {
        let Some(item) = table.get("when") else { return Vec::new() };
        let Some(cases) = item.as_table_like() else {
            self.problem("`when` is a table of options");
            return Vec::new();
        };
        let mut when = Vec::new();
        for (options, item) in cases.iter() {
            for option in options.split_whitespace() {
                let bit = self.bits(&[option.to_owned()], watched, known).trailing_zeros();
                when.push((u8::try_from(bit).unwrap_or(0), self.operands(Some(item), watched, known)));
            }
        }
        when
    }

    fn input(
        &mut self,
        table: &dyn TableLike,
        syntax: Syntax,
        watched: &mut Vec<&'static str>,
        known: &[&'static str],
    ) -> Input<'static> {
        let text = match table.get("stdin") {
            None if syntax == Syntax::Undescribed => "code:undescribed".to_owned(),
            None if syntax == Syntax::Opaque => "code:code".to_owned(),
            None if self.inherited.reads_text => "text".to_owned(),
            None => "unknown".to_owned(),
            Some(_) => self.text(table, "stdin").unwrap_or("text").to_owned(),
        };
        let mut words = text.split_whitespace();
        let kind = words.next().unwrap_or_default();
        let language = match kind {
            "text" => return Input::Text,
            "lines" => return Input::TextWithout("\n\r"),
            "message" => return Input::Message,
            "dialog" => return Input::Dialog,
            "yaml" => return Input::Yaml,
            "arguments" => return Input::Arguments,
            "unknown" => return Input::Unknown,
            _ if let Some(characters) = kind.strip_prefix("text~") => return Input::TextWithout(kept(characters)),
            _ => kind.strip_prefix("code:").unwrap_or_else(|| {
                self.problem(format!(
                    "`stdin` is {kind:?}, not text, lines, message, yaml, arguments, unknown or code:LANGUAGE"
                ));
                "code"
            }),
        };
        let (mut unless_operand, mut with_operand, mut mode) = (false, false, "");
        let (mut unless, mut always) = (Vec::new(), Vec::new());
        for word in words {
            match (word, mode) {
                ("only", _) => {
                    mode = "always";
                    (unless_operand, with_operand) = (true, true);
                }
                ("unless" | "always" | "with", _) => mode = word,
                ("operand", "unless") => unless_operand = true,
                ("operand", "with") => with_operand = true,
                (option, "unless") => unless.push(option.to_owned()),
                (option, "always") => always.push(option.to_owned()),
                (other, _) => self.problem(format!("`stdin` does not know `{other}`")),
            }
        }
        let (unless, always) = (self.bits(&unless, watched, known), self.bits(&always, watched, known));
        Input::Code { language: kept(language), unless_operand, with_operand, unless, always }
    }
}

fn runs_shell<'p>(places: impl IntoIterator<Item = &'p Place<'static>>) -> bool {
    places.into_iter().any(|place| matches!(place.kind, PlaceKind::CodeIn(language) if is_shell(language)))
}

fn is_shell(language: &str) -> bool {
    language.starts_with("sh")
}

/// All control characters of ASCII, that of `\0` aside, which is in no argument.
fn controls() -> String {
    ('\u{1}'..='\u{7f}').filter(char::is_ascii_control).collect()
}
