use std::cmp::Reverse;

use crate::{Code, Diagnostic, Severity};

/// How many problems of one file are reported. Nobody reads more at once, and each takes time to show.
pub const MOST_REPORTED: usize = 100;

/// Returns the gravest [`MOST_REPORTED`] problems of a file, in the order they had, and how many more there are.
pub fn most_important(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let Some(more) = diagnostics.len().checked_sub(MOST_REPORTED).filter(|more| *more > 0) else { return diagnostics };
    let mut order: Vec<usize> = (0..diagnostics.len()).collect();
    order.sort_by_key(|&at| (Reverse(diagnostics[at].severity), at));
    let mut is_reported = vec![false; diagnostics.len()];
    order.iter().take(MOST_REPORTED).for_each(|&at| is_reported[at] = true);
    let gravest_left_out = diagnostics[order[MOST_REPORTED]].severity;
    let mut reported = is_reported.into_iter();
    diagnostics.retain(|_| reported.next().unwrap_or(true));
    diagnostics.push(Diagnostic {
        code: Code::ManyProblems,
        severity: gravest_left_out,
        message: format!("{more} more problems of this file are not listed"),
        labels: Vec::new(),
        notes: Vec::new(),
        help: Some("fix these, then check the file again".to_owned()),
        fix: None,
    });
    diagnostics
}

/// Returns "1 file" or "2 files", for a noun whose plural ends with an s.
pub fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Returns "1 error, 2 warnings", leaving out what is absent; "no problems" when there is nothing.
pub fn count(diagnostics: &[Diagnostic]) -> String {
    let of = |severity| diagnostics.iter().filter(|d| d.severity == severity).count();
    let parts: Vec<String> =
        [("error", of(Severity::Error)), ("warning", of(Severity::Warning)), ("hint", of(Severity::Hint))]
            .into_iter()
            .filter(|(_, n)| *n > 0)
            .map(|(noun, n)| counted(n, noun))
            .collect();
    if parts.is_empty() { "no problems".to_owned() } else { parts.join(", ") }
}
