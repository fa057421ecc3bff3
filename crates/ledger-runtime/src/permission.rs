//! Checks that a staff member has a permission.
//!
//! A token identifies a person. What the person may do follows from the roles on the person's record alone.

use crate::app::App;
use crate::dynamo::ReadError;
use crate::identity::Member;
use crate::problem::Problem;
use http::Extensions;
use ledger_core::failure::Failure;
use ledger_core::ids::{ShopId, Tenant};
use ledger_core::operation::Operation;
use ledger_core::permission::{Permission, Staff};
use ledger_core::staff::{self, StaffMember};
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
/// A denial is counted, and is on the audit trail unless many of the same hour are. The terms are not read where there is a
/// record: a stored response is returned even if the terms cannot be read.
///
/// # Errors
/// 403 `permission_missing`, 403 `tenant_unknown` if the tenant has no terms, 503 if the record cannot be read: then nothing
/// is permitted.
pub async fn require(app: &App, member: &Member, permission: Permission) -> Result<Option<ShopId>, Problem> {
    match record(app, member).await? {
        Some(record) if record.may(permission) => return Ok(record.shop),
        Some(_) => {}
        None => check_tenant(app, member.tenant()).await?,
    }
    Err(deny(app, member, permission).await)
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
    Ok(record(app, member).await?.is_some_and(|record| record.may(permission)))
}

async fn record(app: &App, member: &Member) -> Result<Option<Arc<StaffMember>>, ReadError> {
    app.records().staff(app.dynamo(), member.tenant(), member.key(), app.now()).await
}

/// Refuses a tenant without terms: nothing is written for it, a denial neither.
async fn check_tenant(app: &App, tenant: &Tenant) -> Result<(), Problem> {
    let now = app.now();
    match app.records().tenant(app.dynamo(), tenant, (now, now)).await {
        Ok(Some(_)) | Err(ReadError::Unreadable(_)) => Ok(()),
        Ok(None) => Err(Problem::tenant_unknown()),
        Err(error) => Err(error.into()),
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
