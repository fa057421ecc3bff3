//! `/v1/admin/notices`: an address that was changed, with the previous ones, so that the person can be notified there.

use crate::customers;
use axum::Json;
use axum::extract::State;
use ledger_core::ids::AuditId;
use ledger_core::keys;
use ledger_core::notices::{Notice, NoticeSubject};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Permission};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::PathId;
use ledger_runtime::views::NoticeView;

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/notices/{notice_id}")
    .summary("Returns a notice of a changed address, with the previous ones.")
    .about("It is kept for 30 days. The audit trail shows who read a customer's.")
    .permission(Permission::CustomersRead)
    .id("notice_id", "The notice's id, from the event `ContactChanged`, `SignInChanged` or `PayoutDestinationChanged`.")
    .ok::<NoticeView>("The notice")
    .when(Code::NotFound, "no such notice");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<AuditId>,
) -> Result<Json<NoticeView>, Problem> {
    let item = app.dynamo().get(&keys::notice(who.tenant(), id)).await?.ok_or_else(Problem::not_found)?;
    let notice = Notice::read(&item)?;
    match &notice.subject {
        NoticeSubject::Contact { customer, .. } | NoticeSubject::SignIn { customer, .. } => {
            customers::record_read(&app, &who, *customer).await?;
        }
        NoticeSubject::Destination { .. } => {}
    }
    Ok(Json(NoticeView::from(&notice)))
}
