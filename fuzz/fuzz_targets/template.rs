//! Any text is a template, and nothing of it is lost.
#![no_main]

use cycod_syntax::template::{KnownNames, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let names = KnownNames {
        parameters: vec!["NAME".into(), "a-b".into(), "value".into()],
        steps: vec!["one".into()],
        ..KnownNames::default()
    };
    let (template, problems) = parse(text, |offset| u32::try_from(offset).unwrap_or(u32::MAX), &names);
    if problems.is_empty() {
        let source = template.source(&names);
        let (again, problems) = parse(&source, |offset| u32::try_from(offset).unwrap_or(u32::MAX), &names);
        assert!(problems.is_empty(), "{source:?}");
        assert_eq!(again.source(&names), source);
    }
});
