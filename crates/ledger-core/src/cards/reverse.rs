//! A terminal reverses one of its own operations whose outcome is unknown. An executed original is undone. An
//! original that has not arrived is forbidden by a tombstone, so that it is refused when it arrives. The operator undoes
//! cash top-ups, later too.

use super::bonus::{BONUS_OF, BonusState, CashBonus};
use crate::account::{Account, Posting};
use crate::dynamo::{Cmp, Condition, Item, Update, Value};
use crate::failure::Failure;
use crate::forms::{self, RoomGuard, TerminalGuard};
use crate::idempotency::{Claim, Marker, MarkerState};
use crate::ids::{RefundId, Tenant, TerminalOwner, TransactionId};
use crate::journal::JournalEntry;
use crate::journal::{CASH, CASH_IS_AT_COUNTER, CASH_IS_OWED};
use crate::keys::{self, Partition, attr};
use crate::limits;
use crate::money::{Amount, Delta};
use crate::operation::Operation;
use crate::payment_state::{Move, PaymentState};
use crate::payments::ReturnKind;
use crate::payments::record::{PaymentRecord, refundable_attribute, return_attributes, shop_attribute};
use crate::payments::refund_room::TakenRoom;
use crate::payments::reversal::{REVERSAL_TIME, Reversal, ReverseReceipt, reversed_marker};
use crate::plan::{Context, PlanRefusal};
use crate::returning::ReturnAccount;
use crate::terms::{TenantTerms, TerminalTerms};
use crate::transaction::{Clause, Draft, Entry, Planned, Reference, Role, TransactItem};

/// A reversal.
#[derive(Clone, Debug)]
pub struct CardReverse<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// The terminal's partition, which has references to its operations.
    pub terminal: Partition,
    /// Whose terminal it is.
    pub at: &'a TerminalTerms,
    /// The original's claim on its key.
    pub original: &'a Claim,
    /// What was read under the original's key.
    pub seen: Seen<'a>,
    /// The item of the original's card, or of the card that replaced it last; `None` only if no card was read.
    pub card: Option<&'a Item>,
    /// The bonus as it was read, if one was due for the original.
    pub bonus: Option<&'a CashBonus>,
    /// Who reverses it.
    pub by: ReversedBy,
}

/// Who reverses an operation of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReversedBy {
    /// The terminal: its cash top-ups and refunds for ten minutes, and of a suspended merchant only payments.
    Terminal,
    /// The operator, at any time and in every state of the terminal, also of a suspended merchant.
    Operator,
}

/// What was read under the original's key.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'a> {
    /// No marker. A terminal's marker does not lapse, so the original has not been executed.
    Nothing,
    /// A marker, with its entry and payment if it has them.
    Marker(&'a Marker, Option<&'a JournalEntry>, Option<&'a PaymentRecord>),
}

/// Builds the reversal's transaction from what was read. Any change since then is a `StalePlan`.
///
/// # Errors
/// [`PlanRefusal`] if the original can no longer be undone.
pub fn plan(
    command: &CardReverse<'_>,
    terms: &TenantTerms,
    cx: &Context,
) -> Result<Planned<ReverseReceipt>, PlanRefusal> {
    let receipt = |reversal, original: Option<TransactionId>| ReverseReceipt {
        operation: command.original.operation,
        reversal,
        transaction_id: (reversal == Reversal::Undone).then_some(cx.transaction_id),
        original_transaction_id: original,
        created_at: cx.now,
    };
    let (marker, entry, payment) = match command.seen {
        Seen::Nothing => {
            let draft = Draft { entry: None, items: vec![command.original.tombstone()] };
            return Ok(Planned { draft, receipt: receipt(Reversal::Forbidden, None) });
        }
        Seen::Marker(marker, entry, payment) => (marker, entry, payment),
    };
    if marker.state == MarkerState::Reversed {
        return Ok(Planned { draft: Draft::default(), receipt: receipt(Reversal::AlreadyReversed, None) });
    }
    let mut items = vec![reversed_marker(command.original)];
    let Some(entry) = entry else {
        return Ok(Planned { draft: Draft { entry: None, items }, receipt: receipt(Reversal::NothingMoved, None) });
    };
    check_may_undo(command, entry, cx)?;
    let undone = undo(command, terms, entry, payment, cx)?;
    items.extend(undone.items);
    let draft = Draft { entry: undone.entry, items };
    Ok(Planned { draft, receipt: receipt(Reversal::Undone, Some(entry.id)) })
}

