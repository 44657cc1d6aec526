use crate::{Diagnostic, Severity};

/// Returns "1 error, 2 warnings", leaving out what is absent; "no problems" when there is nothing.
pub fn count(diagnostics: &[Diagnostic]) -> String {
    let of = |severity| diagnostics.iter().filter(|d| d.severity == severity).count();
    let parts: Vec<String> =
        [("error", of(Severity::Error)), ("warning", of(Severity::Warning)), ("hint", of(Severity::Hint))]
            .into_iter()
            .filter(|(_, n)| *n > 0)
            .map(|(noun, n)| format!("{n} {noun}{}", if n == 1 { "" } else { "s" }))
            .collect();
    if parts.is_empty() { "no problems".to_owned() } else { parts.join(", ") }
}
