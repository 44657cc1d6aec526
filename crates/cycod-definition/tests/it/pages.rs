//! Every code has a page whose first example shows the problem and whose last shows it mended.

use std::{fs, path::PathBuf};

use cycod_definition::CODES;

use crate::report;

fn examples(code: &str) -> Vec<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors").join(format!("{code}.md"));
    let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(page.starts_with(&format!("# {code}\n")), "{code}: the heading is the code");
    page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn every_page_shows_its_problem_and_the_mend() {
    for code in CODES {
        let examples = examples(code);
        let [bad, good] = examples.as_slice() else { panic!("{code}: two examples") };
        let stem = (code == "name-mismatch").then_some("greet");
        let thousand = "  - {name: another, bash: echo hello}\n".repeat(1000);
        let bad = &bad.replace("  # and a thousand more\n", &thousand);
        let (loaded, lines) = report(bad, stem);
        assert!(
            loaded.diagnostics.iter().any(|diagnostic| diagnostic.code.0 == code),
            "{code} is shown:\n{bad}\n{lines}"
        );
        let (loaded, lines) = report(good, stem);
        assert!(loaded.tool.is_some(), "{code}: the mended example loads:\n{good}\n{lines}");
        assert!(loaded.diagnostics.is_empty(), "{code}: the mended example is clean:\n{good}\n{lines}");
    }
}
