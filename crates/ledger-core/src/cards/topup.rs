//! Loads cash onto a card, under the card's cap. The tenant's bonus may exceed the cap.

use super::bonus::{BonusState, CashBonus};
use crate::account::{Account, Posting, TenantAccount};
use crate::dynamo::{Item, Value};
use crate::failure::Failure;
use crate::forms;
use crate::ids::{CardId, Tenant, TerminalId, TerminalOwner, TransactionId};
use crate::journal::BONUS_DUE;
use crate::journal::{CASH, CASH_IS_AT_COUNTER, CASH_IS_OWED};
use crate::keys::Partition;
use crate::limits::{LimitKind, Place, UseCounter};
use crate::money::{Amount, AssetSpec};
use crate::plan::{Context, PlanRefusal};
use crate::terms::{CashBonusTerms, TenantTerms, TerminalTerms};
use crate::time::Timestamp;
use crate::transaction::{Draft, Entry, Planned, Reference, Role};

/// A top-up with cash.
#[derive(Clone, Debug)]
pub struct CardTopup {
    /// The tenant.
    pub tenant: Tenant,
    /// The terminal where the cash was taken.
    pub terminal: TerminalId,
    /// Whose terminal it is.
    pub at: TerminalTerms,
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
    /// The bonus that the tenant adds at once.
    pub bonus: Option<Amount>,
    /// When it was created.
    pub created_at: Timestamp,
}

/// Builds the top-up's transaction: the card, the terminal's room, the journal entry, the terminal's reference. Cash at a till
/// is posted to its merchant, who owes it, and earns no bonus at once: a merchant could pay itself the bonus. By the tenant's
/// terms the bonus is stored, due once the cash is covered. Cash at a counter is posted to `cash_clearing`.
///
/// # Errors
/// [`PlanRefusal`] if the merchant is suspended, or the charge alone is above the cap.
pub fn plan(command: &CardTopup, terms: &TenantTerms, cx: &Context) -> Result<Planned<CardTopupReceipt>, PlanRefusal> {
    let CardTopup { tenant, terminal, at, card, charge } = command;
    let account = Account::Card(*card);
    if !at.is_open() {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    let earned = || charge.share(&terms.card_bonus_rate, &AssetSpec::ECOPAY);
    let (debtor, bonus, details) = match at.owner() {
        TerminalOwner::Merchant(id) => {
            (Account::Merchant(id), None, vec![("merchant_id", Value::s(id)), (CASH, Value::s(CASH_IS_OWED))])
        }
        TerminalOwner::Operator => {
            let clearing = Account::Tenant(TenantAccount::CashClearing);
            (clearing, earned()?, vec![(CASH, Value::s(CASH_IS_AT_COUNTER))])
        }
    };
    let due = match (at.owner(), terms.cash_bonus) {
        (TerminalOwner::Merchant(merchant), CashBonusTerms::WhenCovered) => earned()?.map(|amount| CashBonus {
            entry: cx.transaction_id,
            merchant,
            card: *card,
            amount,
            state: BonusState::Due,
            grant_entry: None,
            created_at: cx.now,
        }),
        (TerminalOwner::Merchant(_), CashBonusTerms::Never) | (TerminalOwner::Operator, _) => None,
    };
    let partition = Partition::terminal(tenant, *terminal);
    let item = forms::top_up(tenant, Role::Card, account, charge, bonus.as_ref(), &terms.card_cap, cx.now)
        .ok_or(PlanRefusal::Refused(Failure::CapExceeded))?
        .guarded_also(vec![forms::card_in_date(cx.now)]);
    let mut uses =
        UseCounter::new(terms.limits.as_ref(), account, LimitKind::CashTopup, cx.now).at(Place::Terminal(at.owner()));
    let item = uses.count(item, charge)?;
    let mut postings = vec![Posting::new(debtor, charge.debit()), Posting::new(account, charge.credit())];
    if let Some(bonus) = &bonus {
        postings.push(Posting::new(Account::Tenant(TenantAccount::PointsIssued), bonus.debit()));
        postings.push(Posting::new(account, bonus.credit()));
    }
    let mut items = vec![item, forms::take_cash_room(&partition, at.owner(), charge, cx.now)];
    let mut details: Item = details.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    details.extend(uses.counted());
    if let Some(due) = &due {
        details.insert(BONUS_DUE.to_owned(), Value::N(due.amount.text()));
        items.push(due.store(tenant));
    }
    let entry = Entry {
        id: cx.transaction_id,
        home: account,
        postings,
        references: vec![Reference { partition, changes: vec![charge.credit()] }],
        details,
        memo: None,
        terms: terms.of_entry(),
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
