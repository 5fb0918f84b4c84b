//! `table.tex`: booktabs tables to be included in a document.

use super::tables::{self, TextTable};
use super::text::{letter, listed, number, p_value, signed};
use super::warnings::shape;
use super::{Cell, ExportError, Exporter, Place, Row, Summary};
use crate::paper;
use crate::stats::Reproduction;

/// Writes `table.tex`.
#[derive(Clone, Copy, Debug)]
pub struct Latex;

impl Exporter for Latex {
    fn file_name(&self) -> &str {
        "table.tex"
    }

    fn export(&self, summary: &Summary) -> Result<Vec<u8>, ExportError> {
        let mut text = header(summary);
        text.push_str(&ours(summary));
        if let Some(table) = summary.paper {
            text.push('\n');
            text.push_str(&beside(summary, table));
        }
        for table in tables::all(summary) {
            text.push('\n');
            text.push_str(&other(summary, &table));
        }
        Ok(text.into_bytes())
    }
}

fn header(summary: &Summary) -> String {
    let own = label(summary);
    let beside = summary.paper.map(|_| format!("{own}-paper"));
    let others = tables::all(summary);
    let others = others.iter().map(|table| format!("{own}-{}", table.name));
    let labels: Vec<String> = std::iter::once(own.clone()).chain(beside).chain(others).collect();
    let labels = listed(&labels);
    format!(
        "% Include with \\input{{table.tex}} in a document that loads \\usepackage{{booktabs}};\n\
         % if it loads graphicx too, a table wider than the line shrinks to it.\n\
         % Labels: {labels}.\n\
         % {}\n\
         % {}\n",
        escape(&summary.provenance),
        escape(&summary.state)
    )
}

fn label(summary: &Summary) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = summary.experiment.chars().map(safe).collect();
    format!("tab:{name}")
}

fn ours(summary: &Summary) -> String {
    let labels = summary.columns.iter().map(|column| escape(&column.label));
    let names = ["Dataset", r"$(n_{tr}, n_{te}, m, K)$"].map(str::to_owned);
    let header: Vec<String> = names.into_iter().chain(labels).collect();
    let mut body = line(&header) + "\\midrule\n";
    for row in &summary.rows {
        let size = row.shape.map_or("--".to_owned(), shape);
        let cells = row.cells.iter().map(|cell| our_cell(summary, cell));
        let cells: Vec<String> = [name(summary, row), size].into_iter().chain(cells).collect();
        body.push_str(&line(&cells));
    }
    if let Some(ranks) = &summary.ranks {
        let average = ranks.average.iter().map(|rank| number(*rank));
        let names = ["Average rank".to_owned(), String::new()];
        body.push_str("\\midrule\n");
        body.push_str(&line(&names.into_iter().chain(average).collect::<Vec<_>>()));
    }
    let title = summary.heading();
    let caption = format!(
        "{}. Test accuracy in percent, mean $\\pm$ standard deviation over {}. \
         The best of a row is bold, the second best italic.",
        escape(title),
        summary.repeats()
    );
    let columns = format!("ll{}", "c".repeat(summary.columns.len()));
    float(&caption, &label(summary), &columns, &body, &notes(summary))
}

fn beside(summary: &Summary, table: &paper::Table) -> String {
    let header = ["Dataset", "Method", "Paper", "Ours", "Difference", "Welch's $p$", "Verdict"];
    let header = header.map(str::to_owned);
    let mut body = line(&header);
    for row in &summary.rows {
        let other = if row.other_problem { " $\\neq$" } else { "" };
        let mut dataset = format!("{}{other}", escape(&row.dataset));
        let compared = row.cells.iter().zip(&summary.columns);
        for (cell, column) in compared {
            let Some(paper) = cell.paper else {
                continue;
            };
            if !dataset.is_empty() {
                body.push_str("\\midrule\n");
            }
            body.push_str(&line(&[
                std::mem::take(&mut dataset),
                escape(&column.label),
                paper_cell(paper),
                our_cell(summary, cell),
                cell.difference.map_or("--".to_owned(), |d| escape(&signed(d))),
                (cell.welch).map_or("--".to_owned(), |test| escape(&p_value(test.p))),
                cell.reproduction.map_or("--", Reproduction::word).to_owned(),
            ]));
        }
    }
    let caption = format!(
        "The paper's Table {} beside ours; the difference is ours minus the paper's, in points, \
         taken before rounding.{}",
        escape(&table.table),
        if summary.rows.iter().any(|row| row.other_problem) {
            " Rows with $\\neq$ are not the problem of the paper's row."
        } else {
            ""
        }
    );
    let label = format!("{}-paper", label(summary));
    float(&caption, &label, "llccrrl", &body, &warnings(summary))
}

