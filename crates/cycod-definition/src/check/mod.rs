//! Checks that look at meaning across keys.

pub(crate) mod cache;
pub(crate) mod conditions;
pub(crate) mod confusable;
pub(crate) mod fleet;
pub(crate) mod graph;
pub(crate) mod ignored;
pub(crate) mod secrets;
pub(crate) mod transforms;
pub(crate) mod unused;
