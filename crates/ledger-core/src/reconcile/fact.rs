//! Facts, and the groups under which they are checked. Both have one line of text, so that a table's facts
//! can be kept in files while they are sorted.

use super::num::{Num, Nums};
use crate::account::Account;
use crate::ids::{PaymentId, SettlementId, Tenant, TopupId, TransactionId};
use crate::money::Asset;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What facts are about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    /// Whose books.
    pub tenant: Tenant,
    /// What.
    pub subject: Subject,
}

/// What facts are about, within a tenant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// An account's balance of an asset.
    Account(Account, Asset),
    /// A journal entry and whatever names it.
    Transaction(TransactionId),
    /// What was done under one idempotency key: a digest of principal, operation and key.
    Once(String),
    /// A payment.
    Payment(PaymentId),
    /// A top-up.
    Topup(TopupId),
    /// A settlement.
    Settlement(SettlementId),
}

/// Which of the items that may hold an account's balance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Place {
    /// Its own balance item, or card.
    #[default]
    Own,
    /// The God Record.
    GodRecord,
    /// The aggregates, in which the half-way model has points and J-Credits.
    Metrics,
}

/// What one item says. Instants are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Fact {
    /// An account: something was posted to it, or credited.
    Posted {
        /// To what is held, else to what may be spent.
        held: bool,
        /// How much.
        delta: Num,
        /// When.
        at: i64,
    },
    /// An account: an entry of its own posts to `disputes` what it owes, or pays of it.
    Owing {
        /// By how much the debt grows.
        delta: Num,
        /// When.
        at: i64,
    },
    /// An account: what a top-up of an earlier release says is owed for it.
    OwedForTopup {
        /// How much.
        amount: Num,
    },
    /// An account: what an item says of its balance.
    Stored {
        /// Which item.
        #[serde(default)]
        place: Place,
        /// What may be spent.
        balance: Num,
        /// What is held.
        held: Num,
        /// What is reserved.
        reserved: Num,
        /// What it owes.
        #[serde(default)]
        owed: Num,
        /// What counts against a cap, of a customer.
        #[serde(default)]
        exposure: Option<Num>,
        /// How many corrections it has had.
        #[serde(default)]
        corrections: i64,
        /// When it was corrected last.
        #[serde(default)]
        corrected_at: Option<i64>,
        /// When it last changed.
        at: i64,
    },
    /// An account: an item says of its balance what cannot be read.
    Unread {
        /// Which item.
        place: Place,
        /// Its sort key.
        sk: String,
        /// Which attribute.
        attribute: String,
    },
    /// A customer's account: whether its balance stands in the model that the tenant is leaving.
    Standing {
        /// Whether it does.
        in_legacy: bool,
    },
    /// An account: what a hold or a refund says is held.
    Holding {
        /// How much.
        amount: Num,
        /// By what: `payment:<id>`.
        by: String,
    },
    /// An account: what an open top-up says is reserved.
    Reserving {
        /// How much.
        amount: Num,
        /// By what: `topup:<id>`.
        by: String,
    },
    /// A transaction: its entry.
    Entry {
        /// In whose partition: `customer:<id>`.
        home: String,
        /// What moved the value.
        operation: String,
        /// A digest of its idempotency key.
        key: String,
        /// Under which sort key.
        at: String,
    },
    /// A transaction: something names it.
    Named {
        /// What: `payment:<id>`, `marker of pay of customer:<id>`.
        by: String,
        /// Where it says that the entry stands, if it does.
        home: Option<String>,
        /// Which operation it says the entry is of, and the digest of the key, if it does.
        says: Option<(String, String)>,
    },
    /// A key: an entry under it.
    Effect {
        /// The entry.
        entry: String,
        /// What moved the value.
        operation: String,
        /// Whose key.
        principal: String,
        /// When.
        at: i64,
        /// For how long the key may not be used again; for ever if absent.
        window_ms: Option<i64>,
        /// The wallets and cards that it posts to.
        accounts: Vec<String>,
    },
    /// A payment: its record.
    Payment {
        /// Where it stands.
        state: String,
        /// Whose it is.
        merchant: String,
        /// Who paid.
        payer: String,
        /// Its entry.
        entry: String,
        /// What was held for it.
        authorized: Nums,
        /// What was paid.
        captured: Nums,
        /// What may be refunded.
        refundable: Nums,
        /// What it owes its merchant.
        delta: Nums,
        /// Whether something is or was held for it.
        held: bool,
    },
    /// A payment: a refund of it, or a reversal.
    Returned {
        /// Which.
        id: String,
        /// `refund`, `refund_reversal` or `payment_reversal`.
        kind: String,
        /// Its entry.
        entry: String,
        /// What it owes the merchant.
        delta: Nums,
    },
    /// A payment: what is or was held for it.
    Hold {
        /// Where that stands.
        state: String,
        /// Of whom.
        payer: String,
        /// How much.
        held: Nums,
    },
    /// A payment: an entry of it, with what it posts to merchants.
    Moved {
        /// Which.
        entry: String,
        /// In whose partition: `customer:<id>`.
        home: String,
        /// What it posts.
        delta: Nums,
    },
    /// A top-up: its record.
    Topup {
        /// Where it stands.
        state: String,
        /// Whose wallet.
        customer: String,
        /// How much.
        charge: Num,
        /// What may be refunded.
        refundable: Num,
        /// Points that were taken back.
        taken_back: Num,
        /// What it has on `suspense`.
        #[serde(default)]
        suspense: Num,
        /// What the provider had received when it was given up.
        #[serde(default)]
        given_up: Num,
        /// The provider's PaymentIntent, if it is known.
        intent: Option<String>,
        /// When it was asked for.
        at: i64,
    },
    /// A top-up: a refund of it to the card.
    CardRefund {
        /// Which.
        id: String,
        /// Where it stands.
        state: String,
        /// What leaves the wallet.
        amount: Num,
        /// What the card gets.
        paid: Num,
        /// Points that it settles.
        settled: Num,
        /// What it has on `suspense`.
        #[serde(default)]
        suspense: Num,
        /// What the provider had paid out when it was given up.
        #[serde(default)]
        given_up: Num,
        /// When it was asked for.
        at: i64,
    },
    /// A top-up: what the provider took by itself.
    Clawback {
        /// The provider's id.
        id: String,
        /// Where it stands.
        state: String,
        /// The latest movement of its money that is known.
        #[serde(default)]
        round: u32,
        /// By how much the top-up's remainder is lower for it.
        #[serde(default)]
        lowered: Num,
        /// Points that it settles.
        #[serde(default)]
        settled: Num,
    },
    /// A top-up: an entry of it.
    TopupEntry {
        /// Which.
        entry: String,
        /// What moved the value.
        operation: String,
        /// Of which refund.
        refund: Option<String>,
        /// Of which object of the provider's.
        psp_id: Option<String>,
        /// What was decided by it, where it is of a decision.
        #[serde(default)]
        decided: Option<String>,
        /// What it posts to `suspense`.
        #[serde(default)]
        suspense: Num,
    },
    /// A top-up: the provider's PaymentIntent for it.
    Charge {
        /// The provider's id.
        id: String,
        /// Whether it was paid.
        paid: bool,
        /// How much was received, in yen.
        received: Num,
    },
    /// A top-up: the provider's refund that we asked for.
    Payout {
        /// The provider's id.
        id: String,
        /// Our refund.
        refund: String,
        /// `pending`, `succeeded` or `failed`.
        state: String,
        /// How much, in yen.
        amount: Num,
    },
    /// A settlement: its record.
    Settlement {
        /// Whose: `merchant:<id>`.
        merchant: String,
        /// Where it stands.
        state: String,
        /// How many records it says that it has.
        records: i64,
        /// What they add up to, by side and asset: `taken POINT`.
        totals: Nums,
        /// Net, fee, tax and what is paid.
        parts: [Num; 4],
        /// When the payment provider paid it; absent where it is paid by a file, or not yet.
        provider_paid_at: Option<i64>,
    },
    /// A settlement: a record that is stamped with it.
    Stamped {
        /// Whose it is: `merchant:<id>`.
        merchant: String,
        /// What it owes the merchant.
        delta: Nums,
        /// Whether it is what came back of a settlement before.
        came_back: bool,
    },
    /// A settlement: the payment provider's payout for it.
    PaidOut {
        /// The provider's id.
        id: String,
        /// Whom it pays: `merchant:<id>`.
        merchant: String,
        /// How much, in yen.
        amount: Num,
        /// Whether it has failed, so that the money came back.
        failed: bool,
    },
    /// A settlement: an entry of it.
    SettlementEntry {
        /// What moved the value.
        operation: String,
        /// What leaves what the merchant holds, in yen.
        out: Num,
    },
}

