use std::sync::Arc;

use oxc_sourcemap::SourceMap;

/// Where the parts of a script stood in the code that it was made of.
#[derive(Clone, Debug, Default)]
pub struct SourcePlaces(Option<Arc<SourceMap<'static>>>);

impl SourcePlaces {
    pub(super) fn new(map: SourceMap<'static>) -> Self {
        Self(Some(Arc::new(map)))
    }

    /// Where something stands in the code that stands at a line and column of the script; all are counted from 1.
    ///
    /// What was made and not written stands where the code stands that comes before it.
    pub fn original(&self, line: usize, column: usize) -> (usize, usize) {
        let Some(map) = &self.0 else { return (line, column) };
        let lookup = map.generate_lookup_table();
        let number = |of: usize| u32::try_from(of.saturating_sub(1)).unwrap_or(u32::MAX);
        let near = || (1..line).rev().find_map(|line| map.lookup_token_approx(&lookup, number(line), u32::MAX));
        match map.lookup_token_approx(&lookup, number(line), number(column)).or_else(near) {
            Some(token) => (token.get_src_line() as usize + 1, token.get_src_col() as usize + 1),
            None => (1, 1),
        }
    }

    /// Rewrites the places in a trace, as engines of JavaScript write them: `name:LINE:COLUMN`. Both the script and the code begin
    /// at the line `first` of the file `name`.
    pub fn in_trace(&self, trace: &str, name: &str, first: usize) -> String {
        if self.0.is_none() {
            return trace.to_owned();
        }
        let mark = format!("{name}:");
        let mut written = String::with_capacity(trace.len());
        let mut rest = trace;
        while let Some(at) = rest.find(&mark) {
            let (before, after) = rest.split_at(at + mark.len());
            written.push_str(before);
            rest = after;
            let Some((line, column, length)) = place(after) else { continue };
            let above = first.saturating_sub(1);
            let Some(inside) = line.checked_sub(above).filter(|line| *line > 0) else { continue };
            let (line, column) = self.original(inside, column);
            written.push_str(&format!("{}:{column}", line + above));
            rest = &after[length..];
        }
        written.push_str(rest);
        written
    }
}

/// Reads `LINE:COLUMN`, and says how long it is.
fn place(text: &str) -> Option<(usize, usize, usize)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let of_line = digits(text);
    let after = text[of_line..].strip_prefix(':')?;
    let of_column = digits(after);
    Some((text[..of_line].parse().ok()?, after[..of_column].parse().ok()?, of_line + 1 + of_column))
}
