//! Lets a model work with tools.
