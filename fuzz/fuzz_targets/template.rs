//! Any text is a template, and nothing of it is lost; and any text can be written so that nothing of it is a placeholder.
#![no_main]

use cycod_syntax::template::{KnownNames, Template, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let names = KnownNames {
        parameters: vec!["NAME".into(), "a-b".into(), "value".into()],
        steps: vec!["one".into()],
        ..KnownNames::default()
    };
    let read = |text: &str| parse(text, |offset| u32::try_from(offset).unwrap_or(u32::MAX), &names);
    let (template, problems) = read(text);
    if problems.is_empty() {
        assert_eq!(template.source(&names), text);
    }
    let source = Template::text(text).source(&names);
    let (again, _) = read(&source);
    assert!(again.holes().next().is_none(), "{source:?}");
    if !text.contains("\\{") {
        assert_eq!(again.as_text(), Some(text), "{source:?}");
    }
});
