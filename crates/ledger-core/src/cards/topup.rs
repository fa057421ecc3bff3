//! Loads cash onto a card, under the card's cap. The tenant's bonus may exceed the cap.

use crate::account::{Account, Posting, TenantAccount};
use crate::dynamo::{Item, Value};
use crate::failure::Failure;
use crate::forms;
use crate::ids::{CardId, Tenant, TerminalId, TransactionId};
use crate::keys::Partition;
use crate::limits::{LimitKind, Place, UseCounter};
use crate::money::{Amount, AssetSpec};
use crate::plan::{Context, PlanRefusal};
use crate::terms::{MerchantTerms, TenantTerms};
use crate::time::Timestamp;
use crate::transaction::{CASH, CASH_IS_OWED, Draft, Entry, Planned, Reference, Role};

/// A top-up with cash.
#[derive(Clone, Debug)]
pub struct CardTopup {
    /// The tenant.
    pub tenant: Tenant,
    /// The terminal where the cash was taken.
    pub terminal: TerminalId,
    /// The terminal's merchant.
    pub merchant: MerchantTerms,
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

/// Builds the top-up's transaction: the card, journal entry, the terminal's reference. If the merchant owes the cash, it
/// is posted to the merchant, takes room of the terminal, and earns no bonus: a merchant could pay itself the bonus.
///
/// # Errors
/// [`PlanRefusal`] if the merchant is suspended, or the charge alone is above the cap.
pub fn plan(command: &CardTopup, terms: &TenantTerms, cx: &Context) -> Result<Planned<CardTopupReceipt>, PlanRefusal> {
    let CardTopup { tenant, terminal, merchant, card, charge } = command;
    let account = Account::Card(*card);
    if !merchant.open {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    let is_owed = terms.cash.is_owed();
    let bonus = if is_owed { None } else { charge.at_rate(&terms.card_bonus_rate, &AssetSpec::ECOPAY)? };
    let partition = Partition::terminal(tenant, *terminal);
    let item = forms::top_up(tenant, Role::Card, account, charge, bonus.as_ref(), &terms.card_cap, cx.now)
        .ok_or(PlanRefusal::Refused(Failure::CapExceeded))?;
    let mut uses = UseCounter::new(terms.limits.as_ref(), account, LimitKind::CashTopup, cx.now)
        .at(Place { merchant: merchant.id, is_terminal: true });
    let item = uses.count(item, charge)?;
    let debtor = if is_owed { Account::Merchant(merchant.id) } else { Account::Tenant(TenantAccount::CashClearing) };
    let mut postings = vec![Posting::new(debtor, charge.debit()), Posting::new(account, charge.credit())];
    if let Some(bonus) = &bonus {
        postings.push(Posting::new(Account::Tenant(TenantAccount::PointsIssued), bonus.debit()));
        postings.push(Posting::new(account, bonus.credit()));
    }
    let mut items = vec![item];
    let mut details = Item::from([("merchant_id".to_owned(), Value::s(merchant.id))]);
    details.extend(uses.counted());
    if is_owed {
        items.push(forms::take_cash_room(&partition, merchant.id, charge, cx.now));
        details.insert(CASH.to_owned(), Value::s(CASH_IS_OWED));
    }
    let entry = Entry {
        id: cx.transaction_id,
        home: account,
        postings,
        references: vec![Reference { partition, changes: vec![charge.credit()] }],
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
    Ok(Planned { draft: Draft { entry: Some(entry), items }, receipt })
}
