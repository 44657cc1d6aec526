//! A hub over HTTP, as its clients and its enemies see it: the same for each database.

mod channels;
mod clock;
mod events;
mod fleet;
mod flows;
mod git;
mod hostile;
mod oauth;
mod page;
mod parallel;
mod polls;
mod postgres;
mod program;
mod schedules;
mod scratch;
mod support;
mod whole;
