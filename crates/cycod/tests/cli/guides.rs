//! The console blocks of the README, the guides and the reference: each runs as printed, in the project that its page describes.
//!
//! A page is read from top to bottom, in one empty project. A block of YAML or Markdown whose first line is `# PATH` is written
//! into that file. In a `console` block, a line that begins with `$ ` is a command, and the lines below it are what it prints.
//! If a block prints nothing at all, it is a list of commands: each must succeed, and its output doesn't matter.
//!
//! In what is printed, `…` stands for any text, and for any number of lines if it is alone in its line. Times, IDs of runs,
//! digests and the width of columns don't count, and the project is `/home/ada/project`.
//!
//! Comments of HTML, which no reader sees, prepare a page:
//!
//! - `<!-- setup` with lines of a shell and `-->`: runs them here.
//! - `<!-- untrusted -->`: the tools of this page aren't trusted.
//! - `<!-- not run: REASON -->`: the next block can't run in a test.
//! - `<!-- any order -->`: the lines of the next block can come in another order.
//! - `<!-- at a terminal -->`: the next block runs at a terminal; its answers are typed.
//! - `<!-- value WORD: COMMANDS -->`: in the next block, `WORD` is what these commands print.
//!
//! `UPDATE_EXPECT=1` writes what a command really prints into the page, if no `…` is in the way.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::support::Place;

/// Between the outputs of two commands.
const MARK: char = '\u{1e}';

/// Any text, or any lines.
const ANY: &str = "…";

/// What a page asks for, in its order.
#[derive(Debug, PartialEq)]
enum Part<'a> {
    File { path: &'a str, text: &'a str },
    Setup(&'a str),
    Console(Block<'a>),
}

/// A console block.
#[derive(Debug, Default, PartialEq)]
struct Block<'a> {
    line: usize,
    /// Where its text is in the page.
    span: Range<usize>,
    skipped: Option<&'a str>,
    any_order: bool,
    at_terminal: bool,
    values: Vec<(&'a str, &'a str)>,
    commands: Vec<Command>,
}

/// A command with what is printed below it.
#[derive(Debug, Default, PartialEq)]
struct Command {
    words: String,
    printed: String,
}

#[derive(Debug, Default, PartialEq)]
struct Page<'a> {
    is_untrusted: bool,
    parts: Vec<Part<'a>>,
}

/// Reads a page; the error names the line of what isn't understood.
fn read(page: &str) -> Result<Page<'_>, String> {
    let (mut read, mut next) = (Page::default(), Block::default());
    let mut at = 0;
    while at < page.len() {
        let line = page[at..].lines().next().unwrap_or_default();
        let number = page[..at].matches('\n').count() + 1;
        let after = |at: usize| page[at..].find('\n').map_or(page.len(), |end| at + end + 1);
        if let Some(comment) = page[at..].strip_prefix("<!--") {
            let end = comment.find("-->").ok_or_else(|| format!("line {number}: a comment without an end"))?;
            comment_of(comment[..end].trim(), &mut read, &mut next).map_err(|why| format!("line {number}: {why}"))?;
            at = after(at + "<!--".len() + end);
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let ticks = line.trim_start().bytes().take_while(|byte| *byte == b'`').count();
        let start = after(at);
        if ticks < 3 {
            at = start;
            continue;
        }
        let fence = format!("{}{}", " ".repeat(indent), "`".repeat(ticks));
        let mut end = start;
        while end < page.len() && !page[end..].starts_with(&fence) {
            end = after(end);
        }
        let text = &page[start..end];
        match line[indent + ticks..].trim() {
            "console" => {
                next.line = number;
                next.span = start..end;
                next.commands = commands(text, indent);
                read.parts.push(Part::Console(std::mem::take(&mut next)));
            }
            "yaml" | "markdown" => {
                let comment = text.lines().find(|line| *line != "---").and_then(|line| line.strip_prefix("# "));
                let is_path = |path: &&str| {
                    !path.contains(' ') && !path.starts_with(['~', '/']) && Path::new(path).extension().is_some()
                };
                if let Some(path) = comment.filter(is_path) {
                    read.parts.push(Part::File { path, text });
                }
            }
            _ => {}
        }
        at = after(end);
    }
    match next == Block::default() {
        true => Ok(read),
        false => Err("the last comment belongs to no block".to_owned()),
    }
}

