//! Length-limited Huffman codes with the choices Go makes where several codes are equally good.
//!
//! Code lengths come from the boundary package-merge method; codes of one length go up with the symbol.

/// The code of a symbol: its bits in the order they are written, lowest first. Length 0 for unused symbols.
#[derive(Clone, Copy, Default)]
pub(super) struct Code {
    pub(super) bits: u16,
    pub(super) length: u8,
}

/// Codes for symbols that occur so often, none longer than `limit` bits.
pub(super) fn codes(counts: &[u32], limit: usize) -> Vec<Code> {
    let mut codes = vec![Code::default(); counts.len()];
    let mut used: Vec<(u32, usize)> = counts
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(symbol, count)| (*count, symbol))
        .collect();
    if used.len() <= 2 {
        for (bits, (_, symbol)) in used.iter().enumerate() {
            codes[*symbol] = Code {
                bits: bits as u16,
                length: 1,
            };
        }
        return codes;
    }
    used.sort_unstable();
    let frequencies: Vec<u32> = used.iter().map(|(count, _)| *count).collect();
    let mut next: u16 = 0;
    let mut rest = used.as_mut_slice();
    for (length, count) in lengths(&frequencies, limit).into_iter().enumerate() {
        next <<= 1;
        // The most frequent symbols, at the end of the list, get the shortest codes.
        let (before, chunk) = rest.split_at_mut(rest.len() - count);
        chunk.sort_unstable_by_key(|(_, symbol)| *symbol);
        for (_, symbol) in chunk.iter() {
            let length = length as u8;
            codes[*symbol] = Code {
                bits: next.reverse_bits() >> (16 - u32::from(length)),
                length,
            };
            next += 1;
        }
        rest = before;
    }
    codes
}

/// A row of the package-merge table.
#[derive(Clone, Copy)]
struct Row {
    last: u32,
    next_leaf: u32,
    next_pair: u32,
    needed: usize,
}

/// Stands for "no more": greater than any count.
const NEVER: u32 = i32::MAX as u32;

/// How many symbols get a code of each length, from 0 on; `counts` ascend, three or more.
fn lengths(counts: &[u32], limit: usize) -> Vec<usize> {
    let symbols = counts.len();
    let limit = limit.min(symbols - 1);
    let count = |index: usize| counts.get(index).copied().unwrap_or(NEVER);
    let start = Row {
        last: count(1),
        next_leaf: count(2),
        next_pair: count(0) + count(1),
        needed: 0,
    };
    let mut rows = vec![start; limit + 2];
    rows[1].next_pair = NEVER;
    rows[limit].needed = 2 * symbols - 4;
    // leaves[r][c]: leaves to the left of the ancestor, in row c, of the last item of row r.
    let mut leaves = vec![vec![0; limit + 1]; limit + 1];
    for (row, counts) in leaves.iter_mut().enumerate().skip(1) {
        counts[row] = 2;
    }
    let mut at = limit;
    loop {
        let row = rows[at];
        if row.next_pair == NEVER && row.next_leaf == NEVER {
            rows[at].needed = 0;
            rows[at + 1].next_pair = NEVER;
            at += 1;
            continue;
        }
        if row.next_leaf < row.next_pair {
            leaves[at][at] += 1;
            rows[at].last = row.next_leaf;
            rows[at].next_leaf = count(leaves[at][at]);
        } else {
            rows[at].last = row.next_pair;
            let (below, here) = leaves.split_at_mut(at);
            here[0][..at].copy_from_slice(&below[at - 1][..at]);
            rows[at - 1].needed = 2;
        }
        rows[at].needed -= 1;
        if rows[at].needed == 0 {
            if at == limit {
                break;
            }
            rows[at + 1].next_pair = row.last + rows[at].last;
            at += 1;
        } else {
            while rows[at - 1].needed > 0 {
                at -= 1;
            }
        }
    }
    let top = &leaves[limit];
    std::iter::once(0)
        .chain((1..=limit).rev().map(|row| top[row] - top[row - 1]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(counts: &[u32], limit: usize, want: &[u8]) {
        let got: Vec<u8> = codes(counts, limit).iter().map(|code| code.length).collect();
        assert_eq!(got, want, "{counts:?}");
    }

    #[test]
    fn frequent_symbols_get_short_codes() {
        check(&[0, 5, 0], 15, &[0, 1, 0]);
        check(&[1, 1, 2, 4], 15, &[3, 3, 2, 1]);
        check(&[1, 1, 1, 1], 15, &[2, 2, 2, 2]);
        check(&[1, 1, 2, 4, 8], 3, &[3, 3, 3, 3, 1]);
    }
}
