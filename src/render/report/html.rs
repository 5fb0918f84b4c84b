//! Tables, lists and whole pages as HTML. Text is escaped by construction.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::GENERATOR;
use crate::analyse::Place;
use crate::analyse::text::number;
use crate::render::csv::rounded;
use crate::render::tables::{Field, Head, Kind, Table};

/// Columns beyond which a table is printed in smaller letters, so as not to run off the paper.
const MANY: usize = 10;

/// A list of sentences.
pub(super) fn list(items: impl IntoIterator<Item = impl ToString>) -> Markup {
    html! {
        ul { @for item in items { li { (item.to_string()) } "\n" } } "\n"
    }
}

/// Names with their meaning.
pub(super) fn definitions(entries: &[(&str, String)]) -> Markup {
    html! {
        dl {
            @for (name, value) in entries {
                dt { (name) }
                dd {
                    @if value.starts_with("https://") && !value.contains(' ') {
                        a href=(value) { (value) }
                    } @else {
                        (value)
                    }
                }
                "\n"
            }
        }
        "\n"
    }
}

/// A less prominent paragraph.
pub(super) fn note(text: &str) -> Markup {
    html! { p class="note" { (text) } "\n" }
}

/// A table below its caption, with its notes.
pub(super) fn titled(table: &Table) -> Markup {
    html! { h3 { (table.caption) } "\n" (plain(table)) }
}

/// A table with its notes. It can be sorted, and scrolls if it is too wide.
pub(super) fn plain(table: &Table) -> Markup {
    let class = (table.head.len() > MANY).then_some("many");
    html! {
        div class="wide" {
            table class=[class] { "\n"
                thead { tr { @for name in &table.head { (head(name)) } } } "\n"
                tbody { "\n"
                    @for row in &table.rows { (line(table, row)) }
                }
                @if !table.foot.is_empty() { tfoot { (line(table, &table.foot)) } }
            }
        }
        "\n"
        @for text in &table.notes { (note(text)) }
    }
}

fn class(head: &Head) -> Option<&'static str> {
    match head.kind {
        Kind::Word => Some("word"),
        Kind::Prose => Some("word prose"),
        Kind::Number => None,
    }
}

fn head(head: &Head) -> Markup {
    html! { th scope="col" class=[class(head)] { button type="button" { (head.name) } } }
}

fn line(table: &Table, row: &[Field]) -> Markup {
    html! {
        tr {
            @for (head, field) in table.head.iter().zip(row) {
                td class=[class(head)] data-v=[key(field)] { (content(field)) }
            }
        }
        "\n"
    }
}

/// What a field is sorted by, if that is not its text: numbers by their value, and last without one.
fn key(field: &Field) -> Option<String> {
    match field.value {
        Some(value) => Some(rounded(value).to_string()),
        None if field.cell.is_some() => Some(String::new()),
        None => (!field.notes.is_empty()).then(|| field.text.clone()),
    }
}

fn content(field: &Field) -> Markup {
    let place = match field.place {
        Place::Best => Some("best"),
        Place::SecondBest => Some("second"),
        Place::Other => None,
    };
    let text = html! {
        @if let Some(link) = &field.link { a href=(link) { (field.text) } }
        @else if field.is_verdict {
            span class=(format!("verdict {}", field.text.replace(' ', "-"))) { (field.text) }
        } @else if place.is_some() { span class=[place] { (field.text) } }
        @else { (field.text) }
        @if let Some(deviation) = field.deviation { " ± " (number(deviation)) }
        @if !field.marks.is_empty() { " " span class="marks" { (field.marks) } }
        @if let Some(share) = &field.share { " [" (share) "]" }
    };
    html! {
        @if let Some((row, column)) = field.cell {
            button type="button" data-cell=(format!("{row},{column}")) { (text) }
        } @else { (text) }
        @if !field.notes.is_empty() { sup { (field.notes) } }
    }
}

/// A whole page; nothing is fetched from anywhere.
pub(super) fn page(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE) "\n"
        html lang="en" { "\n"
            head { "\n"
                meta charset="utf-8"; "\n"
                meta name="viewport" content="width=device-width, initial-scale=1"; "\n"
                (PreEscaped(GENERATOR)) "\n"
                link rel="icon" href="data:,"; "\n"
                title { (title) } "\n"
                style { "\n" (PreEscaped(include_str!("style.css"))) } "\n"
            } "\n"
            body { "\n"
                (body)
                script { "\n" (PreEscaped(include_str!("script.js"))) } "\n"
            } "\n"
        } "\n"
    };
    page.into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_becomes_markup() {
        let field = Field::text("<b a=\"2\">&");
        assert_eq!(content(&field).into_string(), "&lt;b a=&quot;2&quot;&gt;&amp;");
    }
}
