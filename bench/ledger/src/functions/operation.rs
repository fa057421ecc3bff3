//! The requests that are measured.

use std::fmt;

/// A request of a customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A payment in money, under a key of its own.
    Payment,
    /// The same payment again under its key: the stored response is returned.
    Replay,
    /// A payment of more than the wallet holds, under a key of its own.
    Refusal,
    /// The wallet's balances.
    Balance,
}

/// One value for each operation, in the order of [`Operation::ALL`].
pub type PerOperation<T> = [T; Operation::ALL.len()];

impl Operation {
    /// Every operation.
    pub const ALL: [Self; 4] = [Self::Payment, Self::Replay, Self::Refusal, Self::Balance];

    /// Its name in tables and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Payment => "payment",
            Self::Replay => "replay",
            Self::Refusal => "refusal",
            Self::Balance => "balance",
        }
    }

    /// Its place in [`Operation::ALL`].
    #[must_use]
    pub const fn place(self) -> usize {
        self as usize
    }

    /// The status of its response.
    pub(super) const fn status(self) -> u16 {
        match self {
            Self::Payment | Self::Replay => 201,
            Self::Refusal => 400,
            Self::Balance => 200,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_is_the_index_among_all() {
        assert_eq!(Operation::ALL.map(Operation::place), [0, 1, 2, 3]);
    }
}
