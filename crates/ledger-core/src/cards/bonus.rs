//! The bonus on cash that a merchant owes: it is due from the top-up on, and granted once a settlement has covered the cash.
//!
//! A merchant could otherwise load cards with cash that it never pays, and be paid the bonus.

use crate::account::{Account, Posting, TenantAccount};
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::forms;
use crate::idempotency::{CanonicalRequest, Claim, Fields, LedgerKey, Window};
use crate::ids::{Actor, CardId, MerchantId, Principal, Tenant, TransactionId};
use crate::keys::{self, attr};
use crate::money::{Amount, Asset};
use crate::operation::Operation;
use crate::plan::{Context, PlanRefusal};
use crate::returning::ReturnAccount;
use crate::terms::TenantTerms;
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Entry, Planned, Role, TransactItem};
use crate::words::words;
use std::fmt;

/// The attribute of the entry that grants a bonus, or of the reversal that takes it back: the top-up's entry.
pub(crate) const BONUS_OF: &str = "bonus_of";

const ENTRY: &str = "entry_id";
const STATE: &str = "state";
const GRANT_ENTRY: &str = "grant_entry_id";
/// The attributes with the card that got the bonus, and the one that it was taken back from, if the card was replaced.
pub(crate) const GRANTED_TO: &str = "granted_to";
/// See [`GRANTED_TO`].
pub(crate) const TAKEN_FROM: &str = "taken_from";

/// A stored bonus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CashBonus {
    /// The entry of the top-up.
    pub entry: TransactionId,
    /// The merchant that owes the cash.
    pub merchant: MerchantId,
    /// The card.
    pub card: CardId,
    /// The bonus, in yen.
    pub amount: Amount,
    /// The present state.
    pub state: BonusState,
    /// The entry that granted it.
    pub grant_entry: Option<TransactionId>,
    /// When the cash was taken.
    pub created_at: Timestamp,
}

words! {
    /// The state of a bonus.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum BonusState {
        /// The cash is not covered, or no worker has granted the bonus yet.
        Due = "due",
        /// The card has it.
        Granted = "granted",
        /// The top-up was reversed. Final.
        Reversed = "reversed",
    }
}

/// What a stored response says about a bonus that was granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BonusReceipt {
    /// The journal entry.
    pub transaction_id: TransactionId,
}

impl fmt::Display for BonusState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl CashBonus {
    /// Reads a stored bonus.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed, or if it is granted and names no entry.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let bonus = Self {
            entry: item.parsed(ENTRY, TransactionId::parse)?,
            merchant: item.parsed("merchant_id", MerchantId::parse)?,
            card: item.parsed("card_id", CardId::parse)?,
            amount: item.amount("amount", Asset::Ecopay)?,
            state: item.named(STATE, BonusState::parse)?,
            grant_entry: item.opt_parsed(GRANT_ENTRY, TransactionId::parse)?,
            created_at: item.timestamp(attr::CREATED_AT)?,
        };
        match (bonus.state, bonus.grant_entry) {
            (BonusState::Due, None) | (BonusState::Granted, Some(_)) | (BonusState::Reversed, _) => Ok(bonus),
            (BonusState::Due, Some(_)) | (BonusState::Granted, None) => Err(ItemError::invalid(GRANT_ENTRY)),
        }
    }

    /// Stores a bonus that is due, in the transaction of the top-up.
    pub(super) fn store(&self, tenant: &Tenant) -> TransactItem {
        let item = Item::from([
            (ENTRY.to_owned(), Value::s(self.entry)),
            ("merchant_id".to_owned(), Value::s(self.merchant)),
            ("card_id".to_owned(), Value::s(self.card)),
            ("amount".to_owned(), Value::N(self.amount.text())),
            (STATE.to_owned(), Value::s(self.state)),
            (attr::CREATED_AT.to_owned(), Value::s(self.created_at)),
            (attr::UPDATED_AT.to_owned(), Value::s(self.created_at)),
        ]);
        let key = keys::cash_bonus(tenant, self.merchant, self.entry);
        TransactItem::put_new(Role::Bonus, key, item, Failure::AlreadyExists)
    }

    /// The claim under which the bonus is granted, the same for every worker.
    #[must_use]
    pub fn claim(&self, tenant: &Tenant, now: Timestamp) -> Claim {
        let operation = Operation::CardBonus;
        Claim {
            tenant: tenant.clone(),
            principal: Principal::Merchant(self.merchant),
            actor: Actor::System,
            operation,
            key: LedgerKey::of_cash_bonus(self.entry).into(),
            request: CanonicalRequest {
                method: "POST",
                path: format!("/v1/merchant/cash-bonuses/{}", self.entry),
                fields: Fields::new(),
            },
            window: Window::of(operation),
            now,
        }
    }

    /// Marks the bonus as reversed, in the transaction that reverses the top-up.
    pub(super) fn reversed(
        &self,
        tenant: &Tenant,
        (by, from): (TransactionId, &ReturnAccount),
        now: Timestamp,
    ) -> TransactItem {
        let moved = self.moved(tenant, BonusState::Reversed, ("reversal_entry_id", by), now);
        at_replacement(moved, TAKEN_FROM, from)
    }

    /// The postings that take the bonus back from the card; none if it was not granted.
    pub(super) fn taken_back(&self) -> Vec<Posting> {
        match self.state {
            BonusState::Granted => self.postings().into_iter().map(inverse).collect(),
            BonusState::Due | BonusState::Reversed => Vec::new(),
        }
    }

    fn postings(&self) -> [Posting; 2] {
        [
            Posting::new(Account::Tenant(TenantAccount::PointsIssued), self.amount.debit()),
            Posting::new(Account::Card(self.card), self.amount.credit()),
        ]
    }

    /// Moves the bonus from the state that was read. Fails with `StalePlan` if it has moved since.
    fn moved(
        &self,
        tenant: &Tenant,
        to: BonusState,
        (attribute, by): (&'static str, TransactionId),
        now: Timestamp,
    ) -> TransactItem {
        let update = Update::new().set(STATE, "to", Value::s(to)).set(attribute, attribute, Value::s(by)).set(
            attr::UPDATED_AT,
            "ua",
            Value::s(now),
        );
        let as_read = Clause {
            condition: Condition::compare(STATE, Cmp::Eq, "seen_state", Value::s(self.state)),
            failure: Failure::StalePlan,
        };
        TransactItem::update(Role::Bonus, keys::cash_bonus(tenant, self.merchant, self.entry), update, vec![as_read])
    }
}

