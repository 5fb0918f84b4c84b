//! Shapes, and how they become SVG and PNG.
//!
//! A picture is a list of shapes in pixels of the finished figure, so that both formats show the
//! same thing. Both are drawn on a finer grid, because plotters takes whole numbers
//! only: an SVG's view box is that grid, a PNG is reduced from it. The letters of a PNG are set
//! here, since plotters leaves out their side bearings, which makes gaps within words.

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder};
use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Polygon, Rectangle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, RGBAColor, WHITE};

use super::font::{self, Face};

/// Steps of the grid per pixel.
const FINE: u32 = 4;
/// Pixels of a PNG per pixel of the figure: text stays sharp on dense screens and in print.
pub(super) const PNG_SCALE: u32 = 2;
/// A PNG higher than this is drawn at its own size, which is coarser, to spare memory.
const TALL: u32 = 3000;

/// Something of one colour.
#[derive(Clone)]
pub(super) enum Shape {
    /// A rectangle; level and upright lines are thin ones.
    Bar {
        left: f64,
        top: f64,
        width: f64,
        height: f64,
        colour: RGBAColor,
    },
    Dot {
        centre: (f64, f64),
        radius: f64,
        colour: RGBAColor,
    },
    /// White inside.
    Diamond {
        centre: (f64, f64),
        radius: f64,
        line: f64,
        colour: RGBAColor,
    },
    /// A line through points; slanted ones are smoothed.
    Line {
        points: Vec<(f64, f64)>,
        thick: f64,
        colour: RGBAColor,
    },
    /// Filled.
    Area {
        points: Vec<(f64, f64)>,
        colour: RGBAColor,
    },
    Text {
        /// The left end, middle or right end of the baseline.
        at: (f64, f64),
        anchor: HPos,
        face: Face,
        colour: RGBAColor,
        text: String,
    },
}

/// A finished drawing.
pub(super) struct Picture {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) shapes: Vec<Shape>,
}

/// Where plotters' backends differ from each other.
#[derive(Clone, Copy)]
struct Backend {
    /// Steps per pixel.
    scale: u32,
    /// Whether the last row and column of a rectangle are filled.
    inclusive: bool,
    /// Whether plotters draws text.
    text: bool,
}

impl Picture {
    /// The picture as an SVG document.
    pub(super) fn svg(&self) -> Result<Vec<u8>, String> {
        let mut text = String::new();
        let backend = Backend { scale: FINE, inclusive: false, text: true };
        let area = SVGBackend::with_string(&mut text, (self.width * FINE, self.height * FINE));
        self.draw(&area.into_drawing_area(), backend)?;
        let (_, body) = text.split_once('\n').ok_or("an SVG without a first line")?;
        Ok(format!("{}{body}", self.svg_head()).into_bytes())
    }

    /// The first lines of the SVG: the size in pixels, and words for those who cannot see it.
    fn svg_head(&self) -> String {
        let (width, height) = (self.width, self.height);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {} {}\" role=\"img\">\n<title>{}</title>\n<desc>{}</desc>\n",
            width * FINE,
            height * FINE,
            escaped(&self.title),
            escaped(&self.description)
        )
    }

    /// The picture as a PNG file.
    pub(super) fn png(&self) -> Result<Vec<u8>, String> {
        let scale = if self.height > TALL { PNG_SCALE } else { FINE };
        let size = (self.width * scale, self.height * scale);
        let mut pixels = vec![0; size.0 as usize * size.1 as usize * 3];
        let backend = Backend { scale, inclusive: true, text: false };
        let area = BitMapBackend::with_buffer(&mut pixels, size);
        self.draw(&area.into_drawing_area(), backend)?;
        for shape in &self.shapes {
            shape.set_text(f64::from(scale), size.0 as usize, &mut pixels);
        }
        if scale > PNG_SCALE {
            pixels = halved(&pixels, size.0 as usize);
        }
        let mut file = Vec::new();
        PngEncoder::new_with_quality(&mut file, CompressionType::Default, FilterType::Adaptive)
            .write_image(
                &pixels,
                self.width * PNG_SCALE,
                self.height * PNG_SCALE,
                ExtendedColorType::Rgb8,
            )
            .map_err(|error| error.to_string())?;
        Ok(file)
    }

    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        backend: Backend,
    ) -> Result<(), String> {
        let all = || {
            area.fill(&WHITE)?;
            for shape in &self.shapes {
                shape.draw(area, backend)?;
            }
            area.present()
        };
        all().map_err(|error: DrawingAreaErrorKind<B::ErrorType>| error.to_string())
    }
}

