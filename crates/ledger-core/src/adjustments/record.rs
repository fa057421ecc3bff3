//! The stored form of an adjustment.

use crate::account::Account;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::forms::SeenCorrections;
use crate::ids::{AdjustmentId, FindingId, RunId, StaffId};
use crate::keys::attr;
use crate::money::{Asset, Delta};
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// Why books are adjusted.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ReasonCode {
        /// A mistake made by us or by a merchant.
        Correction = "correction",
        /// Money back for a complaint.
        Goodwill = "goodwill",
        /// Fraud.
        Fraud = "fraud",
        /// A break that reconciliation found.
        Reconciliation = "reconciliation",
        /// Value brought in when a wallet begins.
        Opening = "opening",
    }
}

words! {
    /// The states of an adjustment.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum AdjustmentState {
        /// Another person has not decided yet.
        Pending = "pending",
        /// It was approved and posted.
        Approved = "approved",
        /// It was rejected.
        Rejected = "rejected",
        /// Its requester or an owner withdrew it.
        Withdrawn = "withdrawn",
    }
}

/// A stored adjustment. Its content never changes; its state changes once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adjustment {
    /// Its id.
    pub id: AdjustmentId,
    /// The account whose balance is adjusted.
    pub account: Account,
    /// The signed change.
    pub delta: Delta,
    /// The reason.
    pub reason: ReasonCode,
    /// The staff member who requested it.
    pub requested_by: StaffId,
    /// The name of an [`AdjustmentState`].
    pub state: String,
    /// When it was requested.
    pub created_at: Timestamp,
    /// The break that it corrects: a balance that changed without a journal entry.
    pub finding: Option<Answered>,
}

/// The break that an adjustment corrects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The run that found it.
    pub run: RunId,
    /// Its id.
    pub finding: FindingId,
    /// The version of the balance's corrections that the run read.
    pub seen: SeenCorrections,
}

impl Answered {
    fn read(item: &Item, name: &str) -> Result<Self, ItemError> {
        let wrong = || ItemError::invalid("finding");
        let (run, finding) = name.split_once('/').ok_or_else(wrong)?;
        Ok(Self {
            run: RunId::parse(run).map_err(|_| wrong())?,
            finding: FindingId::parse(finding).map_err(|_| wrong())?,
            seen: SeenCorrections::kept(item)?,
        })
    }

    /// The name that the journal entry has for it: `<run>/<id>`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.run, self.finding)
    }
}

impl Adjustment {
    /// Reads a stored adjustment.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let asset = item.parsed("asset", Asset::parse)?;
        Ok(Self {
            id: item.parsed("adjustment_id", AdjustmentId::parse)?,
            account: item.parsed("account", Account::parse)?,
            delta: item.delta("delta", asset)?,
            reason: item.named("reason_code", ReasonCode::parse)?,
            requested_by: item.parsed("requested_by", StaffId::parse)?,
            state: item.string("state")?,
            created_at: item.timestamp(attr::CREATED_AT)?,
            finding: match item.opt_text("finding")? {
                Some(finding) => Some(Answered::read(item, finding)?),
                None => None,
            },
        })
    }

    /// The attributes of a new request.
    pub(super) fn item(&self) -> Item {
        let mut item = Item::from([
            ("adjustment_id".to_owned(), Value::s(self.id)),
            ("account".to_owned(), Value::s(self.account)),
            ("asset".to_owned(), Value::s(self.delta.asset())),
            ("delta".to_owned(), Value::N(self.delta.text())),
            ("reason_code".to_owned(), Value::s(self.reason.name())),
            ("requested_by".to_owned(), Value::s(self.requested_by)),
            ("state".to_owned(), Value::s(&self.state)),
            (attr::CREATED_AT.to_owned(), Value::s(self.created_at)),
        ]);
        if let Some(answered) = &self.finding {
            item.insert("finding".to_owned(), Value::S(answered.name()));
            item.extend(answered.seen.attributes());
        }
        item
    }
}
