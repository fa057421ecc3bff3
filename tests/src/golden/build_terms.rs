//! Builds changes and cancellations of versions of a tenant's terms, and the steps of their previews. The configuration and
//! previews are read from the state.

use super::build::{Made, NoPlan};
use super::decode::{self, World};
use crate::{holders, wire};
use ledger_core::dynamo::Value;
use ledger_core::ids::{Actor, JobId, StaffId};
use ledger_core::keys;
use ledger_core::personal::FreeText;
use ledger_core::previews::{self, Preview, PreviewRequest, PreviewState};
use ledger_core::tenants::{self, TermsBy, TermsChange};
use ledger_core::terms::{TermsChanges, TermsSchedule, TermsVersion};
use ledger_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
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
    PreviewTake {
        preview: String,
    },
    PreviewProgress {
        preview: String,
        payments: i64,
    },
    /// The result as it is stored, or the state that says why there is none.
    PreviewFinish {
        preview: String,
        ended: Result<Json, String>,
        payments: i64,
    },
}

pub(super) fn make(world: &World, does: &TermsDoes) -> Result<Made, NoPlan> {
    let (tenant, cx) = (&world.tenant, &world.cx);
    let config = || world.must(&keys::config(tenant));
    let draft = match does {
        TermsDoes::Preview { .. }
        | TermsDoes::PreviewTake { .. }
        | TermsDoes::PreviewProgress { .. }
        | TermsDoes::PreviewFinish { .. } => return preview(world, does),
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

fn preview(world: &World, does: &TermsDoes) -> Result<Made, NoPlan> {
    let (tenant, cx) = (&world.tenant, &world.cx);
    let read = |id: &str| Preview::read(world.must(&keys::job(tenant, JobId::parse(id).unwrap()))).expect("a preview");
    let held = |id: &str| holders::of_preview(tenant, &read(id), cx.now);
    let built = match does {
        TermsDoes::Change { .. } | TermsDoes::Cancel { .. } => return Ok(Made::Nothing),
        TermsDoes::Preview { changes, days, staff } => {
            let present = TermsSchedule::read(world.must(&keys::config(tenant))).unwrap().at(cx.now).clone();
            let changes = (!changes.is_empty()).then(|| TermsChanges::plan(&present, changes).unwrap());
            let (staff, version) = (StaffId::parse(staff).unwrap(), present.version);
            let request = PreviewRequest { tenant: tenant.clone(), staff, days: *days, version, changes };
            return Ok(Made::Draft(previews::plan(&request, cx)?.draft));
        }
        TermsDoes::PreviewTake { preview } => match read(preview).take(tenant, cx.now).unwrap() {
            Some((_, taking)) => taking,
            None => return Ok(Made::Nothing),
        },
        TermsDoes::PreviewProgress { preview, payments } => held(preview).progress(*payments, cx.now).unwrap(),
        TermsDoes::PreviewFinish { preview, ended, payments } => {
            let mut item = world.must(&keys::job(tenant, read(preview).id)).clone();
            let result = ended.as_ref().map(|result| {
                item.insert("result".to_owned(), Value::M(wire::item_from_json(result)));
                Preview::read(&item).expect("a result").comparison.expect("a result")
            });
            let ended = result.as_ref().map_err(|state| match PreviewState::parse(state) {
                Some(PreviewState::Failed(failure)) => failure,
                other => panic!("no failure: {other:?}"),
            });
            held(preview).finish(ended, *payments, cx.now).unwrap()
        }
    };
    Ok(Made::Whole(built))
}

fn by<'a>(staff: &str, reason: Option<&'a FreeText>) -> TermsBy<'a> {
    let staff = StaffId::parse(staff).unwrap();
    TermsBy { staff, actor: Actor::Staff(staff), reason }
}