/// Refuses what the merchant's state, or the time since the original, does not allow.
fn check_may_undo(command: &CardReverse<'_>, original: &JournalEntry, cx: &Context) -> Result<(), PlanRefusal> {
    let of = command.original.operation;
    let by_terminal = match command.by {
        ReversedBy::Terminal => true,
        ReversedBy::Operator => false,
    };
    // A suspended merchant can give a card's money back, and nothing else.
    if by_terminal && !command.at.is_open() && of != Operation::CardPay {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    if command.at.is_closing() {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    // Both take money from the card, which its holder may rely on after that. A late payment takes refund room instead.
    let debits_card = of != Operation::CardPay;
    let is_late = cx.now.since(original.created_at) > REVERSAL_TIME;
    if by_terminal && debits_card && is_late {
        return Err(PlanRefusal::Refused(Failure::ReversalTooLate));
    }
    Ok(())
}

/// Inverts every posting and restores the payment's record.
fn undo(
    command: &CardReverse<'_>,
    terms: &TenantTerms,
    original: &JournalEntry,
    payment: Option<&PaymentRecord>,
    cx: &Context,
) -> Result<Draft, PlanRefusal> {
    let named = original.postings.iter().map(|posting| posting.account).find(Account::has_balance_item);
    let named = named.ok_or(PlanRefusal::Refused(Failure::WrongState))?;
    let card = ReturnAccount::of(named, command.card)?;
    let mut postings = Vec::new();
    let mut items = Vec::new();
    for posting in &original.postings {
        postings.push(Posting::new(posting.account, posting.delta.inverse()));
    }
    let bonus = bonus_of(command, original)?;
    if let Some(bonus) = bonus {
        // A granted bonus is taken back with the charge: the card must hold both.
        postings.extend(bonus.taken_back());
        items.push(bonus.reversed(command.tenant, (cx.transaction_id, &card), cx.now));
    }
    for posting in &mut postings {
        posting.account = card.in_place_of(posting.account);
    }
    let own = postings.iter().filter(|posting| posting.account.has_balance_item());
    for ((account, _), delta) in crate::account::net(own.map(|p| ((p.account, p.delta.asset().clone()), &p.delta)))? {
        let Some(size) = delta.size() else { continue };
        // A freeze stops this as little as it stops a refund. Money that has been spent cannot be taken back.
        let (out, in_) = if delta.is_debit() { (Some(&size), None) } else { (None, Some(&size)) };
        let settled =
            forms::settle(command.tenant, Role::Card, account, (out, in_), Failure::Insufficient, false, cx.now);
        let counted = original.counted.get(delta.asset());
        let settled = settled.map(|settled| settled.guarded_also(Vec::from_iter(card.guard())));
        items.extend(settled.map(|settled| match counted {
            Some(counted) => limits::uncount(settled, counted, command.card),
            None => settled,
        }));
    }
    let room = match payment {
        // What a refund took returns with the settlement that covers it, whether or not the refund is reversed.
        Some(_) if original.refund_id.is_none() => taken_room(command, &postings)?,
        Some(_) | None => None,
    };
    if let Some(payment) = payment {
        items.extend(payment_items(command, original, payment, &postings, room.as_ref(), cx)?);
    }
    if let Some(room) = &room {
        let is_late = cx.now.since(original.created_at) > REVERSAL_TIME;
        let guard = if is_late { RoomGuard::Enough } else { RoomGuard::None };
        let merchant = command.at.owner().merchant().ok_or(PlanRefusal::Refused(Failure::WrongState))?;
        items.push(room.taken((command.tenant, merchant), guard, cx.now));
    }
    let home = card.account();
    let mut changes: Vec<Delta> = postings.iter().filter(|p| p.account == home).map(|p| p.delta.clone()).collect();
    let mut details = Item::from([
        ("reverses".to_owned(), Value::s(original.id)),
        ("reverses_operation".to_owned(), Value::s(command.original.operation)),
    ]);
    let owner = command.at.owner();
    details.extend(owner.merchant().map(|id| ("merchant_id".to_owned(), Value::s(id))));
    if command.original.operation == Operation::CardTopup {
        let cash = match owner {
            TerminalOwner::Merchant(_) => CASH_IS_OWED,
            TerminalOwner::Operator => CASH_IS_AT_COUNTER,
        };
        // The first posting to the card is the charge; a bonus follows it, which is no cash.
        changes.truncate(1);
        let charge = changes.first().and_then(Delta::size).ok_or(PlanRefusal::Refused(Failure::WrongState))?;
        let guard = match command.by {
            ReversedBy::Terminal => TerminalGuard::Active,
            ReversedBy::Operator => TerminalGuard::AnyState,
        };
        items.push(forms::give_cash_room_back(&command.terminal, owner, (&charge, guard), cx.now));
        details.insert(CASH.to_owned(), Value::s(cash));
    }
    details.extend(card.detail());
    details.extend(room.iter().map(TakenRoom::attribute));
    details.extend(bonus.map(|bonus| (BONUS_OF.to_owned(), Value::s(bonus.entry))));
    if let Some(payment) = payment {
        details.insert("payment_id".to_owned(), Value::s(payment.id));
    }
    let entry = Entry {
        id: cx.transaction_id,
        home,
        postings,
        references: vec![Reference { partition: command.terminal.clone(), changes }],
        details,
        memo: None,
        terms: terms.of_entry(),
    };
    card.or_unclaimed(command.tenant, Draft { entry: Some(entry), items }, cx.now)
}

/// The bonus that the reversal undoes; `None` if none was due for the original.
fn bonus_of<'a>(command: &CardReverse<'a>, original: &JournalEntry) -> Result<Option<&'a CashBonus>, PlanRefusal> {
    if original.bonus_due.is_none() {
        return Ok(None);
    }
    let bonus = command.bonus.filter(|bonus| bonus.entry == original.id);
    let bonus = bonus.ok_or(PlanRefusal::Refused(Failure::StalePlan))?;
    match bonus.state {
        BonusState::Due | BonusState::Granted => Ok(Some(bonus)),
        // The original's marker says otherwise: one of the two was read before the other was written.
        BonusState::Reversed => Err(PlanRefusal::Refused(Failure::StalePlan)),
    }
}

