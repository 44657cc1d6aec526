//! What a program does with its words. The build script compiles `programs/*.toml` into these types, and `table` reads them back.

use serde::{Deserialize, Serialize};

/// Where an entry, or a list of options, stands in the compiled table.
pub(crate) type Number = u32;

/// What one program, or one of its subcommands, does with its words.
#[derive(Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Entry<'a> {
    pub(crate) syntax: Syntax,
    /// GNU: a long option may be shortened as long as it is unique.
    pub(crate) abbreviates: bool,
    /// `+x` is an option, too.
    pub(crate) plus: bool,
    /// The first word is a cluster of options even without a `-`: `tar xzf`.
    pub(crate) first_cluster: bool,
    /// The word that ends the options, to be recommended; `--` does, too, unless it is empty.
    pub(crate) end: &'a str,
    pub(crate) unlisted: Unlisted,
    /// It may take the first `--` behind its operands away, and hand on the rest.
    pub(crate) drops_end: bool,
    /// Words that are no operand when they stand first: `eval` of `yq eval`.
    #[serde(borrow)]
    pub(crate) skips: Vec<&'a str>,
    /// What operands are, in order.
    #[serde(borrow)]
    pub(crate) operands: Vec<Operand<'a>>,
    /// What they are after `--`, where that differs.
    pub(crate) after_end: Option<Vec<Operand<'a>>>,
    /// What they are when an option was given, by number of the option in `watched`.
    pub(crate) when: Vec<(u8, Vec<Operand<'a>>)>,
    /// Options that decide about operands or input.
    pub(crate) watched: Vec<&'a str>,
    /// Options after whose argument no option is read any more, by bit of `watched`.
    pub(crate) last_options: u32,
    pub(crate) input: Input<'a>,
    /// What it runs that its words do not name.
    pub(crate) loads: Loads<'a>,
    /// Files and directories that are its own wherever they are, and from which it loads what it runs.
    #[serde(borrow)]
    pub(crate) own: Vec<&'a str>,
    /// The ends of the names of files from which it loads code that is named in other code: `.py`.
    #[serde(borrow)]
    pub(crate) modules: Vec<&'a str>,
    /// It may take settings from files of the user and of the machine.
    pub(crate) has_settings: bool,
    pub(crate) writes: Writes,
    /// Files that it writes under names of its own: `nohup.out`; `x*` are all that begin so.
    pub(crate) makes: Vec<&'a str>,
    /// When it prints what stands in files that its words need not name.
    pub(crate) searches: Option<Condition>,
    pub(crate) unpacks: Unpacks,
    /// An operand that is a path is a package, whose code runs.
    pub(crate) builds: bool,
    /// The files that its words name get what it reads, as it is.
    pub(crate) keeps_input: bool,
    /// The command that an option says reads what stands in the files that its words name.
    pub(crate) feeds: bool,
    /// It prints what these variables of its environment hold; `*` are all.
    #[serde(borrow)]
    pub(crate) prints_environment: Vec<&'a str>,
    /// When it runs again, it may print what it was told before.
    pub(crate) remembers: bool,
    /// It prints the words, or the environment, of other processes.
    pub(crate) shows_processes: bool,
    /// It prints names of files that its words need not say.
    pub(crate) lists: bool,
    /// It prints what it reads: its input, or the files that its last operands name.
    pub(crate) is_filter: bool,
    /// It, or one of its subcommands, hands text to a shell.
    pub(crate) runs_shell_code: bool,
    pub(crate) options: Options<'a>,
    /// Lists of further options that several entries share.
    pub(crate) also: Vec<Number>,
    /// Whether options of the program are understood behind its subcommands.
    pub(crate) inherits: bool,
    pub(crate) subcommands: Vec<(Vec<&'a str>, Number)>,
    /// What a subcommand does that is not among them.
    pub(crate) otherwise: Option<Number>,
    /// A subcommand that is not among them is a program whose name begins so; empty if there are no plugins.
    pub(crate) plugins: &'a str,
}

/// How a program tells options from operands.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Syntax {
    /// Options anywhere, clusters, `--name=value`.
    Gnu,
    /// The same, but the first operand ends the options.
    Posix,
    /// `-name value`, no clusters; anywhere.
    Long,
    /// The same, but the first operand ends the options.
    LongFirst,
    /// `find`: from the first word that begins with `-`, `(` or `!`, every word is part of an expression.
    Expression,
    /// No options at all.
    None,
    /// Not described, because it runs what it is given: whatever a value becomes here, it may be code.
    #[default]
    Opaque,
    /// Not described, because nobody has: some of its words may be code.
    Undescribed,
}