/// Rows of a table that fit a page; longer ones are cut, and the Markdown has them all.
const ROWS: usize = 60;

/// A table of text.
pub(super) fn other(summary: &Summary, table: &TextTable) -> String {
    let fields = |row: &[String]| row.iter().map(|field| escape(field)).collect::<Vec<_>>();
    let mut body = line(&fields(&table.header)) + "\\midrule\n";
    for row in table.rows.iter().take(ROWS) {
        body.push_str(&line(&fields(row)));
    }
    let mut notes = warnings(summary);
    notes.push(escape(&table.note));
    if table.rows.len() > ROWS {
        let file = if table.name == "times" { "times.md" } else { "table.md" };
        let more = table.rows.len() - ROWS;
        notes.push(format!("{more} more rows are in {file}."));
    }
    notes.retain(|note| !note.is_empty());
    let columns = "l".repeat(table.words) + &"r".repeat(table.header.len() - table.words);
    let label = format!("{}-{}", label(summary), table.name);
    float(&escape(&table.caption), &label, &columns, &body, &notes)
}

/// A floating table that shrinks to the line where it is too wide and graphicx is loaded.
fn float(caption: &str, label: &str, columns: &str, body: &str, notes: &[String]) -> String {
    let mut text = format!(
        "\\begin{{table}}[tp]\n\\centering\\footnotesize\\setlength{{\\tabcolsep}}{{3pt}}\n\
         \\caption{{{caption}}}\n\\label{{{label}}}\n\
         \\setbox0=\\hbox{{%\n\
         \\begin{{tabular}}{{@{{}}{columns}@{{}}}}\n\\toprule\n{body}\\bottomrule\n\
         \\end{{tabular}}}}%\n\
         \\leavevmode\\ifdim\\wd0>\\linewidth\n\
         \\ifdefined\\resizebox\\resizebox{{\\linewidth}}{{!}}{{\\box0}}\\else\\box0\\fi\n\
         \\else\\box0\\fi\n"
    );
    if !notes.is_empty() {
        text.push_str(&format!(
            "\\par\\smallskip\n\\begin{{minipage}}{{\\linewidth}}\\footnotesize\\sloppy\n{}\n\
             \\end{{minipage}}\n",
            notes.join("\\par\n")
        ));
    }
    text + "\\end{table}\n"
}

/// Warnings, legend, footnotes and findings, a paragraph each.
fn notes(summary: &Summary) -> Vec<String> {
    let legend = summary.legend().into_iter().map(|line| escape(&line));
    let footnotes = (summary.footnotes.iter().enumerate())
        .map(|(index, note)| format!("{} {}", superscript(&letter(index)), escape(note)));
    let findings = summary.findings.iter().map(|finding| escape(finding));
    let warnings = warnings(summary).into_iter();
    (warnings.chain(legend).chain(footnotes).chain(findings)).collect()
}

/// A paragraph each; every table has them, since tables are taken one by one.
fn warnings(summary: &Summary) -> Vec<String> {
    let warnings = summary.warnings.iter();
    warnings.map(|warning| format!("\\textbf{{Warning:}} {}", escape(warning))).collect()
}

fn name(summary: &Summary, row: &Row) -> String {
    escape(&row.dataset) + &superscript(&summary.letters(&row.footnotes))
}

fn our_cell(summary: &Summary, cell: &Cell) -> String {
    let notes = superscript(&summary.letters(&cell.footnotes));
    let Some(mean) = cell.mean else {
        return format!("{}{notes}", escape(cell.word()));
    };
    let mut text = match cell.place {
        Place::Best => format!("\\textbf{{{}}}", number(mean)),
        Place::SecondBest => format!("\\textit{{{}}}", number(mean)),
        Place::Other => number(mean),
    };
    if let Some(deviation) = cell.deviation {
        text.push_str(&format!("$\\pm${}", number(deviation)));
    }
    text.push_str(&subscript(&cell.marks()));
    if let Some(share) = cell.share() {
        text.push_str(&format!(" [{share}]"));
    }
    text + &notes
}

