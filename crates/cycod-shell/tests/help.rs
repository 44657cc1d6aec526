//! The tables of programs against the programs themselves: what `--help` tells must be in them, with the right arity.
//!
//! An option that takes an argument in the program and none in the table would let a value be read as something else, so that
//! few of those are let pass. Versions differ from machine to machine: every difference is printed, and a share of them is no
//! failure.

#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the test asks the programs of the machine themselves, and tells what differs"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::{env, fs};

use toml_edit::{DocumentMut, Item, TableLike};

/// Programs that answer `--help` with a list of their options and do nothing else.
const PROGRAMS: &str = "
    ls dir vdir cat tac nl paste expand unexpand fold fmt basename dirname cp mv ln link unlink rm rmdir mkdir mkfifo mknod touch
    truncate install readlink realpath stat du df chmod chown chgrp chcon mktemp sum cksum b2sum md5sum sha1sum sha224sum sha256sum
    sha384sum sha512sum base64 base32 basenc od head tail cut comm join uniq sort tr wc pr ptx tsort shred shuf split csplit tee sync
    date seq sleep factor numfmt nproc hostid logname whoami tty uname users id groups who pinky pathchk dircolors dd stty nice nohup
    timeout stdbuf chroot runcon env
    grep egrep fgrep xargs diff cmp diff3 sdiff sed gawk tar cpio gzip gunzip zcat bzip2 xz xzcat zstd lz4 patch ed
    ar ranlib nm strings size addr2line c++filt readelf strip objcopy objdump ld ldd ldconfig iconv getent
    blkid blkdiscard blkzone blockdev chcpu chmem fallocate findfs findmnt fsfreeze fstrim hardlink ipcmk ipcrm ipcs isosize last
    lastb ldattach lsblk lscpu lsipc lslocks lslogins lsmem lsns mcookie mesg mkswap mountpoint namei partx readprofile rev rtcwake
    swaplabel utmpdump wdctl whereis wipefs zramctl fincore hwclock lsfd lsirq losetup swapoff swapon dmesg rename.ul setterm logger
    renice script scriptreplay scriptlive wall write col colcrt colrm ul column hexdump look more getopt mount umount
    setsid setarch ionice chrt taskset choom uclampset prlimit setpriv flock unshare nsenter runuser su
    addpart delpart resizepart fsck pivot_root switch_root
    chage chfn chsh passwd gpasswd groupadd groupdel groupmems groupmod useradd userdel usermod newusers pwck faillog lastlog expiry
    ps top free uptime vmstat w pmap pwdx slabtop tload sysctl pgrep pkill pidwait pidof snice
    systemctl journalctl loginctl hostnamectl timedatectl localectl networkctl busctl systemd-analyze systemd-tmpfiles
    systemd-sysusers systemd-detect-virt systemd-path systemd-id128 systemd-escape systemd-notify systemd-cgls systemd-cgtop
    systemd-delta systemd-run systemd-inhibit systemd-cat
    curl wget rsync jq make gpg gpgv file lsof
    createdb createuser dropdb dropuser pg_basebackup pg_dump pg_restore vacuumdb
";

/// Fewer programs than this were compared only if the test itself is broken.
const FEWEST_PROGRAMS: usize = 60;
const FEWEST_GIT_COMMANDS: usize = 60;

