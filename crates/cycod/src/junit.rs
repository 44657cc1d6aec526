//! Test reports as JUnit XML, well formed whatever a tool writes.

use std::{borrow::Cow, fmt::Write as _, time::Duration};

use cycod_engine::{TestOutcome, TestReport, TestVerdict, diagnostic::entity};

/// Writes the reports: one suite for each tool.
pub(crate) fn junit(reports: &[TestReport]) -> String {
    let total = |count: fn(&TestReport) -> usize| reports.iter().map(count).sum::<usize>();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let all = reports.iter().flat_map(|report| &report.outcomes);
    _ = writeln!(
        xml,
        "<testsuites name=\"cycod\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{}\">",
        total(|report| report.outcomes.len()),
        total(|report| report.counts().1),
        total(|report| report.counts().2),
        seconds(all),
    );
    for report in reports {
        let (_, failed, skipped) = report.counts();
        let tests = report.outcomes.len();
        let tool = attribute(&report.tool);
        let time = seconds(report.outcomes.iter());
        _ = writeln!(
            xml,
            "  <testsuite name=\"{tool}\" tests=\"{tests}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\" time=\"{time}\">"
        );
        for outcome in &report.outcomes {
            test_case(&mut xml, &tool, outcome);
        }
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn test_case(xml: &mut String, tool: &str, outcome: &TestOutcome) {
    let name = attribute(&outcome.name);
    _ = write!(xml, "    <testcase classname=\"{tool}\" name=\"{name}\" time=\"{}\">", seconds([outcome]));
    let mut inner = String::new();
    match &outcome.verdict {
        TestVerdict::Passed => {}
        TestVerdict::Skipped(why) => _ = writeln!(inner, "      <skipped message=\"{}\"/>", attribute(why)),
        TestVerdict::Failed(failures) => {
            let lines: Vec<String> = failures.iter().map(ToString::to_string).collect();
            let message = attribute(lines.first().map_or("", String::as_str));
            _ = writeln!(inner, "      <failure message=\"{message}\">{}</failure>", text(&lines.join("\n")));
        }
    }
    if let Some(run) = &outcome.run {
        // Of a workflow the two streams are the last step's alone; its transcript has all of them.
        let streams = if run.steps.len() > 1 {
            vec![("system-out", &run.transcript)]
        } else {
            vec![("system-out", &run.output), ("system-err", &run.error)]
        };
        for (element, bytes) in streams {
            if !bytes.is_empty() {
                _ = writeln!(inner, "      <{element}>{}</{element}>", text(&String::from_utf8_lossy(bytes)));
            }
        }
    }
    if inner.is_empty() {
        xml.truncate(xml.len() - 1);
        xml.push_str("/>\n");
    } else {
        _ = write!(xml, "\n{inner}    </testcase>\n");
    }
}

fn seconds<'a>(outcomes: impl IntoIterator<Item = &'a TestOutcome>) -> String {
    let total: Duration = outcomes.into_iter().map(|outcome| outcome.duration).sum();
    format!("{:.3}", total.as_secs_f64())
}

/// A text between two tags.
pub(crate) fn text(text: &str) -> String {
    escaped(text, false)
}

/// A text inside of double quotes, where a reader folds line ends into spaces unless they are escaped.
fn attribute(text: &str) -> String {
    escaped(text, true)
}

fn escaped(text: &str, in_attribute: bool) -> String {
    let piece = |character: char| -> Cow<'static, str> {
        match character {
            '"' | '\'' if !in_attribute => character.to_string().into(),
            '\n' | '\t' if in_attribute => format!("&#{};", u32::from(character)).into(),
            '\r' => "&#13;".into(),
            // XML has no way to write these, not even escaped.
            '\u{0}'..='\u{8}'
            | '\u{b}'
            | '\u{c}'
            | '\u{e}'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{fffe}'
            | '\u{ffff}' => format!("\\x{:02x}", u32::from(character)).into(),
            _ => entity(character).map_or_else(|| character.to_string().into(), Cow::Borrowed),
        }
    };
    text.chars().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_breaks_out() {
        assert_eq!(text("a <b> & \"c\" ]]>"), "a &lt;b&gt; &amp; \"c\" ]]&gt;");
        assert_eq!(attribute("\"a\"\n\tb\r"), "&quot;a&quot;&#10;&#9;b&#13;");
        assert_eq!(text("\u{1b}[31mred\u{0}\u{7f}\u{fffe}"), "\\x1b[31mred\\x00\\x7f\\xfffe");
        assert_eq!(text("é 日本 😀\n"), "é 日本 😀\n");
    }

    /// Every character there is, in both places: what remains is in the production `Char` of XML 1.0.
    #[test]
    fn any_text_is_allowed_text() {
        let is_char =
            |c: char| matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
        for character in (0..=0x10ffff).filter_map(char::from_u32) {
            let shown = text(&character.to_string());
            assert!(shown.chars().all(is_char), "{character:?}");
            assert!(!attribute(&character.to_string()).contains(['"', '<', '\n']), "{character:?}");
        }
    }
}
