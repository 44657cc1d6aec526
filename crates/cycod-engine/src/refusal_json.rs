use cycod_diagnostic::Refusal;
use serde_json::{Map, Value};

/// Writes a refusal; what it does not know is left out.
pub fn refusal_json(refusal: &Refusal) -> Value {
    let fields = [
        ("code", Some(refusal.code.name())),
        ("rule", refusal.rule.as_deref()),
        ("where", refusal.place.as_deref()),
        ("why", Some(&*refusal.why)),
        ("try", refusal.attempt.as_deref()),
    ];
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into()))).collect::<Map<_, _>>().into()
}
