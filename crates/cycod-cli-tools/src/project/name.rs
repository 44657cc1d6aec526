use super::reserved::reserved;

/// What a project is called, in the forms that its files need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// As it was given: the directory's name.
    pub(super) given: String,
    /// As packages are called: `my-project`.
    pub(super) kebab: String,
    /// As modules are called: `my_project`.
    pub(super) snake: String,
    /// As types are called: `MyProject`.
    pub(super) pascal: String,
}

impl Name {
    /// Takes a name that begins with a letter and has only letters, digits, hyphens and underscores, or says why it cannot be
    /// one.
    pub(super) fn new(given: &str) -> Result<Self, String> {
        let is_well_formed = given.starts_with(|first: char| first.is_ascii_alphabetic())
            && given.chars().all(|char| char.is_ascii_alphanumeric() || char == '-' || char == '_')
            && given.len() <= 64;
        if !is_well_formed {
            return Err(format!(
                "`{given}` is no name of a project: begin with a letter, then use letters, digits, `-` and `_`, 64 at most"
            ));
        }
        let words = words(given);
        let kebab = words.join("-");
        if let Some(why) = reserved(&kebab) {
            return Err(format!("`{given}` is no name of a project: it is {why}; try `{kebab}-project`"));
        }
        let pascal = words.iter().map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect();
        Ok(Self { given: given.to_owned(), snake: words.join("_"), kebab, pascal })
    }
}

/// The words of a name in lower case: `HTTPServer-two` has `http`, `server` and `two`.
fn words(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, &char) in chars.iter().enumerate() {
        let is_start = char.is_ascii_uppercase()
            && at > 0
            && (!chars[at - 1].is_ascii_uppercase() || chars.get(at + 1).is_some_and(char::is_ascii_lowercase));
        if !char.is_ascii_alphanumeric() || is_start {
            words.push(String::new());
        }
        if char.is_ascii_alphanumeric() {
            words.last_mut().expect("there is always one").push(char.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let check = |given: &str, kebab: &str, snake: &str, pascal: &str| {
            let name = Name::new(given).expect("a name");
            assert_eq!((&*name.kebab, &*name.snake, &*name.pascal, &*name.given), (kebab, snake, pascal, given));
        };
        check("my-analysis-project", "my-analysis-project", "my_analysis_project", "MyAnalysisProject");
        check("My__odd-_name-", "my-odd-name", "my_odd_name", "MyOddName");
        check("HTTPServer2Go", "http-server2-go", "http_server2_go", "HttpServer2Go");
        check("x", "x", "x", "X");
        check("a-1", "a-1", "a_1", "A1");
    }

    #[test]
    fn what_is_no_name() {
        let long = "x".repeat(65);
        for given in ["", "1a", "-a", "_a", "a b", "a/b", "..", ".", "a.b", "é", "a\n", "con", "Test", "JSON", &long] {
            assert!(Name::new(given).is_err(), "{given:?}");
        }
    }
}
