//! Checks that a staff member has a permission.
//!
//! Tenants whose staff has no records permit everything that the API of the token offers.

use crate::app::App;
use crate::dynamo::ReadError;
use crate::identity::Member;
use crate::problem::Problem;
use http::Extensions;
use ledger_core::failure::Failure;
use ledger_core::ids::{ShopId, Tenant};
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::permission::{Permission, Staff};
use ledger_core::staff::{self, StaffMember};
use ledger_core::terms::StaffSource;
use ledger_core::time::Timestamp;
use std::sync::Arc;

/// Returns the staff member that the verified token identifies, for a permission of its API.
///
/// # Errors
/// 401 without a token, 403 `wrong_face` for one of another API.
pub(crate) fn caller(extensions: &Extensions, permission: Permission) -> Result<Member, Problem> {
    match permission.staff() {
        Staff::Operator => Member::of_operator(extensions),
        Staff::Merchant => Member::of_merchant(extensions),
    }
}

/// Requires that a staff member has a permission, by a record that is at most a minute old. Returns the shop whose payments
/// alone the member may see and change.
///
/// A denial is counted, and is on the audit trail unless many of the same hour are. A tenant without terms has no
/// staff to check; its requests are refused by the handlers.
///
/// # Errors
/// 403 `permission_missing`, 503 if the record cannot be read: then nothing is permitted.
pub async fn require(app: &App, member: &Member, permission: Permission) -> Result<Option<ShopId>, Problem> {
    match standing(app, member).await? {
        Standing::OfToken => Ok(None),
        Standing::OfRecord(Some(record)) if record.may(permission) => Ok(record.shop),
        Standing::OfRecord(_) => Err(deny(app, member, permission).await),
    }
}

/// Records that a staff member lacks a permission, and returns the refusal.
pub(crate) async fn deny(app: &App, member: &Member, permission: Permission) -> Problem {
    record_denial(app, member, permission).await;
    Problem::permission_missing(permission)
}

/// Whether a staff member has a permission, by a record that is at most a minute old. For a response that shows more to
/// some.
///
/// # Errors
/// 503 if the record cannot be read.
pub async fn permits(app: &App, member: &Member, permission: Permission) -> Result<bool, Problem> {
    Ok(match standing(app, member).await? {
        Standing::OfToken => true,
        Standing::OfRecord(record) => record.is_some_and(|record| record.may(permission)),
    })
}

/// What decides on what a staff member may do.
enum Standing {
    /// The token permits everything that its API offers.
    OfToken,
    /// The member's record, if there is one.
    OfRecord(Option<Arc<StaffMember>>),
}

async fn standing(app: &App, member: &Member) -> Result<Standing, Problem> {
    let (tenant, now) = (member.tenant(), app.now());
    match source(app, tenant, now).await? {
        None | Some(StaffSource::Tokens) => return Ok(Standing::OfToken),
        Some(StaffSource::Records) => {}
    }
    Ok(Standing::OfRecord(app.records().staff(app.dynamo(), tenant, member.key(), now).await?))
}

/// Returns what decides for a tenant; `None` if it has no terms.
///
/// A stored response is returned even if the terms cannot be read. So then this one attribute is read by itself.
async fn source(app: &App, tenant: &Tenant, now: Timestamp) -> Result<Option<StaffSource>, ReadError> {
    match app.records().tenant(app.dynamo(), tenant, (now, now)).await {
        Ok(terms) => Ok(terms.map(|terms| terms.staff)),
        Err(ReadError::Unreadable(_)) => {
            let config = app.dynamo().get(&keys::config(tenant)).await?;
            Ok(config.as_ref().map(StaffSource::read).transpose()?)
        }
        Err(error) => Err(error),
    }
}

/// Puts a denial on the audit trail. The request is refused even if that fails.
async fn record_denial(app: &App, member: &Member, permission: Permission) {
    let (tenant, now) = (member.tenant(), app.now());
    if app.records().denials_are_recorded(tenant, member.key(), now) {
        return;
    }
    let written = async {
        let cx = app.ledger().context(now)?;
        let transaction = staff::record_denial(tenant, member.key(), permission, &cx).map_err(|error| {
            tracing::error!(%error, "a denial cannot be put on record");
            Problem::internal()
        })?;
        match app.ledger().apply(tenant, Operation::PermissionDenied, &transaction).await {
            Ok(()) => Ok(()),
            Err(error) if error.failure() == Some(Failure::LimitExceeded) => {
                app.records().set_denials_recorded(tenant, member.key(), now);
                Ok(())
            }
            Err(error) => Err(Problem::from(error)),
        }
    };
    if let Err(problem) = written.await {
        tracing::warn!(%tenant, code = problem.code(), "a denial was not put on record");
    }
}
