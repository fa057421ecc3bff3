//! Builds the steps of crediting a merchant as the worker does: take, credit, release.

use super::build::Made;
use super::decode::World;
use crate::holders;
use ledger_core::crediting::{CreditedMerchant, Crediting};
use ledger_core::ids::MerchantId;
use ledger_core::keys::Partition;
use ledger_core::transaction::FIRST_PERIOD;
use serde::{Deserialize, Serialize};

/// A step of crediting. `fence` is the lease holder's fencing token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the steps are those of the core's lease, where they are described")]
pub enum CreditingStep {
    Take {},
    /// Credits as many of the due records as fit in one transaction.
    Credit {
        fence: String,
    },
    Release {
        fence: String,
    },
}

pub(super) fn make(world: &World, merchant: &str, step: &CreditingStep) -> Made {
    let (tenant, now) = (&world.tenant, world.cx.now);
    let merchant = MerchantId::parse(merchant).unwrap();
    let seen = || {
        let seen = world.get(&Partition::merchant(tenant, merchant).crediting());
        seen.map(|item| Crediting::read(item).unwrap())
    };
    let held = |fence: &str| {
        let period = seen().map_or(FIRST_PERIOD, |seen| seen.period);
        holders::of_merchant(tenant, merchant, (fence.parse().unwrap(), period), now)
    };
    // A state without terms is of a tenant that writes the first version.
    let whole = match step {
        CreditingStep::Take {} => match CreditedMerchant::take(tenant, merchant, seen().as_ref(), now).unwrap() {
            Some((_, transaction)) => transaction,
            None => return Made::Nothing,
        },
        CreditingStep::Credit { fence } => {
            let batch = held(fence).batch(&world.uncredited(merchant), world.records(), now).unwrap();
            match batch {
                Some(batch) => batch.transaction().clone(),
                None => return Made::Nothing,
            }
        }
        CreditingStep::Release { fence } => held(fence).release(now).unwrap(),
    };
    Made::Whole(whole)
}
