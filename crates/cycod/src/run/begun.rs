use std::{collections::HashMap, hash::Hash};

/// Lines that have begun and not ended, by who writes them.
#[derive(Debug)]
pub(crate) struct Begun<K>(HashMap<K, Vec<u8>>);

impl<K> Default for Begun<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash> Begun<K> {
    /// Takes what was written, and hands over each line that is whole now, with its end.
    pub(crate) fn take(&mut self, key: K, bytes: &[u8], whole: &mut dyn FnMut(&[u8])) {
        let begun = self.0.entry(key).or_default();
        let before = begun.len();
        begun.extend_from_slice(bytes);
        let Some(last) = bytes.iter().rposition(|&byte| byte == b'\n') else { return };
        let end = before + last + 1;
        begun[..end].split_inclusive(|&byte| byte == b'\n').for_each(whole);
        begun.drain(..end);
    }

    /// The line that has begun, when nothing more comes.
    pub(crate) fn end(&mut self, key: &K) -> Option<Vec<u8>> {
        self.0.remove(key).filter(|rest| !rest.is_empty())
    }
}
