//! Builds a terminal's charge of a customer's code, and its reversal.

use super::build::{NoPlan, original_of, points_of};
use super::command::Does;
use super::decode::{self, World};
use ledger_core::account::Account;
use ledger_core::dynamo::Item;
use ledger_core::ids::TerminalId;
use ledger_core::keys::Partition;
use ledger_core::payments::charge::{self, Charge};
use ledger_core::payments::charge_reverse::{self, ChargeReverse, SeenCharge};
use ledger_core::payments::code::PaymentCode;
use ledger_core::transaction::Draft;

#[expect(clippy::wildcard_enum_match_arm, reason = "`build::make` lists every command and passes these only")]
pub(super) fn make(world: &World, does: &Does) -> Result<Draft, NoPlan> {
    let (tenant, cx) = (&world.tenant, &world.cx);
    Ok(match does {
        Does::TerminalCharge { terminal, merchant, code, amount, memo } => {
            let command = Charge {
                tenant: tenant.clone(),
                merchant: world.merchant(merchant),
                terminal: Some(TerminalId::parse(terminal).unwrap()),
                shop: world.shop_of(terminal),
                code: PaymentCode::parse(code).unwrap(),
                amount: world.amount(amount)?,
                memo: decode::maybe_text(memo),
            };
            charge::plan(&command, &world.terms_for(Account::Customer(command.code.customer())), cx)?.draft
        }
        Does::TerminalChargeReverse { terminal, merchant, original } => {
            let original = decode::claim(tenant, original, cx.now);
            let (marker, entry, payment) = original_of(world, &original);
            let (points, wallet) = match &payment {
                Some(payment) => (points_of(world, payment.payer), Some(world.wallet(payment.payer))),
                None => (None, None),
            };
            let balances = balances(world, entry.as_ref().map(|(home, _)| *home));
            let charge = match (&entry, &payment, &wallet) {
                (Some((_, entry)), Some(payment), Some(wallet)) => Some(SeenCharge {
                    entry,
                    payment,
                    points: points.as_ref(),
                    wallet,
                    balances: &balances,
                    is_closed: super::build::is_closed(world, payment.payer),
                }),
                _ => None,
            };
            let command = ChargeReverse {
                tenant,
                terminal: Partition::terminal(tenant, TerminalId::parse(terminal).unwrap()),
                merchant: &world.merchant(merchant),
                original: &original,
                marker: marker.as_ref(),
                charge,
            };
            charge_reverse::plan(&command, &world.terms(), cx)?.draft
        }
        other => panic!("not a charge of a terminal: {other:?}"),
    })
}

/// The balance items of the payer.
fn balances(world: &World, payer: Option<Account>) -> Vec<Item> {
    let Some(Account::Customer(customer)) = payer else { return Vec::new() };
    let partition = Partition::customer(&world.tenant, customer);
    let terms = world.terms();
    terms.assets.keys().filter_map(|asset| world.get(&partition.balance(asset)).cloned()).collect()
}
