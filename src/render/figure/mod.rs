//! `figures/accuracy.*`: test accuracy by method, one panel per dataset, as SVG, PNG and CSV.
//!
//! The way of the data: [`page`] arranges a title, a legend, panels and a caption; a [`panel`] is
//! a dataset with an [`axis`] and a [`lane`] per method; all of them only add shapes, which
//! [`canvas`] turns into a file. [`data`] writes what is drawn as CSV.

mod axis;
mod canvas;
mod colour;
mod data;
mod font;
mod lane;
mod page;
mod panel;

use super::{ExportError, Exporter, Summary};

/// Writes `figures/accuracy.svg`, `figures/accuracy.png` or `figures/accuracy.csv`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccuracyFigure {
    /// 960 pixels wide.
    Svg,
    /// The same picture with twice as many pixels each way.
    Png,
    /// The numbers that are drawn.
    Csv,
}

impl AccuracyFigure {
    /// All files of the figure.
    pub const ALL: [Self; 3] = [Self::Svg, Self::Png, Self::Csv];

    const fn file(self) -> &'static str {
        match self {
            Self::Svg => "figures/accuracy.svg",
            Self::Png => "figures/accuracy.png",
            Self::Csv => "figures/accuracy.csv",
        }
    }
}

impl Exporter for AccuracyFigure {
    fn file_name(&self) -> &str {
        self.file()
    }

    fn export(&self, summary: &Summary) -> Result<Vec<u8>, ExportError> {
        let drawn = match self {
            Self::Svg => page::picture(summary).svg(),
            Self::Png => page::picture(summary).png(),
            Self::Csv => Ok(data::csv(summary)),
        };
        drawn.map_err(|reason| ExportError::Format {
            file: self.file(),
            reason,
        })
    }
}
