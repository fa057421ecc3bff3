//! The operator reverses a cash top-up of a terminal, also when the terminal itself may not.

use super::bonus::CashBonus;
use super::reverse::{self, CardReverse, ReversedBy, Seen};
use crate::account::Account;
use crate::audit::Act;
use crate::dynamo::{Attributes, Item, ItemError};
use crate::failure::Failure;
use crate::idempotency::{CanonicalRequest, Claim, ClaimKey, Fields, Marker, MarkerState, Window};
use crate::ids::{Actor, CardId, Principal, Tenant, TerminalId, TerminalOwner, TransactionId};
use crate::journal::{HistoryLine, JournalEntry, expand};
use crate::keys::{self, Key, Partition};
use crate::money::{Amount, Asset, Delta};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::{MerchantTerms, TenantTerms, TerminalTerms};
use crate::time::Timestamp;
use crate::transaction::Draft;

/// A cash top-up of a terminal. What is here of it never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CashTopup {
    /// The terminal.
    pub terminal: TerminalId,
    /// Whose terminal it is.
    pub owner: TerminalOwner,
    /// Its entry.
    pub transaction: TransactionId,
    /// The terminal's idempotency key, which names the marker.
    pub key: ClaimKey,
    /// The card.
    pub card: CardId,
    /// The cash, in yen, without the bonus.
    pub amount: Amount,
}

/// The reversal of a cash top-up by the operator.
#[derive(Clone, Debug)]
pub struct CashReversal<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Who reverses it.
    pub actor: Actor,
    /// The top-up.
    pub topup: &'a CashTopup,
    /// Why.
    pub reason: &'a FreeText,
}

impl CashTopup {
    /// Reads the terminal's reference to an entry; `None` if it is of another operation.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(reference: &Item, (terminal, owner): (TerminalId, TerminalOwner)) -> Result<Option<Self>, ItemError> {
        let item = expand(reference)?;
        if item.text("operation")? != Operation::CardTopup.name() {
            return Ok(None);
        }
        let line = HistoryLine::read(&item, None)?;
        // A bonus is no change of the reference: it is not cash.
        let cash = line.changes.iter().find(|change| *change.asset() == Asset::Ecopay).and_then(Delta::size);
        let card = match item.parsed("home", Account::parse)? {
            Account::Card(card) => card,
            Account::Customer(_) | Account::Merchant(_) | Account::Tenant(_) => return Err(ItemError::invalid("home")),
        };
        Ok(Some(Self {
            terminal,
            owner,
            transaction: line.id,
            key: item.parsed("idempotency_key", ClaimKey::parse)?,
            card,
            amount: cash.ok_or_else(|| ItemError::invalid("changes"))?,
        }))
    }

    /// The items that the reversal is planned from: the marker, the entry, the card (or the one that replaced it last), and of
    /// a till its merchant and the bonus on the cash.
    #[must_use]
    pub fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        let (principal, operation) = (Principal::Terminal(self.terminal), Operation::CardTopup);
        let mut keys = vec![
            keys::marker(tenant, principal, operation, &self.key),
            Partition::card(tenant, self.card).entry(self.transaction),
            keys::card(tenant, self.card),
        ];
        if let Some(merchant) = self.owner.merchant() {
            keys.push(Partition::merchant(tenant, merchant).profile());
            keys.push(keys::cash_bonus(tenant, merchant, self.transaction));
        }
        keys
    }

    /// The terminal's claim on its key.
    fn claim(&self, tenant: &Tenant, now: Timestamp) -> Claim {
        Claim {
            tenant: tenant.clone(),
            principal: Principal::Terminal(self.terminal),
            actor: Actor::Terminal(self.terminal),
            operation: Operation::CardTopup,
            key: self.key.clone(),
            request: CanonicalRequest { method: "POST", path: String::new(), fields: Fields::new() },
            window: Window::WALLET,
            now,
        }
    }
}

/// Builds the reversal's transaction: that of the terminal's own reversal, and an audit record. `items` are those of
/// [`CashTopup::keys`], as read, in their order. Fails with `Insufficient` if the card has less, and with
/// `CashNotOutstanding` if the cash of a counter was collected.
///
/// # Errors
/// `WrongState` if it was reversed before; [`PlanRefusal`] if an item is missing.
pub fn plan(
    command: &CashReversal<'_>,
    items: &[Option<Item>],
    terms: &TenantTerms,
    cx: &Context,
) -> Result<Draft, PlanRefusal> {
    let CashReversal { tenant, actor, topup, reason } = command;
    let missing = || PlanRefusal::Refused(Failure::AccountMissing);
    let [Some(marker), Some(entry), card, of_till @ ..] = items else { return Err(missing()) };
    let (at, bonus) = match (topup.owner, of_till) {
        (TerminalOwner::Merchant(_), [Some(merchant), bonus]) => {
            (TerminalTerms::Till(MerchantTerms::read(merchant)?), bonus.as_ref().map(CashBonus::read).transpose()?)
        }
        (TerminalOwner::Merchant(_), _) => return Err(missing()),
        (TerminalOwner::Operator, _) => (TerminalTerms::Counter, None),
    };
    let (marker, entry) = (Marker::read(marker)?, JournalEntry::read(entry)?);
    match &marker.state {
        MarkerState::Completed { journal: Some(link), .. } if link.id == topup.transaction => {}
        MarkerState::Reversed => return Err(PlanRefusal::Refused(Failure::WrongState)),
        MarkerState::Completed { .. } | MarkerState::InFlight(_) => return Err(missing()),
    }
    let original = topup.claim(tenant, cx.now);
    let reversal = CardReverse {
        tenant,
        terminal: Partition::terminal(tenant, topup.terminal),
        at: &at,
        original: &original,
        seen: Seen::Marker(&marker, Some(&entry), None),
        card: card.as_ref(),
        bonus: bonus.as_ref(),
        by: ReversedBy::Operator,
    };
    let mut draft = reverse::plan(&reversal, terms, cx)?.draft;
    let act = Act::new(*actor, Operation::CardReverse, format!("terminal:{}", topup.terminal)).because(Some(reason));
    let act = act.with("original_transaction_id", topup.transaction).with("amount", topup.amount.text());
    draft.items.push(act.record(tenant, cx));
    Ok(draft)
}
