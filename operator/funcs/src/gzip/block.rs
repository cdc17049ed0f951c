//! Blocks of a deflate stream: the smallest of stored, fixed and dynamic codes, as Go chooses.

use super::huffman::{Code, codes};

/// A literal byte or a repetition.
#[derive(Clone, Copy)]
pub(super) enum Token {
    Literal(u8),
    Match { length: u16, offset: u16 },
}

const LITERALS: usize = 286;
const OFFSETS: usize = 30;
const END: usize = 256;
const FIRST_LENGTH: usize = 257;
const LARGEST_STORED: usize = 65535;

const LENGTH_EXTRA: [u8; 29] = [
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
];
const LENGTH_BASE: [u16; 29] = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195,
    227, 258,
];
const OFFSET_EXTRA: [u8; OFFSETS] = [
    0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13,
];
const OFFSET_BASE: [u16; OFFSETS] = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073,
    4097, 6145, 8193, 12289, 16385, 24577,
];
/// The order in which the lengths of the length codes are written.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// Writes blocks bit by bit.
pub(super) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    bits: u64,
    filled: u32,
}

/// A run in the list of code lengths: the symbol and its extra bits.
struct Run {
    symbol: usize,
    extra: u8,
}

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self {
            out,
            bits: 0,
            filled: 0,
        }
    }

    fn put(&mut self, bits: u16, count: u8) {
        self.bits |= u64::from(bits) << self.filled;
        self.filled += u32::from(count);
        while self.filled >= 8 {
            self.out.push(self.bits as u8);
            self.bits >>= 8;
            self.filled -= 8;
        }
    }

    fn put_code(&mut self, code: Code) {
        self.put(code.bits, code.length);
    }

    /// A block without compression; it begins at a byte.
    pub(super) fn stored(&mut self, bytes: &[u8], last: bool) {
        self.put(u16::from(last), 3);
        if self.filled > 0 {
            self.put(0, (8 - self.filled) as u8);
        }
        let length = bytes.len() as u16;
        self.put(length, 16);
        self.put(!length, 16);
        self.out.extend_from_slice(bytes);
    }

    /// A block of tokens; `input` is what they stand for, where it may be stored as it is.
    pub(super) fn block(&mut self, tokens: &[Token], input: Option<&[u8]>) {
        let (mut literals, mut offsets) = (vec![0; LITERALS], vec![0; OFFSETS]);
        literals[END] = 1;
        for token in tokens {
            match *token {
                Token::Literal(byte) => literals[usize::from(byte)] += 1,
                Token::Match { length, offset } => {
                    literals[FIRST_LENGTH + index_of(&LENGTH_BASE, length)] += 1;
                    offsets[index_of(&OFFSET_BASE, offset)] += 1;
                }
            }
        }
        let used_literals = used(&literals);
        let used_offsets = match used(&offsets) {
            0 => {
                // At least one offset is needed for the code to be written.
                offsets[0] = 1;
                1
            }
            used => used,
        };
        let storable = input.filter(|input| input.len() <= LARGEST_STORED);
        // As in Go, extra bits count only where all three forms are compared.
        let extra = if storable.is_some() {
            extra_bits(&literals, &offsets)
        } else {
            0
        };
        let (fixed_literals, fixed_offsets) = fixed();
        let fixed_size = 3 + size(&fixed_literals, &literals) + size(&fixed_offsets, &offsets) + extra;
        let (literal_codes, offset_codes) = (codes(&literals, 15), codes(&offsets, 15));
        let runs = runs(&literal_codes[..used_literals], &offset_codes[..used_offsets]);
        let mut counts = vec![0; ORDER.len()];
        runs.iter().for_each(|run| counts[run.symbol] += 1);
        let run_codes = codes(&counts, 7);
        let mut listed = ORDER.len();
        while listed > 4 && counts[ORDER[listed - 1]] == 0 {
            listed -= 1;
        }
        let header = 17
            + 3 * listed
            + size(&run_codes, &counts)
            + 2 * counts[16] as usize
            + 3 * counts[17] as usize
            + 7 * counts[18] as usize;
        let dynamic_size = header + size(&literal_codes, &literals) + size(&offset_codes, &offsets) + extra;
        if let Some(input) = storable
            && (input.len() + 5) * 8 < fixed_size.min(dynamic_size)
        {
            self.stored(input, false);
        } else if dynamic_size < fixed_size {
            self.put(4, 3);
            self.put((used_literals - FIRST_LENGTH) as u16, 5);
            self.put((used_offsets - 1) as u16, 5);
            self.put((listed - 4) as u16, 4);
            for symbol in &ORDER[..listed] {
                self.put(run_codes[*symbol].length.into(), 3);
            }
            for run in &runs {
                self.put_code(run_codes[run.symbol]);
                match run.symbol {
                    16 => self.put(run.extra.into(), 2),
                    17 => self.put(run.extra.into(), 3),
                    18 => self.put(run.extra.into(), 7),
                    _ => {}
                }
            }
            self.tokens(tokens, &literal_codes, &offset_codes);
        } else {
            self.put(2, 3);
            self.tokens(tokens, &fixed_literals, &fixed_offsets);
        }
    }

    fn tokens(&mut self, tokens: &[Token], literals: &[Code], offsets: &[Code]) {
        for token in tokens {
            match *token {
                Token::Literal(byte) => self.put_code(literals[usize::from(byte)]),
                Token::Match { length, offset } => {
                    let index = index_of(&LENGTH_BASE, length);
                    self.put_code(literals[FIRST_LENGTH + index]);
                    self.put(length - LENGTH_BASE[index], LENGTH_EXTRA[index]);
                    let index = index_of(&OFFSET_BASE, offset);
                    self.put_code(offsets[index]);
                    self.put(offset - OFFSET_BASE[index], OFFSET_EXTRA[index]);
                }
            }
        }
        self.put_code(literals[END]);
    }
}

