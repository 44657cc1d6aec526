use crate::Finding;

/// What a comment says to be left alone: `cycod: ignore`, or `cycod: ignore[rule, rule]`, on a finding's line or alone on the
/// line above it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ignores(Vec<Ignore>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Ignore {
    /// The line to which it applies.
    line: u32,
    /// Which rules; all of them when none is named.
    rules: Vec<String>,
}

/// What such a comment begins with.
const MARK: &str = "cycod: ignore";

/// What begins a comment in text whose syntax is not known.
const COMMENTS: [&str; 5] = ["#", "//", "<!--", ";", "--"];

impl Ignores {
    /// Reads what stands in comments. `is_comment` tells whether a byte of the text belongs to one; without it, whatever
    /// follows the beginning of a comment on its line does.
    pub(crate) fn read(text: &str, is_comment: Option<&dyn Fn(usize) -> bool>) -> Self {
        if !text.contains(MARK) {
            return Self::default();
        }
        let (mut ignores, mut start) = (Vec::new(), 0);
        for (number, line) in (1..).zip(text.split_inclusive('\n')) {
            if let Some(at) = line.find(MARK) {
                let before = line[..at].trim_end();
                let is_in_comment = match is_comment {
                    Some(is_comment) => is_comment(start + at),
                    None => COMMENTS.iter().any(|begin| before.contains(begin)),
                };
                if is_in_comment {
                    let is_alone = before.chars().all(|c| c.is_whitespace() || c.is_ascii_punctuation());
                    let line_of_code = if is_alone { number + 1 } else { number };
                    ignores.extend(rules(&line[at + MARK.len()..]).map(|rules| Ignore { line: line_of_code, rules }));
                }
            }
            start += line.len();
        }
        Self(ignores)
    }

    /// Whether a finding is to be left alone.
    pub(crate) fn cover(&self, finding: &Finding) -> bool {
        self.0.iter().any(|ignore| {
            ignore.line == finding.line
                && (ignore.rules.is_empty() || ignore.rules.iter().any(|rule| rule.eq_ignore_ascii_case(&finding.rule)))
        })
    }
}

/// The rules in brackets; none means all. What is neither is prose.
fn rules(rest: &str) -> Option<Vec<String>> {
    let Some(list) = rest.strip_prefix('[') else {
        let is_prose = rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        return (!is_prose).then(Vec::new);
    };
    let names: Vec<String> =
        list.split_once(']')?.0.split(',').map(|rule| rule.trim().to_owned()).filter(|rule| !rule.is_empty()).collect();
    (!names.is_empty()).then_some(names)
}
