//! `report.html`: everything about a results folder on one page that needs nothing but a browser.
//!
//! [`page`] puts sections one below the other: first those of [`sections`], words, verdicts, tables and
//! figures, then those of [`setup`], protocol, data, machine and how to repeat it. [`details`] is what cells show when pointed at,
//! [`html`] escapes and builds tables, `style.css` and `script.js` go into the page as they are.
//! [`index`] is the page over several experiments.

mod details;
mod html;
mod index;
mod sections;
mod setup;

pub(super) use index::{NUMBERS, index};

use super::{Drawn, ExportError, Exporter, Summary};
use html::escape;

/// Name of the page in a results folder.
pub(super) const FILE: &str = "report.html";

/// Name of the page over several experiments.
pub(super) const INDEX: &str = "index.html";
/// Stands in every page.
pub(super) const GENERATOR: &str = "<meta name=\"generator\" content=\"npsvcpp\">";

/// Writes `report.html`.
#[derive(Clone, Copy, Debug)]
pub struct Report;

impl Exporter for Report {
    fn file_name(&self) -> &str {
        FILE
    }

    fn export(&self, summary: &Summary) -> Result<Vec<u8>, ExportError> {
        page(summary, &super::figures(summary))
    }

    fn export_with(&self, summary: &Summary, figures: &[Drawn]) -> Result<Vec<u8>, ExportError> {
        page(summary, figures)
    }
}

/// The whole page.
fn page(summary: &Summary, figures: &[Drawn]) -> Result<Vec<u8>, ExportError> {
    let parts: Vec<(&str, &str, String)> = vec![
        ("words", "In words", sections::words(summary)),
        ("verdict", "Beside the paper", sections::verdicts(summary)),
        ("claims", "The paper's claims", sections::claims(summary)),
        ("accuracy", "Test accuracy", sections::accuracy(summary)),
        ("tests", "Differences and tests", sections::tests(summary)),
        ("figures", "Figures", sections::figures(figures)?),
        ("protocol", "Protocol and deviations", setup::protocol(summary)),
        ("data", "Data", setup::data(summary)),
        ("machine", "Machine", setup::machine(summary)),
        ("repeat", "How to repeat it", setup::repeat(summary)),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|(_, _, body)| !body.is_empty()).collect();
    let links: String = (parts.iter())
        .map(|(name, title, _)| format!("<li><a href=\"#{name}\">{title}</a></li>"))
        .collect();
    let mut body = format!(
        "<header>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n<nav aria-label=\"sections\"><ul>{links}</ul></nav>\n\
         </header>\n{}<main>\n",
        escape(summary.heading()),
        escape(&summary.state),
        sections::warnings(summary)
    );
    for (name, title, section) in parts {
        body += &format!("<section id=\"{name}\">\n<h2>{title}</h2>\n{section}</section>\n");
    }
    body += &format!(
        "</main>\n<footer class=\"note\"><p>{}</p></footer>\n",
        escape(&summary.provenance)
    );
    body += "<div id=\"details\" role=\"dialog\" aria-label=\"details of a cell\" hidden></div>\n";
    body += &format!(
        "<script type=\"application/json\" id=\"cells\">{}</script>\n",
        details::json(summary)
    );
    Ok(html::page(summary.heading(), &body).into_bytes())
}
