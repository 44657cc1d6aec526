use cycod_engine::definition::{Command, CommandText, Tool, Verdict};
use cycod_engine::diagnostic::SourceFile;
use cycod_syntax::template::Template;

/// A placeholder in a command, or in what reaches a command.
pub struct PlaceholderView<'a> {
    /// Its line, from 1.
    pub line: usize,
    /// Its column, from 1.
    pub column: usize,
    /// As written.
    pub token: String,
    /// What is proven about it.
    pub verdict: &'a Verdict,
}

/// Returns every placeholder of a tool's commands, of their variables and of their input, in the order of the file.
pub fn places<'t>(tool: &'t Tool, source: &SourceFile) -> Vec<PlaceholderView<'t>> {
    let mut places: Vec<PlaceholderView<'t>> = Vec::new();
    let mut add = |template: &Template, verdicts: &'t [Verdict]| {
        for (hole, verdict) in template.holes().zip(verdicts) {
            let at = source.position(hole.span.start);
            let token = hole.to_string();
            match places.iter_mut().find(|place| (place.line, place.column) == (at.line, at.column)) {
                // What several commands read is as bad as the worst of them says.
                Some(known) if known.verdict.proof < verdict.proof => known.verdict = verdict,
                Some(_) => {}
                None => places.push(PlaceholderView { line: at.line, column: at.column, token, verdict }),
            }
        }
    };
    for text in tool.commands().flat_map(Command::texts) {
        add(&text.template, &text.verdicts.command);
    }
    for (text, variables, input) in tool.surroundings() {
        let verdicts: &'t CommandText = text;
        for (template, (_, verdicts)) in variables.zip(&verdicts.verdicts.environment) {
            add(template, verdicts);
        }
        if let Some(input) = input {
            add(input, &verdicts.verdicts.input);
        }
    }
    places.sort_by_key(|place| (place.line, place.column));
    places
}
