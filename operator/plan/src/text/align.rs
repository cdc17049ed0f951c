//! Which elements of two sequences belong together: lines of a text, elements of a list.
//!
//! Bounded: where the longest common subsequence would cost too much, what differs is all taken as removed and added.

/// Largest table of the longest common subsequence, in cells of four bytes.
const TABLE: usize = 1 << 20;

/// Positions before and after; one of the two where an element appears or goes.
pub(super) type Pair = (Option<usize>, Option<usize>);

/// Pairs the elements: those of the same place where only elements changed, else along the longest common subsequence.
/// `alike` tells whether two that differ may be shown as one that changed, where both stand in the same gap.
pub(super) fn align<T: PartialEq>(before: &[T], after: &[T], alike: impl Fn(&T, &T) -> bool) -> Vec<Pair> {
    if before.len() == after.len() && !is_reordered(before, after) {
        return (0..before.len()).map(|at| (Some(at), Some(at))).collect();
    }
    along_common(before, after, alike)
}

/// Pairs along the longest common subsequence, whatever the lengths.
pub(super) fn along_common<T: PartialEq>(
    before: &[T],
    after: &[T],
    alike: impl Fn(&T, &T) -> bool,
) -> Vec<Pair> {
    let head = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (middle_before, middle_after) = (&before[head..], &after[head..]);
    let tail = middle_before
        .iter()
        .rev()
        .zip(middle_after.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let middle_before = &middle_before[..middle_before.len() - tail];
    let middle_after = &middle_after[..middle_after.len() - tail];

    let mut pairs: Vec<Pair> = (0..head).map(|at| (Some(at), Some(at))).collect();
    let (mut old, mut new) = (0, 0);
    let ends = (middle_before.len(), middle_after.len());
    for (next_old, next_new) in common(middle_before, middle_after).into_iter().chain([ends]) {
        while old < next_old {
            let both = new < next_new && alike(&middle_before[old], &middle_after[new]);
            pairs.push((Some(head + old), both.then_some(head + new)));
            new += usize::from(both);
            old += 1;
        }
        pairs.extend((new..next_new).map(|at| (None, Some(head + at))));
        if (next_old, next_new) != ends {
            pairs.push((Some(head + next_old), Some(head + next_new)));
        }
        (old, new) = (next_old + 1, next_new + 1);
    }
    let rest = (before.len() - tail..before.len()).zip(after.len() - tail..after.len());
    pairs.extend(rest.map(|(old, new)| (Some(old), Some(new))));
    pairs
}

/// The longest common subsequence as rising pairs of positions; none where the table would be too large.
fn common<T: PartialEq>(before: &[T], after: &[T]) -> Vec<(usize, usize)> {
    let width = after.len() + 1;
    if before.is_empty() || after.is_empty() || (before.len() + 1).saturating_mul(width) > TABLE {
        return Vec::new();
    }
    // length[old * width + new]: of the longest one from there on.
    let mut length = vec![0_u32; (before.len() + 1) * width];
    for old in (0..before.len()).rev() {
        for new in (0..after.len()).rev() {
            let at = old * width + new;
            length[at] = if before[old] == after[new] {
                length[at + width + 1] + 1
            } else {
                length[at + width].max(length[at + 1])
            };
        }
    }
    let (mut old, mut new) = (0, 0);
    let mut found = Vec::new();
    while old < before.len() && new < after.len() {
        let at = old * width + new;
        if before[old] == after[new] {
            found.push((old, new));
            (old, new) = (old + 1, new + 1);
        } else if length[at + width] >= length[at + 1] {
            old += 1;
        } else {
            new += 1;
        }
    }
    found
}

/// Does each element of `before` occur in `after`, though not all in the same place?
fn is_reordered<T: PartialEq>(before: &[T], after: &[T]) -> bool {
    before != after
        && before.len().saturating_mul(after.len()) <= TABLE
        && before.iter().all(|item| after.contains(item))
}

#[cfg(test)]
mod tests {
    use super::align;

    fn check(before: &str, after: &str, expected: &str) {
        let (before, after): (Vec<char>, Vec<char>) = (before.chars().collect(), after.chars().collect());
        let pairs = align(&before, &after, |a, b| a.is_uppercase() && b.is_uppercase());
        let shown: Vec<String> = pairs
            .into_iter()
            .map(
                |(old, new)| match (old.map(|at| before[at]), new.map(|at| after[at])) {
                    (Some(old), Some(new)) if old == new => old.to_string(),
                    (Some(old), Some(new)) => format!("{old}>{new}"),
                    (Some(old), None) => format!("-{old}"),
                    (None, Some(new)) => format!("+{new}"),
                    (None, None) => "?".to_owned(),
                },
            )
            .collect();
        assert_eq!(shown.join(" "), expected);
    }

    #[test]
    fn elements_of_the_same_place_belong_together_if_the_length_stays() {
        check("abc", "axc", "a b>x c");
        check("", "", "");
    }

    #[test]
    fn what_is_common_stays() {
        check("abcd", "acdef", "a -b c d +e +f");
        check("abc", "cab", "+c a b -c");
        check("ab", "", "-a -b");
        check("", "ab", "+a +b");
        check("aXbb", "aYZbb", "a X>Y +Z b b");
    }

    #[test]
    fn what_costs_too_much_is_replaced() {
        let (before, after) = ("ab".repeat(3000), "ba".repeat(3001));
        let (before, after): (Vec<char>, Vec<char>) = (before.chars().collect(), after.chars().collect());
        let pairs = align(&before, &after, |_, _| false);
        assert_eq!(pairs.len(), 12_002);
    }
}
