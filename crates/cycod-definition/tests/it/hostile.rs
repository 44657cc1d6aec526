//! Whatever the text, loading ends, without a panic, with every diagnostic inside the file.

use cycod_definition::{document, document_json, function_schema, level, load};
use cycod_diagnostic::SourceFile;
use cycod_syntax::yaml::{Node, NodeKind, Resolved};
use proptest::prelude::*;

use crate::{markdown, round_trip::without_places, spec::examples};

fn survives(text: &str) {
    survives_as(&SourceFile::new("tool.yaml", text));
    survives_as(&SourceFile::new("tool.md", text));
    survives_as(&SourceFile::new("tool.md", format!("---\n{text}")));
}

fn survives_as(source: &SourceFile) {
    let text = &*source.text;
    let loaded = load(source, Some("tool"));
    for diagnostic in &loaded.diagnostics {
        for label in &diagnostic.labels {
            assert!(
                label.span.start <= label.span.end && label.span.end as usize <= text.len(),
                "{diagnostic:?}\n{text}"
            );
        }
        for edit in diagnostic.fix.iter().flat_map(|fix| &fix.edits) {
            assert!(text.get(edit.span.start as usize..edit.span.end as usize).is_some(), "{diagnostic:?}\n{text}");
        }
    }
    let places: Vec<_> = loaded.diagnostics.iter().map(|diagnostic| diagnostic.span().map(|span| span.start)).collect();
    assert!(places.is_sorted(), "in source order: {places:?}");
    let json = document_json(source);
    if let Some(tool) = loaded.tool {
        let json = json.expect("what loads is a document").to_string();
        let again = load(&SourceFile::new("tool.json", &*json), Some("tool"));
        let same = again.tool.as_ref().map(without_places);
        // Thousands of steps are not worth comparing, and a number that JSON has no form for is text there.
        if text.len() < 100_000 && document(source).is_none_or(|root| are_numbers_of_json(&root)) {
            assert_eq!(same, Some(without_places(&tool)), "{text}\n{json}\n{:#?}", again.diagnostics);
        }
        function_schema(&tool);
        level(&tool, &|_| None);
    }
}

/// Whether JSON writes each number as the document does.
fn are_numbers_of_json(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Mapping(entries) => entries.iter().all(|entry| are_numbers_of_json(&entry.value)),
        NodeKind::Sequence(items) => items.iter().all(are_numbers_of_json),
        NodeKind::Scalar(scalar) => match scalar.resolve() {
            Resolved::Float(number) => {
                serde_json::Number::from_f64(number).is_some_and(|number| number.to_string() == scalar.text)
            }
            Resolved::BigInteger => false,
            _ => true,
        },
    }
}

/// Texts that matter somewhere in a definition.
const PARTS: [&str; 50] = [
    "---\n",
    "```r\n",
    "```\n",
    "````{python}\n",
    "## Handler Function\n",
    "# TOOL BEGINS HERE\n",
    "# TOOL ENDS HERE\n",
    "function(a, b = ')') {\n",
    "schema: {type: object}\n",
    "code: |\n  x\n",
    "name: ",
    "description: ",
    "bash: ",
    "steps:\n  - ",
    "parameters:\n  P: ",
    "{P}",
    "{x.output}",
    "{RAW:P}",
    "wait-for: [x]",
    "type: alias",
    "null",
    "~",
    "[]",
    "{}",
    "!!str 1",
    "&a",
    "*a",
    "'",
    "\"",
    "|\n",
    ">-\n",
    "\t",
    "\r\n",
    "\u{feff}",
    "# ",
    ": ",
    "- ",
    "\n  ",
    "\n",
    "é",
    "\u{0}",
    "99999999999999999999",
    "-1",
    "1e999",
    ".nan",
    "default: '{P}'",
    "{P ? 'a' : ",
    "run-condition: '",
    "filesystem:read:",
    "pattern: '('",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn changed_examples(
        which in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..40_usize, prop::sample::select(&PARTS[..])), 1..6),
    ) {
        let examples: Vec<_> = examples().into_iter().chain(markdown::examples()).collect();
        let mut text = examples[which.index(examples.len())].1.clone();
        for (place, cut, part) in edits {
            let mut start = place.index(text.len() + 1);
            while !text.is_char_boundary(start) {
                start -= 1;
            }
            let mut end = (start + cut).min(text.len());
            while !text.is_char_boundary(end) {
                end += 1;
            }
            text.replace_range(start..end, part);
        }
        survives(&text);
    }

    #[test]
    fn assembled_texts(parts in prop::collection::vec(prop::sample::select(&PARTS[..]), 0..30)) {
        survives(&parts.concat());
    }

    #[test]
    fn any_text(text in any::<String>()) {
        survives(&text);
    }
}

#[test]
fn many_steps_in_one_circle() {
    let steps: Vec<String> = (0..400)
        .map(|index| format!("  - {{name: s{index}, bash: 'echo {{s{}.output}}'}}\n", (index + 1) % 400))
        .collect();
    survives(&format!("description: d\nsteps:\n{}", steps.concat()));
}

#[test]
fn large_files_do_not_keep_anybody_waiting() {
    let start = std::time::Instant::now();
    let many = |each: &dyn Fn(usize) -> String, most: usize| (0..most).map(each).collect::<String>();
    survives(&format!("description: d\nsteps:\n{}", many(&|i| format!("- {{name: s{i}, bash: x}}\n"), 30_000)));
    survives(&format!("description: d\nsteps:\n{}", many(&|i| format!("- {{name: s{i}, bash: x}}\n"), 1000)));
    let distinct = many(&|i| format!("{i},"), 100_000);
    let rules = format!("default: [{distinct}], validation: {{uniqueItems: true}}");
    survives(&format!(
        "description: d\nbash: echo {{P}}\nparameters: {{P: {{type: array, description: p, {rules}}}}}\n"
    ));
    let rules = format!(
        "examples: [{}], validation: {{enum: [{}]}}",
        many(&|i| format!("x{i},"), 50_000),
        many(&|i| format!("y{i},"), 50_000)
    );
    survives(&format!("description: d\nbash: echo {{P}}\nparameters: {{P: {{description: p, {rules}}}}}\n"));
    let secrets = format!(
        "{{variables: {{{}}}, secrets: [{}]}}",
        many(&|i| format!("a{i}: 1,"), 30_000),
        many(&|i| format!("b{i},"), 30_000)
    );
    survives(&format!("description: d\nbash: x\nenvironment: {secrets}\n"));
    survives(&format!("description: d\nbash: x\n{}", many(&|i| format!("k{i}: 1\n"), 50_000)));
    // Minutes, if any of it were quadratic.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn deep_shapes() {
    let depth = 60;
    let text = format!(
        "description: d\nbash: ls {{P}}\nparameters: {{P: {{type: array, description: p, validation: {}{{}}{}}}}}\n",
        "{items: ".repeat(depth),
        "}".repeat(depth)
    );
    survives(&text);
}
