//! The sheet every figure is drawn on: title, legend, room for panels and a caption, top to bottom.

use plotters::style::RGBAColor;
use plotters::style::text_anchor::HPos;

use super::canvas::{Picture, Shape};
use super::colour;
use super::font::Face;

/// Width of a figure in pixels: that of a README's column.
pub(super) const WIDTH: u32 = 960;
pub(super) const MARGIN: f64 = 20.0;
pub(super) const INNER: f64 = WIDTH as f64 - 2.0 * MARGIN;
/// Between panels.
pub(super) const GAP: f64 = 24.0;

const TITLE: Face = Face::bold(16.0);
const LEGEND: Face = Face::plain(11.5);
const CAPTION: Face = Face::plain(10.5);

/// Draws a sample of a mark around a place.
pub(super) type Icon = Box<dyn Fn((f64, f64), &mut Vec<Shape>)>;

/// Draws from top to bottom.
pub(super) struct Sheet {
    pub(super) shapes: Vec<Shape>,
    /// Where the next thing goes.
    pub(super) y: f64,
}

/// A rectangle to draw in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Sheet {
    /// A sheet with its title.
    pub(super) fn new(title: &str) -> Self {
        let mut sheet = Self { shapes: Vec::new(), y: MARGIN };
        for line in TITLE.block(title, INNER, 3) {
            sheet.line(TITLE, colour::INK, 22.0, line);
        }
        sheet
    }

    /// A line of text.
    pub(super) fn line(&mut self, face: Face, colour: RGBAColor, height: f64, text: String) {
        self.shapes.push(Shape::Text {
            at: (MARGIN, self.y + face.size * 0.9),
            anchor: HPos::Left,
            face,
            colour,
            text,
        });
        self.y += height;
    }

    /// Samples of the marks with their meaning, side by side while there is room.
    pub(super) fn legend(&mut self, entries: Vec<(String, Icon)>) {
        const ICON: f64 = 30.0;
        let mut x = MARGIN;
        self.y += 10.0;
        for (text, icon) in entries {
            let text = LEGEND.shortened(&text, INNER - ICON);
            let width = ICON + LEGEND.width(&text);
            if x > MARGIN && x + width > MARGIN + INNER {
                x = MARGIN;
                self.y += 19.0;
            }
            icon((x + 12.0, self.y), &mut self.shapes);
            self.shapes.push(text_at(
                LEGEND,
                colour::INK,
                (x + ICON, self.y + LEGEND.size * 0.35),
                text,
            ));
            x += width + 26.0;
        }
        self.y += 20.0;
    }

    /// Frames for so many panels, `columns` side by side, below each other where there are more.
    pub(super) fn grid(&mut self, panels: usize, columns: usize, height: f64) -> Vec<Frame> {
        let columns = columns.max(1);
        let width = (INNER + GAP) / columns as f64 - GAP;
        let frames = (0..panels).map(|index| Frame {
            left: MARGIN + (index % columns) as f64 * (width + GAP),
            top: self.y + (index / columns) as f64 * (height + GAP),
            width,
            height,
        });
        let frames = frames.collect();
        self.y += panels.div_ceil(columns) as f64 * (height + GAP);
        frames
    }

    /// Ends the sheet with a caption, which also describes the picture to those who cannot see it.
    pub(super) fn finish(mut self, title: String, caption: &str) -> Picture {
        self.y += 4.0;
        for line in CAPTION.wrapped(caption, INNER) {
            self.line(CAPTION, colour::GREY, 15.0, line);
        }
        Picture {
            width: WIDTH,
            height: (self.y + MARGIN - 4.0).ceil() as u32,
            title,
            description: caption.to_owned(),
            shapes: self.shapes,
        }
    }
}

/// Text that starts at a place.
pub(super) fn text_at(face: Face, colour: RGBAColor, at: (f64, f64), text: String) -> Shape {
    Shape::Text { at, anchor: HPos::Left, face, colour, text }
}

/// Text around a place.
pub(super) fn text_around(face: Face, colour: RGBAColor, at: (f64, f64), text: String) -> Shape {
    Shape::Text { at, anchor: HPos::Center, face, colour, text }
}

/// Text that ends at a place.
pub(super) fn text_before(face: Face, colour: RGBAColor, at: (f64, f64), text: String) -> Shape {
    Shape::Text { at, anchor: HPos::Right, face, colour, text }
}

/// A line of dashes between two places.
pub(super) fn dashes(
    from: (f64, f64),
    to: (f64, f64),
    thick: f64,
    colour: RGBAColor,
) -> Vec<Shape> {
    const DASH: f64 = 4.0;
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy);
    let count = (length / (2.0 * DASH)).clamp(1.0, 2000.0) as usize;
    let along = |share: f64| (from.0 + share * dx, from.1 + share * dy);
    (0..count)
        .map(|index| {
            let start = index as f64 / count as f64;
            Shape::Line {
                points: vec![along(start), along(start + 0.5 / count as f64)],
                thick,
                colour,
            }
        })
        .collect()
}
