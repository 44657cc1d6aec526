//! Forms and queries, as browsers send them.

/// How many fields are read of one form.
const MOST: usize = 10_000;

/// The fields of a form, in order; a name can be there several times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Reads `name=value&…`. Any bytes are a form.
    pub fn read(bytes: &[u8]) -> Self {
        Self(form_urlencoded::parse(bytes).take(MOST).map(|(name, value)| (name.into(), value.into())).collect())
    }

    /// The first value of a name.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The first value of a name, unless it is empty.
    pub fn filled(&self, name: &str) -> Option<&str> {
        self.text(name).filter(|text| !text.trim().is_empty())
    }

    /// Every value of a name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A number.
    pub fn number(&self, name: &str) -> Option<usize> {
        self.text(name)?.parse().ok()
    }

    /// The same as part of an address, with some fields replaced; a field without a value is left out.
    pub fn address(&self, path: &str, replaced: &[(&str, Option<&str>)]) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in self.0.iter().filter(|(name, _)| replaced.iter().all(|(other, _)| other != name)) {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        for (name, value) in replaced {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        let query = query.finish();
        if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
    }
}

/// A text as a part of a path.
pub fn in_path(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

/// Reads a part of a path.
pub fn from_path(part: &str) -> String {
    // In a path, a plus is itself.
    let pair = format!("={}", part.replace('+', "%2B"));
    form_urlencoded::parse(pair.as_bytes()).next().map(|(_, value)| value.into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_a_path() {
        for name in ["log-search", "a b+c", "ä/ö?#%", "", "<script>"] {
            assert_eq!(from_path(&in_path(name)), name);
            assert!(in_path(name).bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._*%".contains(&byte)));
        }
    }

    #[test]
    fn an_address_keeps_the_other_fields() {
        let query = Form::read(b"q=a+b&level=read&page=3&level=run");
        assert_eq!(query.address("/", &[("page", None)]), "/?q=a+b&level=read&level=run");
        assert_eq!(query.address("/", &[("page", Some("4")), ("level", None)]), "/?q=a+b&page=4");
        assert_eq!(Form::default().address("/runs", &[]), "/runs");
    }
}
