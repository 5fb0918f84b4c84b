//! Text that fits a width, measured with the embedded font: DejaVu Sans, reduced to what labels need.

use std::sync::Once;

use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontDesc, FontFamily, FontStyle, RGBAColor, TextStyle, register_font};

/// The fonts, plain and bold.
pub(super) const FONTS: [&[u8]; 2] = [
    include_bytes!("../../../assets/fonts/DejaVuSans.ttf"),
    include_bytes!("../../../assets/fonts/DejaVuSans-Bold.ttf"),
];
/// What an SVG asks for. Verdana has almost the same widths as DejaVu Sans, which few have outside of Linux.
const FAMILY: &str = "DejaVu Sans, Verdana, Geneva, sans-serif";
/// A text of this size in plotters' measure has letters of 1000 pixels: from the top of the highest letter to the
/// bottom of the lowest.
const MEASURED: f64 = 1000.0 * (1901.0 + 483.0) / 2048.0;
/// plotters divides the sizes of an SVG by this.
const SHRUNK: f64 = 1.24;
/// Most letters that a line can hold. Reasons come from anywhere, and not all of a long one is wrapped.
const LINE: usize = 200;

/// How a text looks: size and height of a line in pixels, plain or bold, and its colour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Face {
    pub(super) size: f64,
    pub(super) line: f64,
    pub(super) is_bold: bool,
    pub(super) colour: RGBAColor,
}

impl Face {
    pub(super) const fn plain(size: f64, line: f64, colour: RGBAColor) -> Self {
        Self { size, line, is_bold: false, colour }
    }

    pub(super) const fn bold(size: f64, line: f64, colour: RGBAColor) -> Self {
        Self { size, line, is_bold: true, colour }
    }

    fn font(self, size: f64) -> FontDesc<'static> {
        let style = if self.is_bold { FontStyle::Bold } else { FontStyle::Normal };
        FontDesc::new(FontFamily::Name(FAMILY), size, style)
    }

    /// The style that plotters draws with, `scale` times as large; texts are centred at the height of their place.
    pub(super) fn style(self, scale: f64, anchor: HPos) -> TextStyle<'static> {
        let font = self.font(self.size * scale * SHRUNK);
        font.color(&self.colour).pos(Pos::new(anchor, VPos::Center))
    }

    /// Width of a text in pixels.
    pub(super) fn width(self, text: &str) -> f64 {
        static REGISTERED: Once = Once::new();
        REGISTERED.call_once(|| {
            for (style, font) in [FontStyle::Normal, FontStyle::Bold].into_iter().zip(FONTS) {
                let registered = register_font(FAMILY, style, font);
                assert!(registered.is_ok(), "the embedded fonts are valid");
            }
        });
        let measured = self.font(MEASURED).box_size(text);
        let (width, _) = measured.expect("a registered font can be measured");
        f64::from(width) / 1000.0 * self.size
    }

    /// The text, or as much of it as fits and an ellipsis.
    pub(super) fn shortened(self, text: &str, width: f64) -> String {
        if self.head(text, width).len() == text.len() {
            return text.to_owned();
        }
        let kept = self.head(text, width - self.width("…")).trim_end();
        format!("{}…", kept.trim_end_matches([',', ';', ':']))
    }

    /// At most `most` lines of at most this width, broken at spaces or, if a word is too long, within it. An ellipsis
    /// replaces what is left out.
    pub(super) fn wrapped(self, text: &str, width: f64, most: usize) -> Vec<String> {
        let mut rest = text.trim();
        let mut lines = Vec::new();
        while !rest.is_empty() && lines.len() + 1 < most {
            let fitting = self.head(rest, width);
            let after = &rest[fitting.len()..];
            let is_whole = after.is_empty() || after.starts_with(char::is_whitespace);
            let space = fitting.rfind(char::is_whitespace).filter(|_| !is_whole);
            let (line, after) = rest.split_at(space.unwrap_or(fitting.len()));
            lines.push(line.trim_end().to_owned());
            rest = after.trim_start();
        }
        lines.extend((!rest.is_empty()).then(|| self.shortened(rest, width)));
        lines
    }

    /// The first characters that fit a width, at least one.
    fn head(self, text: &str, width: f64) -> &str {
        let letters = text.char_indices().take(LINE);
        let ends: Vec<usize> = letters.map(|(at, c)| at + c.len_utf8()).collect();
        let fitting = ends.partition_point(|&end| self.width(&text[..end]) <= width);
        &text[..ends.get(fitting.saturating_sub(1)).copied().unwrap_or(0)]
    }
}

#[cfg(test)]
mod tests {
    use super::super::colour::GREY;
    use super::*;

    const FACE: Face = Face::plain(10.0, 12.0, GREY);

    #[test]
    fn widths_are_those_of_the_font() {
        // Advances of DejaVu Sans in units of 1/2048: M 1767, i 569.
        assert!((FACE.width("M") - 17670.0 / 2048.0).abs() < 0.02);
        assert!((FACE.width("i") - 5690.0 / 2048.0).abs() < 0.02);
        assert!(Face::bold(10.0, 12.0, GREY).width("method") > FACE.width("method"));
        assert_eq!(FACE.width(""), 0.0);
    }

    #[test]
    fn lines_fit_and_lose_nothing() {
        let text = "no data: put https://example.org/a-very-long-path/of/some/file here";
        let lines = FACE.wrapped(text, 90.0, usize::MAX);
        assert!(lines.len() > 3);
        assert!(lines.iter().all(|line| FACE.width(line) <= 90.0));
        assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
        assert!(FACE.wrapped("  ", 90.0, 9).is_empty());
    }

    #[test]
    fn a_width_too_small_for_a_letter_still_ends() {
        assert_eq!(FACE.wrapped("añb", 1.0, 9), ["a", "ñ", "b"]);
        assert_eq!(FACE.shortened("añb", 1.0), "a…");
    }

    #[test]
    fn what_is_left_out_leaves_an_ellipsis() {
        let block = FACE.wrapped("one two three four five six", 60.0, 2);
        assert_eq!(block.len(), 2);
        assert!(block[1].ends_with('…'), "{block:?}");
        assert!(FACE.width(&block[1]) <= 60.0);
        assert_eq!(FACE.wrapped("one two", 600.0, 2), ["one two"]);
        assert_eq!(FACE.shortened("one", 600.0), "one");
    }
}
