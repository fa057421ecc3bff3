//! What a job keeps of each of its subjects.

use crate::dynamo::{record, stored_words};
use crate::failure::Failure;
use crate::ids::{CustomerId, JobId, SettlementId, Tenant, TransactionId};
use crate::keys::{self, attr};
use crate::money::Asset;
use crate::time::{BusinessDate, Timestamp};
use crate::transaction::{Role, TransactItem};
use crate::words::words;
use std::collections::BTreeMap;

words! {
    /// What became of a subject.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LineState {
        /// What was asked is done.
        Done = "done",
        /// It could not be done: a person must see to it.
        Failed = "failed",
        /// Nothing was to be done.
        Skipped = "skipped",
    }
}

stored_words!(LineState);

record! {
    /// A line of a job. A subject has one, in the transaction that has the effect on it, or in that which says that there is none.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Line {
        /// The subject: an account as `customer:<id>`, `card:<id>` or `merchant:<id>`; of an erasure, the place of a record.
        pub subject: String = "subject",
        /// What became of it.
        pub state: LineState = "state",
        /// Why, of a subject that failed or was skipped.
        pub code: Option<String> = "code",
        /// What is open, as the refusal of a close names it.
        pub open: Option<Vec<String>> = "open",
        /// The owner of a card that was closed.
        pub customer_id: Option<CustomerId> = "customer_id",
        /// What an account had that was closed, by asset.
        pub rest: Option<BTreeMap<Asset, String>> = "rest",
        /// The journal entry.
        pub transaction_id: Option<TransactionId> = "transaction_id",
        /// The settlement that was opened.
        pub settlement_id: Option<SettlementId> = "settlement_id",
        /// The day of its payout.
        pub pay_on: Option<BusinessDate> = "pay_on",
        /// When it was written.
        pub created_at: Timestamp = attr::CREATED_AT,
    }
}

impl Line {
    /// A line of a state alone.
    pub(crate) fn new(subject: impl ToString, state: LineState, now: Timestamp) -> Self {
        Self {
            subject: subject.to_string(),
            state,
            code: None,
            open: None,
            customer_id: None,
            rest: None,
            transaction_id: None,
            settlement_id: None,
            pay_on: None,
            created_at: now,
        }
    }

    /// The line of a subject that failed.
    #[must_use]
    pub fn failed(subject: impl ToString, code: &str, now: Timestamp) -> Self {
        Self { code: Some(code.to_owned()), ..Self::new(subject, LineState::Failed, now) }
    }

    /// Writes the line if the job has none of the subject.
    pub(crate) fn put(&self, tenant: &Tenant, job: JobId) -> TransactItem {
        let key = keys::job_line(tenant, job, &self.subject);
        TransactItem::put_new(Role::JobLine, key, self.attributes(), Failure::StalePlan)
    }
}
