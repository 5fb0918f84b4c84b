//! PNG from SVG.

use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::text::FONTS;

/// Pixels of a PNG per pixel of the SVG: text stays sharp on dense screens and in print.
const SCALE: f32 = 2.0;

/// The embedded fonts; those of the machine are not asked for, so that pictures are the same everywhere.
static DATABASE: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut database = fontdb::Database::new();
    for font in FONTS {
        database.load_font_data(font.to_vec());
    }
    Arc::new(database)
});

/// An SVG as a PNG file.
pub(super) fn png(svg: &str) -> Result<Vec<u8>, String> {
    let options = Options { fontdb: DATABASE.clone(), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| error.to_string())?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or("an empty picture")?;
    let mut pixels = Pixmap::new(size.width(), size.height()).ok_or("an empty picture")?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| error.to_string())
}
