//! Builds the closings of terminals, of merchants, and of every account of a tenant. What is closed is read from the state.

use super::build::{Made, NoPlan};
use super::build_wind_downs::{self, WindDownDoes};
use super::decode::{self, World};
use ledger_core::ids::{MerchantId, TerminalId};
use ledger_core::keys::{self, Partition};
use ledger_core::merchants::{self, MerchantClosing};
use ledger_core::terminals;
use serde::{Deserialize, Serialize};

/// A command of the operator's staff.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum ClosingDoes {
    Terminal { terminal: String, actor: String },
    Merchant { merchant: String, open: Vec<String>, actor: String },
    WindDown(WindDownDoes),
}

pub(super) fn make(world: &World, does: &ClosingDoes) -> Result<Made, NoPlan> {
    let (of, cx, reason) = (&world.tenant, &world.cx, decode::text("given up"));
    let by = |actor: &str| (decode::actor(actor), Some(&reason));
    let draft = match does {
        ClosingDoes::Terminal { terminal, actor } => {
            let profile = Partition::terminal(&world.tenant, TerminalId::parse(terminal).unwrap()).profile();
            terminals::plan_close(of, world.must(&profile), by(actor), cx)?.draft
        }
        ClosingDoes::Merchant { merchant, open, actor } => {
            let merchant = MerchantId::parse(merchant).unwrap();
            let closing = MerchantClosing {
                merchant,
                profile: world.must(&Partition::merchant(&world.tenant, merchant).profile()),
                settling: world.get(&keys::settling(&world.tenant, merchant)),
                open: open.clone(),
            };
            merchants::plan_close(of, &closing, by(actor), cx)?.draft
        }
        ClosingDoes::WindDown(does) => return build_wind_downs::make(world, does),
    };
    Ok(Made::Draft(draft))
}
