//! Loads cash onto a card, under the card's cap. The tenant's bonus may exceed the cap.

use crate::account::{Account, Posting, TenantAccount};
use crate::dynamo::{Item, Value};
use crate::failure::Failure;
use crate::forms;
use crate::ids::{CardId, MerchantId, Tenant, TerminalId, TransactionId};
use crate::keys::Partition;
use crate::limits::{LimitKind, UseCounter};
use crate::money::{Amount, AssetSpec};
use crate::plan::{Context, PlanRefusal};
use crate::terms::TenantTerms;
use crate::time::Timestamp;
use crate::transaction::{Draft, Entry, Planned, Reference, Role};

/// A top-up with cash.
#[derive(Clone, Debug)]
pub struct CardTopup {
    /// The tenant.
    pub tenant: Tenant,
    /// The terminal where the cash was taken.
    pub terminal: TerminalId,
    /// The terminal's merchant.
    pub merchant: MerchantId,
    /// The card.
    pub card: CardId,
    /// The amount of cash.
    pub charge: Amount,
}

/// What a response says about a card operation that is no payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardTopupReceipt {
    /// The journal entry.
    pub transaction_id: TransactionId,
    /// The card.
    pub card: CardId,
    /// The amount of cash.
    pub charge: Amount,
    /// The bonus that the tenant adds.
    pub bonus: Option<Amount>,
    /// When it was created.
    pub created_at: Timestamp,
}

/// Builds the top-up's transaction: the card, journal entry, the terminal's reference.
///
/// # Errors
/// [`PlanRefusal`] if the charge alone is above the cap.
pub fn plan(command: &CardTopup, terms: &TenantTerms, cx: &Context) -> Result<Planned<CardTopupReceipt>, PlanRefusal> {
    let CardTopup { tenant, terminal, merchant, card, charge } = command;
    let account = Account::Card(*card);
    let bonus = charge.at_rate(&terms.card_bonus_rate, &AssetSpec::ECOPAY)?;
    let item = forms::top_up(tenant, Role::Card, account, charge, bonus.as_ref(), &terms.card_cap, cx.now)
        .ok_or(PlanRefusal::Refused(Failure::CapExceeded))?;
    let mut uses = UseCounter::new(terms.limits.as_ref(), account, LimitKind::CashTopup, cx.now);
    let item = uses.count(item, charge)?;
    let mut details = Item::from([("merchant_id".to_owned(), Value::s(merchant))]);
    details.extend(uses.counted());
    let mut postings = vec![
        Posting::new(Account::Tenant(TenantAccount::CashClearing), charge.debit()),
        Posting::new(account, charge.credit()),
    ];
    if let Some(bonus) = &bonus {
        postings.push(Posting::new(Account::Tenant(TenantAccount::PointsIssued), bonus.debit()));
        postings.push(Posting::new(account, bonus.credit()));
    }
    let entry = Entry {
        id: cx.transaction_id,
        home: account,
        postings,
        references: vec![Reference {
            partition: Partition::terminal(tenant, *terminal),
            changes: vec![charge.credit()],
        }],
        details,
        due_shards: terms.due_shards,
        records: terms.records,
    };
    let receipt = CardTopupReceipt {
        transaction_id: cx.transaction_id,
        card: *card,
        charge: charge.clone(),
        bonus,
        created_at: cx.now,
    };
    Ok(Planned { draft: Draft { entry: Some(entry), items: vec![item] }, receipt })
}
