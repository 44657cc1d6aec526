//! What the user configured, here and in other programs, each value with its origin.
