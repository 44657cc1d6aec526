//! What a run looks like on a terminal: its screens, as tmux has them.
#![cfg(target_os = "linux")]

use crate::{support::Place, terminal::Terminal};

const MANY: &str = "\
description: Several steps
steps:
  - {name: first, bash: \"echo 日本語テキスト日本語テキスト日本語テキスト🎉; [ -e go ] || sleep 120\"}
  - {name: second, parallel: true, bash: \"echo second; sleep 1\"}
  - {name: bad, wait-for: [second], bash: \"echo on stdout; echo on stderr >&2; exit 3\"}
  - {name: last, bash: echo never}
tags: [read]
";

/// The rows without what is in none of them: blanks at their ends, and the empty ones.
fn rows(terminal: &Terminal) -> Vec<String> {
    let rows = terminal.rows().into_iter().map(|row| row.trim_end().to_owned());
    rows.filter(|row| !row.is_empty()).collect()
}

#[test]
fn while_it_runs_each_step_has_one_row_that_fits() {
    for columns in [40, 60, 100] {
        let place = Place::with_tool("many", MANY);
        let terminal = Terminal::run(&place, columns, &[], "cycod run many");
        let shown = terminal.wait("FAIL bad");
        assert!(shown.contains("2 of 4 steps"), "{columns} columns:\n{shown}");
        let rows = rows(&terminal);
        for (what, count) in [("first ", 1), ("ok   second", 1), ("FAIL bad", 1), ("2 of 4 steps", 1), ("of 4", 1)] {
            let found = rows.iter().filter(|row| row.contains(what)).count();
            assert_eq!(found, count, "`{what}` at {columns} columns:\n{}", rows.join("\n"));
        }
        // Narrower and wider again: nothing of what stood there is left.
        for columns in [34, 90] {
            terminal.resize(columns);
            std::thread::sleep(std::time::Duration::from_millis(500));
        }
        let rows = self::rows(&terminal);
        for what in ["first ", "ok   second", "FAIL bad", "of 4 steps"] {
            let found = rows.iter().filter(|row| row.contains(what)).count();
            assert_eq!(found, 1, "`{what}` after {columns} columns were changed:\n{}", rows.join("\n"));
        }
        terminal.press(&["C-c"]);
        let shown = terminal.wait("ended with ");
        assert!(shown.contains("interrupted after 3 of 4 steps in "), "{shown}");
    }
}

#[test]
fn at_its_end_there_is_one_list_that_fits() {
    for columns in [30, 40, 60, 100] {
        let place = Place::with_tool("many", MANY);
        place.write("go", "");
        let terminal = Terminal::run(&place, columns, &[], "cycod run many");
        terminal.wait("ended with 3");
        let rows = rows(&terminal);
        let screen = rows.join("\n");
        for name in ["first", "second", "bad", "last"] {
            let mark = ["ok  ", "FAIL", "--  "].map(|mark| format!("  {mark} {name}"));
            let count = rows.iter().filter(|row| mark.iter().any(|mark| row.starts_with(mark))).count();
            assert_eq!(count, 1, "`{name}` at {columns} columns:\n{screen}");
        }
        assert!(!screen.contains("of 4 steps  ") && !screen.contains('⠋'), "{screen}");
        for part in ["bad failed", "on stdout", "on stderr", "failed after 3 of 4 steps", "cycod runs show "] {
            assert!(screen.replace('\n', "").contains(part), "`{part}` at {columns} columns:\n{screen}");
        }
        assert_eq!(screen.contains('━'), columns >= 60, "bars where there is room:\n{screen}");
    }
}

#[test]
fn marks_have_colours_where_they_are_wanted() {
    let place = Place::with_tool("many", MANY);
    place.write("go", "");
    let terminal = Terminal::run(&place, 80, &[], "cycod run many");
    terminal.wait("ended with 3");
    let written = terminal.written();
    assert!(written.contains("\u{1b}[32mok") && written.contains("\u{1b}[31mFAIL"), "{written:?}");
    let terminal = Terminal::run(&place, 80, &[("NO_COLOR", "1")], "cycod run many");
    terminal.wait("ended with 3");
    let is_style =
        |sign: &str| sign.trim_start_matches(|c: char| c.is_ascii_digit() || "[;".contains(c)).starts_with('m');
    assert!(!terminal.written().split('\u{1b}').skip(1).any(is_style), "{:?}", terminal.written());
}

/// The bytes of a picture say nothing at a terminal; who reads a file as text still sees it.
#[test]
fn a_file_that_is_no_text_is_not_shown_at_a_terminal() {
    let place = Place::with_tool(
        "plot",
        "description: Draw\nbash: printf '\\211PNG\\r\\n\\0\\1'\nproduces: image/png\ntags: [read]\n",
    );
    place.tool("page", "description: Write\nbash: echo '<b>bold</b>'\nproduces: text/html\ntags: [read]\n");
    let terminal = Terminal::run(&place, 80, &[], "cycod run plot && cycod run page");
    let shown = terminal.wait("ended with 0");
    assert!(shown.contains("the result is a file of type image/png, 8 bytes"), "{shown}");
    assert!(!shown.contains("PNG\\") && !shown.contains("\\x89"), "{shown}");
    assert!(shown.contains("<b>bold</b>"), "{shown}");
    let command = shown.lines().find_map(|line| line.trim().strip_prefix("store it: ")).expect("it says where it is");
    let stored = place.shell(&format!("{} && wc -c < plot.png", command.replace("FILE", "plot.png")));
    assert_eq!(stored.stdout().trim(), "8", "{}", stored.block());
}
