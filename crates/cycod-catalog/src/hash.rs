//! A fast hash for finding damage and names; it withstands accidents, not adversaries.

/// Returns the hash of `bytes`, the same on every machine.
pub fn hash(bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |state: u64, word: u64| {
        let product = u128::from(state ^ word) * u128::from(ODD);
        (product as u64) ^ ((product >> 64) as u64)
    };
    // Four lanes, because one would wait for each multiplication before it starts the next.
    let mut lanes = [1, 2, 3, 4].map(|lane: u64| lane.wrapping_mul(ODD) ^ bytes.len() as u64);
    let mut blocks = bytes.chunks_exact(32);
    for block in &mut blocks {
        for (lane, word) in lanes.iter_mut().zip(block.chunks_exact(8)) {
            let word = u64::from_le_bytes(word.try_into().expect("chunks of eight"));
            *lane = mix(*lane, word).rotate_left(23).wrapping_add(word);
        }
    }
    for (lane, word) in blocks.remainder().chunks(8).enumerate() {
        let mut padded = [0; 8];
        padded[..word.len()].copy_from_slice(word);
        let word = u64::from_le_bytes(padded);
        lanes[lane] = mix(lanes[lane], word).rotate_left(23).wrapping_add(word);
    }
    lanes.into_iter().fold(ODD, mix)
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn every_flipped_bit_shows() {
        let bytes: Vec<u8> = (0..100_u8).map(|n| n.wrapping_mul(37)).collect();
        let whole = hash(&bytes);
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(hash(&damaged), whole, "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert_ne!(hash(&bytes[..length]), whole, "length {length}");
        }
    }

    #[test]
    fn trailing_zeros_count() {
        assert_ne!(hash(b"a"), hash(b"a\0"));
        assert_ne!(hash(&[0; 31]), hash(&[0; 32]));
    }
}
