//! Builds the changes of cash and refund rooms, deposits, counters and bonuses on cash. Records are read from the state.

use super::build::{Made, NoPlan};
use super::command::Money;
use super::decode::{self, World};
use ledger_core::cards::bonus::{self, CashBonus};
use ledger_core::cash_collections::{self, CashCollection};
use ledger_core::cash_deposits::{self, CashDeposit, CashDepositReversal};
use ledger_core::cash_rooms::{self, CashRooms, RoomChange};
use ledger_core::ids::{MerchantId, TerminalId, TerminalOwner, TransactionId};
use ledger_core::journal::JournalEntry;
use ledger_core::keys::{self, Partition};
use ledger_core::personal::FreeText;
use ledger_core::refund_rooms::{self, RefundRoom};
use ledger_core::settlements::Coverage;
use ledger_core::terminals;
use serde::{Deserialize, Serialize};

/// A command. Where a terminal's owner is named, `operator` in place of a merchant's id means a counter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum CashDoes {
    Ceiling {
        merchant: String,
        ceiling: Money,
        actor: String,
    },
    Allot {
        merchant: String,
        terminal: String,
        amount: Money,
        actor: String,
    },
    Withdraw {
        merchant: String,
        terminal: String,
        amount: Money,
        actor: String,
    },
    RefundCeiling {
        merchant: String,
        ceiling: Money,
        actor: String,
    },
    Deposit {
        merchant: String,
        amount: Money,
        reason: String,
        actor: String,
    },
    ReverseDeposit {
        merchant: String,
        deposit: String,
        reason: String,
        actor: String,
    },
    OpenCounter {
        terminal: String,
        actor: String,
    },
    Collect {
        terminal: String,
        amount: Money,
        reason: String,
        actor: String,
    },
    /// The bonus is read from the state.
    GrantBonus {
        merchant: String,
        topup: String,
    },
    /// All bonuses on the cash of a merchant that was covered are granted, and each bonus of an entry before `from` is granted or
    /// reversed.
    BonusesGranted {
        merchant: String,
        from: String,
    },
}

pub(super) fn make(world: &World, does: &CashDoes) -> Result<Made, NoPlan> {
    let (tenant, cx) = (&world.tenant, &world.cx);
    let room = |merchant: &str, terminal: &str, change: RoomChange, actor: &str| {
        let of = (TerminalId::parse(terminal).unwrap(), TerminalOwner::parse(merchant).unwrap());
        Ok(Made::Draft(cash_rooms::plan_room(tenant, of, &change, (decode::actor(actor), None), cx)?.draft))
    };
    match does {
        CashDoes::Ceiling { merchant, ceiling, actor } => {
            let owner = TerminalOwner::parse(merchant).unwrap();
            let seen = world.get(&cash_rooms::rooms_of(tenant, owner).cash_rooms());
            let seen = seen.map(|item| CashRooms::read(item).unwrap());
            let (of, by) = ((tenant, owner), (decode::actor(actor), None));
            Ok(Made::Draft(cash_rooms::plan_ceiling(of, seen.as_ref(), &world.amount(ceiling)?, by, cx)?))
        }
        CashDoes::Allot { merchant, terminal, amount, actor } => {
            room(merchant, terminal, RoomChange::Allot(world.amount(amount)?), actor)
        }
        CashDoes::Withdraw { merchant, terminal, amount, actor } => {
            room(merchant, terminal, RoomChange::Withdraw(world.amount(amount)?), actor)
        }
        CashDoes::RefundCeiling { merchant, ceiling, actor } => {
            let merchant = MerchantId::parse(merchant).unwrap();
            let seen = RefundRoom::read(world.must(&Partition::merchant(tenant, merchant).refund_room())).unwrap();
            let (of, by) = ((tenant, merchant), (decode::actor(actor), None));
            Ok(Made::Draft(refund_rooms::plan_ceiling(of, &seen, &world.amount(ceiling)?, by, cx)?))
        }
        CashDoes::Deposit { merchant, amount, reason, actor } => {
            let deposit = CashDeposit {
                tenant,
                actor: decode::actor(actor),
                merchant: MerchantId::parse(merchant).unwrap(),
                amount: &world.amount(amount)?,
                reason: &FreeText::parse(reason, 140).unwrap(),
            };
            Ok(Made::Draft(cash_deposits::plan(&deposit, &world.terms(), cx)))
        }
        CashDoes::ReverseDeposit { merchant, deposit, reason, actor } => {
            let merchant = MerchantId::parse(merchant).unwrap();
            let id = TransactionId::parse(deposit).unwrap();
            let deposit = JournalEntry::read(world.must(&Partition::merchant(tenant, merchant).entry(id))).unwrap();
            let reason = FreeText::parse(reason, 140).unwrap();
            let actor = decode::actor(actor);
            let reversal = CashDepositReversal { tenant, actor, merchant, deposit: &deposit, reason: &reason };
            Ok(Made::Draft(cash_deposits::plan_reversal(&reversal, &world.terms(), cx)?))
        }
        CashDoes::OpenCounter { terminal, actor } => {
            let (terminal, actor) = (TerminalId::parse(terminal).unwrap(), decode::actor(actor));
            Ok(Made::Draft(terminals::plan_counter(tenant, terminal, actor, cx).draft))
        }
        CashDoes::Collect { terminal, amount, reason, actor } => {
            let collection = CashCollection {
                tenant,
                actor: decode::actor(actor),
                terminal: TerminalId::parse(terminal).unwrap(),
                amount: &world.amount(amount)?,
                reason: &FreeText::parse(reason, 140).unwrap(),
            };
            Ok(Made::Draft(cash_collections::plan(&collection, cx)))
        }
        CashDoes::GrantBonus { merchant, topup } => {
            let (merchant, topup) = (MerchantId::parse(merchant).unwrap(), TransactionId::parse(topup).unwrap());
            let bonus = CashBonus::read(world.must(&keys::cash_bonus(tenant, merchant, topup))).unwrap();
            Ok(Made::Draft(bonus::plan(tenant, (&bonus, world.card_in_use(bonus.card)), &world.terms(), cx)?.draft))
        }
        CashDoes::BonusesGranted { merchant, from } => {
            let (merchant, from) = (MerchantId::parse(merchant).unwrap(), TransactionId::parse(from).unwrap());
            let coverage = Coverage::read(world.get(&keys::settling(tenant, merchant))).unwrap();
            Ok(Made::Whole(coverage.granted((tenant, merchant), from, cx.now).unwrap()))
        }
    }
}