impl Shape {
    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        backend: Backend,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let scale = f64::from(backend.scale);
        let steps = |pixels: f64| (pixels * scale).round() as i32;
        match self {
            Self::Bar { left, top, width, height, colour } => {
                let less = i32::from(backend.inclusive);
                let end = |from: i32, size: f64| from + steps(size).max(1) - less;
                let (x, y) = (steps(*left), steps(*top));
                let corners = [(x, y), (end(x, *width), end(y, *height))];
                area.draw(&Rectangle::new(corners, colour.filled()))
            }
            Self::Dot { centre: (x, y), radius, colour } => {
                area.draw(&Circle::new((steps(*x), steps(*y)), steps(*radius), colour.filled()))
            }
            Self::Diamond { centre: (x, y), radius, line, colour } => {
                let (x, y) = (steps(*x), steps(*y));
                let corners = |r: i32| vec![(x - r, y), (x, y - r), (x + r, y), (x, y + r)];
                // A line of this width along a diagonal takes more than its width off the radius.
                let inner = radius - line * std::f64::consts::SQRT_2;
                area.draw(&Polygon::new(corners(steps(*radius)), colour.filled()))?;
                area.draw(&Polygon::new(corners(steps(inner)), WHITE.filled()))
            }
            Self::Line { points, thick, colour } => {
                let points: Vec<_> = points.iter().map(|p| (steps(p.0), steps(p.1))).collect();
                let width = steps(*thick).max(1).unsigned_abs();
                area.draw(&PathElement::new(points, colour.stroke_width(width)))
            }
            Self::Area { points, colour } => {
                let points: Vec<_> = points.iter().map(|p| (steps(p.0), steps(p.1))).collect();
                area.draw(&Polygon::new(points, colour.filled()))
            }
            Self::Text { at: (x, y), anchor, face, colour, text } if backend.text => {
                // plotters puts the middle of an x on the anchor, and divides sizes by 1.24.
                let y = y - face.size * font::X_HEIGHT / 2.0;
                let size = face.size * scale * 1.24;
                let style = if face.bold { FontStyle::Bold } else { FontStyle::Normal };
                let font = FontDesc::new(FontFamily::Name(font::FAMILY), size, style);
                let style = font.color(colour).pos(Pos::new(*anchor, VPos::Center));
                area.draw_text(&drawable(text), &style, (steps(*x), steps(y)))
            }
            Self::Text { .. } => Ok(()),
        }
    }

    /// Sets a text into an image of RGB pixels; other shapes do nothing.
    fn set_text(&self, scale: f64, width: usize, pixels: &mut [u8]) {
        let Self::Text { at, anchor, face, colour, text } = self else {
            return;
        };
        let text = drawable(text);
        let left = match anchor {
            HPos::Left => at.0,
            HPos::Center => at.0 - face.width(&text) / 2.0,
            HPos::Right => at.0 - face.width(&text),
        };
        let large = Face { size: face.size * scale, ..*face };
        large.rasterise(&text, (left * scale, at.1 * scale), |x, y, covered| {
            let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else {
                return;
            };
            let start = (y * width + x) * 3;
            if x < width
                && let Some(pixel) = pixels.get_mut(start..start + 3)
            {
                let share = covered.clamp(0.0, 1.0) * colour.3 as f32;
                for (old, new) in pixel.iter_mut().zip([colour.0, colour.1, colour.2]) {
                    let mixed = f32::from(*old) * (1.0 - share) + f32::from(new) * share;
                    *old = mixed.round() as u8;
                }
            }
        });
    }
}

/// Text without the two characters beside controls that XML cannot hold.
fn drawable(text: &str) -> String {
    text.replace(['\u{fffe}', '\u{ffff}'], "")
}

fn escaped(text: &str) -> String {
    drawable(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Half the size: each pixel is the mean of four.
fn halved(pixels: &[u8], width: usize) -> Vec<u8> {
    let line = width * 3;
    let mut small = Vec::with_capacity(pixels.len() / 4);
    for pair in pixels.chunks_exact(2 * line) {
        let (upper, lower) = pair.split_at(line);
        for (above, below) in upper.chunks_exact(6).zip(lower.chunks_exact(6)) {
            for channel in 0..3 {
                let four = [above, below].map(|two| [two[channel], two[channel + 3]]);
                let sum: u16 = four.as_flattened().iter().map(|&part| u16::from(part)).sum();
                small.push(((sum + 2) / 4) as u8);
            }
        }
    }
    small
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halving_takes_the_mean_of_four_pixels() {
        let grey = |levels: &[u8]| -> Vec<u8> { levels.iter().flat_map(|&l| [l; 3]).collect() };
        let pixels = grey(&[0, 4, 255, 255, 8, 12, 255, 255]);
        assert_eq!(halved(&pixels, 4), grey(&[6, 255]));
    }

    #[test]
    fn nothing_in_a_text_breaks_the_document() {
        let picture = Picture {
            width: 40,
            height: 20,
            title: "<a> & \u{ffff}b".to_owned(),
            description: String::new(),
            shapes: vec![Shape::Text {
                at: (2.0, 15.0),
                anchor: HPos::Left,
                face: Face::plain(10.0),
                colour: RGBAColor(0, 0, 0, 1.0),
                text: "</svg>\u{fffe}&".to_owned(),
            }],
        };
        let text = String::from_utf8(picture.svg().unwrap()).unwrap();
        let document = roxmltree::Document::parse(&text).unwrap();
        let words: Vec<&str> = document.descendants().filter_map(|n| n.text()).collect();
        assert!(words.contains(&"<a> & b"), "{words:?}");
        assert!(words.iter().any(|word| word.trim() == "</svg>&"));
    }
}
