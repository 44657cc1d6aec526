//! What the surroundings of a tool's code cannot do themselves: pure functions of texts.

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
    prelude::BASE64_STANDARD,
};
use rquickjs::{Ctx, Object, TypedArray, convert::List, function::Func};
use serde_json::json;
use url::{Url, form_urlencoded, quirks};

/// As browsers do, padding may be missing.
const FORGIVING: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Gives `host` the functions that need nothing but their arguments.
pub(super) fn give<'js>(host: &Object<'js>) -> rquickjs::Result<()> {
    host.set("toBase64", Func::from(|binary: String| BASE64_STANDARD.encode(bytes(&binary))))?;
    host.set(
        "fromBase64",
        Func::from(|text: String| {
            FORGIVING.decode(text).ok().map(|bytes| bytes.into_iter().map(char::from).collect::<String>())
        }),
    )?;
    host.set("encode", Func::from(|ctx: Ctx<'js>, text: String| TypedArray::<u8>::new_copy(ctx, text.as_bytes())))?;
    host.set(
        "decode",
        Func::from(|binary: String, encoding: String, fatal: bool, stream: bool| {
            decode(&binary, &encoding, fatal, stream).map(List)
        }),
    )?;
    host.set("url", Func::from(|address: String, base: Option<String>| parse(&address, base.as_deref())))?;
    host.set("urlWith", Func::from(|address: String, part: String, value: String| with(&address, &part, &value)))?;
    host.set(
        "query",
        Func::from(|text: String| {
            let pairs: Vec<_> = form_urlencoded::parse(text.as_bytes()).collect();
            json!(pairs).to_string()
        }),
    )?;
    host.set(
        "unquery",
        Func::from(|json: String| {
            let pairs: Vec<(String, String)> = serde_json::from_str(&json).unwrap_or_default();
            form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
        }),
    )
}

/// Bytes travel as characters up to U+00FF.
fn bytes(binary: &str) -> Vec<u8> {
    binary.chars().map(|char| char as u8).collect()
}

/// Decodes bytes and returns the text with how many of them were used, which in a stream may be fewer; nothing when they
/// are wrong and that is fatal.
fn decode(binary: &str, encoding: &str, fatal: bool, stream: bool) -> Option<(String, usize)> {
    let bytes = bytes(binary);
    match encoding {
        "utf-8" => {
            let mut used = bytes.len();
            if stream
                && let Err(error) = str::from_utf8(&bytes)
                && error.error_len().is_none()
            {
                used = error.valid_up_to();
            } else if stream {
                // Something is wrong before the end, which may be cut all the same.
                let tail = (1..=bytes.len().min(3)).find(|&tail| is_cut(&bytes[bytes.len() - tail..]));
                used -= tail.unwrap_or(0);
            }
            let text = String::from_utf8_lossy(&bytes[..used]);
            let is_wrong = fatal && str::from_utf8(&bytes[..used]).is_err();
            (!is_wrong).then(|| (text.into_owned(), used))
        }
        "utf-16le" => {
            let mut used = bytes.len();
            if stream {
                used -= used % 2;
                let is_high = used >= 2 && (0xD8..=0xDB).contains(&bytes[used - 1]);
                used -= if is_high { 2 } else { 0 };
            }
            let (pairs, odd) = bytes[..used].as_chunks::<2>();
            let units = pairs.iter().map(|&pair| u16::from_le_bytes(pair));
            let mut is_wrong = !odd.is_empty();
            let mut text: String = char::decode_utf16(units)
                .map(|char| {
                    char.unwrap_or_else(|_| {
                        is_wrong = true;
                        char::REPLACEMENT_CHARACTER
                    })
                })
                .collect();
            if !odd.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
            (!(fatal && is_wrong)).then_some((text, used))
        }
        _ => Some((bytes.iter().map(|&byte| windows_1252(byte)).collect(), bytes.len())),
    }
}

/// Whether these bytes are the beginning of a character.
fn is_cut(bytes: &[u8]) -> bool {
    matches!(str::from_utf8(bytes), Err(error) if error.valid_up_to() == 0 && error.error_len().is_none())
}

fn windows_1252(byte: u8) -> char {
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘',
        '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9f => HIGH[usize::from(byte - 0x80)],
        byte => char::from(byte),
    }
}

fn parse(address: &str, base: Option<&str>) -> Option<String> {
    let base = base.map(Url::parse).transpose().ok()?;
    Url::options().base_url(base.as_ref()).parse(address).ok().map(|url| parts(&url))
}

fn with(address: &str, part: &str, value: &str) -> Option<String> {
    let mut url = Url::parse(address).ok()?;
    // What does not fit is ignored, as browsers do.
    let _ignored = match part {
        "protocol" => quirks::set_protocol(&mut url, value),
        "username" => quirks::set_username(&mut url, value),
        "password" => quirks::set_password(&mut url, value),
        "host" => quirks::set_host(&mut url, value),
        "hostname" => quirks::set_hostname(&mut url, value),
        "port" => quirks::set_port(&mut url, value),
        "pathname" => {
            quirks::set_pathname(&mut url, value);
            Ok(())
        }
        "search" => {
            quirks::set_search(&mut url, value);
            Ok(())
        }
        "hash" => {
            quirks::set_hash(&mut url, value);
            Ok(())
        }
        _ => Err(()),
    };
    Some(parts(&url))
}

fn parts(url: &Url) -> String {
    json!({
        "href": quirks::href(url),
        "origin": quirks::origin(url),
        "protocol": quirks::protocol(url),
        "username": quirks::username(url),
        "password": quirks::password(url),
        "host": quirks::host(url),
        "hostname": quirks::hostname(url),
        "port": quirks::port(url),
        "pathname": quirks::pathname(url),
        "search": quirks::search(url),
        "hash": quirks::hash(url),
    })
    .to_string()
}