fn comment_of<'a>(comment: &'a str, page: &mut Page<'a>, next: &mut Block<'a>) -> Result<(), String> {
    let (head, rest) = comment.split_once('\n').or_else(|| comment.split_once(": ")).unwrap_or((comment, ""));
    match (head.trim(), rest.trim()) {
        ("setup", script) if !script.is_empty() => page.parts.push(Part::Setup(script)),
        ("untrusted", "") => page.is_untrusted = true,
        ("not run", reason) if !reason.is_empty() => next.skipped = Some(reason),
        ("any order", "") => next.any_order = true,
        ("at a terminal", "") => next.at_terminal = true,
        (head, script) if !script.is_empty() && head.starts_with("value ") => {
            next.values.push((head["value ".len()..].trim(), script));
        }
        _ => return Err(format!("unknown comment `{comment}`")),
    }
    Ok(())
}

/// The commands of a block; one continues in the next line after a backslash and within quotes.
fn commands(text: &str, indent: usize) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        let line = line.get(indent..).unwrap_or_default();
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (_, Some(command)) if is_open => write!(command.words, "\n{line}").expect("a text grows"),
            (Some(words), _) => commands.push(Command { words: words.to_owned(), printed: String::new() }),
            (None, Some(command)) => {
                command.printed.push_str(line);
                command.printed.push('\n');
                continue;
            }
            (None, None) => continue,
        }
        is_open = commands.last().is_some_and(|command| {
            command.words.ends_with('\\') || shlex::split(&format!("{}\n", command.words)).is_none()
        });
    }
    commands
}

