//! Files of two versions of the renderer, compared by their numbers.

use std::sync::LazyLock;

use indexmap::IndexSet;
use regex::Regex;

/// Numbers with a decimal point, such as `-71.28` or `1.5e-3`.
static DECIMAL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\d+\.\d+(?:[eE][-+]?\d+)?").expect("the pattern is right"));

/// Parts of a page without text: scripts, styles, pictures, and the tags themselves.
static MARKUP: LazyLock<Regex> = LazyLock::new(|| {
    let parts = ["script", "style", "svg"].map(|tag| format!(r"<{tag}\b.*?</{tag}>"));
    Regex::new(&format!("(?s){}|<[^>]*>", parts.join("|"))).expect("the pattern is right")
});

/// Whether a file shows numbers that can be compared.
pub(super) fn are_in(name: &str) -> bool {
    ["csv", "md", "tex", "html"].iter().any(|ending| name.ends_with(&format!(".{ending}")))
}

/// A sentence if the file `name` shows a number that its new rendering does not.
pub(super) fn difference(name: &str, there: &[u8], rendered: &[u8]) -> Option<String> {
    let [there, rendered] = [there, rendered].map(String::from_utf8_lossy);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let wrong = match ending {
        "csv" => of_rows(&there, &rendered),
        "md" | "tex" => of_text(&there, &rendered),
        "html" => {
            let [there, rendered] =
                [there, rendered].map(|page| MARKUP.replace_all(&page, " ").into_owned());
            of_text(&there, &rendered)
        }
        _ => None,
    };
    wrong.map(|wrong| format!("{name} has {wrong}, which does not follow from the ledger"))
}

/// A decimal number that only the first text has.
fn of_text(there: &str, rendered: &str) -> Option<String> {
    let [numbers, known] = [there, rendered]
        .map(|text| DECIMAL.find_iter(text).map(|found| found.as_str()).collect::<IndexSet<_>>());
    let mut unknown = numbers.difference(&known);
    let number = unknown.find(|number| !known.iter().any(|known| is_same(number, known)))?;
    Some(format!("the number {number}"))
}

/// A row of the first table that the second one does not have, by the columns that both have.
fn of_rows(there: &str, rendered: &str) -> Option<String> {
    let (Some((head, rows)), Some((new_head, new_rows))) = (parse(there), parse(rendered)) else {
        return Some("no table".to_owned());
    };
    let columns = head.iter().enumerate();
    let columns = columns.filter_map(|(index, name)| {
        Some((index, new_head.iter().position(|known| known == name)?))
    });
    let columns: Vec<(usize, usize)> = columns.collect();
    let agrees = |row: &[String], new: &[String]| {
        let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
        columns.iter().all(|&(was, is)| is_same(&cell(row, was), &cell(new, is)))
    };
    let mut rows = rows.iter().enumerate();
    let wrong = rows.find(|(index, row)| {
        // Usually the rows are in the same order.
        let first = new_rows.get(*index);
        !first.is_some_and(|new| agrees(row, new)) && !new_rows.iter().any(|new| agrees(row, new))
    });
    wrong.map(|(_, row)| format!("the row {}", row.join(",")))
}

/// The head and the rows of a CSV file.
fn parse(text: &str) -> Option<(Vec<String>, Vec<Vec<String>>)> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let fields = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect();
    let head = fields(reader.headers().ok()?);
    let rows = reader.records().map(|row| row.ok().as_ref().map(fields)).collect::<Option<_>>()?;
    Some((head, rows))
}

/// The same text, or numbers that are the same to the digits of the one with fewer.
fn is_same(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    let (Ok(x), Ok(y)) = (a.parse::<f64>(), b.parse::<f64>()) else {
        return false;
    };
    let unit = last_digit(a).max(last_digit(b));
    x == y || (x - y).abs() <= 0.5000001 * unit
}

/// The value of one in the last digit of a number.
fn last_digit(number: &str) -> f64 {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    10_f64.powi(exponent.parse::<i32>().unwrap_or(0) - decimals as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_same_to_the_fewer_digits() {
        assert!(is_same("71.28", "71.28"));
        assert!(is_same("71.3", "71.28"));
        assert!(is_same("1.5e-3", "0.0015"));
        assert!(!is_same("71.4", "71.28"));
        assert!(!is_same("71", "svm"));
    }

    #[test]
    fn tables_may_gain_columns_and_rows_but_not_change_a_number() {
        let new = "dataset,mean,new\nusps,98.1234,1\ndna,95.0,2\n";
        let compare = |old: &str| difference("table.csv", old.as_bytes(), new.as_bytes());
        assert_eq!(compare("dataset,mean,gone\nusps,98.12,x\n"), None);
        let wrong = compare("dataset,mean\ndna,95.0\nusps,98.32\n").unwrap();
        assert!(wrong.starts_with("table.csv has the row usps,98.32"), "{wrong}");
        assert!(compare("dataset,mean\nusps,95.0\n").is_some(), "of another dataset");
    }

    #[test]
    fn texts_may_be_worded_anew_but_not_gain_a_number() {
        let compare =
            |name: &str, old: &str| difference(name, old.as_bytes(), "| 71.28 ± 1.50 |".as_bytes());
        assert_eq!(compare("table.md", "mean 71.28 (1.5)"), None);
        assert!(compare("table.md", "mean 71.82").is_some());
        assert_eq!(compare("report.html", "<svg><path d='1.25'/></svg><b>71.28</b>"), None);
        assert!(compare("report.html", "<b>71.29</b>").is_some());
        assert!(are_in("figures/a.csv") && !are_in("figures/a.svg"));
    }
}
