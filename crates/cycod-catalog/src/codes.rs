//! The problems that only someone who looks at directories can see.

use cycod_diagnostic::Code;

/// Two files of one scope hold a tool of the same name.
pub(crate) const DUPLICATE_NAME: Code = Code("duplicate-name");
/// The file cannot be opened or read.
pub(crate) const UNREADABLE_FILE: Code = Code("unreadable-file");
/// A directory, pipe or device with the name of a tool file.
pub(crate) const NOT_A_FILE: Code = Code("not-a-file");
/// The file's bytes are not UTF-8.
pub(crate) const NOT_UTF8: Code = Code("not-utf8");
/// The file is too large to be a tool.
pub(crate) const FILE_TOO_LARGE: Code = Code("file-too-large");
/// The name belongs to a built-in tool.
pub(crate) const RESERVED_NAME: Code = Code("reserved-name");
