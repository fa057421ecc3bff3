//! Sets and resets a card's PIN.

use super::check::{SaltOf, proven, seen};
use super::keys::{Pin, PinKeyAbsent, PinKeys};
use super::record::{KEY, PROOF, PinRecord, SALT, without_attempts};
use crate::audit::Act;
use crate::cards::record::CardReceipt;
use crate::dynamo::{Cmp, Condition, Update, Value};
use crate::failure::Failure;
use crate::forms;
use crate::idempotency::Claim;
use crate::ids::{Actor, CardId, CustomerId, Tenant};
use crate::keys::{self, attr};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::Context;
use crate::transaction::{Clause, Draft, Planned, Role, TransactItem, exists};

const RESET_AT: &str = "reset_at";
const RESET_BY: &str = "reset_by";

/// The owner of a card sets its PIN, in the place of the one that `record` has. Attempts begin again.
///
/// The caller has checked the present PIN, if there is one.
///
/// # Errors
/// [`PinKeyAbsent`], which keys that were read never cause: their current key is among them.
pub fn plan_set(
    (card, owner): (CardId, CustomerId),
    record: &PinRecord,
    keys: &PinKeys,
    claim: &Claim,
    pin: &Pin,
    cx: &Context,
) -> Result<Planned<CardReceipt>, PinKeyAbsent> {
    let owned = Condition::compare("owner", Cmp::Eq, "owner", Value::s(owner));
    let owned = vec![Clause { condition: owned, failure: Failure::AccountMissing }, forms::card_active()];
    let as_read = match &record.set {
        Some(set) => seen(set),
        None => Clause { condition: Condition::absent(SALT), failure: Failure::StalePlan },
    };
    let update = proven((card, keys), claim, pin, SaltOf::ChosenPin, cx)?.write(Update::new(), cx.now);
    let update = update.set("set_at", "now", Value::s(cx.now)).set("set_by", "by", Value::s(claim.actor));
    let update = without_attempts(update).remove(RESET_AT).remove(RESET_BY);
    let items = vec![
        TransactItem::check(Role::Card, keys::card(&claim.tenant, card), owned),
        TransactItem::update(Role::CardPin, keys::card_pin(&claim.tenant, card), update, vec![as_read]),
    ];
    Ok(planned(card, items, cx))
}

/// The operator removes a card's PIN and its attempts. The owner then sets another one. Fails with `WrongState` if the
/// card has none.
///
// INVARIANT: no builder takes a PIN from the operator, so that no member of the staff knows one.
#[must_use]
pub fn plan_reset(
    tenant: &Tenant,
    card: CardId,
    actor: Actor,
    reason: Option<&FreeText>,
    cx: &Context,
) -> Planned<CardReceipt> {
    let is_set = Clause { condition: Condition::exists(SALT), failure: Failure::WrongState };
    let update = Update::new().set(RESET_AT, "now", Value::s(cx.now)).set(RESET_BY, "by", Value::s(actor)).set(
        attr::UPDATED_AT,
        "now",
        Value::s(cx.now),
    );
    let update = without_attempts(update).remove(SALT).remove(PROOF).remove(KEY);
    let act = Act::new(actor, Operation::CardPinReset, format!("card:{card}")).because(reason);
    let items = vec![
        TransactItem::check(
            Role::Card,
            keys::card(tenant, card),
            vec![exists(), forms::card_not_ended(Failure::WrongState)],
        ),
        TransactItem::update(Role::CardPin, keys::card_pin(tenant, card), update, vec![is_set]),
        act.record(tenant, cx),
    ];
    planned(card, items, cx)
}

fn planned(card: CardId, items: Vec<TransactItem>, cx: &Context) -> Planned<CardReceipt> {
    Planned { draft: Draft { entry: None, items }, receipt: CardReceipt { card, status: None, at: cx.now } }
}
