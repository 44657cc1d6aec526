use super::{Subject, table};
use crate::FileMetrics;

/// From here on a function is called too complex: the limits at which linters usually warn.
const COGNITIVE: u64 = 25;
const CYCLOMATIC: u64 = 30;

/// From here on a function takes too many arguments.
const ARGUMENTS: u64 = 8;

/// What functions measure that make them hard to work with.
pub(crate) fn measured(metrics: Option<&FileMetrics>, subject: &mut Subject<'_>) {
    for function in metrics.iter().flat_map(|metrics| &metrics.functions) {
        let name = function.name.as_deref().map_or("this function".to_owned(), |name| format!("`{name}`"));
        let line = function.line as usize;
        if function.cognitive >= COGNITIVE || function.cyclomatic >= CYCLOMATIC {
            let message = format!(
                "{name} is too complex: cognitive complexity {} (of {COGNITIVE}), cyclomatic {} (of {CYCLOMATIC})",
                function.cognitive, function.cyclomatic
            );
            subject.add_at(&table::COMPLEX_FUNCTION, line, 1, message);
        }
        if function.arguments >= ARGUMENTS {
            let message = format!("{name} takes {} arguments (of {ARGUMENTS})", function.arguments);
            subject.add_at(&table::MANY_ARGUMENTS, line, 1, message);
        }
    }
}
