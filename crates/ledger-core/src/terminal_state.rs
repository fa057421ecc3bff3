//! The stored states of terminals.

/// The stored state of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalState {
    /// It may operate.
    Active,
    /// It may not operate.
    Frozen,
    /// It is closed: no key of it is accepted. Final.
    Closed,
}

impl TerminalState {
    /// Every state.
    pub const ALL: [Self; 3] = [Self::Active, Self::Frozen, Self::Closed];

    /// The stable name, as stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Frozen => "frozen",
            Self::Closed => "closed",
        }
    }

    /// Parses a stored name; `None` for any other text.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}
