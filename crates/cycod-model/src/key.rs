use std::fmt;

use cycod_mask::Masks;
use zeroize::Zeroizing;

/// What opens a provider's door. It is wiped when it is dropped, and shows itself to nobody.
#[derive(Clone)]
pub struct Key(Zeroizing<String>);

impl Key {
    /// A key, without the white space that copying leaves around it; nothing when there is only that.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(Zeroizing::new(text.to_owned())))
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Puts `****` wherever a text repeats the key, however it is written, as some providers do when they refuse it.
    pub(crate) fn mask(&self, text: &str) -> String {
        Masks::new([self.expose()]).apply(text).into_owned()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("****")
    }
}