/// Makes times, IDs and gaps equal.
fn normalized(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(next) = rest.chars().next() {
        let is_new_word = !text.ends_with(|last: char| last.is_alphanumeric() || matches!(last, '.' | '_' | '-'));
        let word: &str = &rest[..rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len())];
        let is_id = word.len() >= 12
            && word.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
            && word.bytes().any(|byte| byte.is_ascii_digit());
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        let unit = rest[digits..].trim_start_matches(' ');
        let end = unit.find(|c: char| !c.is_alphabetic()).unwrap_or(unit.len());
        let is_time = digits > 0 && matches!(&unit[..end], "ns" | "µs" | "ms" | "s" | "min" | "h");
        let is_field = ["duration_ms\":", "duration_seconds\":"].iter().any(|field| text.trim_end().ends_with(field));
        if is_new_word && is_id {
            text.push_str("ID");
            rest = &rest[word.len()..];
        } else if is_new_word && digits > 0 && (is_field || is_time && !text.ends_with("timeout ")) {
            text.push('N');
            rest = if is_field { &rest[digits..] } else { &unit[end..] };
        } else if next == ' ' && rest.starts_with("  ") && !text.trim().is_empty() {
            text.push_str("  ");
            rest = rest.trim_start_matches(' ');
        } else {
            text.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    text.trim_end().to_owned()
}

/// Whether a line is as printed, where `…` is any text.
fn is_line(printed: &str, real: &str) -> bool {
    let parts: Vec<&str> = printed.split(ANY).collect();
    let [first, inner @ .., last] = &parts[..] else { return printed == real };
    let Some(rest) = real.strip_prefix(first).and_then(|rest| rest.strip_suffix(last)) else { return false };
    inner.iter().try_fold(rest, |rest, part| rest.split_once(part).map(|(_, rest)| rest)).is_some()
}

/// Whether lines are as printed, where `…` alone is any number of lines.
fn are_lines(printed: &[String], real: &[String]) -> bool {
    match (printed, real) {
        ([], real) => real.is_empty(),
        ([any, rest @ ..], real) if any.trim() == ANY => (0..=real.len()).any(|skip| are_lines(rest, &real[skip..])),
        ([line, rest @ ..], [next, after @ ..]) => is_line(line, next) && are_lines(rest, after),
        (_, []) => false,
    }
}

fn is_as_printed(printed: &str, real: &str, any_order: bool) -> bool {
    let lines = |text: &str| {
        let mut lines: Vec<String> = text.trim_end().lines().map(normalized).collect();
        if any_order {
            lines.sort();
        }
        lines
    };
    are_lines(&lines(printed), &lines(real))
}

/// Runs the commands of a block in one shell, and returns the output and the exit code of each.
fn run(place: &Place, block: &Block<'_>, words: &[String]) -> Vec<(String, String)> {
    if block.at_terminal {
        return vec![at_terminal(place, &words[0], &block.commands[0].printed)];
    }
    let mut script = String::from("exec 2>&1\n");
    for words in words {
        writeln!(script, "{words}\nprintf '{MARK}%s{MARK}' \"$?\"").expect("a text grows");
    }
    let said = bounded(place, &script);
    let mut parts = said.split(MARK);
    words
        .iter()
        .map(|_| (parts.next().unwrap_or_default().to_owned(), parts.next().unwrap_or("none").to_owned()))
        .collect()
}

/// Runs a script of bash for two minutes at the most, and returns what it printed, as on a page.
fn bounded(place: &Place, script: &str) -> String {
    let path = place.path("tmp").join("page.sh");
    fs::write(&path, script).expect("the script");
    let ran = place.shell(&format!("timeout -k 5 120 bash --noprofile --norc '{}'", path.display()));
    as_on_a_page(&format!("{}{}", ran.stdout(), ran.stderr()))
}

fn as_on_a_page(text: &str) -> String {
    text.replace("[PLACE]/project", "/home/ada/project").replace("[PLACE]/home", "/home/ada")
}

#[cfg(target_os = "linux")]
fn at_terminal(place: &Place, words: &str, printed: &str) -> (String, String) {
    let terminal = crate::terminal::Terminal::run(place, 120, &[], words);
    // A line that ends with one letter after the choices of a question holds an answer.
    for line in printed.lines() {
        let question = line.rsplit_once(' ').filter(|(question, answer)| question.ends_with(']') && answer.len() == 1);
        match question {
            Some((question, answer)) => terminal.answer(question, 1, &[answer, "Enter"]),
            None if line.ends_with([']', '?']) => drop(terminal.wait(line)),
            None => {}
        }
    }
    let is_left_open = printed.trim_end().ends_with([']', '?']);
    let shown = if is_left_open { terminal.shown() } else { terminal.wait("\nended with ") };
    let (shown, code) = shown.split_once("\nended with ").unwrap_or((&shown, "0"));
    let root = place.project().parent().expect("it has a home beside it").to_string_lossy().into_owned();
    (as_on_a_page(&shown.trim().replace(&root, "[PLACE]")), code.trim().to_owned())
}

#[cfg(not(target_os = "linux"))]
fn at_terminal(_: &Place, _: &str, printed: &str) -> (String, String) {
    (printed.to_owned(), "0".to_owned())
}

/// What differs in a block: the place in the page of what is printed now, and what is printed really.
fn differences(place: &Place, block: &Block<'_>) -> Vec<(String, Option<usize>)> {
    let values: Vec<(&str, String)> =
        (block.values.iter()).map(|(word, script)| (*word, bounded(place, script).trim().to_owned())).collect();
    let exchanged = |text: &str, to_real: bool| {
        values.iter().fold(text.to_owned(), |text, (word, real)| match to_real {
            _ if real.is_empty() => text,
            true => text.replace(word, real),
            false => text.replace(real, word),
        })
    };
    let words: Vec<String> = block.commands.iter().map(|command| exchanged(&command.words, true)).collect();
    let is_list = block.commands.iter().all(|command| command.printed.trim().is_empty());
    let mut found = Vec::new();
    for (index, (real, code)) in run(place, block, &words).into_iter().enumerate() {
        let Command { words, printed } = &block.commands[index];
        let real = exchanged(&real, false);
        match is_list {
            true if code == "0" => {}
            true => found.push((format!("$ {words}\nended with {code}\n{real}"), None)),
            false if is_as_printed(printed, &real, block.any_order) => {}
            false => found.push((real, Some(index))),
        }
    }
    found
}

/// Writes the files of a page, and runs its preparations.
pub(crate) fn prepare(place: &Place, page: &str) {
    for part in read(page).expect("a page").parts {
        match part {
            Part::File { path, text } => place.write(path, text),
            Part::Setup(script) => drop(bounded(place, script)),
            Part::Console(_) => {}
        }
    }
}

/// What a page prints below the first command that begins with these words, and that command.
pub(crate) fn printed_below<'p>(page: &'p str, words: &str) -> (String, &'p str) {
    let parts = read(page).expect("a page").parts.into_iter();
    let blocks = parts.filter_map(|part| if let Part::Console(block) = part { Some(block) } else { None });
    let command = blocks.flat_map(|block| block.commands).find(|command| command.words.starts_with(words));
    let Command { words, printed } = command.expect("the page has the command");
    let at = page.find(&printed).expect("it is on the page");
    (words, &page[at..at + printed.len()])
}

