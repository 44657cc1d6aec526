use cycod_diagnostic::Refusal;
use cycod_mask::Masks;

/// Masks what is said of why something was not done: it may quote a path or an argument.
pub(crate) fn masked(masks: &Masks, refusal: Refusal) -> Refusal {
    let mask = |text: String| masks.apply(&text).into_owned();
    Refusal { place: refusal.place.map(mask), why: mask(refusal.why), attempt: refusal.attempt.map(mask), ..refusal }
}
