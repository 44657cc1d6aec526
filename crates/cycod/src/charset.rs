use std::ffi::OsStr;

use cycod_engine::definition::Host;

/// Which characters a person's terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Charset {
    Unicode,
    Ascii,
}

impl Charset {
    /// What the locale says: the first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set.
    pub(crate) fn of(host: &Host) -> Self {
        let variable = |name: &str| {
            host.environment.get(OsStr::new(name)).map(|value| value.to_string_lossy().to_ascii_lowercase())
        };
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable).find(|value| !value.is_empty());
        match locale {
            Some(locale) if locale.contains("utf-8") || locale.contains("utf8") => Self::Unicode,
            // Where there are no locales, terminals show everything.
            None if cfg!(any(windows, target_vendor = "apple")) => Self::Unicode,
            _ => Self::Ascii,
        }
    }

    /// The text to show.
    pub(crate) fn pick(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        match self {
            Self::Unicode => unicode,
            Self::Ascii => ascii,
        }
    }
}