/// What programs tell wrongly, or in a way that the test misreads: `program option`.
const KNOWN: &[&str] = &[
    // They take an argument, which git does not offer to complete; `remote add --mirror` may be without one.
    "git merge --file",
    "git tag --with",
    "git tag --without",
    // It is an error, not a beginning of `--set-upstream-to`.
    "git branch --set-upstream",
    "git remote add --mirror",
    // They take an argument.
    "wget --hsts-file",
    "file -P",
    "file --parameter",
    "lsipc --output",
    "lslogins --output",
    "logger --socket-errors",
    "objdump -U",
    "readelf -U",
    // They take one only when it is attached.
    "curl -h",
    "curl --help",
    "lsns -T",
    "lsns --tree",
    "nsenter --wdns",
    "xargs --max-lines",
    // A flag since binutils 2.41; Debian lists it for 2.40, which takes an argument.
    "nm -U",
    // It takes `on` or `off`.
    "setterm --reverse",
    // The manual names them; the program does not know them, or gives each letter a meaning of its own.
    "diff --GTYPE-group-format",
    "diff --LTYPE-line-format",
    "pr -COLUMN",
    "stty -cbreak",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arity {
    Flag,
    /// The argument is attached, or it is absent.
    Optional,
    /// The argument is attached, in the next word, or absent.
    Either,
    Takes(usize),
}

type Options = BTreeMap<String, Arity>;

/// Counts what was compared, and what differs.
#[derive(Default)]
struct Comparison {
    programs: usize,
    options: usize,
    missing: Vec<String>,
    wrong: Vec<String>,
}

#[test]
fn what_help_tells_is_in_the_tables() {
    let tables = &*TABLES;
    let directory = tempfile::tempdir().unwrap();
    let mut compared = Comparison::default();
    for name in PROGRAMS.split_whitespace() {
        let entries = tables.of(name);
        let Some(help) = ask(directory.path(), name, &["--help"]) else { continue };
        let told = options_of_help(&help);
        if !entries.is_empty() && !told.is_empty() {
            compared.add(name, &entries, &told);
        }
    }
    compared.judge(FEWEST_PROGRAMS);
}

#[test]
fn what_cargo_tells_is_in_its_table() {
    let tables = &*TABLES;
    let directory = tempfile::tempdir().unwrap();
    let mut compared = Comparison::default();
    for entry in tables.of("cargo") {
        for (name, sub) in entry.subcommands() {
            let Some(help) = ask(directory.path(), "cargo", &[&name, "-h"]) else { continue };
            let told = options_of_help(&help);
            if help.contains("Usage: cargo") && !told.is_empty() {
                compared.add(&format!("cargo {name}"), &[sub], &told);
            }
        }
    }
    compared.judge(20);
}

#[test]
fn what_git_completes_is_in_its_table() {
    let tables = &*TABLES;
    let directory = tempfile::tempdir().unwrap();
    let Some(listed) = ask(directory.path(), "git", &["--list-cmds=parseopt"]) else { return };
    ask(directory.path(), "git", &["init", "-q"]);
    let mut compared = Comparison::default();
    for entry in tables.of("git") {
        for (name, sub) in entry.subcommands() {
            if !listed.split_whitespace().any(|listed| listed == name) {
                continue;
            }
            let below: Vec<_> = sub.subcommands();
            compare_git(&mut compared, directory.path(), &[&name], &sub);
            for (inner, sub) in &below {
                compare_git(&mut compared, directory.path(), &[&name, inner], sub);
            }
        }
    }
    compared.judge(FEWEST_GIT_COMMANDS);
}

fn compare_git(compared: &mut Comparison, directory: &Path, command: &[&str], entry: &Entry) {
    let arguments: Vec<&str> = command.iter().copied().chain(["--git-completion-helper-all"]).collect();
    let Some(answer) = ask(directory, "git", &arguments).filter(|answer| !answer.contains("usage:")) else { return };
    // `--option=` takes an argument; of the others, git does not tell flags from optional arguments.
    let told: Vec<(String, Option<Arity>)> = answer
        .split_whitespace()
        .filter(|word| {
            word.starts_with("--")
                && word.len() > 2
                && word.bytes().all(|byte| byte.is_ascii_lowercase() || b"-=".contains(&byte))
        })
        .map(|word| match word.strip_suffix('=') {
            Some(name) => (name.to_owned(), Some(Arity::Takes(1))),
            None => (word.to_owned(), None),
        })
        .collect();
    if !told.is_empty() {
        compared.add(&format!("git {}", command.join(" ")), std::slice::from_ref(entry), &told);
    }
}

impl Comparison {
    fn add(&mut self, program: &str, entries: &[Entry], told: &[(String, Option<Arity>)]) {
        self.programs += 1;
        for (option, arity) in told {
            if KNOWN.contains(&format!("{program} {option}").as_str()) {
                continue;
            }
            self.options += 1;
            let listed: Vec<Arity> = entries.iter().filter_map(|entry| entry.find(option)).collect();
            if listed.is_empty() {
                let takes = matches!(arity, Some(Arity::Takes(_)));
                let is_read = |entry: &Entry| match entry.unlisted.as_str() {
                    "strict" => false,
                    "flag" => !takes,
                    _ => true,
                };
                if !entries.iter().any(is_read) {
                    self.missing.push(format!("{program} {option} ({})", shown(*arity)));
                }
                continue;
            }
            // Two readings of a word are both judged, and an attached argument leaves the next word alone.
            let fits = |listed: &Arity| match (arity, listed) {
                (Some(Arity::Takes(_)), Arity::Flag | Arity::Optional) => false,
                (None, Arity::Takes(_)) => !program.starts_with("git "),
                (Some(Arity::Flag | Arity::Optional), Arity::Takes(_)) => false,
                _ => true,
            };
            if !listed.iter().any(fits) {
                let listed: Vec<String> = listed.iter().map(|arity| shown(Some(*arity))).collect();
                self.wrong.push(format!("{program} {option}: {}, in the table {}", shown(*arity), listed.join(" or ")));
            }
        }
    }

    fn judge(&self, fewest: usize) {
        println!(
            "{} programs, {} options, {} missing, {} of another arity",
            self.programs,
            self.options,
            self.missing.len(),
            self.wrong.len()
        );
        for missing in &self.missing {
            println!("missing: {missing}");
        }
        for wrong in &self.wrong {
            println!("arity: {wrong}");
        }
        assert!(self.programs >= fewest, "only {} programs were compared", self.programs);
        assert!(self.missing.len() * 20 <= self.options, "more than 5 % of the options are missing");
        assert!(self.wrong.len() * 100 <= self.options, "more than 1 % of the options have another arity");
    }
}

fn shown(arity: Option<Arity>) -> String {
    match arity {
        None => "a flag or an optional argument".to_owned(),
        Some(Arity::Flag) => "a flag".to_owned(),
        Some(Arity::Optional) => "an optional argument".to_owned(),
        Some(Arity::Either) => "an optional argument, maybe the next word".to_owned(),
        Some(Arity::Takes(count)) => format!("{count} argument{}", if count == 1 { "" } else { "s" }),
    }
}

/// What a program answers; nothing when there is none of that name.
fn ask(directory: &Path, program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .env("LC_ALL", "C")
        .env("COLUMNS", "200")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env_remove("GIT_DIR")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push('\n');
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Some(text)
}

/// The options that a help text lists, as GNU and clap write them: `-o, --output=FILE   what it does`.
fn options_of_help(help: &str) -> Vec<(String, Option<Arity>)> {
    let mut found: Vec<(String, Option<Arity>)> = Vec::new();
    for line in help.lines() {
        let line = line.trim_start();
        if !line.starts_with('-') || line.starts_with("---") {
            continue;
        }
        let line = line.replace('\t', "  ");
        // `-c  --format=FORMAT` are one option.
        let goes_on = |text: &str| text.trim_start().starts_with("--") || text.trim_start().starts_with('<');
        let gap = line.match_indices("  ").find(|(at, _)| !goes_on(&line[*at..]));
        let (spec, description) = line.split_at(gap.map_or(line.len(), |(at, _)| at));
        let mut named = Vec::new();
        for part in spec.replace(" -", ", -").split(", ") {
            let part = part.trim();
            let length = part.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"-?_".contains(byte)).count();
            let (name, rest) = part.split_at(length);
            if name.starts_with('-') && !name.trim_start_matches('-').is_empty() {
                named.push((name.to_owned(), arity(name, rest)));
            }
        }
        // A line without a description is prose, or its arguments are hard to tell from it.
        if description.trim().is_empty()
            && spec.contains(' ')
            && !spec.contains(", ")
            && !spec.contains(['=', '<', '['])
        {
            continue;
        }
        // `-o, --output=FILE`: the argument is that of both. What an optional one means for a short option is not told.
        named.sort_by_key(|(name, _)| !name.starts_with("--"));
        if let Some(arity) = named.iter().map(|(_, arity)| *arity).find(|arity| *arity != Some(Arity::Flag)) {
            let shared = arity.filter(|arity| matches!(arity, Arity::Takes(_)));
            for (_, own) in named.iter_mut().filter(|(_, own)| *own == Some(Arity::Flag)) {
                *own = shared;
            }
        }
        for (name, arity) in named {
            match found.iter_mut().find(|(known, _)| *known == name) {
                // Listed twice, with and without an argument.
                Some((_, known)) if *known != arity => *known = None,
                Some(_) => {}
                None => found.push((name, arity)),
            }
        }
    }
    found
}

