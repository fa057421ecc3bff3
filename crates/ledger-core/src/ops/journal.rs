//! Reading journal entries back, whole or as another party sees them.

use super::hold::PAYMENT_STATUS;
use crate::account::{Account, Bucket, Posting};
use crate::dynamo::{Item, ItemError, Value, read};
use crate::ids::{PaymentId, RefundId, TransactionId};
use crate::keys::attr;
use crate::money::{Asset, Delta};
use crate::time::Timestamp;

/// A stored journal entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// Its id.
    pub id: TransactionId,
    /// The operation's name.
    pub operation: String,
    /// When.
    pub created_at: Timestamp,
    /// Both sides.
    pub postings: Vec<Posting>,
    /// The payment that it belongs to.
    pub payment_id: Option<PaymentId>,
    /// The refund that it made.
    pub refund_id: Option<RefundId>,
}

/// An entry as one party sees it in its history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryLine {
    /// The entry's id.
    pub id: TransactionId,
    /// The operation's name.
    pub operation: String,
    /// When.
    pub created_at: Timestamp,
    /// How this party's balances changed.
    pub changes: Vec<Delta>,
    /// Who was on the other side, as far as this party may know: merchants.
    pub merchant_id: Option<String>,
    /// The payment that it belongs to.
    pub payment_id: Option<String>,
    /// What the payment became by it, where something is or was held for it.
    pub payment_status: Option<String>,
    /// The top-up that it belongs to.
    pub topup_id: Option<String>,
    /// What was written with it.
    pub memo: Option<String>,
}

impl JournalEntry {
    /// Reads a stored entry.
    ///
    /// # Errors
    /// [`ItemError`] if it does not look as we write it.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            id: read::parsed(item, "transaction_id", TransactionId::parse)?,
            operation: read::text(item, "operation")?.to_owned(),
            created_at: read::parsed(item, attr::CREATED_AT, Timestamp::parse)?,
            postings: read::list(item, "postings")?.iter().map(posting).collect::<Result<_, _>>()?,
            payment_id: read::opt_parsed(item, "payment_id", PaymentId::parse)?,
            refund_id: read::opt_parsed(item, "refund_id", RefundId::parse)?,
        })
    }
}

impl HistoryLine {
    /// Reads an entry, or a reference to one, as `party` sees it.
    ///
    /// # Errors
    /// [`ItemError`] if it does not look as we write it.
    pub fn read(item: &Item, party: Option<Account>) -> Result<Self, ItemError> {
        let changes = match read::opt_map(item, "changes")? {
            Some(changes) => changes
                .iter()
                .map(|(asset, delta)| match delta {
                    Value::N(number) => parse_delta(asset, number),
                    Value::S(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => Err(wrong("changes")),
                })
                .collect::<Result<_, _>>()?,
            None => {
                let postings: Vec<Posting> =
                    read::list(item, "postings")?.iter().map(posting).collect::<Result<_, _>>()?;
                // What the party could spend more or less: what is held shows when it is put aside.
                let own = postings.iter().filter(|p| Some(p.account) == party && p.bucket == Bucket::Available);
                crate::account::net(own.map(|p| (p.delta.asset().clone(), &p.delta)))
                    .map_err(|_| wrong("postings"))?
                    .into_values()
                    .collect()
            }
        };
        let text = |attribute: &str| read::opt_string(item, attribute);
        Ok(Self {
            id: read::parsed(item, "transaction_id", TransactionId::parse)?,
            operation: read::text(item, "operation")?.to_owned(),
            created_at: read::parsed(item, attr::CREATED_AT, Timestamp::parse)?,
            changes,
            merchant_id: text("merchant_id")?,
            payment_id: text("payment_id")?,
            payment_status: text(PAYMENT_STATUS)?,
            topup_id: text("topup_id")?,
            memo: text("memo")?,
        })
    }
}

fn posting(value: &Value) -> Result<Posting, ItemError> {
    let Value::M(map) = value else { return Err(wrong("postings")) };
    let account = read::parsed(map, "account", Account::parse)?;
    let bucket = match read::opt_text(map, "bucket")? {
        Some(name) => Bucket::parse(name).ok_or_else(|| wrong("bucket"))?,
        None => Bucket::Available,
    };
    Ok(Posting { account, bucket, delta: parse_delta(read::text(map, "asset")?, read::number(map, "delta")?)? })
}

fn parse_delta(asset: &str, number: &str) -> Result<Delta, ItemError> {
    let asset = Asset::parse(asset).map_err(|_| wrong("asset"))?;
    Delta::from_stored(asset, number).map_err(|_| wrong("delta"))
}

fn wrong(attribute: &str) -> ItemError {
    ItemError::invalid(attribute)
}