impl Syntax {
    /// Whether nothing tells the words apart.
    pub(crate) fn is_opaque(self) -> bool {
        matches!(self, Self::Opaque | Self::Undescribed)
    }
}

/// What to make of an option that no table lists.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Unlisted {
    /// Nothing behind it is proven.
    #[default]
    Strict,
    /// It takes no argument of its own.
    Flag,
    /// It takes a text.
    Text,
    /// Either: the next word is judged as its argument and as an operand.
    Ambiguous,
    /// As an operand of a program of which only the form of its words is known.
    Loose,
}

/// Options by name.
#[derive(Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Options<'a> {
    /// What the arguments of an option may be; none for a flag.
    #[serde(borrow)]
    pub(crate) kinds: Vec<Vec<Place<'a>>>,
    /// Each with the number of its kind, sorted by name.
    pub(crate) named: Vec<(&'a str, Takes, u8)>,
}

/// Where the argument of an option stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Takes {
    /// Attached, or in the next word.
    Next,
    /// Attached, or it is absent.
    Attached,
    /// A number, attached, or it is absent; more options may follow.
    Number,
    /// Attached, or in the next word, or it is absent.
    Either,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Operand<'a> {
    #[serde(borrow)]
    pub(crate) place: Place<'a>,
    /// It and all that follow.
    pub(crate) many: bool,
    /// Options, by bit of `watched`, that take its place.
    pub(crate) unless: u32,
}

/// What a word is to its program.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Place<'a> {
    #[serde(borrow)]
    pub(crate) kind: PlaceKind<'a>,
    /// Beginnings that mean something else to the program; `=x` is a beginning behind the first `=`.
    pub(crate) prefixes: Vec<&'a str>,
    /// Characters that mean something else to the program.
    pub(crate) without: &'a str,
    /// The same, behind text of the author's.
    pub(crate) without_behind: &'a str,
    /// Characters that mean something else to it at the end.
    pub(crate) without_at_end: &'a str,
    /// In which languages a value is code behind what the author writes before it: `query=` of `gh api`.
    pub(crate) code_behind: Vec<(&'a str, &'a str)>,
    /// What the author writes before a value that is only text then: `user.name=` of a setting; `*=` is any name.
    pub(crate) text_behind: Vec<&'a str>,
    /// An argument within a text of several, behind whose `name=` a value is only a word: `-X main.version=` for the linker of Go.
    pub(crate) word_behind: &'a str,
    /// In the code of the program, the name of a `name=value` behind this is the value, pasted as it is: `:id` of `psql -v id=1`.
    pub(crate) pasted: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum PlaceKind<'a> {
    /// Text, a file, a name: the noun says which.
    Data(&'a str),
    /// A word that must be plain: the name of a task, or what a recipe pastes.
    Plain,
    /// A format, in which `%` and `\` act.
    Format,
    /// An argument of a program of which nothing is known.
    Unknown,
    /// Code in this language.
    CodeIn(&'a str),
    /// A file or a program that runs.
    Program,
    /// Text that becomes several arguments.
    Arguments,
    /// `NAME=value` for the environment of a command.
    Environment,
    /// The name of a command, whose arguments follow.
    Command,
    /// The same, up to `;` or `+`.
    CommandUntil,
    /// The name of a module that runs as a command does: `python -m pytest`.
    Module,
    /// This word and all that follow are words of another program, whose name and subcommands are divided by `/`.
    As(&'a str),
}

/// What a program does with its standard input.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Input<'a> {
    /// It reads text, or nothing.
    #[default]
    Text,
    /// It reads text in which these characters mean something: the end of a line, where each line is a record.
    TextWithout(&'a str),
    /// It reads a message, whose head ends with an empty line.
    Message,
    /// It hands it on to a program elsewhere, which reads it by lines.
    Dialog,
    /// It reads a YAML document.
    Yaml,
    /// It runs it, unless it was given an operand (`-` does not count) or one of the options of `unless`; with one of
    /// those of `always` even then. A pager reads its commands there only when it was given an operand.
    Code { language: &'a str, unless_operand: bool, with_operand: bool, unless: u32, always: u32 },
    /// Its words become arguments.
    Arguments,
    /// Nobody knows.
    Unknown,
}

/// What a program runs, or loads code from, that neither its words nor its input name.
#[derive(Debug, Default, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Loads<'a> {
    /// Nobody has looked: it may run any file of the directory that it works in.
    #[default]
    Unknown,
    /// Nothing of the directory that it works in.
    Nothing,
    /// Modules of the directory that it works in, before those that are installed: `json.py` of `import json`.
    Modules,
    /// What these files of the directory say.
    #[serde(borrow)]
    Files(Vec<&'a str>),
}

/// Which files a program writes with what it is told or reads.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Writes {
    /// Those that its words name, as far as anybody has looked.
    #[default]
    Named,
    /// None: what it writes is not of its words or its input.
    Nothing,
    /// None, but files or directories that its words name may be there then: `mkdir`, `git checkout -b`.
    Empty,
    /// Those that its input names, or another file.
    Anything,
}

/// Whether a program makes files whose content, or name, comes from somewhere that its words name.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Unpacks {
    pub(crate) into: Into,
    pub(crate) with: Condition,
}

/// Something is so with one of these options, if there are any, and with none of the others; by bit of `Entry::watched`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Condition {
    pub(crate) when: u32,
    pub(crate) unless: u32,
}

