//! The hold of a payment: the `HOLD` item, due from its expiry on, and its full release. Shared by authorizing,
//! capturing, voiding and expiring.

use super::record::{EXPIRES_AT, PaymentRecord, refundable_attribute};
use crate::account::Posting;
use crate::dynamo::{Cmp, Condition, Item, Update, Value};
use crate::failure::Failure;
use crate::forms;
use crate::ids::Tenant;
use crate::journal::PAYMENT_STATUS;
use crate::keys::{self, Shards, Work, attr};
use crate::money::Asset;
use crate::payment_state::{Move, PaymentState};
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::TenantTerms;
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Entry, Planned, Role, TransactItem, exists};
use crate::wallets::SeenWallet;

/// The full release of a hold to the payer. It pays the payer's debt first.
pub(super) struct Release<'a> {
    pub(super) tenant: &'a Tenant,
    /// The payment as it was read.
    pub(super) payment: &'a PaymentRecord,
    /// The payer's wallet as it was read.
    pub(super) wallet: &'a SeenWallet,
    /// Void or expiry.
    pub(super) by: Move,
    /// Further conditions on the payment.
    pub(super) guards: Vec<Clause>,
    /// The reason.
    pub(super) reason: Option<&'a FreeText>,
}

/// The `HOLD` of an authorized payment.
pub(super) fn open(tenant: &Tenant, payment: &PaymentRecord, expires_at: Timestamp, shards: Shards) -> TransactItem {
    let shard = keys::shard_of(payment.id.uuid(), shards);
    let mut item = Item::from([
        ("payment_id".to_owned(), Value::s(payment.id)),
        ("transaction_id".to_owned(), Value::s(payment.transaction_id)),
        ("payer".to_owned(), Value::s(payment.payer)),
        ("merchant_id".to_owned(), Value::s(payment.merchant)),
        ("state".to_owned(), Value::s(payment.state)),
        (EXPIRES_AT.to_owned(), Value::s(expires_at)),
        (attr::CREATED_AT.to_owned(), Value::s(payment.created_at)),
        (attr::UPDATED_AT.to_owned(), Value::s(payment.created_at)),
        (attr::OWNER_PK.to_owned(), Value::S(keys::holds_partition(tenant, shard))),
        (attr::OWNER_SK.to_owned(), Value::S(keys::listed_from(expires_at, payment.id))),
    ]);
    item.extend(Work::Hold.due(tenant, shard, expires_at, payment.id).attributes());
    for (asset, amount) in &payment.authorized {
        item.insert(format!("held_{}", asset.attribute_suffix()), Value::N(amount.text()));
    }
    TransactItem::put_new(Role::Hold, keys::hold(tenant, payment.id), item, Failure::AlreadyExists)
}

/// Closes the `HOLD` of a payment and removes it from both indexes.
pub(super) fn close(tenant: &Tenant, payment: &PaymentRecord, to: PaymentState, now: Timestamp) -> TransactItem {
    let update = Update::new()
        .set("state", "state", Value::s(to))
        .set(attr::UPDATED_AT, "ua", Value::s(now))
        .remove(attr::DUE_PK)
        .remove(attr::DUE_SK)
        .remove(attr::OWNER_PK)
        .remove(attr::OWNER_SK);
    TransactItem::update(Role::Hold, keys::hold(tenant, payment.id), update, vec![still(payment)])
}

/// Requires the payment's state as it was read: of two transitions at once, one fails.
pub(super) fn still(payment: &PaymentRecord) -> Clause {
    Clause {
        condition: Condition::compare("state", Cmp::Eq, "seen_state", Value::s(payment.state)),
        failure: Failure::StalePlan,
    }
}

/// The role of a balance of this asset in a payment.
pub(super) fn role(asset: &Asset) -> Role {
    match asset {
        Asset::Point => Role::Points,
        Asset::Ecopay | Asset::Jcredit | Asset::Regional(_) => Role::Payer,
    }
}

/// A plan without effect, for a transition that has taken place already. Returns the payment as it is at the moment
/// of the write: everything that can still change is guarded.
pub(super) fn guarded_without_effect(tenant: &Tenant, payment: &PaymentRecord) -> Planned<PaymentRecord> {
    let mut clauses = vec![exists(), still(payment)];
    for (asset, left) in &payment.refundable {
        let seen = format!("seen_{}", asset.attribute_suffix());
        clauses.push(Clause {
            condition: Condition::compare(refundable_attribute(asset), Cmp::Eq, seen, Value::N(left.text())),
            failure: Failure::StalePlan,
        });
    }
    let check = TransactItem::check(Role::Payment, keys::payment(tenant, payment.id), clauses);
    Planned { draft: Draft { entry: None, items: vec![check] }, receipt: payment.clone() }
}

impl Release<'_> {
    pub(super) fn plan(self, terms: &TenantTerms, cx: &Context) -> Result<Planned<PaymentRecord>, PlanRefusal> {
        let payment = self.payment;
        let state = payment.state.moved(self.by)?;
        let (mut postings, mut items) = (Vec::new(), Vec::new());
        for (asset, held) in &payment.authorized {
            let division = self.wallet.divide(payment.payer, held)?;
            let repaid = division.repaid.as_ref();
            let item = forms::release_hold(self.tenant, role(asset), payment.payer, held, repaid, cx.now);
            items.extend(item.map(|item| self.wallet.repaying(item, payment.payer, (asset, repaid), cx.now)));
            postings.push(Posting::held(payment.payer, held.debit()));
            postings.extend(division.postings(payment.payer));
        }
        let update = Update::new().set("state", "state", Value::s(state)).set(attr::UPDATED_AT, "ua", Value::s(cx.now));
        let mut clauses = vec![exists(), still(payment)];
        clauses.extend(self.guards);
        items.push(TransactItem::update(Role::Payment, keys::payment(self.tenant, payment.id), update, clauses));
        items.push(close(self.tenant, payment, state, cx.now));
        let details = Item::from([
            ("payment_id".to_owned(), Value::s(payment.id)),
            ("merchant_id".to_owned(), Value::s(payment.merchant)),
            (PAYMENT_STATUS.to_owned(), Value::s(state)),
        ]);
        let entry = Entry {
            id: cx.transaction_id,
            home: payment.payer,
            postings,
            references: Vec::new(),
            details,
            memo: cx.memo(self.reason),
            terms: terms.of_entry(),
        };
        let receipt = PaymentRecord { state, ..payment.clone() };
        Ok(Planned { draft: Draft { entry: Some(entry), items }, receipt })
    }
}

#[cfg(test)]
mod tests;
