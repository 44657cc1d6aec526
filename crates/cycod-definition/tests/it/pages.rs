//! Every code has a page whose first example shows the problem and whose last shows it fixed.

use std::{fs, path::PathBuf};

use cycod_definition::CODES;
use cycod_diagnostic::{Code, Severity, SourceFile};

use crate::report_of;

/// The examples of a page, as files.
fn examples(code: &str) -> Vec<SourceFile> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors").join(format!("{code}.md"));
    let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(page.starts_with(&format!("# {code}\n")), "{code}: the heading is the code");
    let fences = [("\n```yaml\n", "\n```\n", "tool.yaml"), ("\n````markdown\n", "\n````\n", "tool.md")];
    let blocks = fences.into_iter().flat_map(|(open, close, name)| {
        let blocks = page.split(open).skip(1);
        blocks.map(move |rest| SourceFile::new(name, rest.split(close).next().unwrap_or_default().to_owned() + "\n"))
    });
    blocks.collect()
}

#[test]
fn every_page_shows_its_problem_and_the_mend() {
    for code in CODES {
        let examples = examples(code.name());
        let [bad, good] = examples.as_slice() else { panic!("{code}: two examples") };
        let stem = (code == Code::NameMismatch).then_some("greet");
        let thousand = "  - {name: another, bash: echo hello}\n".repeat(1000);
        let text = bad.text.replace("  # and a thousand more\n", &thousand);
        let text = text.replace("  # and two hundred more\n", &thousand[..thousand.len() / 5]);
        let bad = SourceFile::new(&*bad.name, text);
        let (loaded, lines) = report_of(&bad, stem);
        assert!(
            loaded.diagnostics.iter().any(|diagnostic| diagnostic.code == code),
            "{code} is shown:\n{}\n{lines}",
            bad.text
        );
        let (loaded, lines) = report_of(good, stem);
        assert!(loaded.tool.is_some(), "{code}: the fixed example loads:\n{}\n{lines}", good.text);
        assert!(
            loaded.diagnostics.iter().all(|diagnostic| diagnostic.severity == Severity::Hint),
            "{code}: the fixed example is clean:\n{}\n{lines}",
            good.text
        );
    }
}
