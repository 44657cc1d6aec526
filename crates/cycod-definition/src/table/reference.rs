/// Returns the reference of every key as Markdown.
pub fn key_reference() -> String {
    String::new()
}
