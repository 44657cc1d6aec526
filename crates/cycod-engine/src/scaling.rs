//! Pictures that are too large for hosts, in fewer dots.

use std::io::Cursor;

use image::{DynamicImage, ImageFormat, ImageReader, Limits, codecs::jpeg::JpegEncoder};

/// The longest side of a picture that models see in full; hosts make larger ones smaller themselves, or refuse them.
const LONGEST_SIDE: u32 = 1568;

/// The shortest side at which a picture still shows something.
const SHORTEST_SIDE: u32 = 128;

/// The most bytes that a picture may take while it is decoded.
const MEMORY: u64 = 256 << 20;

/// How well JPEG keeps what is there, up to 100.
const QUALITY: u8 = 85;

/// A picture in fewer dots.
#[derive(Debug)]
pub(crate) struct Scaled {
    pub(crate) media_type: &'static str,
    pub(crate) bytes: Vec<u8>,
    /// Width and height.
    pub(crate) size: (u32, u32),
    /// Those of the original.
    pub(crate) original: (u32, u32),
}

/// The same picture in at most `most` bytes; nothing when it is none that can be read within our limits.
///
/// PNG keeps letters sharp, so it is tried first; JPEG follows where nothing shines through.
pub(crate) fn scaled(bytes: &[u8], most: usize) -> Option<Scaled> {
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().ok()?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(MEMORY);
    reader.limits(limits);
    let picture = reader.decode().ok()?;
    let original = (picture.width(), picture.height());
    let has_alpha = picture.color().has_alpha();
    let mut side = LONGEST_SIDE.min(original.0.max(original.1));
    while side >= SHORTEST_SIDE {
        let small = picture.thumbnail(side, side);
        let size = (small.width(), small.height());
        let kinds = if has_alpha { &[ImageFormat::Png][..] } else { &[ImageFormat::Png, ImageFormat::Jpeg] };
        for kind in kinds {
            let bytes = encoded(&small, *kind)?;
            if bytes.len() <= most {
                return Some(Scaled { media_type: kind.to_mime_type(), bytes, size, original });
            }
        }
        side = side * 3 / 4;
    }
    None
}

fn encoded(picture: &DynamicImage, kind: ImageFormat) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    match kind {
        ImageFormat::Jpeg => {
            let encoder = JpegEncoder::new_with_quality(&mut bytes, QUALITY);
            picture.to_rgb8().write_with_encoder(encoder).ok()?;
        }
        other => picture.write_to(&mut Cursor::new(&mut bytes), other).ok()?,
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use image::{Rgb, RgbImage, Rgba, RgbaImage};

    use super::*;

    fn png(picture: &DynamicImage) -> Vec<u8> {
        encoded(picture, ImageFormat::Png).unwrap()
    }

    #[test]
    fn a_picture_fits_and_keeps_its_shape() {
        let noise = RgbImage::from_fn(400, 200, |x, y| {
            let dot = (x.wrapping_mul(2_654_435_761) ^ y.wrapping_mul(40_503)).to_le_bytes();
            Rgb([dot[1], dot[2], dot[3]])
        });
        let large = png(&noise.into());
        let small = scaled(&large, large.len() / 4).unwrap();
        assert!(small.bytes.len() <= large.len() / 4);
        assert_eq!(small.original, (400, 200));
        assert!(small.size.0.abs_diff(small.size.1 * 2) <= 1, "{:?}", small.size);
        let clear = png(&RgbaImage::from_pixel(2_000, 10, Rgba([1, 2, 3, 4])).into());
        let small = scaled(&clear, 10_000).unwrap();
        assert_eq!((small.media_type, small.size.0), ("image/png", LONGEST_SIDE));
    }

    #[test]
    fn what_is_no_picture_stays_what_it_is() {
        for bytes in [&b""[..], b"\x89PNG\r\n\x1a\n", b"no picture", &[0xff; 1_000]] {
            assert!(scaled(bytes, 1 << 20).is_none());
        }
    }

    #[test]
    fn a_picture_that_would_take_all_memory_is_not_decoded() {
        // 60,000 × 60,000 dots that were never written.
        let mut huge = png(&RgbImage::new(1, 1).into());
        huge[16..20].copy_from_slice(&60_000_u32.to_be_bytes());
        huge[20..24].copy_from_slice(&60_000_u32.to_be_bytes());
        assert!(scaled(&huge, 1 << 20).is_none());
    }
}
