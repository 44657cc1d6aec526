//! Help pages against the specification and against the options that commands take.

use std::{collections::BTreeSet, fs, path::Path};

use clap::Command;

use super::PAGES;
use crate::{add, cli};

/// The lines of a page of the specification, in `tests/data/help/`.
fn specified(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).expect("the page can be read");
    text.lines().map(|line| line.trim_end().to_owned()).collect()
}

#[test]
fn every_line_of_the_specification_is_there_in_order() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/help");
    let mut seen = 0;
    for file in fs::read_dir(directory).expect("the pages of the specification") {
        let file = file.expect("an entry").path();
        let words = file.file_stem().and_then(|stem| stem.to_str()).expect("a name").replacen('-', " ", 1);
        let page = super::page(&words).unwrap_or_else(|| panic!("there is no page for `{words}`"));
        let mut lines = page.lines().map(str::trim_end);
        for line in specified(&file) {
            assert!(
                lines.any(|ours| ours == line),
                "`cycod help {words}` lacks this line, or has it too early:\n{line}"
            );
        }
        seen += 1;
    }
    assert_eq!(seen, 10);
}

/// The options that a page describes: what stands at the beginning of its lines, before the examples.
fn described(page: &str) -> BTreeSet<String> {
    let page = ["\nEXAMPLES\n", "\nFIRST STEPS\n"]
        .iter()
        .fold(page, |page, end| page.split_once(end).map_or(page, |(page, _)| page));
    let heads = page.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let heads = heads.map(|line| line.split_once("  ").map_or(line, |(head, _)| head));
    heads
        .flat_map(|head| head.split([' ', ',']))
        .filter(|word| word.starts_with('-') && word.len() > 1)
        .map(str::to_owned)
        .collect()
}

/// The options that a command takes, those of every command left out.
fn taken(command: &Command, words: &str) -> BTreeSet<String> {
    if words == "tool add" {
        let own = add::OPTIONS
            .iter()
            .flat_map(|option| [Some(format!("--{}", option.name)), option.short.map(|short| format!("-{short}"))]);
        return own
            .flatten()
            .filter(|name| !["--color", "--help", "-h", "--any", "-a"].contains(&name.as_str()))
            .collect();
    }
    // Understood by everything that writes, only to say what can be written to.
    let senseless = |id: &str| match words {
        "tool create" | "tool import" | "import" | "mcp add" | "mcp import" => id == "any",
        "mcp install" | "mcp uninstall" => id == "any" || id == "global",
        _ => false,
    };
    let common = |id: &str| !words.is_empty() && ["help", "color", "version"].contains(&id);
    let arguments = command.get_arguments().map(|argument| (argument.get_id().as_str(), argument));
    let arguments = arguments.filter(|(id, _)| !common(id) && !senseless(id)).map(|(_, argument)| argument);
    arguments
        .flat_map(|argument| {
            let long = argument.get_long().map(|long| format!("--{long}"));
            let short = argument.get_short().map(|short| format!("-{short}"));
            [long, short]
        })
        .flatten()
        .collect()
}

#[test]
fn pages_describe_the_options_that_exist() {
    fn check(command: &Command, words: &str, checked: &mut usize) {
        let page = super::page(words).unwrap_or_else(|| panic!("there is no page for `{words}`"));
        let (taken, described) = (taken(command, words), described(&page));
        let undescribed: Vec<_> = taken.difference(&described).collect();
        let invented: Vec<_> = described.difference(&taken).collect();
        // The page of a group describes what most of its commands share.
        if command.get_subcommands().next().is_none() || words.is_empty() {
            assert!(undescribed.is_empty(), "`cycod help {words}` does not describe {undescribed:?}");
            assert!(invented.is_empty(), "`cycod {words}` does not take {invented:?}");
        }
        *checked += 1;
        for below in command.get_subcommands() {
            check(below, format!("{words} {}", below.get_name()).trim_start(), checked);
        }
    }
    let mut root = cli::command();
    root.build();
    let mut checked = 0;
    check(&root, "", &mut checked);
    assert_eq!(
        checked + 1,
        PAGES.len() + cli::SHORT_FORMS.len(),
        "all pages but the guide belong to a command, and a long form has none of its own"
    );
}

