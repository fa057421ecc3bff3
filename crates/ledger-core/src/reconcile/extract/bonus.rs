//! Bonuses on cash that merchants owe: what a top-up's entry has due, its stored bonus, and the entries that grant it and take
//! it back.

use super::journal::ReadEntry;
use super::{Observation, Observations, StoredItem, nums};
use crate::account::{Account, TenantAccount};
use crate::cards::bonus::{BONUS_OF, CashBonus, GRANTED_TO, TAKEN_FROM};
use crate::dynamo::{Attributes, ItemError};
use crate::ids::{CardId, MerchantId, TransactionId};
use crate::keys::{attr, sk};
use crate::money::Asset;
use crate::operation::Operation;
use crate::reconcile::breaks::BreakKind;
use crate::reconcile::fact::{BonusFact, BonusPart, EntryFact, GroupFact};
use crate::reconcile::num::Num;
use crate::returning::INSTEAD_OF;
use crate::settlements::Coverage;

/// A stored bonus. It names the entry of its top-up, and those that granted and reversed it.
pub(super) fn bonus(at: &StoredItem<'_>) -> Observations {
    let bonus = CashBonus::read(at.item)?;
    at.check_key("merchant_id", bonus.merchant, at.id)?;
    at.check_key("entry_id", bonus.entry, at.after(sk::CASH_BONUS))?;
    let card = Account::Card(bonus.card);
    let named = |(id, home): (TransactionId, Account)| {
        let by = format!("cash_bonus:{}", bonus.entry);
        let reference = EntryFact::Reference { by, home: Some(home), merchant: Some(bonus.merchant), claim: None };
        at.fact(GroupFact::Entry(id, reference))
    };
    // An entry that was written after the card was replaced is of the card that replaced it.
    let home =
        |attribute| Ok::<_, ItemError>(at.item.opt_parsed(attribute, CardId::parse)?.map_or(card, Account::Card));
    let reversal_entry = at.item.opt_parsed("reversal_entry_id", TransactionId::parse)?;
    let entries =
        [(Some(bonus.entry), card), (bonus.grant_entry, home(GRANTED_TO)?), (reversal_entry, home(TAKEN_FROM)?)];
    let mut observed: Vec<Observation> =
        entries.into_iter().filter_map(|(id, home)| Some((id?, home))).map(named).collect();
    let part = BonusPart::Recorded { state: bonus.state, was_granted: bonus.grant_entry.is_some() };
    let fact = BonusFact { part, merchant: bonus.merchant, card, amount: Num(bonus.amount.value()) };
    observed.push(at.fact(GroupFact::Entry(bonus.entry, EntryFact::Bonus(fact))));
    Ok(observed)
}

/// What an entry says of a bonus: a top-up has it due, or it is granted or taken back.
pub(super) fn of_entry(at: &StoredItem<'_>, of: &ReadEntry) -> Result<Option<Observation>, ItemError> {
    let fact = |id, part, amount| {
        let merchant = at.item.parsed("merchant_id", MerchantId::parse)?;
        let card = at.item.opt_parsed(INSTEAD_OF, CardId::parse)?.map_or(of.home, Account::Card);
        let fact = BonusFact { part, merchant, card, amount };
        Ok(Some(at.fact(GroupFact::Entry(id, EntryFact::Bonus(fact)))))
    };
    if let Some(due) = &of.entry.bonus_due {
        return fact(of.entry.id, BonusPart::Due, Num(due.value()));
    }
    let topup = at.item.opt_parsed(BONUS_OF, TransactionId::parse)?;
    let (is_grant, is_reversal) = (of.operation == Operation::CardBonus, of.operation == Operation::CardReverse);
    let Some(topup) = topup else {
        return if is_grant { Err(ItemError::missing(BONUS_OF)) } else { Ok(None) };
    };
    if !is_grant && !is_reversal {
        return Err(ItemError::invalid(BONUS_OF));
    }
    let issued = of.entry.postings.iter().filter(|p| p.account == Account::Tenant(TenantAccount::PointsIssued));
    let issued = nums(issued.map(|posting| &posting.delta)).get(&Asset::Ecopay).copied().unwrap_or_default();
    let entry = of.entry.id;
    if is_grant {
        fact(topup, BonusPart::Granted { entry }, Num::ZERO.minus(issued))
    } else {
        fact(topup, BonusPart::TakenBack { entry }, issued)
    }
}

/// A merchant's open settlement: whether bonuses on the cash that a paid one covered are due for too long.
pub(super) fn settling(at: &StoredItem<'_>) -> Observations {
    let coverage = Coverage::read(Some(at.item))?;
    let Some(covered_at) = coverage.covered_at.filter(|_| coverage.is_due) else { return Ok(Vec::new()) };
    if !at.is_late(covered_at, at.limits.bonus) {
        return Ok(Vec::new());
    }
    let merchant = MerchantId::parse(at.id).map_err(|_| ItemError::invalid(attr::PK))?;
    let late = at.finding(BreakKind::BonusOutstanding, Account::Merchant(merchant)).expected("bonuses granted");
    Ok(vec![at.broken(late.found(format!("due since {covered_at}")).by([at.owner()]))])
}
