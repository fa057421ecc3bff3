//! Builds changes of addresses with their notices, and the end of a notice. Records are read from the state.

use super::build::{Made, NoPlan};
use super::command::ProfileChange;
use super::decode::{self, World};
use crate::declared;
use ledger_core::customers::profile;
use ledger_core::ids::AuditId;
use ledger_core::keys::{self, Partition};
use ledger_core::notices::{Contact, Notice};
use serde::{Deserialize, Serialize};

/// A command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum NoticeDoes {
    Own { customer: String, change: ProfileChange },
    ByOperator { customer: String, change: ProfileChange, actor: String },
    Announced { notice: String },
}

pub(super) fn make(world: &World, does: &NoticeDoes) -> Result<Made, NoPlan> {
    let (tenant, cx) = (&world.tenant, &world.cx);
    let previous =
        |customer| Contact::read(&world.find(&Partition::customer(tenant, customer).profile()).unwrap()).unwrap();
    let keys = declared::keys();
    let draft = match does {
        NoticeDoes::Own { customer, change } => {
            let (customer, patch) = (decode::customer(customer), decode::profile_patch(change));
            let previous = previous(customer);
            let fields = profile::ProfileChange { patch: &patch, previous: Some(&previous), keys: &keys };
            profile::plan_own(tenant, customer, fields, cx)?.draft
        }
        NoticeDoes::ByOperator { customer, change, actor } => {
            let (customer, patch) = (decode::customer(customer), decode::profile_patch(change));
            let previous = previous(customer);
            let fields = profile::ProfileChange { patch: &patch, previous: Some(&previous), keys: &keys };
            profile::plan_by_operator(tenant, customer, fields, None, decode::actor(actor), None, cx)?.draft
        }
        NoticeDoes::Announced { notice } => {
            let notice = world.must(&keys::notice(tenant, AuditId::parse(notice).unwrap()));
            let announced = Notice::read(notice).unwrap().announced(tenant, cx.now);
            return Ok(Made::Whole(announced.unwrap()));
        }
    };
    Ok(Made::Draft(draft))
}
