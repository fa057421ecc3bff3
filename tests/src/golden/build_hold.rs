//! Builds the commands on money that a merchant holds. Each is decoded as its function reads it, and passed to its
//! builder.

use super::build::NoPlan;
use super::command::Money;
use super::command_hold::HoldDoes;
use super::decode::{self, World};
use ledger_core::account::Account;
use ledger_core::ids::PaymentId;
use ledger_core::keys;
use ledger_core::payments::authorize::{self, Authorize};
use ledger_core::payments::capture::{self, Capture};
use ledger_core::payments::code::PaymentCode;
use ledger_core::payments::void::{self, Void};
use ledger_core::payments::{self, Parts, PaymentRecord};
use ledger_core::plan::PlanRefusal;
use ledger_core::transaction::Draft;

pub(super) fn make(world: &World, does: &HoldDoes) -> Result<Draft, NoPlan> {
    let (tenant, terms, cx) = (&world.tenant, world.terms(), &world.cx);
    Ok(match does {
        HoldDoes::Authorize { merchant, code, amount, points, regional, memo } => {
            let of = |money: &Money| world.amount(money);
            let points = points.clone().map(|amount| of(&Money { amount, asset: "POINT".to_owned() })).transpose()?;
            let regional = regional.iter().map(of).collect::<Result<_, _>>()?;
            let command = Authorize {
                tenant: tenant.clone(),
                merchant: world.merchant(merchant),
                code: PaymentCode::parse(code).unwrap(),
                shop: None,
                parts: Parts::split(of(amount)?, points, regional, &terms)?,
                memo: decode::maybe_text(memo),
            };
            let terms = world.terms_for(Account::Customer(command.code.customer()));
            authorize::plan(&command, &terms, cx)?.draft
        }
        HoldDoes::Capture { merchant, payment, amount } => {
            let (merchant, payment) = (world.merchant(merchant), read(world, payment)?);
            let amount = amount.as_ref().map(|amount| world.amount(amount)).transpose()?;
            let command = Capture {
                tenant,
                merchant: &merchant,
                payment: &payment,
                wallet: &world.wallet(payment.payer),
                amount: amount.as_ref(),
            };
            capture::plan(&command, &terms, cx)?.draft
        }
        HoldDoes::Void { payment, reason } => {
            let (payment, reason) = (read(world, payment)?, decode::maybe_text(reason));
            let wallet = &world.wallet(payment.payer);
            let command = Void { tenant, payment: &payment, wallet, reason: reason.as_ref() };
            void::plan(&command, &terms, cx)?.draft
        }
        HoldDoes::Expire { payment } => {
            let payment = read(world, payment)?;
            payments::expire::plan(tenant, (&payment, &world.wallet(payment.payer)), &terms, cx)?.draft
        }
    })
}

fn read(world: &World, payment: &str) -> Result<PaymentRecord, PlanRefusal> {
    let key = keys::payment(&world.tenant, PaymentId::parse(payment).unwrap());
    Ok(PaymentRecord::read(world.must(&key))?)
}