/// Whether a command printed what its page says.
pub(crate) fn is_printed(printed: &str, real: &str) -> bool {
    is_as_printed(printed, real, false)
}

/// Runs a page; returns what isn't true, how many blocks ran, and the page as it would be true.
fn check(name: &str, page: &str) -> (String, usize, String) {
    let read = match read(page) {
        Ok(read) => read,
        Err(why) => return (format!("{name}: {why}\n"), 0, page.to_owned()),
    };
    let place = if read.is_untrusted { Place::cloned() } else { Place::new() };
    let (mut wrong, mut ran, mut corrected) = (String::new(), 0, page.to_owned());
    let mut corrections = Vec::new();
    for part in &read.parts {
        match part {
            Part::File { path, text } => place.write(path, text),
            Part::Setup(script) => {
                let said = bounded(&place, &format!("exec 2>&1\nset -e\n{script}\nprintf '{MARK}'"));
                if !said.ends_with(MARK) {
                    let _ = writeln!(wrong, "{name}: this fails:\n{script}\n{said}");
                }
            }
            Part::Console(Block { skipped: Some(_), .. }) => {}
            Part::Console(block) => {
                ran += 1;
                if block.at_terminal && block.commands.len() != 1 {
                    let _ = writeln!(wrong, "{name}:{}: one command at a terminal, please", block.line);
                    continue;
                }
                for (real, index) in differences(&place, block) {
                    let Some(index) = index else {
                        let _ = writeln!(wrong, "{name}:{}: {real}", block.line);
                        continue;
                    };
                    let Command { words, printed } = &block.commands[index];
                    let _ = writeln!(
                        wrong,
                        "{name}:{}:\n$ {words}\n-- printed on the page\n{printed}-- printed really\n{}\n",
                        block.line,
                        real.trim_end()
                    );
                    if !printed.contains(ANY) {
                        corrections.push((block, index, real));
                    }
                }
            }
        }
    }
    for (block, index, real) in corrections.into_iter().rev() {
        let block_text = &page[block.span.clone()];
        let Command { words, printed } = &block.commands[index];
        let new =
            block_text.replacen(&format!("$ {words}\n{printed}"), &format!("$ {words}\n{}\n", real.trim_end()), 1);
        corrected = corrected.replacen(block_text, &new, 1);
    }
    (wrong, ran, corrected)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages with console blocks that run; the pages of errors have tests of their own.
fn pages() -> BTreeSet<String> {
    let mut pages = BTreeSet::from(["README.md".to_owned(), "examples/README.md".to_owned()]);
    for folder in ["docs", "docs/guide", "docs/reference"] {
        let files = fs::read_dir(root().join(folder)).expect("the documentation");
        let names = files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned());
        pages.extend(names.filter(|name| name.ends_with(".md")).map(|name| format!("{folder}/{name}")));
    }
    pages
}