/// What the reversal of a payment takes from its merchant's refund room.
fn taken_room(command: &CardReverse<'_>, postings: &[Posting]) -> Result<Option<TakenRoom>, PlanRefusal> {
    let Some(merchant) = command.at.owner().merchant().map(Account::Merchant) else { return Ok(None) };
    let own = postings.iter().filter(|posting| posting.account == merchant);
    let returned: Vec<Amount> = own.filter_map(|posting| posting.delta.size()).collect();
    Ok(TakenRoom::of(&returned)?)
}

/// Restores the payment's record. A payment can be reversed only if nothing of it was refunded; a reversed refund can
/// be made again.
fn payment_items(
    command: &CardReverse<'_>,
    original: &JournalEntry,
    payment: &PaymentRecord,
    postings: &[Posting],
    room: Option<&TakenRoom>,
    cx: &Context,
) -> Result<Vec<TransactItem>, PlanRefusal> {
    let TerminalTerms::Till(terms) = command.at else { return Err(PlanRefusal::Refused(Failure::WrongState)) };
    let merchant = Account::Merchant(payment.merchant);
    let credited: Vec<Delta> =
        postings.iter().filter(|posting| posting.account == merchant).map(|p| p.delta.clone()).collect();
    let refund = original.refund_id.is_some();
    if !refund {
        if payment.state == PaymentState::Reversed {
            // The marker says otherwise: it was read before another reversal wrote both.
            return Err(PlanRefusal::Refused(Failure::StalePlan));
        }
        payment.state.moved(Move::Reverse)?;
    }
    let mut update = Update::new();
    let mut clauses = vec![Clause {
        condition: Condition::compare("state", Cmp::Eq, "seen_state", Value::s(payment.state)),
        failure: Failure::StalePlan,
    }];
    let mut whole_again = true;
    for (asset, seen) in &payment.refundable {
        let change = credited.iter().find(|delta| delta.asset() == asset);
        if let Some(change) = change {
            let attribute = refundable_attribute(asset);
            let suffix = asset.attribute_suffix();
            update = update.add(attribute.clone(), format!("delta_{suffix}"), Value::N(change.text()));
            clauses.push(Clause {
                condition: Condition::compare(attribute, Cmp::Eq, format!("seen_{suffix}"), Value::N(seen.text())),
                failure: Failure::StalePlan,
            });
        }
        let after = match change {
            Some(change) => seen.checked_apply(change)?,
            None => seen.clone(),
        };
        let captured = payment.captured.get(asset);
        whole_again &= captured.is_some_and(|captured| after.value() == captured.value());
    }
    let state = match (refund, whole_again) {
        (false, _) => payment.state.moved(Move::Reverse)?,
        // An existing refund has changed the payment's state, unless the two were not read together.
        (true, true) => payment.state.after(Move::RestoreWhole).ok_or(PlanRefusal::Refused(Failure::StalePlan))?,
        (true, false) => payment.state.after(Move::RestorePart).ok_or(PlanRefusal::Refused(Failure::StalePlan))?,
    };
    let update = update.set("state", "state", Value::s(state)).set(attr::UPDATED_AT, "ua", Value::s(cx.now));
    let id = RefundId::new(cx.resource_id);
    let kind = if refund { ReturnKind::RefundReversal } else { ReturnKind::PaymentReversal };
    let mut record = Item::from([
        ("refund_id".to_owned(), Value::s(id)),
        ("kind".to_owned(), Value::s(kind.name())),
        ("payment_id".to_owned(), Value::s(payment.id)),
        ("merchant_id".to_owned(), Value::s(payment.merchant)),
        ("transaction_id".to_owned(), Value::s(cx.transaction_id)),
        ("reverses".to_owned(), Value::s(original.id)),
        ("asset".to_owned(), Value::s(payment.total.asset())),
        (attr::CREATED_AT.to_owned(), Value::s(cx.now)),
    ]);
    if let Some(total) = credited.first().and_then(Delta::size) {
        record.insert("total".to_owned(), Value::N(total.text()));
    }
    record.extend(payment.shop.map(shop_attribute));
    record.extend(room.map(TakenRoom::attribute));
    record.extend(return_attributes(command.tenant, terms, id.uuid(), &credited));
    Ok(vec![
        TransactItem::update(Role::Payment, keys::payment(command.tenant, payment.id), update, clauses),
        TransactItem::put_new(
            Role::Refund,
            keys::refund(command.tenant, payment.id, id),
            record,
            Failure::AlreadyExists,
        ),
    ])
}