fn inverse(posting: Posting) -> Posting {
    Posting { delta: posting.delta.inverse(), ..posting }
}

fn at_replacement(item: TransactItem, attribute: &'static str, card: &ReturnAccount) -> TransactItem {
    match card.replacement() {
        Some(card) => item.changing(|update| update.set(attribute, attribute, Value::s(card))),
        None => item,
    }
}

/// Builds the transaction that grants a bonus: the card, the bonus and the journal entry. A frozen card is credited, as by a
/// refund; the card's cap does not limit a bonus. `card` is the item of the card that replaced the bonus's last, or of itself.
/// The caller has read that the cash is covered.
///
/// # Errors
/// [`PlanRefusal`] if the bonus is not due.
pub fn plan(
    tenant: &Tenant,
    (bonus, card): (&CashBonus, Option<&Item>),
    terms: &TenantTerms,
    cx: &Context,
) -> Result<Planned<BonusReceipt>, PlanRefusal> {
    match bonus.state {
        BonusState::Due => {}
        BonusState::Granted | BonusState::Reversed => return Err(PlanRefusal::Refused(Failure::WrongState)),
    }
    let to = ReturnAccount::of(Account::Card(bonus.card), card)?;
    let home = to.account();
    let items = Vec::from_iter(forms::credit(tenant, Role::Card, home, &bonus.amount, cx.now));
    let items = items.into_iter().map(|item| item.guarded_also(Vec::from_iter(to.guard())));
    let granted = bonus.moved(tenant, BonusState::Granted, (GRANT_ENTRY, cx.transaction_id), cx.now);
    let items = items.chain([at_replacement(granted, GRANTED_TO, &to)]).collect();
    let entry = Entry {
        id: cx.transaction_id,
        home,
        postings: bonus
            .postings()
            .map(|posting| Posting { account: to.in_place_of(posting.account), ..posting })
            .into(),
        references: Vec::new(),
        details: Item::from([
            (BONUS_OF.to_owned(), Value::s(bonus.entry)),
            ("merchant_id".to_owned(), Value::s(bonus.merchant)),
        ])
        .into_iter()
        .chain(to.detail())
        .collect(),
        memo: None,
        terms: terms.of_entry(),
    };
    let receipt = BonusReceipt { transaction_id: cx.transaction_id };
    let draft = to.or_unclaimed(tenant, Draft { entry: Some(entry), items }, cx.now)?;
    Ok(Planned { draft, receipt })
}