impl Group {
    /// A line of a file of facts.
    ///
    /// # Errors
    /// Never, for facts as we make them.
    pub fn line(&self, fact: &Fact) -> Result<String, serde_json::Error> {
        Ok(format!("{self}\t{}", serde_json::to_string(fact)?))
    }

    /// Reads such a line.
    #[must_use]
    pub fn read_line(line: &str) -> Option<(Self, Fact)> {
        let (group, fact) = line.split_once('\t')?;
        Some((Self::parse(group)?, serde_json::from_str(fact).ok()?))
    }

    /// Reads a group's text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, '/');
        let (tenant, kind, id, asset) = (parts.next()?, parts.next()?, parts.next()?, parts.next());
        let subject = match (kind, asset) {
            ("account", Some(asset)) => Subject::Account(Account::parse(id).ok()?, Asset::parse(asset).ok()?),
            ("transaction", None) => Subject::Transaction(TransactionId::parse(id).ok()?),
            ("once", None) => Subject::Once(id.to_owned()),
            ("payment", None) => Subject::Payment(PaymentId::parse(id).ok()?),
            ("topup", None) => Subject::Topup(TopupId::parse(id).ok()?),
            ("settlement", None) => Subject::Settlement(SettlementId::parse(id).ok()?),
            _ => return None,
        };
        Some(Self { tenant: Tenant::parse(tenant).ok()?, subject })
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenant = &self.tenant;
        match &self.subject {
            Subject::Account(account, asset) => write!(f, "{tenant}/account/{account}/{asset}"),
            Subject::Transaction(id) => write!(f, "{tenant}/transaction/{id}"),
            Subject::Once(digest) => write!(f, "{tenant}/once/{digest}"),
            Subject::Payment(id) => write!(f, "{tenant}/payment/{id}"),
            Subject::Topup(id) => write!(f, "{tenant}/topup/{id}"),
            Subject::Settlement(id) => write!(f, "{tenant}/settlement/{id}"),
        }
    }
}
