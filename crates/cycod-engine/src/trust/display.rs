//! Names, paths and texts of others, as they are shown to who decides about trust.

use std::path::Path;

use cycod_definition::Host;
use cycod_diagnostic::visible;

/// A text on one line.
pub(super) fn line(text: &str) -> String {
    plain(text.trim_end()).replace('\n', "\\n")
}

/// A text in which nothing is hidden and nothing changes places: letters that are written from right to left move what
/// stands beside them.
pub(super) fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '\t' => shown.push_str("    "),
            '\u{590}'..='\u{8ff}'
            | '\u{fb1d}'..='\u{fdff}'
            | '\u{fe70}'..='\u{feff}'
            | '\u{10800}'..='\u{10fff}'
            | '\u{1e800}'..='\u{1efff}' => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// A path as a person would write it from where they stand.
pub(super) fn shown(path: &Path, host: &Host) -> String {
    line(&match (path.strip_prefix(&host.working_directory), path.strip_prefix(&host.home)) {
        (Ok(here), _) => here.display().to_string(),
        (_, Ok(home)) => Path::new("~").join(home).display().to_string(),
        _ => path.display().to_string(),
    })
}
