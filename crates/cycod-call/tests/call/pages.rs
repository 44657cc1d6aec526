use std::{collections::BTreeSet, fs, path::PathBuf};

use cycod_call::NoSteps;
use cycod_diagnostic::Code;

use crate::support::{command, tool, try_bind};

const CODES: [Code; 12] = [
    Code::UnknownArgument,
    Code::RepeatedArgument,
    Code::MissingArgument,
    Code::QuestionUnanswered,
    Code::WrongArgumentType,
    Code::InvalidArgument,
    Code::TransformFailed,
    Code::FormatFailed,
    Code::UnsetVariable,
    Code::NulInValue,
    Code::UndecidableCondition,
    Code::MissingStepResult,
];

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    text.split_once(start)?.1.split_once(end).map(|(inner, _)| inner)
}

/// The tool of each page, called as the page calls it, is refused with the page's code and no other.
#[test]
fn the_example_of_each_page_is_refused_as_the_page_says() {
    for code in CODES {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors").join(format!("{code}.md"));
        let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(page.starts_with(&format!("# {code}\n")), "{code}: the heading is the code");
        let tool =
            tool(between(&page, "```yaml\n", "```").unwrap_or_else(|| panic!("{code}: the page has an example")));
        let call = between(&page, "```console\n$", "```").unwrap_or_default();
        let given: Vec<&str> = call.split("--param ").skip(1).map(str::trim).collect();
        let codes: BTreeSet<Code> = match try_bind(&tool, &given) {
            Err(problems) => problems.iter().map(|problem| problem.code).collect(),
            Ok(call) => call.pieces(command(&tool), &NoSteps).err().map(|error| error.code()).into_iter().collect(),
        };
        assert_eq!(codes, BTreeSet::from([code]), "{code}: {given:?}");
    }
}
