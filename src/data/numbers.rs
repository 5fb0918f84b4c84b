//! Numbers as NumPy and MATLAB store them.

use half::f16;

/// How a number is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Of 2, 4 or 8 bytes.
    Float,
    Signed,
    Unsigned,
}

/// The numbers in `bytes`, `width` bytes each, at most 8.
pub(crate) fn decode(kind: Kind, width: usize, big_endian: bool, bytes: &[u8]) -> Vec<f64> {
    let number = |bits: u64| match (kind, width) {
        (Kind::Float, 2) => f16::from_bits(bits as u16).to_f64(),
        (Kind::Float, 4) => f64::from(f32::from_bits(bits as u32)),
        (Kind::Float, _) => f64::from_bits(bits),
        (Kind::Unsigned, _) => bits as f64,
        (Kind::Signed, _) => signed(bits, width) as f64,
    };
    words(width, big_endian, bytes).map(number).collect()
}

/// The numbers in `bytes` as text. Whole numbers keep all their digits.
pub(crate) fn decode_text(kind: Kind, width: usize, big_endian: bool, bytes: &[u8]) -> Vec<String> {
    let words = words(width, big_endian, bytes);
    match kind {
        Kind::Unsigned => words.map(|bits| bits.to_string()).collect(),
        Kind::Signed => words.map(|bits| signed(bits, width).to_string()).collect(),
        Kind::Float => decode(kind, width, big_endian, bytes).iter().map(f64::to_string).collect(),
    }
}

/// The bits of each number.
fn words(width: usize, big_endian: bool, bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(width).map(move |chunk| {
        let mut word = [0; 8];
        word[..width].copy_from_slice(chunk);
        if big_endian {
            word[..width].reverse();
        }
        u64::from_le_bytes(word)
    })
}

fn signed(bits: u64, width: usize) -> i64 {
    // Shifting there and back copies the sign into the upper bytes.
    let unused = 64 - 8 * width;
    (bits << unused) as i64 >> unused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_keep_their_value() {
        let half = |bits: u16| decode(Kind::Float, 2, false, &bits.to_le_bytes())[0];
        assert_eq!(half(0x0001), 2f64.powi(-24));
        assert_eq!(half(0x7bff), 65504.0);
        assert_eq!(half(0xc100), -2.5);
        assert_eq!(half(0x7c00), f64::INFINITY);
        assert!(half(0x7e00).is_nan());
    }

    #[test]
    fn whole_numbers_keep_their_sign() {
        assert_eq!(decode(Kind::Signed, 1, false, &[0xff, 0x7f]), [-1.0, 127.0]);
        assert_eq!(decode(Kind::Signed, 2, true, &[0xff, 0xfe]), [-2.0]);
        assert_eq!(decode(Kind::Signed, 8, false, &i64::MIN.to_le_bytes()), [i64::MIN as f64]);
        assert_eq!(decode(Kind::Unsigned, 2, true, &[0xff, 0xfe]), [65534.0]);
        let large = ((1_u64 << 53) + 1).to_le_bytes();
        assert_eq!(decode_text(Kind::Unsigned, 8, false, &large), ["9007199254740993"]);
        assert_eq!(decode_text(Kind::Signed, 1, false, &[0xff]), ["-1"]);
    }
}
