//! The vocabulary `o200k_base` of OpenAI's models: its tokens in the order of their ranks, each behind a byte with its
//! length, deflated. That is less than a third of the text in which `tiktoken-rs` has it, which nothing here refers to, so
//! the linker leaves it out.

use std::sync::LazyLock;

use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use tiktoken_rs::{CoreBPE, ENDOFPROMPT, ENDOFTEXT, O200K_BASE_PAT_STR, Rank};

/// The packed vocabulary. A test compares it with that of `tiktoken-rs`.
const PACKED: &[u8] = include_bytes!("../data/o200k_base.zlib");

/// The most bytes that it unpacks to.
const MOST: usize = 2 << 20;

/// The tokenizer, made when it is first asked for.
static TOKENIZER: LazyLock<Option<CoreBPE>> = LazyLock::new(|| {
    let special = [(ENDOFTEXT, 199_999), (ENDOFPROMPT, 200_018)].map(|(name, rank)| (name.to_owned(), rank));
    CoreBPE::new(tokens()?.collect(), special.into_iter().collect(), O200K_BASE_PAT_STR).ok()
});

/// The tokenizer; nothing when its vocabulary is damaged.
pub(crate) fn tokenizer() -> Option<&'static CoreBPE> {
    TOKENIZER.as_ref()
}

/// The tokens with their ranks.
fn tokens() -> Option<impl Iterator<Item = (Vec<u8>, Rank)>> {
    let unpacked = decompress_to_vec_zlib_with_limit(PACKED, MOST).ok()?;
    let mut at = 0;
    let next = std::iter::from_fn(move || {
        let end = at + 1 + usize::from(*unpacked.get(at)?);
        let token = unpacked.get(at + 1..end)?.to_vec();
        at = end;
        Some(token)
    });
    Some(next.zip(0..))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vocabulary_is_that_of_the_models() {
        let theirs = tiktoken_rs::o200k_base().expect("it is right");
        let tokens: Vec<(Vec<u8>, Rank)> = tokens().expect("it can be unpacked").collect();
        assert_eq!(tokens.len(), 199_998);
        for (token, rank) in tokens {
            assert_eq!(theirs.decode_bytes(&[rank]).expect("it has this rank"), token, "{rank}");
        }
        let ours = tokenizer().expect("it is made");
        let text = "Counts: naïve, 数える, 1234567 — `fn main() {\n    \t}`\r\n\n <|endoftext|> I'LL";
        assert_eq!(ours.encode_ordinary(text), theirs.encode_ordinary(text));
        assert_eq!(ours.encode_with_special_tokens(text), theirs.encode_with_special_tokens(text));
    }
}
