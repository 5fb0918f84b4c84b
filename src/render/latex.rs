//! `table.tex`: booktabs tables to be included in a document.

use super::tables::{self, Field, Kind, Table};
use crate::analyse::text::{letter, listed, number};
use crate::analyse::{Place, Summary};

/// Rows of a table that fit a page; longer ones are cut, and the Markdown has them all.
const ROWS: usize = 60;

/// The file `table.tex`.
pub(super) fn document(summary: &Summary) -> String {
    let tables = tables::all(summary);
    let labels: Vec<String> = tables.iter().map(|table| label(summary, table)).collect();
    let mut text = format!(
        "% Include with \\input{{table.tex}} in a document that loads \\usepackage{{booktabs}};\n\
         % if it loads graphicx too, a table wider than the line shrinks to it.\n\
         % Labels: {}.\n\
         % {}\n\
         % {}\n",
        listed(&labels),
        escape(&summary.provenance),
        escape(&summary.state)
    );
    let footnotes = summary.footnotes.iter().enumerate();
    let footnotes = footnotes
        .map(|(index, note)| format!("\\textsuperscript{{{}}} {}", letter(index), escape(note)));
    let findings = summary.findings.iter().map(|finding| escape(finding));
    // Tables are taken one by one, so all have the warnings; the first has what belongs to all.
    let mut more: Vec<String> = footnotes.chain(findings).collect();
    for (index, found) in tables.iter().enumerate() {
        let gap = if index > 0 { "\n" } else { "" };
        text += &format!("{gap}{}", table(summary, found, &std::mem::take(&mut more)));
    }
    text
}

fn label(summary: &Summary, table: &Table) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = summary.name().chars().map(safe).collect();
    match table.id {
        "accuracy" => format!("tab:{name}"),
        id => format!("tab:{name}-{id}"),
    }
}

/// A table with its notes, and `more` of them. It floats, and shrinks to the line if it is too wide and graphicx is
/// loaded.
pub(super) fn table(summary: &Summary, table: &Table, more: &[String]) -> String {
    let title = match table.id {
        "accuracy" => format!("{}. ", escape(summary.heading())),
        _ => String::new(),
    };
    let columns = table.head.iter().map(|head| match head.kind {
        Kind::Number => 'r',
        Kind::Word | Kind::Prose => 'l',
    });
    let head: Vec<String> = table.head.iter().map(|head| escape(&head.name)).collect();
    let body: String = table.rows.iter().take(ROWS).map(|row| line(row)).collect();
    let foot = match table.foot.is_empty() {
        true => String::new(),
        false => format!("\\midrule\n{}", line(&table.foot)),
    };
    format!(
        "\\begin{{table}}[tp]\n\\centering\\footnotesize\\setlength{{\\tabcolsep}}{{3pt}}\n\
         \\caption{{{title}{}}}\n\\label{{{}}}\n\
         \\setbox0=\\hbox{{%\n\
         \\begin{{tabular}}{{@{{}}{}@{{}}}}\n\\toprule\n{} \\\\\n\\midrule\n{body}{foot}\\bottomrule\n\
         \\end{{tabular}}}}%\n\
         \\leavevmode\\ifdim\\wd0>\\linewidth\n\
         \\ifdefined\\resizebox\\resizebox{{\\linewidth}}{{!}}{{\\box0}}\\else\\box0\\fi\n\
         \\else\\box0\\fi\n\
         \\par\\smallskip\n\\begin{{minipage}}{{\\linewidth}}\\footnotesize\\sloppy\n{}\n\
         \\end{{minipage}}\n\\end{{table}}\n",
        escape(&table.caption),
        label(summary, table),
        columns.collect::<String>(),
        head.join(" & "),
        notes(summary, table, more).join("\\par\n")
    )
}

/// What follows a table, a paragraph each.
fn notes(summary: &Summary, table: &Table, more: &[String]) -> Vec<String> {
    let warnings = summary.warnings.iter();
    let warnings =
        warnings.map(|warning| format!("\\textbf{{Warning:}} {}", escape(&warning.to_string())));
    let notes = table.notes.iter().map(|note| escape(note));
    let file = if table.id == "times" { "times.md" } else { "table.md" };
    let cut = table.rows.len().saturating_sub(ROWS);
    let cut = (cut > 0).then(|| format!("{cut} more rows are in {file}."));
    warnings.chain(notes).chain(more.iter().cloned()).chain(cut).collect()
}

fn line(row: &[Field]) -> String {
    format!("{} \\\\\n", row.iter().map(field).collect::<Vec<_>>().join(" & "))
}

fn field(field: &Field) -> String {
    let command = |name: &str, content: &str| match content {
        "" => String::new(),
        content => format!("\\{name}{{{content}}}"),
    };
    let text = escape(&field.text);
    let mut text = match field.place {
        Place::Best => command("textbf", &text),
        Place::SecondBest => command("textit", &text),
        Place::Other => text,
    };
    text.extend(field.deviation.map(|deviation| format!("$\\pm${}", number(deviation))));
    text += &command("textsubscript", &escape(&field.marks));
    text.extend(field.share.as_ref().map(|share| format!(" [{share}]")));
    text + &command("textsuperscript", &field.notes)
}

/// Text that every LaTeX engine prints literally, with any characters.
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

/// Replaces a character that not every engine can print.
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
