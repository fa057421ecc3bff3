//! Builds the changes of staff records. Members are read from the state.

use super::build::{Made, NoPlan};
use super::command::Money;
use super::decode::{self, World};
use crate::declared;
use crate::wire;
use ledger_core::grants::grant::{self, Grant};
use ledger_core::ids::{Employer, MerchantId, StaffId};
use ledger_core::keys;
use ledger_core::permission::{Permission, Staff};
use ledger_core::personal::FreeText;
use ledger_core::staff::{
    self, BeneficiaryKinds, FirstOwner, Founder, Founders, Invitation, MemberState, Recovery, StaffChange, StaffMember,
    StaffRole,
};
use ledger_core::terms::TenantTerms;
use ledger_core::{customers, tenants};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// A command. Persons are named by their id and e-mail address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum StaffDoes {
    Invite {
        by: String,
        person: (String, String),
        roles: Vec<String>,
    },
    FirstOwner {
        by: String,
        merchant: String,
        person: (String, String),
    },
    Change {
        by: String,
        member: String,
        roles: Option<Vec<String>>,
        state: Option<String>,
    },
    Accept {
        member: String,
    },
    /// Opens a tenant with its first owners.
    Open {
        terms: Json,
        owners: Vec<(String, String)>,
    },
    Deny {
        member: String,
        permission: String,
    },
    RequestRecovery {
        owners: Vec<(String, String)>,
    },
    FinishRecovery {},
    CancelRecovery {
        by: String,
    },
    /// A member sees a customer's personal data.
    Read {
        by: String,
        customer: String,
    },
    /// A grant that is counted on the record of the member who issues it.
    Grant {
        by: String,
        customer: String,
        amount: Money,
        reason: String,
    },
}

fn founder((id, email): &(String, String)) -> Founder {
    Founder { id: StaffId::parse(id).unwrap(), email: FreeText::email(email).unwrap() }
}

fn roles(names: &[String]) -> BTreeSet<StaffRole> {
    names.iter().map(|name| StaffRole::parse(Staff::Operator, name).unwrap()).collect()
}

pub(super) fn make(world: &World, does: &StaffDoes) -> Result<Made, NoPlan> {
    let (tenant, cx, operator) = (&world.tenant, &world.cx, Employer::Operator);
    let member = |id: &str| {
        let key = keys::staff_member(tenant, operator, StaffId::parse(id).unwrap());
        StaffMember::read(operator, world.must(&key)).unwrap()
    };
    let recovery = || Recovery::read(world.must(&keys::owner_recovery(tenant))).unwrap();
    let draft = match does {
        StaffDoes::Invite { by, person, roles: names } => {
            let (by, person, roles, none) = (member(by), founder(person), roles(names), BeneficiaryKinds::new());
            let command = Invitation {
                tenant,
                by: &by,
                id: person.id,
                email: &person.email,
                roles: &roles,
                beneficiary_of: &none,
                shop: None,
                keys: &declared::keys(),
            };
            staff::plan_invite(command, cx)?.draft
        }
        StaffDoes::FirstOwner { by, merchant, person } => {
            let (by, person, merchant) = (member(by), founder(person), MerchantId::parse(merchant).unwrap());
            let keys = &declared::keys();
            let command = FirstOwner { tenant, by: &by, merchant, id: person.id, email: &person.email, keys };
            staff::plan_first_owner(command, cx).draft
        }
        StaffDoes::Change { by, member: changed, roles: names, state } => {
            let (by, changed, roles) = (member(by), member(changed), names.as_deref().map(roles));
            let state = state.as_deref().map(|name| MemberState::parse(name).unwrap());
            let reason = decode::text("left the team");
            let command = StaffChange {
                tenant,
                member: &changed,
                roles: roles.as_ref(),
                beneficiary_of: None,
                shop: None,
                state,
                reason: Some(&reason),
            };
            staff::plan_change(command, &by, cx)?.draft
        }
        StaffDoes::Accept { member: invited } => {
            let member = member(invited);
            let names = staff::person_names(tenant, member.employer, &member.email, &declared::keys());
            let person = names.into_iter().find(|name| world.get(name).is_some()).expect("the item of the person");
            staff::plan_accept(tenant, (&member, person), cx)?.draft
        }
        StaffDoes::Open { terms, owners } => {
            let terms = TenantTerms::read(&wire::item_from_json(terms), world.cx.now).unwrap();
            let owners = Founders::new(owners.iter().map(founder).collect()).unwrap();
            let opening = tenants::open(tenant, &terms, cx.now).unwrap();
            return Ok(Made::Whole(staff::with_founders(opening, tenant, (&owners, &declared::keys()), cx).unwrap()));
        }
        StaffDoes::Deny { member, permission } => {
            let permission = *Permission::ALL.iter().find(|known| known.name() == permission).unwrap();
            let who = (operator, StaffId::parse(member).unwrap());
            return Ok(Made::Whole(staff::record_denial(tenant, who, permission, cx).unwrap()));
        }
        StaffDoes::RequestRecovery { owners } => {
            let owners = Founders::new(owners.iter().map(founder).collect()).unwrap();
            return Ok(Made::Whole(staff::request_recovery(tenant, &owners, cx).unwrap().1));
        }
        StaffDoes::FinishRecovery {} => {
            return Ok(Made::Whole(staff::finish_recovery(tenant, (&recovery(), &declared::keys()), cx).unwrap()));
        }
        StaffDoes::CancelRecovery { by } => staff::plan_cancel_recovery(tenant, &recovery(), &member(by), cx)?.draft,
        StaffDoes::Read { by, customer } => {
            let (actor, customer) = (decode::actor(by), decode::customer(customer));
            return Ok(Made::Whole(customers::read::record(tenant, actor, customer, cx).unwrap()));
        }
        StaffDoes::Grant { by, customer, amount, reason } => {
            let (by, terms) = (member(by), world.terms());
            let own = world.must(&keys::staff_member(tenant, Employer::Operator, by.id));
            let grant = Grant {
                tenant: tenant.clone(),
                actor: by.actor(),
                customer: decode::customer(customer),
                amount: world.amount(amount)?,
                reason: decode::text(reason),
            };
            let counted = staff::grant_alone(tenant, (&by, own), &terms, &grant.amount, cx)?;
            grant::plan(&grant, &terms, cx)?
                .and(Some(counted.expect("a grant within the limit of a person alone")))
                .draft
        }
    };
    Ok(Made::Draft(draft))
}