/// The last code whose base is not greater.
fn index_of(bases: &[u16], value: u16) -> usize {
    bases.partition_point(|base| *base <= value) - 1
}

fn used(counts: &[u32]) -> usize {
    counts
        .iter()
        .rposition(|count| *count > 0)
        .map_or(0, |last| last + 1)
}

fn size(codes: &[Code], counts: &[u32]) -> usize {
    codes
        .iter()
        .zip(counts)
        .map(|(code, count)| usize::from(code.length) * *count as usize)
        .sum()
}

fn extra_bits(literals: &[u32], offsets: &[u32]) -> usize {
    let bits = |extra: &[u8], counts: &[u32]| -> usize {
        extra
            .iter()
            .zip(counts)
            .map(|(extra, count)| usize::from(*extra) * *count as usize)
            .sum()
    };
    bits(&LENGTH_EXTRA, &literals[FIRST_LENGTH..]) + bits(&OFFSET_EXTRA, offsets)
}

/// The codes that need no header.
fn fixed() -> (Vec<Code>, Vec<Code>) {
    let reversed = |bits: usize, length: u8| Code {
        bits: (bits as u16).reverse_bits() >> (16 - u32::from(length)),
        length,
    };
    let literals = (0..LITERALS)
        .map(|symbol| match symbol {
            0..144 => reversed(symbol + 48, 8),
            144..256 => reversed(symbol - 144 + 400, 9),
            256..280 => reversed(symbol - 256, 7),
            _ => reversed(symbol - 280 + 192, 8),
        })
        .collect();
    (literals, (0..OFFSETS).map(|symbol| reversed(symbol, 5)).collect())
}

/// The lengths of all codes, runs of equal ones put together.
fn runs(literals: &[Code], offsets: &[Code]) -> Vec<Run> {
    let lengths: Vec<u8> = literals.iter().chain(offsets).map(|code| code.length).collect();
    let mut runs = Vec::new();
    for run in lengths.chunk_by(|a, b| a == b) {
        let (length, mut count) = (usize::from(run[0]), run.len());
        if length == 0 {
            while count >= 11 {
                let part = count.min(138);
                runs.push(Run {
                    symbol: 18,
                    extra: (part - 11) as u8,
                });
                count -= part;
            }
            if count >= 3 {
                runs.push(Run {
                    symbol: 17,
                    extra: (count - 3) as u8,
                });
                count = 0;
            }
        } else {
            runs.push(Run {
                symbol: length,
                extra: 0,
            });
            count -= 1;
            while count >= 3 {
                let part = count.min(6);
                runs.push(Run {
                    symbol: 16,
                    extra: (part - 3) as u8,
                });
                count -= part;
            }
        }
        runs.extend((0..count).map(|_| Run {
            symbol: length,
            extra: 0,
        }));
    }
    runs
}
