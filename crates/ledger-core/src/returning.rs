//! The card that gets what is returned to a card: itself, or the last of those that replaced it.

use crate::account::Account;
use crate::card_state::CardState;
use crate::dynamo::{Attributes, Item, Value};
use crate::failure::Failure;
use crate::forms;
use crate::ids::{CardId, Tenant};
use crate::plan::PlanRefusal;
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft};
use crate::unclaimed;

/// The attribute of an entry that posts to a card in the place of another: the other card.
pub(crate) const INSTEAD_OF: &str = "instead_of";

/// The account to which something is returned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReturnAccount {
    account: Account,
    /// The account that it would be without a replacement.
    named: Account,
    /// Whether it is closed, so that what is returned to it is unclaimed.
    is_closed: bool,
}

impl ReturnAccount {
    /// The account in the place of `named`. `card` is the item of the card that replaced it last, or of itself.
    ///
    /// # Errors
    /// [`PlanRefusal`] if it is a card that was not read, or one that was replaced since.
    pub(crate) fn of(named: Account, card: Option<&Item>) -> Result<Self, PlanRefusal> {
        let mut is_closed = false;
        let account = match named {
            Account::Card(_) => {
                let card = card.ok_or(PlanRefusal::Refused(Failure::AccountMissing))?;
                match card.named("state", CardState::parse)? {
                    CardState::Active | CardState::Blocked => Account::Card(card.parsed("card_id", CardId::parse)?),
                    CardState::Closed => {
                        is_closed = true;
                        Account::Card(card.parsed("card_id", CardId::parse)?)
                    }
                    CardState::Replaced => return Err(PlanRefusal::Refused(Failure::StalePlan)),
                }
            }
            Account::Customer(_) | Account::Merchant(_) | Account::Tenant(_) => named,
        };
        Ok(Self { account, named, is_closed })
    }

    /// The account.
    pub(crate) fn account(&self) -> Account {
        self.account
    }

    /// The account in the place of `account`, which is another one only for the account that was named.
    pub(crate) fn in_place_of(&self, account: Account) -> Account {
        if account == self.named { self.account } else { account }
    }

    /// Requires that a card was not replaced or closed since.
    pub(crate) fn guard(&self) -> Option<Clause> {
        match self.account {
            Account::Card(_) => Some(forms::card_not_ended(Failure::StalePlan)),
            Account::Customer(_) | Account::Merchant(_) | Account::Tenant(_) => None,
        }
    }

    /// The draft of what is returned, which goes to `unclaimed` if the card is closed.
    pub(crate) fn or_unclaimed(&self, tenant: &Tenant, draft: Draft, now: Timestamp) -> Result<Draft, PlanRefusal> {
        if self.is_closed { unclaimed::divert(tenant, self.account, draft, now) } else { Ok(draft) }
    }

    /// What an entry says of the card that was replaced.
    pub(crate) fn detail(&self) -> Option<(String, Value)> {
        match self.named {
            Account::Card(card) if self.named != self.account => Some((INSTEAD_OF.to_owned(), Value::s(card))),
            Account::Card(_) | Account::Customer(_) | Account::Merchant(_) | Account::Tenant(_) => None,
        }
    }

    /// The card that it is, if it is in the place of another.
    pub(crate) fn replacement(&self) -> Option<CardId> {
        match self.account {
            Account::Card(card) if self.named != self.account => Some(card),
            Account::Card(_) | Account::Customer(_) | Account::Merchant(_) | Account::Tenant(_) => None,
        }
    }
}
