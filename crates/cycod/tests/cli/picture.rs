//! The picture of a terminal in the README: drawn from real runs, and current. `UPDATE_EXPECT=1` draws it again.

use std::fmt::Write as _;

use expect_test::expect_file;

use crate::{guides, support::Place};

/// What is typed, in the project of the README. `cycod` gets colors, as at a terminal.
const SESSION: [&str; 5] = [
    "cycod run log-search --text crash",
    "cycod run log-search TEXT='$(reboot)' --show-command",
    "cycod run log-search TEXT=crash COUNT=500",
    "cycod test log-search",
    "cycod validate greet.yaml",
];

/// A tool that can't be safe.
const GREET: &str = "description: Greet someone
bash: sh -c \"echo hello {NAME}\"
parameters: {NAME: {type: string, description: Whom, required: true}}
";

/// The size of a cell, and the space around the text.
const WIDTH: usize = 8;
const HEIGHT: usize = 20;
const EDGE: usize = 20;

#[test]
fn the_picture_of_the_readme_is_current() {
    let place = Place::new();
    guides::prepare(&place, include_str!("../../../../README.md"));
    place.write("greet.yaml", GREET);
    let mut lines = Vec::new();
    for words in SESSION {
        let ran = place.shell(&format!("{} 2>&1", words.replacen("cycod", "cycod --color always", 1)));
        lines.push(format!("\u{1b}[32m$\u{1b}[0m \u{1b}[1m{words}\u{1b}[0m"));
        lines.extend(ran.stdout().trim_end().lines().map(steady));
    }
    expect_file!["../../../../docs/images/session.svg"].assert_eq(&picture(&lines));
}

/// A line with the same time in each picture.
fn steady(line: &str) -> String {
    let Some((before, rest)) = line.split_once(" ms") else { return line.to_owned() };
    format!("{}12 ms{rest}", before.trim_end_matches(|c: char| c.is_ascii_digit()))
}

/// Draws lines with the escapes of a terminal.
fn picture(lines: &[String]) -> String {
    let columns = lines.iter().map(|line| pieces(line).iter().map(|(_, text)| text.chars().count()).sum()).max();
    let (width, height) = (columns.unwrap_or(0) * WIDTH + 2 * EDGE, lines.len() * HEIGHT + 2 * EDGE);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\" \
         aria-label=\"A terminal session: a tool runs, a value stays data, errors explain how to fix them\">\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#0d1117\"/>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
         font-size=\"13.3\" fill=\"#e6edf3\" xml:space=\"preserve\">\n"
    );
    for (row, line) in lines.iter().enumerate() {
        let mut column = 0;
        for (style, text) in pieces(line) {
            let length = text.chars().count();
            let shown = text.trim();
            if !shown.is_empty() {
                let indent = length - text.trim_start().chars().count();
                let (x, y) = (EDGE + (column + indent) * WIDTH, EDGE + row * HEIGHT + HEIGHT * 3 / 4);
                let length = shown.chars().count();
                let text = shown.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
                let _ =
                    writeln!(svg, "<text x=\"{x}\" y=\"{y}\" textLength=\"{}\"{style}>{text}</text>", length * WIDTH);
            }
            column += length;
        }
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// The parts of a line, each with the attributes that draw its style.
fn pieces(line: &str) -> Vec<(String, String)> {
    let (mut is_bold, mut color) = (false, "");
    let mut parts = line.split("\u{1b}[");
    let mut found = vec![(String::new(), parts.next().unwrap_or_default().to_owned())];
    for part in parts {
        let (codes, text) = part.split_once('m').unwrap_or(("", part));
        for code in codes.split(';') {
            match code {
                "1" => is_bold = true,
                "2" => color = "#8b949e",
                "31" | "91" => color = "#ff7b72",
                "32" | "92" => color = "#7ee787",
                "33" | "93" => color = "#e3b341",
                "34" | "94" => color = "#79c0ff",
                _ => (is_bold, color) = (false, ""),
            }
        }
        let bold = if is_bold { " font-weight=\"bold\"" } else { "" };
        let fill = if color.is_empty() { String::new() } else { format!(" fill=\"{color}\"") };
        found.push((format!("{bold}{fill}"), text.to_owned()));
    }
    found
}