fn paper_cell(paper: &paper::Cell) -> String {
    let deviation = paper.deviation.map(|sd| format!("$\\pm${}", number(sd)));
    let mark = paper.mark.map(|mark| subscript(mark.symbol()));
    number(paper.value) + &deviation.unwrap_or_default() + &mark.unwrap_or_default()
}

fn superscript(letters: &str) -> String {
    command("textsuperscript", letters)
}

fn subscript(marks: &str) -> String {
    command("textsubscript", &escape(marks))
}

fn command(name: &str, content: &str) -> String {
    if content.is_empty() { String::new() } else { format!("\\{name}{{{content}}}") }
}

fn line(cells: &[String]) -> String {
    format!("{} \\\\\n", cells.join(" & "))
}

/// Text that every LaTeX engine sets as it stands, whatever it holds.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '\\' => escaped.push_str(r"\textbackslash{}"),
            '~' => escaped.push_str(r"\textasciitilde{}"),
            '^' => escaped.push_str(r"\textasciicircum{}"),
            '<' => escaped.push_str(r"\textless{}"),
            '>' => escaped.push_str(r"\textgreater{}"),
            '|' => escaped.push_str(r"\textbar{}"),
            '"' | '”' => escaped.push_str(r"\textquotedblright{}"),
            '“' => escaped.push_str(r"\textquotedblleft{}"),
            '‘' => escaped.push_str(r"\textquoteleft{}"),
            '’' => escaped.push_str(r"\textquoteright{}"),
            '…' => escaped.push_str(r"\dots{}"),
            '`' => escaped.push_str(r"\textasciigrave{}"),
            // Two in a row would be set as one dash, and an option could not be read off.
            '-' if escaped.ends_with('-') => escaped.push_str("{}-"),
            // A bracket after a line's end would be taken for its option.
            '[' => escaped.push_str("{[}"),
            '*' => escaped.push_str("{*}"),
            '±' => escaped.push_str(r"$\pm$"),
            '−' => escaped.push_str("$-$"),
            '–' => escaped.push_str("--"),
            '†' => escaped.push_str(r"$\dagger$"),
            '‡' => escaped.push_str(r"$\ddagger$"),
            '‖' => escaped.push_str(r"$\|$"),
            '§' => escaped.push_str(r"\S{}"),
            '¶' => escaped.push_str(r"\P{}"),
            '×' => escaped.push_str(r"$\times$"),
            '≠' => escaped.push_str(r"$\neq$"),
            '≤' => escaped.push_str(r"$\leq$"),
            '≥' => escaped.push_str(r"$\geq$"),
            '↑' => escaped.push_str(r"$\uparrow$"),
            '²' => escaped.push_str("$^2$"),
            '₊' => escaped.push_str("$_+$"),
            'ε' => escaped.push_str(r"$\epsilon$"),
            'τ' => escaped.push_str(r"$\tau$"),
            'γ' => escaped.push_str(r"$\gamma$"),
            // The default font encoding has the letters of Latin-1 but for these four.
            'Ð' | 'ð' | 'Þ' | 'þ' => escaped.push_str(&code_point(c)),
            'À'..='ÿ' if c.is_alphabetic() => escaped.push(c),
            c if c.is_ascii() && !c.is_ascii_control() => escaped.push(c),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push_str(&code_point(c)),
        }
    }
    escaped
}

/// Stands for a character that not every engine can set.
fn code_point(c: char) -> String {
    format!("\\texttt{{U+{:04X}}}", u32::from(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_special_character_is_escaped() {
        assert_eq!(
            escape(r"50% of $a_b$ & {#} ~^\ <|>"),
            r"50\% of \$a\_b\$ \& \{\#\} \textasciitilde{}\textasciicircum{}\textbackslash{} \textless{}\textbar{}\textgreater{}"
        );
        assert_eq!(escape("--data"), "-{}-data");
        assert_eq!(escape("é 中"), r"é \texttt{U+4E2D}");
    }
}
