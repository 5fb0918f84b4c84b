//! The embedded font: DejaVu Sans, reduced to what labels need, and text that fits a width.

use std::sync::LazyLock;

use plotters::style::{FontDesc, FontFamily, FontStyle, register_font};

/// What an SVG asks for. Verdana has almost the same widths as DejaVu Sans, which few have
/// outside of Linux.
const FAMILY: &str = "DejaVu Sans, Verdana, Geneva, sans-serif";
/// From the top of the highest letter to the bottom of the lowest, per size.
pub(super) const HEIGHT: f64 = (1901.0 + 483.0) / 2048.0;
/// Height of an x, per size.
pub(super) const X_HEIGHT: f64 = 1120.0 / 2048.0;

static REGISTERED: LazyLock<bool> = LazyLock::new(|| {
    let plain = include_bytes!("../../../assets/fonts/DejaVuSans.ttf");
    let bold = include_bytes!("../../../assets/fonts/DejaVuSans-Bold.ttf");
    register_font(FAMILY, FontStyle::Normal, plain).is_ok()
        && register_font(FAMILY, FontStyle::Bold, bold).is_ok()
});

/// A size in pixels, plain or bold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Face {
    pub(super) size: f64,
    pub(super) bold: bool,
}

impl Face {
    pub(super) const fn plain(size: f64) -> Self {
        Self { size, bold: false }
    }

    pub(super) const fn bold(size: f64) -> Self {
        Self { size, bold: true }
    }

    /// The font for plotters, which has an own idea of sizes.
    pub(super) fn font(self, size: f64) -> FontDesc<'static> {
        assert!(*REGISTERED, "the embedded fonts are valid");
        let style = if self.bold {
            FontStyle::Bold
        } else {
            FontStyle::Normal
        };
        FontDesc::new(FontFamily::Name(FAMILY), size, style)
    }

    /// Width of a text in pixels.
    pub(super) fn width(self, text: &str) -> f64 {
        /// Widths are whole numbers, so a large size is measured.
        const LARGE: f64 = 1000.0;
        let (width, _) = (self.font(LARGE * HEIGHT).box_size(text))
            .expect("a registered font measures any text");
        f64::from(width) / LARGE * self.size
    }

    /// The text, or as much of it as fits and an ellipsis.
    pub(super) fn shortened(self, text: &str, width: f64) -> String {
        if self.width(text) <= width {
            return text.to_owned();
        }
        let mut kept = self.head(text, width - self.width("…")).trim_end();
        kept = kept.trim_end_matches([',', ';', ':']);
        format!("{kept}…")
    }

    /// Lines of at most a width, broken at spaces and, where a word is too long, within it.
    pub(super) fn wrapped(self, text: &str, width: f64) -> Vec<String> {
        let mut lines = Vec::new();
        let mut line = String::new();
        for word in text.split_whitespace() {
            let longer = if line.is_empty() {
                word.to_owned()
            } else {
                format!("{line} {word}")
            };
            if self.width(&longer) <= width {
                line = longer;
                continue;
            }
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            let mut rest = word;
            while self.width(rest) > width {
                let head = self.head(rest, width);
                lines.push(head.to_owned());
                rest = &rest[head.len()..];
            }
            line = rest.to_owned();
        }
        if !line.is_empty() {
            lines.push(line);
        }
        lines
    }

    /// As [`Face::wrapped`], but of so many lines at most; an ellipsis says where text is missing.
    pub(super) fn block(self, text: &str, width: f64, lines: usize) -> Vec<String> {
        /// Reasons come from anywhere; wrapping a whole file would take long.
        const MOST: usize = 4000;
        let text: String = text.chars().take(MOST).collect();
        let mut wrapped = self.wrapped(&text, width);
        if wrapped.len() > lines {
            wrapped.truncate(lines);
            if let Some(last) = wrapped.last_mut() {
                *last = self.shortened(&format!("{last} …"), width);
            }
        }
        wrapped
    }

    /// The first characters that fit a width, at least one.
    fn head(self, text: &str, width: f64) -> &str {
        let ends = text.char_indices().map(|(start, c)| start + c.len_utf8());
        let fitting = ends
            .clone()
            .take_while(|&end| self.width(&text[..end]) <= width);
        let end = fitting.last().or_else(|| ends.clone().next()).unwrap_or(0);
        &text[..end]
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
        let lines = FACE.wrapped(text, 90.0);
        assert!(lines.len() > 3);
        assert!(lines.iter().all(|line| FACE.width(line) <= 90.0));
        assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
        assert!(FACE.wrapped("  ", 90.0).is_empty());
    }

    #[test]
    fn a_width_too_small_for_a_letter_still_ends() {
        assert_eq!(FACE.wrapped("añb", 1.0), ["a", "ñ", "b"]);
        assert_eq!(FACE.shortened("añb", 1.0), "a…");
    }

    #[test]
    fn what_is_left_out_leaves_an_ellipsis() {
        let block = FACE.block("one two three four five six", 60.0, 2);
        assert_eq!(block.len(), 2);
        assert!(block[1].ends_with('…'), "{block:?}");
        assert!(FACE.width(&block[1]) <= 60.0);
        assert_eq!(FACE.block("one two", 600.0, 2), ["one two"]);
        assert_eq!(FACE.shortened("one", 600.0), "one");
    }
}
