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

/// A size in pixels, plain or bold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Face {
    pub(super) size: f64,
    pub(super) is_bold: bool,
}

impl Face {
    pub(super) const fn plain(size: f64) -> Self {
        Self { size, is_bold: false }
    }

    pub(super) const fn bold(size: f64) -> Self {
        Self { size, is_bold: true }
    }

    fn font(self, size: f64) -> FontDesc<'static> {
        let style = if self.is_bold { FontStyle::Bold } else { FontStyle::Normal };
        FontDesc::new(FontFamily::Name(FAMILY), size, style)
    }

    /// The style that plotters draws with, `scale` times as large; texts lie around the height of their place.
    pub(super) fn style(self, scale: f64, colour: RGBAColor, anchor: HPos) -> TextStyle<'static> {
        let font = self.font(self.size * scale * SHRUNK);
        font.color(&colour).pos(Pos::new(anchor, VPos::Center))
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
        if self.width(text) <= width {
            return text.to_owned();
        }
        let kept = self.head(text, width - self.width("…")).trim_end();
        format!("{}…", kept.trim_end_matches([',', ';', ':']))
    }

    /// At most so many lines of at most a width, broken at spaces or, if a word is too long, within it. An ellipsis
    /// stands for what is left out.
    pub(super) fn wrapped(self, text: &str, width: f64, most: usize) -> Vec<String> {
        let letters = most.saturating_add(1).saturating_mul(LINE);
        let text: String = text.chars().take(letters).collect();
        let mut lines = Vec::new();
        let mut line = String::new();
        for word in text.split_whitespace() {
            let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
            if self.width(&longer) <= width {
                line = longer;
                continue;
            }
            lines.extend((!line.is_empty()).then(|| std::mem::take(&mut line)));
            let mut rest = word;
            while let head = self.head(rest, width)
                && head.len() < rest.len()
            {
                lines.push(head.to_owned());
                rest = &rest[head.len()..];
            }
            line = rest.to_owned();
        }
        lines.extend((!line.is_empty()).then_some(line));
        if lines.len() > most {
            lines.truncate(most);
            if let Some(last) = lines.last_mut() {
                *last = self.shortened(&format!("{last} …"), width);
            }
        }
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
    use super::*;

    const FACE: Face = Face::plain(10.0);

    #[test]
    fn widths_are_those_of_the_font() {
        // Advances of DejaVu Sans in units of 1/2048: M 1767, i 569.
        assert!((FACE.width("M") - 17670.0 / 2048.0).abs() < 0.02);
        assert!((FACE.width("i") - 5690.0 / 2048.0).abs() < 0.02);
        assert!(Face::bold(10.0).width("method") > FACE.width("method"));
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
