//! When it makes sense to ask again, and how long to wait until then.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;
use serde_json::Value as Json;

use crate::ModelError;

/// How long the provider wants to be left alone, as it says so in the head of a refusal or in its body.
pub(crate) fn wanted_pause(headers: &HeaderMap, body: &Json, now: SystemTime) -> Option<Duration> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let millis = header("retry-after-ms").and_then(|text| text.parse::<f64>().ok()).map(|millis| millis / 1e3);
    if let Some(pause) = millis.and_then(seconds) {
        return Some(pause);
    }
    if let Some(text) = header("retry-after") {
        let date = || httpdate::parse_http_date(text).ok().map(|date| date.duration_since(now).unwrap_or_default());
        return text.parse().ok().and_then(seconds).or_else(date);
    }
    // OpenAI and its kin: what is used up, and when it is there again.
    for what in ["requests", "tokens"] {
        if header(&format!("x-ratelimit-remaining-{what}")) == Some("0")
            && let Some(pause) = header(&format!("x-ratelimit-reset-{what}")).and_then(duration)
        {
            return Some(pause);
        }
    }
    // Gemini puts it into the details of its error.
    let details = body.pointer("/error/details").or_else(|| body.pointer("/0/error/details"))?.as_array()?;
    details.iter().find_map(|detail| detail.get("retryDelay")?.as_str()).and_then(duration)
}

/// Whether the provider itself says that asking again helps, or does not.
pub(crate) fn advised(headers: &HeaderMap) -> Option<bool> {
    match headers.get("x-should-retry")?.to_str().ok()? {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Whether a status means that the same request may be answered later.
pub(crate) fn may_pass(status: u16) -> bool {
    matches!(status, 408 | 409 | 425 | 429 | 500 | 502..=504 | 520..=524 | 529)
}

/// How long to wait before attempt `attempt` (the second is 1): what the provider wants, else anything up to a bound that
/// doubles, so that many who failed together do not come back together.
pub(crate) fn pause(error: &ModelError, attempt: u32, first: Duration, longest: Duration) -> Duration {
    let bound = first.saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1))).min(longest);
    let jitter = bound.mul_f64(fraction());
    match error.retry_after {
        // A little more, for the same reason.
        Some(wanted) => wanted.saturating_add(jitter.min(wanted / 4)),
        None => jitter,
    }
}

/// Something from 0 to 1.
fn fraction() -> f64 {
    // Without chance everybody waits the longest, which is safe.
    getrandom::u32().map_or(1.0, |chance| f64::from(chance) / f64::from(u32::MAX))
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

/// A duration as `1.5s`, `6m0s`, `120ms`.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut sum = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().ok()?;
        let after = &rest[digits..];
        let unit = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        sum += number
            * match &after[..unit] {
                "ms" => 1e-3,
                "s" | "" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                "d" => 86400.0,
                _ => return None,
            };
        rest = &after[unit..];
    }
    seconds(sum)
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use serde_json::json;

    use super::*;
    use crate::ErrorKind;

    fn wanted(headers: &[(&'static str, &'static str)], body: &Json) -> Option<Duration> {
        let map = headers.iter().map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value")));
        wanted_pause(&map.collect(), body, UNIX_EPOCH + Duration::from_secs(784_111_777 - 7))
    }

    #[test]
    fn each_way_to_say_later_is_heard() {
        let of = |headers: &[(&'static str, &'static str)]| wanted(headers, &Json::Null).map(|pause| pause.as_millis());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("retry-after", "2")]), Some(2000));
        assert_eq!(of(&[("retry-after", "1.5")]), Some(1500));
        assert_eq!(of(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]), Some(7000));
        assert_eq!(of(&[("retry-after", "Sun, 06 Nov 1983 08:49:37 GMT")]), Some(0));
        assert_eq!(of(&[("retry-after", "-3")]), None);
        assert_eq!(of(&[("retry-after", "soon")]), None);
        assert_eq!(of(&[("retry-after", "NaN")]), None);
        assert_eq!(of(&[("retry-after-ms", "250"), ("retry-after", "9")]), Some(250));
        assert_eq!(of(&[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "6m0s")]), Some(360_000));
        assert_eq!(of(&[("x-ratelimit-remaining-tokens", "7"), ("x-ratelimit-reset-tokens", "6m0s")]), None);
        let gemini = json!({"error": {"details": [{"@type": "x"}, {"retryDelay": "34s"}]}});
        assert_eq!(wanted(&[], &gemini), Some(Duration::from_secs(34)));
    }

    #[test]
    fn pauses_double_up_to_a_bound_and_differ() {
        let error = ModelError::new(ErrorKind::Provider, "x");
        let (first, longest) = (Duration::from_millis(100), Duration::from_millis(500));
        for (attempt, bound) in [(1, 100), (2, 200), (3, 400), (4, 500), (40, 500)] {
            let pauses: Vec<_> = (0..50).map(|_| pause(&error, attempt, first, longest)).collect();
            assert!(pauses.iter().all(|pause| *pause <= Duration::from_millis(bound)), "{pauses:?}");
            assert!(pauses.iter().any(|pause| *pause != pauses[0]), "{pauses:?}");
        }
        let told = ModelError { retry_after: Some(Duration::from_secs(4)), ..error };
        let pause = pause(&told, 1, first, longest);
        assert!(pause >= Duration::from_secs(4) && pause <= Duration::from_secs(5), "{pause:?}");
    }
}
