//! The stored states of terminals.

use crate::words::words;

words! {
    /// The stored state of a terminal.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TerminalState {
        /// It may operate.
        Active = "active",
        /// It may not operate.
        Frozen = "frozen",
        /// It is closed: no key of it is accepted. Final.
        Closed = "closed",
    }
}
