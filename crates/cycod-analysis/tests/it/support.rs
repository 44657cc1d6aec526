use cycod_analysis::{ExamineOptions, Examined, examine};
use expect_test::Expect;

pub(crate) const ALL: ExamineOptions = ExamineOptions { metrics: true, security: true };

/// Examines a text as if it were in a file of this name.
pub(crate) fn examined(path: &str, text: impl AsRef<[u8]>) -> Examined {
    examine(path, text.as_ref(), ALL, &|| true).expect("a text of bearable size")
}

/// What is found in a text, a line for each finding.
pub(crate) fn found(path: &str, text: &str) -> String {
    let line = |finding: &cycod_analysis::Finding| {
        let column = finding.column.unwrap_or_default();
        format!("{}:{column} {}[{}] {}\n", finding.line, finding.severity, finding.rule, finding.message)
    };
    examined(path, text).findings.iter().map(line).collect()
}

#[track_caller]
pub(crate) fn check(path: &str, text: &str, expect: &Expect) {
    expect.assert_eq(&found(path, text));
}
