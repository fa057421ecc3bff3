//! Builds changes and cancellations of versions of a tenant's terms, and requests of previews. The configuration is read from the
//! state.

use super::build::{Made, NoPlan};
use super::decode::{self, World};
use ledger_core::ids::{Actor, StaffId};
use ledger_core::keys;
use ledger_core::personal::FreeText;
use ledger_core::previews::{self, PreviewRequest};
use ledger_core::tenants::{self, TermsBy, TermsChange};
use ledger_core::terms::{TermsChanges, TermsSchedule, TermsVersion};
use ledger_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum TermsDoes {
    /// Fields by name with their values; null clears one.
    Change {
        changes: BTreeMap<String, Option<String>>,
        from: String,
        staff: String,
        reason: Option<String>,
    },
    Cancel {
        version: String,
        staff: String,
        reason: Option<String>,
    },
    /// No field: the terms as they are.
    Preview {
        changes: BTreeMap<String, Option<String>>,
        days: u32,
        staff: String,
    },
}

pub(super) fn make(world: &World, does: &TermsDoes) -> Result<Made, NoPlan> {
    let (tenant, cx) = (&world.tenant, &world.cx);
    let config = || world.must(&keys::config(tenant));
    let draft = match does {
        TermsDoes::Preview { changes, days, staff } => {
            let present = TermsSchedule::read(config()).unwrap().at(cx.now).clone();
            let changes = (!changes.is_empty()).then(|| TermsChanges::plan(&present, changes).unwrap());
            let (staff, version) = (StaffId::parse(staff).unwrap(), present.version);
            let request = PreviewRequest { tenant: tenant.clone(), staff, days: *days, version, changes };
            previews::plan(&request, cx)?.draft
        }
        TermsDoes::Change { changes, from, staff, reason } => {
            let reason = reason.as_deref().map(decode::text);
            let present = TermsSchedule::read(config()).unwrap().at(cx.now).clone();
            let changes = &TermsChanges::plan(&present, changes).unwrap();
            let from = Timestamp::parse(from).unwrap();
            let change = TermsChange { tenant, config: config(), changes, from, by: by(staff, reason.as_ref()) };
            tenants::plan_terms(&change, cx)?
        }
        TermsDoes::Cancel { version, staff, reason } => {
            let (version, reason) =
                (TermsVersion::new(version.parse().unwrap()).unwrap(), reason.as_deref().map(decode::text));
            tenants::plan_cancel_terms(tenant, config(), version, by(staff, reason.as_ref()), cx)?
        }
    };
    Ok(Made::Draft(draft))
}

fn by<'a>(staff: &str, reason: Option<&'a FreeText>) -> TermsBy<'a> {
    let staff = StaffId::parse(staff).unwrap();
    TermsBy { staff, actor: Actor::Staff(staff), reason }
}
