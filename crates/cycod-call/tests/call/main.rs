//! Tests of binding and resolving, over tools written as their authors write them.

mod agreement;
mod bind;
mod pages;
mod properties;
mod resolve;
mod rules;
mod support;
