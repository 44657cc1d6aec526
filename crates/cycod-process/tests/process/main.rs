mod support;
mod basics;
