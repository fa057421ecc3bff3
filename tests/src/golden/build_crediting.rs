//! Taking, crediting and releasing a merchant, as the worker does it.

use super::build::Made;
use super::decode::World;
use ledger_core::ids::MerchantId;
use ledger_core::keys::Partition;
use ledger_core::lease::Holder;
use ledger_core::ops::crediting::{Crediting, Lease};
use ledger_core::time::Timestamp;
use serde::{Deserialize, Serialize};

/// A step of crediting. `fence` is the token of whoever takes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the steps are those of the core's lease, where they are described")]
pub enum CreditingStep {
    Take {},
    /// As many as fit of what is due.
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
    let whole = match step {
        CreditingStep::Take {} => {
            let seen = world.get(&Partition::merchant(tenant, merchant).crediting());
            let seen = seen.map(|item| Crediting::read(item).unwrap());
            match Lease::take(tenant, merchant, seen.as_ref(), now).unwrap() {
                Some((_, transaction)) => transaction,
                None => return Made::Nothing,
            }
        }
        CreditingStep::Credit { fence } => {
            let batch = lease(world, merchant, fence).batch(&world.uncredited(merchant), now).unwrap();
            match batch {
                Some(batch) => batch.transaction().clone(),
                None => return Made::Nothing,
            }
        }
        CreditingStep::Release { fence } => lease(world, merchant, fence).release(now).unwrap(),
    };
    Made::Whole(whole)
}

/// The lease of whoever took the merchant with this token.
fn lease(world: &World, merchant: MerchantId, fence: &str) -> Lease {
    let fence: i64 = fence.parse().unwrap();
    let before = Crediting { holder: Holder { fence: fence - 1, lease_until: Timestamp::from_millis(0) }, version: 0 };
    Lease::take(&world.tenant, merchant, Some(&before), world.cx.now).unwrap().expect("nobody holds it").0
}
