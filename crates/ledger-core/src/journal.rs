//! Reading journal entries: whole, or as one party sees them.

mod compact;
mod credit;

pub(crate) use compact::{LEGACY, expand_under};
pub use compact::{StoredLine, expand, expanded};
pub(crate) use credit::{
    CASH, CASH_IS_AT_COUNTER, CASH_IS_DEPOSITED, CASH_IS_OWED, CREDITED_BY, CREDITED_BY_SEAL, CREDITED_BY_SEAL_AS_CASH,
    CREDITED_BY_SEAL_AS_DEPOSIT, CREDITED_BY_SEAL_WITH_ROOM, OF_THE_ENTRY_ALONE, REFUND_ROOM, credited_by,
};

use crate::account::{Account, Bucket, Posting};
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::ids::{PaymentId, RefundId, TransactionId};
use crate::keys::attr;
use crate::memo;
use crate::money::{Amount, Asset, Delta};
use crate::terms_version::TermsVersion;
use crate::time::Timestamp;
use std::collections::BTreeMap;

/// The attribute of an entry that holds the payment's state after it.
pub(crate) const PAYMENT_STATUS: &str = "payment_status";

/// The attribute of the entry of a reversal with the operation that it reverses.
pub(crate) const REVERSES: &str = "reverses_operation";

/// The attribute of an entry that has what its transaction counted toward limits.
pub(crate) const COUNTED: &str = "counted";

/// The attribute of the entry of a top-up with the bonus that is due once its cash is covered, in yen.
pub(crate) const BONUS_DUE: &str = "bonus_due";

/// A stored journal entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// Its id.
    pub id: TransactionId,
    /// The operation's name.
    pub operation: String,
    /// When it was written.
    pub created_at: Timestamp,
    /// The postings of all accounts.
    pub postings: Vec<Posting>,
    /// The payment that it belongs to.
    pub payment_id: Option<PaymentId>,
    /// The refund that wrote it.
    pub refund_id: Option<RefundId>,
    /// What it counted toward limits: amounts by asset and by the count's name.
    pub counted: BTreeMap<Asset, BTreeMap<String, Amount>>,
    /// The bonus that is due once the cash of this top-up is covered, in yen.
    pub bonus_due: Option<Amount>,
}

/// An entry as one party sees it in its history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryLine {
    /// The entry's id.
    pub id: TransactionId,
    /// The operation's name.
    pub operation: String,
    /// The name of the operation that it reverses; `None` unless it is a reversal.
    pub reverses: Option<String>,
    /// When the entry was written.
    pub created_at: Timestamp,
    /// How this party's available balances changed.
    pub changes: Vec<Delta>,
    /// The merchant on the other side. Other parties are not disclosed.
    pub merchant_id: Option<String>,
    /// The payment that it belongs to.
    pub payment_id: Option<String>,
    /// The payment's state after the entry, if the payment has or had a hold.
    pub payment_status: Option<String>,
    /// The top-up that it belongs to.
    pub topup_id: Option<String>,
    /// The memo. `None` if there is none, or if it was erased.
    pub memo: Option<String>,
    /// The version of the tenant's terms that it was planned under.
    pub terms_version: TermsVersion,
}

impl JournalEntry {
    /// Reads a stored entry, or one that was expanded.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let item = expand(item)?;
        Ok(Self {
            id: item.parsed("transaction_id", TransactionId::parse)?,
            operation: item.string("operation")?,
            created_at: item.timestamp(attr::CREATED_AT)?,
            postings: item.maps("postings", posting)?,
            payment_id: item.opt_parsed("payment_id", PaymentId::parse)?,
            refund_id: item.opt_parsed("refund_id", RefundId::parse)?,
            counted: item.opt_map(COUNTED)?.map(counted).transpose()?.unwrap_or_default(),
            bonus_due: item.opt_amount(BONUS_DUE, Asset::Ecopay)?,
        })
    }
}

impl HistoryLine {
    /// Reads an entry, or a reference to one, stored or expanded, as `party` sees it.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item, party: Option<Account>) -> Result<Self, ItemError> {
        let item = expand(item)?;
        let changes = if item.contains_key("changes") {
            item.numbers("changes", change)?
        } else {
            let postings = item.maps("postings", posting)?;
            // Only the available part counts: held money is shown as a change when it is held.
            let own = postings.iter().filter(|p| Some(p.account) == party && p.bucket == Bucket::Available);
            crate::account::net(own.map(|p| (p.delta.asset().clone(), &p.delta)))
                .map_err(|_| ItemError::invalid("postings"))?
                .into_values()
                .collect()
        };
        Ok(Self {
            id: item.parsed("transaction_id", TransactionId::parse)?,
            operation: item.string("operation")?,
            reverses: item.opt_string(REVERSES)?,
            created_at: item.timestamp(attr::CREATED_AT)?,
            changes,
            merchant_id: item.opt_string("merchant_id")?,
            payment_id: item.opt_string("payment_id")?,
            payment_status: item.opt_string(PAYMENT_STATUS)?,
            topup_id: item.opt_string("topup_id")?,
            memo: memo::text_of(&item)?,
            terms_version: TermsVersion::read(&item)?,
        })
    }
}

/// Reads a posting, one of a list on an item.
pub(crate) fn posting(item: &Item) -> Result<Posting, ItemError> {
    Ok(Posting {
        account: item.parsed("account", Account::parse)?,
        bucket: item.opt_named("bucket", Bucket::parse)?.unwrap_or(Bucket::Available),
        delta: item.delta("delta", item.parsed("asset", Asset::parse)?)?,
    })
}

/// The attributes of a posting. The bucket of what may be spent is not named.
pub(crate) fn posting_item(posting: &Posting) -> Item {
    let bucket = (posting.bucket != Bucket::Available).then(|| ("bucket".to_owned(), Value::s(posting.bucket.name())));
    let of = [
        ("account".to_owned(), Value::s(posting.account)),
        ("asset".to_owned(), Value::s(posting.delta.asset())),
        ("delta".to_owned(), Value::N(posting.delta.text())),
    ];
    of.into_iter().chain(bucket).collect()
}

fn counted(item: &Item) -> Result<BTreeMap<Asset, BTreeMap<String, Amount>>, ItemError> {
    let of_asset = |name: &String| {
        let asset = Asset::parse(name).map_err(|_| ItemError::invalid(COUNTED))?;
        let counts = item.map(name)?;
        let amount = |name: &String| Ok((name.clone(), counts.amount(name, asset.clone())?));
        let amounts = counts.keys().map(amount).collect::<Result<_, ItemError>>()?;
        Ok((asset, amounts))
    };
    item.keys().map(of_asset).collect()
}

fn change(asset: &str, number: &str) -> Result<Delta, ItemError> {
    let asset = Asset::parse(asset).map_err(|_| ItemError::invalid("asset"))?;
    Delta::from_stored(asset, number).map_err(|_| ItemError::invalid("delta"))
}
