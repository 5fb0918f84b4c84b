//! Words that several modules and the program share: plurals, durations, suggestions, the text of a panic.

use std::any::Any;

/// Longest word that is compared with known ones, in characters.
const LONGEST: usize = 60;

/// The candidate that was probably meant. Case, `-` and `_` count little.
pub(crate) fn closest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if word.chars().count() > LONGEST {
        return None;
    }
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let word = plain(word);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let other = plain(candidate);
            let longest = word.chars().count().max(other.chars().count());
            let distance = strsim::damerau_levenshtein(&word, &other);
            (distance < longest && distance <= longest.div_ceil(3)).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// "1 value", "2 values".
pub fn counted(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

/// Seconds in the unit that fits.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "a second".into(),
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 90.0 * 60.0 => format!("{:.0} min", s / 60.0),
        s if s < 48.0 * 3600.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}

/// What a caught panic said.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_are_suggested_and_far_ones_are_not() {
        let keys = ["repeats", "train_fraction", "stratified", "c", "r1"];
        assert_eq!(closest("repeat", keys), Some("repeats"));
        assert_eq!(closest("train-fraction", keys), Some("train_fraction"));
        assert_eq!(closest("trainFraction", keys), Some("train_fraction"));
        assert_eq!(closest("C", keys), Some("c"));
        assert_eq!(closest("r", keys), Some("r1"));
        assert_eq!(closest("x", keys), None);
        assert_eq!(closest("banana", keys), None);
        assert_eq!(closest(&"repeats".repeat(100), keys), None);
    }

    #[test]
    fn one_is_singular_and_other_numbers_are_plural() {
        assert_eq!(counted(1, "split"), "1 split");
        assert_eq!(counted(0, "split"), "0 splits");
        assert_eq!(counted(2, "split"), "2 splits");
    }

    #[test]
    fn durations_have_the_unit_that_fits() {
        let seconds = [0.2, 89.0, 120.0, 6000.0, 2e5];
        assert_eq!(seconds.map(duration), ["a second", "89 s", "2 min", "1.7 h", "2.3 days"]);
    }

    #[test]
    fn a_panic_is_quoted_for_every_type_of_message() {
        assert_eq!(panic_text(&"static"), "static");
        assert_eq!(panic_text(&"owned".to_owned()), "owned");
        assert_eq!(panic_text(&7), "no message");
    }
}
