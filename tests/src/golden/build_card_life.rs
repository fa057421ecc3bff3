//! Builds what the operator does with a card after it was issued, and the issue of a card that expires.

use super::build::{Made, NoPlan};
use super::command_hold::Maybe;
use super::decode::{self, World};
use ledger_core::card_state::successor;
use ledger_core::cards::batch::{self, CardBatchIssue};
use ledger_core::cards::life::{plan_assign, plan_block};
use ledger_core::cards::record::{CardIssue, plan_issue};
use ledger_core::cards::replace::{self, CardReplacement, ReplacedCard};
use ledger_core::dynamo::Item;
use ledger_core::ids::{Actor, CardId};
use ledger_core::keys;
use ledger_core::time::Timestamp;
use serde::{Deserialize, Serialize};

/// A command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum CardLifeDoes {
    Issue { owner: Maybe<String>, expires_at: String, actor: String },
    Batch { count: String, expires_at: Maybe<String>, actor: String, reason: Maybe<String> },
    Assign { card: String, customer: String, actor: String, reason: Maybe<String> },
    Block { card: String, actor: String, reason: Maybe<String> },
    Replace { card: String, by: String, owner: Maybe<String>, actor: String, reason: Maybe<String> },
}

impl World {
    /// The item of a card, or of the card that replaced it last.
    #[must_use]
    pub fn card_in_use(&self, card: CardId) -> Option<&Item> {
        let item = self.get(&keys::card(&self.tenant, card))?;
        match successor(item).unwrap() {
            Some(next) => self.card_in_use(next),
            None => Some(item),
        }
    }
}

pub(super) fn make(world: &World, does: &CardLifeDoes) -> Result<Made, NoPlan> {
    let (tenant, terms, cx) = (&world.tenant, world.terms(), &world.cx);
    let draft = match does {
        CardLifeDoes::Issue { owner, expires_at, actor } => {
            let issue = CardIssue {
                tenant,
                card: None,
                owner: owner.as_deref().map(decode::customer),
                expires_at: Some(Timestamp::parse(expires_at).unwrap()),
                actor: decode::actor(actor),
            };
            plan_issue(&issue, cx)?.draft
        }
        CardLifeDoes::Batch { count, expires_at, actor, reason } => {
            let Actor::Staff(staff) = decode::actor(actor) else { panic!("a batch is of the staff") };
            let (count, reason) = (count.parse().unwrap(), decode::maybe_text(reason));
            let expires_at = expires_at.as_deref().map(|at| Timestamp::parse(at).unwrap());
            let issue = CardBatchIssue { tenant, staff, count, expires_at, reason: reason.as_ref() };
            batch::plan(&issue, cx)?.draft
        }
        CardLifeDoes::Assign { card, customer, actor, reason } => {
            let (of, reason) = ((CardId::parse(card).unwrap(), decode::customer(customer)), decode::maybe_text(reason));
            plan_assign(tenant, of, (decode::actor(actor), reason.as_ref()), cx)?.draft
        }
        CardLifeDoes::Block { card, actor, reason } => {
            let (card, reason) = (CardId::parse(card).unwrap(), decode::maybe_text(reason));
            plan_block(tenant, card, (decode::actor(actor), reason.as_ref()), cx)?.draft
        }
        CardLifeDoes::Replace { card, by, owner, actor, reason } => {
            let of = ReplacedCard {
                card: CardId::parse(card).unwrap(),
                by: CardId::parse(by).unwrap(),
                owner: owner.as_deref().map(decode::customer),
            };
            let reason = decode::maybe_text(reason);
            let items: Vec<Option<Item>> = of.keys(tenant).iter().map(|key| world.get(key).cloned()).collect();
            let command = CardReplacement { tenant, actor: decode::actor(actor), of, reason: reason.as_ref() };
            replace::plan(&command, &items, &terms, cx)?
        }
    };
    Ok(Made::Draft(draft))
}
