//! `table.md`: findings, all tables, footnotes and warnings.

use super::tables::{self, Field, Kind, Table};
use crate::analyse::text::{letter, number};
use crate::analyse::{Place, Summary};

/// The file `table.md`.
pub(super) fn document(summary: &Summary) -> String {
    let notes = summary.footnotes.iter().enumerate();
    let notes = notes.map(|(index, note)| format!("<sup>{}</sup> {}", letter(index), escape(note)));
    let first = [
        format!("# {}\n\n{}\n", escape(summary.heading()), escape(&summary.state)),
        list("Warnings", escaped(&summary.warnings)),
        list("In words", escaped(&summary.findings)),
    ];
    let last = [list("Notes", notes), format!("{}\n", escape(&summary.provenance))];
    let tables = tables::all(summary);
    blocks(first.into_iter().chain(tables.iter().map(table)).chain(last))
}

/// The file `times.md`.
pub(super) fn times(summary: &Summary, times: &Table) -> String {
    blocks([list("Warnings", escaped(&summary.warnings)), table(times)])
}

/// Blocks with an empty line between them.
fn blocks(blocks: impl IntoIterator<Item = String>) -> String {
    let filled = blocks.into_iter().filter(|block| !block.is_empty());
    filled.collect::<Vec<String>>().join("\n")
}

fn escaped<T: ToString>(items: &[T]) -> impl Iterator<Item = String> {
    items.iter().map(|item| escape(&item.to_string()))
}

/// Items below a heading; nothing if there are none.
fn list(title: &str, items: impl Iterator<Item = String>) -> String {
    let items: String = items.map(|item| format!("- {item}\n")).collect();
    if items.is_empty() { items } else { format!("## {title}\n\n{items}") }
}

/// A table below its caption.
fn table(table: &Table) -> String {
    let head: Vec<String> = table.head.iter().map(|head| escape(&head.name)).collect();
    let rules = Vec::from_iter(table.head.iter().map(|head| match head.kind {
        Kind::Number => "---:",
        Kind::Word | Kind::Prose => "---",
    }));
    let mut text =
        format!("## {}\n\n{}|{}|\n", escape(&table.caption), line(&head), rules.join("|"));
    for row in &table.rows {
        text += &line(&row.iter().map(field).collect::<Vec<_>>());
    }
    if let [name, rest @ ..] = table.foot.as_slice() {
        let name = format!("*{}*", escape(&name.text));
        text += &line(&std::iter::once(name).chain(rest.iter().map(field)).collect::<Vec<_>>());
    }
    for note in &table.notes {
        text += &format!("\n{}\n", escape(note));
    }
    text
}

fn line(fields: &[String]) -> String {
    format!("| {} |\n", fields.join(" | "))
}

fn field(field: &Field) -> String {
    let text = escape(&field.text);
    let mut parts = vec![match field.place {
        Place::Best => format!("**{text}**"),
        Place::SecondBest => format!("*{text}*"),
        Place::Other => text,
    }];
    parts.extend(field.deviation.map(|deviation| format!("± {}", number(deviation))));
    parts.extend(Some(field.marks.clone()).filter(|marks| !marks.is_empty()));
    parts.extend(field.share.as_ref().map(|share| format!("[{share}]")));
    let notes = match field.notes.as_str() {
        "" => String::new(),
        letters => format!("<sup>{letters}</sup>"),
    };
    parts.join(" ") + &notes
}

/// Keeps text from being read as markup.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        // A lone `<` or `&` is not markup, and legends read better without a backslash.
        let lone = rest.peek().is_none_or(|next| next.is_whitespace());
        match c {
            '<' | '&' if lone => escaped.push(c),
            '<' | '&' | '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '#' | '~' => {
                escaped.push('\\');
                escaped.push(c);
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_becomes_markup() {
        assert_eq!(escape("a|b*c_d`e<f>"), r"a\|b\*c\_d\`e\<f>");
        assert_eq!(escape("p < 0.05 & &lt;"), r"p < 0.05 & \&lt;");
    }
}
