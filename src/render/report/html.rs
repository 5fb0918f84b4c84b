//! HTML in strings: escaping, tables and whole pages.

use super::GENERATOR;
use crate::render::tables::TextTable;

/// Text as it may stand between tags and in quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() && c != '\n' => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A list of sentences.
pub(super) fn list(items: &[String]) -> String {
    let items: String = items.iter().map(|item| format!("<li>{}</li>\n", escape(item))).collect();
    format!("<ul>\n{items}</ul>\n")
}

/// A field of a table.
pub(super) struct Field {
    /// Markup.
    pub(super) html: String,
    /// What the column is sorted by; the text itself if left out.
    pub(super) key: Option<String>,
    pub(super) class: &'static str,
}

impl Field {
    pub(super) fn word(text: &str) -> Self {
        Self { html: escape(text), key: None, class: "word" }
    }

    pub(super) fn plain(text: &str) -> Self {
        Self { class: "", ..Self::word(text) }
    }

    /// A number as shown, sorted by its value; nothing sorts last.
    pub(super) fn number(shown: &str, value: Option<f64>) -> Self {
        let value = value.filter(|value| value.is_finite());
        Self {
            html: escape(shown),
            key: Some(value.map_or(String::new(), |value| value.to_string())),
            class: "",
        }
    }
}

/// Columns beyond which a table is printed in smaller letters, so as not to run off the paper.
const MANY: usize = 10;

/// A table that can be sorted, in a box that scrolls if it is too wide.
pub(super) fn table(caption: &str, header: &[String], words: usize, rows: &[Vec<Field>]) -> String {
    let class = if header.len() > MANY { " class=\"many\"" } else { "" };
    let mut text = format!("<div class=\"wide\"><table{class}>\n");
    if !caption.is_empty() {
        text += &format!("<caption><span>{}</span></caption>\n", escape(caption));
    }
    text += "<thead><tr>";
    for (index, name) in header.iter().enumerate() {
        let is_word = rows
            .first()
            .and_then(|row| row.get(index))
            .map_or(index < words, |field| field.class.starts_with("word"));
        let class = if is_word { " class=\"word\"" } else { "" };
        text += &format!(
            "<th scope=\"col\"{class}><button type=\"button\">{}</button></th>",
            escape(name)
        );
    }
    text += "</tr></thead>\n<tbody>\n";
    for row in rows {
        text += "<tr>";
        for Field { html, key, class } in row {
            let class =
                if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
            let key =
                key.as_ref().map_or(String::new(), |key| format!(" data-v=\"{}\"", escape(key)));
            text += &format!("<td{class}{key}>{html}</td>");
        }
        text += "</tr>\n";
    }
    text + "</tbody></table></div>\n"
}

/// A table of plain text; what looks like a number is sorted as one.
pub(super) fn text_table(table_: &TextTable) -> String {
    let field = |index: usize, text: &String| {
        if index < table_.words {
            return Field::word(text);
        }
        let value = text.replace('−', "-").replace('+', "").replace("< ", "");
        match value.split(' ').next().and_then(|first| first.parse().ok()) {
            Some(value) => Field::number(text, Some(value)),
            None => Field::plain(text),
        }
    };
    let rows: Vec<Vec<Field>> = table_
        .rows
        .iter()
        .map(|row| row.iter().enumerate().map(|(index, text)| field(index, text)).collect())
        .collect();
    let note = if table_.note.is_empty() {
        String::new()
    } else {
        format!("<p class=\"note\">{}</p>\n", escape(&table_.note))
    };
    format!("{}{note}", table("", &table_.header, table_.words, &rows))
}

/// A whole page; nothing is fetched from anywhere.
pub(super) fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         {GENERATOR}\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n{body}\
         <script>\n{}</script>\n</body>\n</html>\n",
        escape(title),
        include_str!("style.css"),
        include_str!("script.js"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_becomes_markup() {
        assert_eq!(
            escape("<b a='1' c=\"2\">&\u{7}"),
            "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp; "
        );
    }
}