/// What stands behind the name of an option; nothing when it is not clear.
fn arity(name: &str, rest: &str) -> Option<Arity> {
    if rest.is_empty() {
        return Some(Arity::Flag);
    }
    let words = rest.trim_start_matches([' ', '=']).split(' ').count();
    let is_metavariable = |text: &str| {
        text.contains(|c: char| c.is_ascii_alphanumeric())
            && (text.starts_with('<')
                || text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b"_-{}|,:.".contains(&b)))
    };
    match rest.as_bytes()[0] {
        b'=' if is_metavariable(&rest[1..]) => Some(Arity::Takes(1)),
        b'[' if rest.starts_with("[=") || !name.starts_with("--") => Some(Arity::Optional),
        b' ' if words == 1 && is_metavariable(rest.trim()) => Some(Arity::Takes(1)),
        _ => None,
    }
}

static TABLES: LazyLock<Tables> = LazyLock::new(Tables::read);

struct Tables(BTreeMap<String, Vec<Entry>>);

/// What the tables say of one program or subcommand.
#[derive(Debug, Clone, Default)]
struct Entry {
    options: Options,
    unlisted: String,
    /// Long options may be shortened.
    is_gnu: bool,
    subcommands: Vec<(String, Entry)>,
}

impl Tables {
    fn read() -> Self {
        let mut tables: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
        for file in fs::read_dir(directory).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let document: DocumentMut = fs::read_to_string(&path).unwrap().parse().unwrap();
            let programs: Vec<&dyn TableLike> = match document.get("program") {
                Some(Item::ArrayOfTables(programs)) => programs.iter().map(|table| table as &dyn TableLike).collect(),
                _ => vec![document.as_table()],
            };
            for program in programs {
                let Some(names) = program.get("names") else { continue };
                let entry = Entry::read(program, &BTreeMap::new(), &Options::new());
                if program.get("syntax").and_then(Item::as_str) == Some("opaque") {
                    continue;
                }
                for name in words(names) {
                    tables.entry(name).or_default().push(entry.clone());
                }
            }
        }
        Self(tables)
    }

    fn of(&self, name: &str) -> Vec<Entry> {
        self.0.get(name).cloned().unwrap_or_default()
    }
}

