//! Builds what a job does that winds a tenant down. The job and the accounts are read from the state.

use super::build::{Made, NoPlan};
use super::decode::{self, World};
use ledger_core::account::Account;
use ledger_core::closing::{self, CardClose, CardClosing, CustomerClose, CustomerClosing};
use ledger_core::dynamo::Item;
use ledger_core::ids::{Actor, JobId};
use ledger_core::keys::{self, Partition};
use ledger_core::money::Asset;
use ledger_core::wind_downs::{self, WindDown, WindDownStart};
use serde::{Deserialize, Serialize};

/// A step of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum WindDownDoes {
    Start {
        actor: String,
    },
    /// Closes an account, with the job's line.
    Close {
        job: String,
        account: String,
    },
}

pub(super) fn make(world: &World, does: &WindDownDoes) -> Result<Made, NoPlan> {
    let (tenant, terms, cx, reason) = (&world.tenant, world.terms(), &world.cx, decode::text("the programme ends"));
    let read = |job: &str| WindDown::read(world.must(&keys::job(tenant, JobId::parse(job).unwrap()))).unwrap();
    let draft = match does {
        WindDownDoes::Start { actor } => {
            let Actor::Staff(staff) = decode::actor(actor) else { panic!("a job is of the staff") };
            wind_downs::plan(&WindDownStart { tenant, staff, reason: &reason }, cx)?.draft
        }
        WindDownDoes::Close { job, account } => {
            let job = read(job);
            let (actor, reason) = (job.head.actor(), job.head.reason.as_ref());
            let state = |keys: &[keys::Key]| keys.iter().map(|key| world.get(key).cloned()).collect::<Vec<_>>();
            let (planned, owner) = match decode::account(account) {
                Account::Customer(id) => {
                    let balance = |asset| world.get(&Partition::customer(tenant, id).balance(&asset)).cloned();
                    let balances: Vec<Item> = [Asset::Ecopay, Asset::Point].into_iter().filter_map(balance).collect();
                    let of = CustomerClosing::read(id, &balances).unwrap();
                    let close = CustomerClose { tenant, actor, of: &of, clears: true, reason };
                    (closing::plan_customer(&close, &state(&of.keys(tenant)), &terms, cx)?, None)
                }
                Account::Card(id) => {
                    let of = CardClosing::read(world.must(&keys::card(tenant, id))).unwrap();
                    let close = CardClose { tenant, actor, of: &of, clears: true, reason };
                    (closing::plan_card(&close, &state(&of.keys(tenant)), &terms, cx)?, of.owner)
                }
                other => panic!("{other} is not closed by a job"),
            };
            job.with_line(tenant, planned, owner).draft
        }
    };
    Ok(Made::Draft(draft))
}
