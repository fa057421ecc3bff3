//! The parts of a vector's command that are about the payment provider.

use super::command_hold::Maybe;
use serde::{Deserialize, Serialize};

/// What the deployment and the payment provider have agreed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PspJson {
    /// The deployment's name.
    pub ledger: String,
    /// Whether real money moves.
    pub livemode: bool,
    /// The connected account.
    pub account: Maybe<String>,
}

/// Which marker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkerJson {
    /// The operation's name.
    pub operation: String,
    /// Whose key.
    pub principal: String,
    /// The key.
    pub key: String,
}

/// A fact about one of the payment provider's objects. Amounts are whole numbers of the smallest unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's facts, where they are described")]
pub enum FactJson {
    Intent {
        id: String,
        amount: String,
        currency: String,
        received: String,
        status: String,
        livemode: bool,
    },
    Refund {
        id: String,
        intent: Maybe<String>,
        amount: String,
        currency: String,
        status: String,
    },
    Withdrawn {
        id: String,
        intent: Maybe<String>,
        amount: String,
        currency: String,
        livemode: bool,
        /// Not in the file if it lists none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        movements: Option<String>,
    },
    Reinstated {
        id: String,
        intent: Maybe<String>,
        amount: String,
        currency: String,
        livemode: bool,
        /// Not in the file if it lists none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        movements: Option<String>,
    },
}

/// A step of an operation in flight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the steps are those of the core's state machine, where they are described")]
pub enum FlightStep {
    Heartbeat {},
    TakeOver {},
    LetGo {},
    FailRetryably { burnt: bool },
    Park { why: String },
}
