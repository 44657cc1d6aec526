//! Any text is a condition or is reported, and every condition can be decided or says why not.
#![no_main]

use cycod_syntax::{
    condition::{ConditionValue, ExprPosition, eval, parse},
    template::KnownNames,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let names = KnownNames { parameters: vec!["NAME".into()], steps: vec!["one".into()], ..KnownNames::default() };
    for position in [ExprPosition::RunCondition, ExprPosition::Ternary] {
        let (condition, _) = parse(text, |offset| u32::try_from(offset).unwrap_or(u32::MAX), &names, position);
        if let Some(condition) = condition {
            drop(eval(&condition, &|_| Some(ConditionValue::Text("10".into()))));
        }
    }
});
