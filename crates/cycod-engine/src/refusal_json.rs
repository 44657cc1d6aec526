use cycod_diagnostic::{Code, Refusal};
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

/// Reads a refusal that [`refusal_json`] wrote; one with a code of another version is a failure.
pub(crate) fn refusal_of(json: &Value) -> Option<Refusal> {
    let text = |name: &str| json[name].as_str().map(str::to_owned);
    let code = json["code"].as_str()?.parse().unwrap_or(Code::InternalError);
    Some(Refusal { code, rule: text("rule"), place: text("where"), why: text("why")?, attempt: text("try") })
}
