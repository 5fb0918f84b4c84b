//! The embedded font: DejaVu Sans, reduced to what labels need, and text that fits a width.

use std::sync::LazyLock;

use ab_glyph::{Font, FontRef, Glyph, Point, PxScale, ScaleFont, point};

/// What an SVG asks for. Verdana has almost the same widths as DejaVu Sans, which few have
/// outside of Linux.
pub(super) const FAMILY: &str = "DejaVu Sans, Verdana, Geneva, sans-serif";
/// Height of an x, per size.
pub(super) const X_HEIGHT: f64 = 1120.0 / 2048.0;
/// From the top of the highest letter to the bottom of the lowest, per size.
const HEIGHT: f64 = (1901.0 + 483.0) / 2048.0;

static PLAIN: LazyLock<FontRef<'static>> =
    LazyLock::new(|| embedded(include_bytes!("../../../assets/fonts/DejaVuSans.ttf")));
static BOLD: LazyLock<FontRef<'static>> =
    LazyLock::new(|| embedded(include_bytes!("../../../assets/fonts/DejaVuSans-Bold.ttf")));

fn embedded(file: &'static [u8]) -> FontRef<'static> {
    FontRef::try_from_slice(file).expect("the embedded fonts are valid")
}

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

    fn font(self) -> &'static FontRef<'static> {
        if self.bold { &BOLD } else { &PLAIN }
    }

    /// Width of a text in pixels.
    pub(super) fn width(self, text: &str) -> f64 {
        let font = self.font().as_scaled(self.scale());
        let advances = text.chars().map(|c| font.h_advance(font.glyph_id(c)));
        f64::from(advances.sum::<f32>())
    }

    /// Calls `paint` with every pixel of a text and how much of it is covered.
    pub(super) fn rasterise(
        self,
        text: &str,
        baseline: (f64, f64),
        mut paint: impl FnMut(i64, i64, f32),
    ) {
        let font = self.font().as_scaled(self.scale());
        let mut pen: Point = point(baseline.0 as f32, baseline.1 as f32);
        for c in text.chars() {
            let id = font.glyph_id(c);
            let glyph: Glyph = id.with_scale_and_position(self.scale(), pen);
            pen.x += font.h_advance(id);
            // Spaces have no outline.
            if let Some(outline) = font.outline_glyph(glyph) {
                let corner = outline.px_bounds().min;
                let (left, top) = (corner.x as i64, corner.y as i64);
                outline.draw(|x, y, covered| {
                    paint(left + i64::from(x), top + i64::from(y), covered);
                });
            }
        }
    }

    fn scale(self) -> PxScale {
        PxScale::from((self.size * HEIGHT) as f32)
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
            let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
            if self.width(&longer) <= width {
                line = longer;
                continue;
            }
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            let mut rest = word;
            while let head = self.head(rest, width)
                && head.len() < rest.len()
            {
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
        /// More than fits a line; reasons come from anywhere, and not all of a long one is wrapped.
        const LINE: usize = 200;
        let text: String = text.chars().take((lines + 1) * LINE).collect();
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
        let font = self.font().as_scaled(self.scale());
        let mut right = 0.0;
        let beyond = text.char_indices().skip_while(|(_, c)| {
            right += font.h_advance(font.glyph_id(*c));
            f64::from(right) <= width
        });
        let one = text.chars().next().map_or(0, char::len_utf8);
        let end = beyond.map(|(start, _)| start).next();
        &text[..end.unwrap_or(text.len()).max(one)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACE: Face = Face::plain(10.0);

    #[test]
    fn widths_are_those_of_the_font() {
        // Advances of DejaVu Sans in units of 1/2048: M 1767, i 569.
        assert!((FACE.width("M") - 17670.0 / 2048.0).abs() < 1e-3);
        assert!((FACE.width("i") - 5690.0 / 2048.0).abs() < 1e-3);
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
