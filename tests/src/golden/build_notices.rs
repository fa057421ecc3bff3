//! Builds changes of addresses with their notices, and the end of a notice. Records are read from the state.

use super::build::{Made, NoPlan};
use super::command::ProfileChange;
use super::decode::{self, World};
use ledger_core::customers::profile;
use ledger_core::ids::{AuditId, MerchantId};
use ledger_core::keys::{self, Partition};
use ledger_core::merchants::{self, MerchantChange};
use ledger_core::notices::{Contact, Notice};
use ledger_core::settlements::Destination;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// A command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum NoticeDoes {
    Own {
        customer: String,
        change: ProfileChange,
    },
    ByOperator {
        customer: String,
        change: ProfileChange,
        actor: String,
    },
    /// `destination` is in the stored form.
    Destination {
        merchant: String,
        destination: Json,
        actor: String,
    },
    Announced {
        notice: String,
    },
}

pub(super) fn make(world: &World, does: &NoticeDoes) -> Result<Made, NoPlan> {
    let (tenant, cx) = (&world.tenant, &world.cx);
    let previous =
        |customer| Contact::read(&world.find(&Partition::customer(tenant, customer).profile()).unwrap()).unwrap();
    let lookups = world.lookups();
    let draft = match does {
        NoticeDoes::Own { customer, change } => {
            let (customer, patch) = (decode::customer(customer), decode::profile_patch(change));
            let previous = previous(customer);
            let fields = profile::ProfileChange { patch: &patch, previous: Some(&previous), lookups: lookups.as_ref() };
            profile::plan_own(tenant, customer, fields, cx)?.draft
        }
        NoticeDoes::ByOperator { customer, change, actor } => {
            let (customer, patch) = (decode::customer(customer), decode::profile_patch(change));
            let previous = previous(customer);
            let fields = profile::ProfileChange { patch: &patch, previous: Some(&previous), lookups: lookups.as_ref() };
            profile::plan_by_operator(tenant, customer, fields, None, decode::actor(actor), None, cx)?.draft
        }
        NoticeDoes::Destination { merchant, destination, actor } => {
            let merchant = MerchantId::parse(merchant).unwrap();
            let to = Destination::read(&crate::wire::item_from_json(destination)).unwrap();
            let change = MerchantChange { destination: Some(&to), ..MerchantChange::default() };
            let by = (decode::actor(actor), None);
            merchants::plan_patch_with_notice(tenant, merchant, change, world.records(), by, cx)?.draft
        }
        NoticeDoes::Announced { notice } => {
            let notice = world.must(&keys::notice(tenant, AuditId::parse(notice).unwrap()));
            let announced = Notice::read(notice).unwrap().announced(tenant, cx.now);
            return Ok(Made::Whole(announced.unwrap()));
        }
    };
    Ok(Made::Draft(draft))
}
