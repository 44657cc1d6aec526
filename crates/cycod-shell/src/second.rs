use crate::piece::{Shell, Value};
use crate::refusal::Problem;
use crate::track::Track;
pub(crate) struct Danger { pub(crate) hole: usize, pub(crate) allowed: bool, pub(crate) fragment: bool }
pub(crate) fn dangers(_: Shell, _: &str, _: &Track, _: &[(&Value<'_>, usize)]) -> Vec<Danger> { Vec::new() }
pub(crate) fn problem(_: &Danger, _: &str, _: &Track, _: &[(&Value<'_>, usize)]) -> Problem { unreachable!() }
