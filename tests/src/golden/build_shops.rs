//! Builds the changes of a merchant's shops, and of what is assigned to them. Members and terminals are read from the state.

use super::build::{Made, NoPlan};
use super::decode::{self, World};
use crate::declared;
use ledger_core::ids::{Actor, Employer, MerchantId, ShopId, StaffId, TerminalId};
use ledger_core::keys::{self, Partition};
use ledger_core::permission::Staff;
use ledger_core::personal::FreeText;
use ledger_core::shops::{self, ShopChange, ShopState};
use ledger_core::staff::{self, BeneficiaryKinds, Invitation, StaffChange, StaffMember, StaffRole};
use ledger_core::terminals::{self, TerminalRecord};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A command of a merchant's owner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub struct ShopDoes {
    pub merchant: String,
    pub by: String,
    pub does: ShopStep,
}

/// What the owner does. A shop of `null` is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum ShopStep {
    Open { name: String },
    Change { shop: String, name: Option<String>, state: Option<String> },
    Assign { terminal: String, shop: Option<String> },
    Invite { person: (String, String), role: String, shop: String },
    Move { member: String, shop: Option<String> },
}

fn shop(id: &str) -> ShopId {
    ShopId::parse(id).unwrap()
}

pub(super) fn make(world: &World, ShopDoes { merchant, by, does }: &ShopDoes) -> Result<Made, NoPlan> {
    let (tenant, cx) = (&world.tenant, &world.cx);
    let merchant = MerchantId::parse(merchant).unwrap();
    let (of, employer) = ((tenant, merchant), Employer::Merchant(merchant));
    let actor = Actor::MerchantStaff(StaffId::parse(by).unwrap());
    let member = |id: &str| {
        let key = keys::staff_member(tenant, employer, StaffId::parse(id).unwrap());
        StaffMember::read(employer, world.must(&key)).unwrap()
    };
    let draft = match does {
        ShopStep::Open { name } => shops::plan_open(of, None, &decode::text(name), actor, cx).draft,
        ShopStep::Change { shop: id, name, state } => {
            let (name, reason) = (name.as_deref().map(decode::text), decode::text("moved"));
            let state = state.as_deref().map(|name| ShopState::parse(name).unwrap());
            let change = ShopChange { name: name.as_ref(), state };
            shops::plan_change(of, shop(id), change, (actor, Some(&reason)), cx).draft
        }
        ShopStep::Assign { terminal, shop: id } => {
            let profile = Partition::terminal(tenant, TerminalId::parse(terminal).unwrap()).profile();
            let terminal = TerminalRecord::read(world.must(&profile)).unwrap();
            terminals::plan_assign(tenant, (merchant, &terminal), id.as_deref().map(shop), actor, cx).draft
        }
        ShopStep::Invite { person: (id, email), role, shop: to } => {
            let roles = BTreeSet::from([StaffRole::parse(Staff::Merchant, role).unwrap()]);
            let (by, email, none) = (member(by), FreeText::email(email).unwrap(), BeneficiaryKinds::new());
            let command = Invitation {
                tenant,
                by: &by,
                id: StaffId::parse(id).unwrap(),
                email: &email,
                roles: &roles,
                beneficiary_of: &none,
                shop: Some(shop(to)),
                keys: &declared::keys(),
            };
            staff::plan_invite(command, cx)?.draft
        }
        ShopStep::Move { member: moved, shop: to } => {
            let (by, moved) = (member(by), member(moved));
            let command = StaffChange {
                tenant,
                member: &moved,
                roles: None,
                beneficiary_of: None,
                shop: Some(to.as_deref().map(shop)),
                state: None,
                reason: None,
            };
            staff::plan_change(command, &by, cx)?.draft
        }
    };
    Ok(Made::Draft(draft))
}
