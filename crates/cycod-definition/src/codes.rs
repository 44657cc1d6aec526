/// The codes of the diagnostics that this crate reports itself; each has a page in `docs/errors/`.
///
/// A file's diagnostics also carry codes of the crates that read YAML, templates and conditions, and of the one
/// that places values into shells.
pub const CODES: [&str; 48] = [
    "alias-command", "alias-of-itself", "alias-without-base", "alias-without-type", "condition-type",
    "container-unused", "default-cycle", "duplicate-name", "duplicate-platform", "empty-command",
    "empty-range", "format-reference", "format-without-value", "invalid-argument", "invalid-default",
    "invalid-example", "invalid-name", "invalid-pattern", "invalid-shell", "invalid-version",
    "key-synonym", "name-mismatch", "no-command", "no-description", "no-name", "no-stream-file",
    "not-a-mapping", "number-format", "out-of-range", "quoted-scalar", "raw-placing",
    "required-with-default", "script-without-shell", "several-commands", "shadows-predefined",
    "step-cycle", "step-reference", "unknown-choice", "unknown-key", "unknown-parameter",
    "unknown-permission", "unknown-platform", "unknown-secret", "unknown-step", "unknown-transform",
    "unsupported-format", "unused-key", "wrong-type",
];