#[test]
#[expect(clippy::disallowed_methods, reason = "people ask for corrections through the environment")]
fn every_console_block_runs_as_printed() {
    let pages: Vec<String> = pages().into_iter().collect();
    let only = std::env::var("PAGE").unwrap_or_default();
    let (next, ran, wrong) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(name) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
            if !name.contains(&only) {
                continue;
            }
            let page = fs::read_to_string(root().join(name)).expect("a page");
            let (found, blocks, corrected) = check(name, &page);
            ran.fetch_add(blocks, Ordering::Relaxed);
            if !found.is_empty() {
                wrong.lock().expect("no thread panics").push(found);
            }
            if corrected != page && std::env::var_os("UPDATE_EXPECT").is_some() {
                fs::write(root().join(name), corrected).expect("the page");
            }
        }
    };
    let workers = thread::available_parallelism().map_or(2, usize::from).clamp(2, 8);
    thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    let wrong = wrong.into_inner().expect("no thread panics");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let ran = ran.into_inner();
    assert!(ran >= 60 || !only.is_empty(), "only {ran} console blocks run");
}

/// The runner itself: what it must not let pass.
#[test]
fn a_block_that_is_not_true_is_found() {
    let wrong = |page: &str| check("page", page).0;
    let fails = |page: &str| assert!(!wrong(page).is_empty(), "{page}");
    let passes = |page: &str| assert_eq!(wrong(page), "", "{page}");
    passes("```console\n$ echo a; echo b >&2\na\nb\n$ false\n```\n");
    passes("```console\n$ echo a\n…\n$ printf 'a\\nb\\nc\\n'\na\n…\n$ echo 'a b'\na …\n```\n");
    passes("```console\n$ echo a \\\n    b\na b\n$ echo 'a\nb'\na\nb\n```\n");
    passes("<!-- setup\necho a > b\n-->\n```console\n$ pwd; cat b\n/home/ada/project\na\n```\n");
    passes("```yaml\n# a/b.yaml\nc: d\n```\n```console\n$ tail -n 1 a/b.yaml\nc: d\n```\n");
    passes("<!-- any order -->\n```console\n$ echo b; echo a\na\nb\n```\n");
    passes("<!-- value qqq: echo 'x y' -->\n```console\n$ echo a qqq\na qqq\n$ echo 'x y'\nqqq\n```\n");
    passes("```console\n$ echo 'A  it took 12.5 s'\nA    it took 3 ms\n$ echo 0123456789ab\nba9876543210\n```\n");
    passes("<!-- not run: it would never end -->\n```console\n$ sleep 1000\n```\n");
    fails("```console\n$ echo a\nb\n```\n");
    fails("```console\n$ echo a\n$ echo b\nb\n```\n");
    fails("```console\n$ true\n$ false\n```\n");
    fails("```console\n$ echo a; echo b\nb\na\n```\n");
    fails("```console\n$ printf 'a\\nb\\n'\na\n```\n");
    fails("```console\n$ printf 'a\\nb\\nd\\n'\na\n…\nc\n```\n");
    fails("```console\n$ echo 12 apples\n13 apples\n```\n");
    fails("```console\n$ exit 0\n$ echo a\na\n```\n");
    fails("<!-- setup: false -->\n");
    fails("<!-- not run -->\n```console\n$ false\n```\n");
    fails("<!-- not run: no block follows -->\n");
    fails("<!-- somthing else -->\n");
}
