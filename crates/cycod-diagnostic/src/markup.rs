/// What stands for a character that HTML and XML would take for markup, in content and in quoted attributes.
pub fn entity(character: char) -> Option<&'static str> {
    Some(match character {
        '<' => "&lt;",
        '>' => "&gt;",
        '&' => "&amp;",
        '"' => "&quot;",
        '\'' => "&#39;",
        _ => return None,
    })
}
