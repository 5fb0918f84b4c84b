//! Colours that people with any colour vision can distinguish: the palette of Okabe and Ito, and greys.

use plotters::style::RGBAColor;

/// Okabe and Ito's blue: every method but the reference.
pub(super) const METHOD: RGBAColor = RGBAColor(0x00, 0x72, 0xb2, 1.0);
/// Okabe and Ito's vermilion: the reference method.
pub(super) const REFERENCE: RGBAColor = RGBAColor(0xd5, 0x5e, 0x00, 1.0);
/// Their black, a little softened: the paper's numbers and most text.
pub(super) const INK: RGBAColor = RGBAColor(0x22, 0x22, 0x22, 1.0);
/// Less prominent text.
pub(super) const GREY: RGBAColor = RGBAColor(0x59, 0x59, 0x59, 1.0);
/// The line below a panel.
pub(super) const AXIS: RGBAColor = RGBAColor(0x8c, 0x8c, 0x8c, 1.0);
/// Lines at ticks.
pub(super) const GRID: RGBAColor = RGBAColor(0xe6, 0xe6, 0xe6, 1.0);
/// Behind words that replace results.
pub(super) const EMPTY: RGBAColor = RGBAColor(0xf5, 0xf5, 0xf5, 1.0);
pub(super) const WHITE: RGBAColor = RGBAColor(0xff, 0xff, 0xff, 1.0);

/// Okabe and Ito's palette in an order that keeps neighbours apart; yellow is left out, since it is
/// hard to see on white.
pub(super) const SERIES: [RGBAColor; 7] = [
    METHOD,
    REFERENCE,
    RGBAColor(0x00, 0x9e, 0x73, 1.0),
    RGBAColor(0xcc, 0x79, 0xa7, 1.0),
    RGBAColor(0xe6, 0x9f, 0x00, 1.0),
    RGBAColor(0x56, 0xb4, 0xe9, 1.0),
    RGBAColor(0x22, 0x22, 0x22, 1.0),
];

/// A ramp from light to dark whose lightness alone distinguishes values, for shares from 0 to 1.
pub(super) fn ramp(share: f64) -> RGBAColor {
    const STOPS: [[f64; 3]; 5] = [
        [247.0, 251.0, 255.0],
        [198.0, 219.0, 239.0],
        [107.0, 174.0, 214.0],
        [33.0, 113.0, 181.0],
        [8.0, 48.0, 107.0],
    ];
    let place = share.clamp(0.0, 1.0) * 4.0;
    let below = place.min(3.0) as usize;
    let part = place - below as f64;
    let channel = |i: usize| (STOPS[below][i] * (1.0 - part) + STOPS[below + 1][i] * part) as u8;
    RGBAColor(channel(0), channel(1), channel(2), 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ramp_darkens_all_the_way() {
        let light = |share: f64| {
            let RGBAColor(r, g, b, _) = ramp(share);
            u32::from(r) + u32::from(g) + u32::from(b)
        };
        let shares: Vec<u32> = (0..=20).map(|i| light(f64::from(i) / 20.0)).collect();
        assert!(shares.windows(2).all(|pair| pair[0] > pair[1]), "{shares:?}");
        assert_eq!(ramp(-1.0), ramp(0.0));
    }
}