/// Where such files are, if no word is a directory for them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Into {
    #[default]
    Nothing,
    /// In the directory that it works in.
    Here,
    /// In a new one there.
    Below,
    /// In the one that its last operand names.
    Last,
    /// Where it works, each by the last part of its address.
    Named,
    /// Nowhere yet: it is kept under the names that its words say, from which something else takes it.
    Kept,
    /// In the directory that it works in, from what was kept under the names that its words say.
    FromKept,
    /// The same; without a name, from any of it.
    FromAnyKept,
    /// Beside the file that it is made of, by the name of that without its end.
    Beside,
}

/// What files are to the programs that read them, by the ends of their names, or by whole names.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct FileNames<'a> {
    #[serde(borrow)]
    pub(crate) yaml: Vec<&'a str>,
    pub(crate) commas: Vec<&'a str>,
    pub(crate) tabs: Vec<&'a str>,
    pub(crate) markup: Vec<&'a str>,
    pub(crate) settings: Vec<&'a str>,
    /// No program's settings, and no code.
    pub(crate) inert: Vec<&'a str>,
    /// The ends of names of documents in a form of their own.
    pub(crate) documents: Vec<&'a str>,
    /// Code of a language whose programs name each other's files.
    pub(crate) code: Vec<&'a str>,
    /// Data for every program that looks for code in their directory.
    pub(crate) data: Vec<&'a str>,
    /// A program that unpacks or decrypts them leaves this end out.
    pub(crate) packed: Vec<&'a str>,
    /// Variables that name a file of settings, which a service reads behind each step of a job.
    pub(crate) of_jobs: Vec<&'a str>,
    /// Names of files that a shell runs without being told to.
    pub(crate) of_shells: Vec<&'a str>,
    /// Names of directories in which it runs each file.
    pub(crate) below_shells: Vec<&'a str>,
    /// Files that programs run when they start: each with `=` and the program.
    pub(crate) of_programs: Vec<&'a str>,
    /// Images that always start one program: each with `=` and its name.
    pub(crate) images: Vec<&'a str>,
    /// Names of directories whose files say what a program runs, or lets users run: each with `=` and that.
    pub(crate) below_rules: Vec<&'a str>,
    #[serde(borrow)]
    pub(crate) rules: Vec<&'a str>,
}

impl<'a> Place<'a> {
    pub(crate) const fn new(kind: PlaceKind<'a>) -> Self {
        Self {
            kind,
            prefixes: Vec::new(),
            without: "",
            without_behind: "",
            without_at_end: "",
            code_behind: Vec::new(),
            text_behind: Vec::new(),
            word_behind: "",
            pasted: "",
        }
    }
}
