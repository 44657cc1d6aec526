use cycod_diagnostic::Span;

use crate::{CommandText, lower::Lowering};

/// Holds every place of a command against what its interpreter's grammar allows.
pub(crate) fn check(_command: &CommandText, _span: Span, _lowering: &Lowering<'_>) {}
