//! Small things that several pages show.

use cycod_diagnostic::visible;
use maud::{Markup, html};

/// What a line of a difference is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineSign {
    /// Which file it is, and where in it.
    Note,
    /// Stands in both.
    Same,
    /// Is gone.
    Removed,
    /// Is new.
    Added,
}

/// Text that is not ours: hidden and direction characters are shown as escapes.
pub fn text(text: &str) -> String {
    visible(text).into_owned()
}

/// A sentence in which names are between backticks, as messages have them.
pub fn prose(sentence: &str) -> Markup {
    let shown = text(sentence);
    let parts: Vec<&str> = shown.split('`').collect();
    let is_paired = parts.len() % 2 == 1;
    html! {
        @if is_paired {
            @for (at, part) in parts.iter().enumerate() { @if at % 2 == 1 { code { (part) } } @else { (part) } }
        } @else { (shown) }
    }
}

/// A number with commas between thousands.
pub fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A command, line for line.
pub fn command(command: &str) -> Markup {
    html! { pre.command tabindex="0" role="region" aria-label="Command" { code { (text(command.trim_end())) } } }
}

/// A difference, line by line: what a line is says its sign, and its color.
pub fn difference(lines: &[(LineSign, String)]) -> Markup {
    html! {
        pre.diff tabindex="0" role="region" aria-label="What has changed" {
            @for (mark, line) in lines {
                @match mark {
                    LineSign::Note => span.note { (text(line)) "\n" },
                    LineSign::Same => span { " " (text(line)) "\n" },
                    LineSign::Removed => del { "-" (text(line)) "\n" },
                    LineSign::Added => ins { "+" (text(line)) "\n" },
                }
            }
        }
    }
}

/// The same of a text whose lines begin with their signs.
pub fn difference_text(all: &str) -> Markup {
    let lines: Vec<(LineSign, String)> = all.lines().map(signed).collect();
    difference(&lines)
}

/// The sign of a line that begins with it, and the rest.
pub fn signed(line: &str) -> (LineSign, String) {
    let is_name = line.starts_with("--- ") || line.starts_with("+++ ");
    match line.split_at_checked(1) {
        Some(("-", rest)) if !is_name => (LineSign::Removed, rest.to_owned()),
        Some(("+", rest)) if !is_name => (LineSign::Added, rest.to_owned()),
        Some((" ", rest)) => (LineSign::Same, rest.to_owned()),
        _ => (LineSign::Note, line.to_owned()),
    }
}

/// What a browser without a session gets: how to get a code, and a field for it that the script fills in from the address.
pub fn way_in(name: Markup, why: Option<Markup>, hint: Markup, button: &str) -> Markup {
    html! {
        main #main .way-in tabindex="-1" {
            h1 { (name) }
            @if let Some(why) = why { p.problem role="alert" { (why) } }
            form #way-in method="post" action="/in" {
                label for="code" { "Code" }
                p.hint #code-hint { (hint) }
                input #code name="code" autocomplete="off" spellcheck="false" required aria-describedby="code-hint";
                button.primary { (button) }
            }
        }
    }
}

/// A page that says what to do next.
pub fn empty(what: &str, next: Markup) -> Markup {
    html! { div.empty { p { strong { (what) } } p { (next) } } }
}
