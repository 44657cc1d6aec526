//! The page that tells of every attack, made of the table.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::table::{ATTACKS, CONTROLS, Family, Grant, Needs, Terms};

/// Parts of an attack that are programs of their own.
const PARTS: [&str; 2] = ["executed", "privileged_read"];

/// Compares the table with the programs and with the page, and says where they differ.
pub(crate) fn wrong(program: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    let listed = Command::new(program).output().expect("it was compiled").stdout;
    let listed = String::from_utf8(listed).expect("names are text");
    let there: BTreeSet<&str> = listed.lines().filter(|name| !PARTS.contains(name)).collect();
    let names: Vec<&str> = ATTACKS.iter().chain(CONTROLS).map(|attack| attack.name).collect();
    let named: BTreeSet<&str> = names.iter().copied().collect();
    wrong.extend(there.difference(&named).map(|name| format!("{name} is not in the table")));
    wrong.extend(named.difference(&there).map(|name| format!("{name} is not in the programs")));
    if named.len() != names.len() {
        wrong.push("a name is twice in the table".to_owned());
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/escapes.md");
    let page = page();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, page).expect("the page can be written");
    } else if fs::read_to_string(&path).unwrap_or_default() != page {
        wrong.push("docs/reference/escapes.md is not what the table says; UPDATE_EXPECT=1 writes it".to_owned());
    }
    wrong
}

fn page() -> String {
    let mut page = format!(
        "# Escapes\n\n{INTRODUCTION}\nThere are {} attacks. This page is generated from the table that the suite runs.\n",
        ATTACKS.len()
    );
    for family in Family::ALL {
        let _ = write!(page, "\n## {}\n\n| attack | what it tries | what stops it |\n|---|---|---|\n", family.title());
        for attack in ATTACKS.iter().filter(|attack| attack.family == family) {
            let mark = match attack.needs {
                Needs::Administrator => " ¹",
                Needs::Ordinary => " ²",
                Needs::Nothing if attack.grants.contains(&Grant::ControlGroup) => " ³",
                Needs::Nothing if !attack.terms().any(|terms| terms == Terms::Reduced) => " ⁴",
                Needs::Nothing => "",
            };
            let _ = writeln!(page, "| `{}`{mark} | {} | {} |", attack.name, attack.tries, attack.by.text());
        }
    }
    page.push_str("\n## What is allowed\n\nConfinement that allowed nothing would stop every attack. So the suite also shows that a confined program\n\n");
    for control in CONTROLS {
        let _ = writeln!(page, "- {};", control.tries);
    }
    page.push_str(NOTES);
    page
}

const INTRODUCTION: &str = "\
What a confined program tries in the tests to escape, and what stops it. Each attack is a real program. It runs twice:
unconfined, where it must work, and confined, where nothing may get out. The test checks the result from outside: a
changed file, a process that received a signal, a message at a service, a secret in the output, a process that stayed.

Root and an ordinary user run the attacks, under up to four kinds of terms. These are the terms of a tool that declares
permissions, the same with the network of the machine, and the same with the proxy that leads to declared hosts. The fourth
are those of `execution-privilege: reduced`.

`cargo test -p cycod-process --test escape` runs them.
";

const NOTES: &str = "
¹ Run by root only: no other user could do it without confinement.

² Run by an ordinary user only, for whom it would be a gain.

³ Stopped if a control group counts the memory; without one, memory that belongs to no process is not counted.

⁴ Not under the terms of `execution-privilege: reduced`, which let a program read the whole tree and use the network.
";
