//! Choices, taken from the bytes of an input; where these are used up, always the first.

/// The bytes left.
pub(crate) struct Choices<'i>(&'i [u8]);

impl<'i> Choices<'i> {
    pub(crate) fn new(input: &'i [u8]) -> Self {
        Self(input)
    }

    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((byte, rest)) => {
                self.0 = rest;
                *byte
            }
            None => 0,
        }
    }

    /// A number below `count`, which is at most 256.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count.max(1)
    }

    /// One of these.
    pub(crate) fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// One of two.
    pub(crate) fn flip(&mut self) -> bool {
        self.below(2) == 1
    }
}
