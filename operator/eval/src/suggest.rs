//! "Did you mean …?": the nearest of the known names.
//!
//! Rule of hcl's `didyoumean.go`: the first known name whose Levenshtein distance is less than 3.

/// The known name that `given` was probably meant to be.
pub fn suggest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known.into_iter().find(|name| distance(given, name) < 3)
}

/// The sentence that suggests a name, with a leading space; empty if nothing is near.
pub(crate) fn hint<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    suggest(given, known).map_or_else(String::new, |name| format!(" Did you mean {name:?}?"))
}

fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) >= 3 {
        return 3;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, x) in a.iter().enumerate() {
        let mut diagonal = at;
        let mut left = at + 1;
        for (cell, y) in row.iter_mut().skip(1).zip(&b) {
            let best = (diagonal + usize::from(x != y)).min(left + 1).min(*cell + 1);
            diagonal = *cell;
            *cell = best;
            left = best;
        }
        if let Some(first) = row.first_mut() {
            *first = at + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::suggest;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        assert_eq!(suggest("lenght", ["max", "length"]), Some("length"));
        assert_eq!(suggest("abc", ["xyz"]), None);
        assert_eq!(suggest("", ["ab"]), Some("ab"));
        assert_eq!(suggest("kitten", ["sitting"]), None);
    }
}