impl Entry {
    fn read(table: &dyn TableLike, above: &BTreeMap<String, Options>, inherited: &Options) -> Self {
        let mut shared = above.clone();
        if let Some(groups) = table.get("shared").and_then(Item::as_table_like) {
            shared.extend(groups.iter().map(|(name, item)| (name.to_owned(), options(Some(item)))));
        }
        let mut listed = options(table.get("options"));
        for name in table.get("also").map(words).unwrap_or_default() {
            for (option, arity) in shared.get(&name).into_iter().flatten() {
                listed.entry(option.clone()).or_insert(*arity);
            }
        }
        for (option, arity) in inherited {
            listed.entry(option.clone()).or_insert(*arity);
        }
        let inherits = table.get("inherit").and_then(Item::as_bool).unwrap_or(false);
        let below = if inherits { listed.clone() } else { Options::new() };
        let mut subcommands = Vec::new();
        for (name, item) in table.get("sub").and_then(Item::as_table_like).iter().flat_map(|subs| subs.iter()) {
            let Some(sub) = item.as_table_like() else { continue };
            let entry = Self::read(sub, &shared, &below);
            let is_opaque = sub.get("syntax").and_then(Item::as_str) == Some("opaque");
            for name in std::iter::once(name.to_owned()).chain(sub.get("aliases").map(words).unwrap_or_default()) {
                if !is_opaque {
                    subcommands.push((name, entry.clone()));
                }
            }
        }
        let unlisted = table.get("unlisted").and_then(Item::as_str).unwrap_or("strict");
        let is_gnu = table.get("syntax").and_then(Item::as_str) == Some("gnu");
        let is_gnu = table.get("abbreviate").and_then(Item::as_bool).unwrap_or(is_gnu);
        Self { options: listed, unlisted: unlisted.to_owned(), is_gnu, subcommands }
    }

    fn subcommands(&self) -> Vec<(String, Entry)> {
        self.subcommands.clone()
    }

    fn find(&self, option: &str) -> Option<Arity> {
        let is_digit = option.len() == 2 && option.as_bytes()[1].is_ascii_digit();
        let exact = self.options.get(option).or_else(|| self.options.get("-#").filter(|_| is_digit));
        // Help texts write `--badname` where the program knows `--badnames`, of which it is a beginning.
        let longer = || {
            let mut fitting = self.options.iter().filter(|(name, _)| option.len() > 4 && name.starts_with(option));
            fitting.next().filter(|_| self.is_gnu).map(|(_, arity)| arity)
        };
        // Programs with `-name value` know `--name` as well.
        let single = || option.strip_prefix('-').and_then(|name| self.options.get(name));
        exact.or_else(longer).or_else(single).copied()
    }
}

fn options(item: Option<&Item>) -> Options {
    let mut found = Options::new();
    for (kinds, item) in item.and_then(Item::as_table_like).iter().flat_map(|kinds| kinds.iter()) {
        let count = if kinds == "flag" { 0 } else { kinds.split(' ').count() };
        for word in words(item) {
            let name = word.trim_end_matches('?');
            let name = if name == "-" && word != "-" { "-?" } else { name };
            let arity = match word.len() - name.len() {
                1 => Arity::Optional,
                2 => Arity::Either,
                _ if count == 0 => Arity::Flag,
                _ => Arity::Takes(count),
            };
            found.insert(name.to_owned(), arity);
        }
    }
    found
}

fn words(item: &Item) -> Vec<String> {
    match item.as_array() {
        Some(array) => array.iter().filter_map(|value| value.as_str()).map(str::to_owned).collect(),
        None => item.as_str().unwrap_or_default().split_whitespace().map(str::to_owned).collect(),
    }
}
