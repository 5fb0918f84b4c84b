//! Colours that people with any colour vision tell apart: the palette of Okabe and Ito, and greys.

use plotters::style::RGBAColor;

/// Okabe and Ito's blue: every method but the reference.
pub(super) const METHOD: RGBAColor = RGBAColor(0x00, 0x72, 0xb2, 1.0);
/// Okabe and Ito's vermilion: the reference method.
pub(super) const REFERENCE: RGBAColor = RGBAColor(0xd5, 0x5e, 0x00, 1.0);
/// Their black, a little softened: the paper's numbers and most text.
pub(super) const INK: RGBAColor = RGBAColor(0x22, 0x22, 0x22, 1.0);
/// Text that stands back.
pub(super) const GREY: RGBAColor = RGBAColor(0x59, 0x59, 0x59, 1.0);
/// The line below a panel.
pub(super) const AXIS: RGBAColor = RGBAColor(0x8c, 0x8c, 0x8c, 1.0);
/// Lines at ticks.
pub(super) const GRID: RGBAColor = RGBAColor(0xe6, 0xe6, 0xe6, 1.0);
/// Behind words that stand in the place of results.
pub(super) const EMPTY: RGBAColor = RGBAColor(0xf5, 0xf5, 0xf5, 1.0);
pub(super) const WHITE: RGBAColor = RGBAColor(0xff, 0xff, 0xff, 1.0);

/// The same colour, so much of it.
pub(super) fn faint(colour: RGBAColor, alpha: f64) -> RGBAColor {
    RGBAColor(colour.0, colour.1, colour.2, alpha)
}