#[test]
fn pages_fit_a_terminal_and_name_topics_that_exist() {
    for words in super::topics().chain([String::new()]).filter(|words| !words.starts_with("guide ")) {
        let page = super::page(&words).expect("every topic has one");
        assert!(page.ends_with('\n') && !page.ends_with("\n\n"), "`{words}` ends with one line break");
        for line in page.lines() {
            assert!(line.chars().count() <= 105, "`cycod help {words}` has a long line:\n{line}");
            assert!(!line.contains('\t') && line.trim_end() == line, "`cycod help {words}`:\n{line:?}");
        }
        let see_also = page.split_once("\nSEE ALSO\n").map_or("", |(_, rest)| rest);
        for topic in see_also.lines().filter_map(|line| line.trim().strip_prefix("cycod help")) {
            let topic = topic.trim();
            let is_guide = topic.strip_prefix("guide ").is_some_and(|name| super::guide(name).is_some());
            assert!(
                is_guide || topic == "guides" || super::page(topic).is_some(),
                "`cycod help {words}` sends to `{topic}`"
            );
        }
    }
}

/// A guide whose name is that of a page is found from that page, and all of them from the first one.
#[test]
fn pages_lead_to_the_guides() {
    let all = super::page("").expect("the program has one");
    let (_, listed) = all.split_once("\nGUIDES\n").expect("it lists the guides");
    let listed: Vec<&str> =
        listed.split("\n\n").nth(1).expect("a list").split([',', ' ', '\n']).filter(|word| !word.is_empty()).collect();
    assert_eq!(listed, super::GUIDES.iter().map(|(name, ..)| *name).collect::<Vec<_>>());
    for (name, ..) in super::GUIDES {
        let page = super::page(name).unwrap_or_default();
        assert!(page.is_empty() || page.contains(&format!("\n  cycod help guide {name}\n")), "`cycod help {name}`");
    }
}

#[test]
fn the_table_of_commands_names_them_as_they_name_themselves() {
    let root = cli::command();
    let names =
        |command: &Command| -> Vec<_> { command.get_subcommands().map(|below| below.get_name().to_owned()).collect() };
    for group in cli::GROUPS {
        let command = root.find_subcommand(group.name).expect("it is there");
        assert_eq!(names(command), group.commands.iter().map(|entry| entry.name).collect::<Vec<_>>());
    }
    let others = cli::OTHER_COMMANDS.iter().map(|entry| entry.name);
    let mut expected: Vec<_> = cli::GROUPS.iter().map(|group| group.name).chain(others).collect();
    // These are in the order of the commands they stand for.
    let is_short = |name: &&str| cli::SHORT_FORMS.contains(name);
    let short_forms: Vec<_> = cli::TOOL_COMMANDS.iter().map(|entry| entry.name).filter(is_short).collect();
    assert_eq!(short_forms.len(), cli::SHORT_FORMS.len());
    expected.splice(..0, short_forms);
    assert_eq!(names(&root), expected);
    root.debug_assert();
}

/// Every page as one document, in the order of the commands.
fn reference() -> String {
    fn add(command: &Command, words: &str, text: &mut String) {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let page = super::page(words).unwrap_or_default();
        let title = format!("cycod {words}");
        if let Some(short) = words.strip_prefix("tool ").filter(|name| cli::SHORT_FORMS.contains(name)) {
            text.push_str(&format!("\n## `{title}`\n\n{about}: the long form of [`cycod {short}`](#cycod-{short}).\n"));
            return;
        }
        text.push_str(&format!("\n## `{}`\n\n{about}.\n\n```text\n{page}```\n", title.trim_end()));
        for below in command.get_subcommands() {
            add(below, format!("{words} {}", below.get_name()).trim_start(), text);
        }
    }
    let mut text = "# The command line\n\nThis page is made from the help pages of the program: change those, in \
                    `crates/cycod/src/help/pages/`, and run its tests with `UPDATE_EXPECT=1`.\n"
        .to_owned();
    add(&cli::command(), "", &mut text);
    text
}

#[test]
fn the_generated_reference_is_as_committed() {
    expect_test::expect_file!["../../../../docs/reference/cli.md"].assert_eq(&reference());
}
