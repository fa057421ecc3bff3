//! The parts of a vector's command that concern the PSP.

use super::command_hold::Maybe;
use serde::{Deserialize, Serialize};

/// The deployment's settings at the PSP.
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

/// Identifies a marker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkerJson {
    /// The operation's name.
    pub operation: String,
    /// The owner of the key.
    pub principal: String,
    /// The key.
    pub key: String,
}

/// A fact about an object of the PSP. Amounts are whole numbers of the smallest unit.
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
        /// Left out of the file if the object lists none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        movements: Option<String>,
    },
    Reinstated {
        id: String,
        intent: Maybe<String>,
        amount: String,
        currency: String,
        livemode: bool,
        /// Left out of the file if the object lists none.
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
