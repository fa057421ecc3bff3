//! `GET` and `PATCH /v1/me`: the customer's profile.

use axum::Json;
use axum::extract::State;
use ledger_core::customer_state::is_erased;
use ledger_core::customers::profile::{self, ProfileChange};
use ledger_core::keys::Partition;
use ledger_core::notices::Contact;
use ledger_core::operation::Operation;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed};
use ledger_runtime::execute::{Outcome, PlanError, ok};
use ledger_runtime::identity::{Caller, Customer};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{KeyedJson, ProfileBody};
use ledger_runtime::views::{CustomerChangeView, CustomerView};

pub(crate) const GET: Endpoint = Endpoint::get("/v1/me")
    .summary("Returns the customer's profile.")
    .open()
    .ok::<CustomerView>("The profile")
    .problems(&[Code::LegacyRecordUnreadable])
    .when(Code::NotFound, "no wallet has been opened for this customer, or the customer was erased");

pub(crate) async fn get(State(app): State<App>, who: Customer) -> Result<Json<CustomerView>, Problem> {
    let key = Partition::customer(who.tenant(), who.id()).profile();
    let item = app.dynamo().get(&key).await?.filter(|profile| !is_erased(profile)).ok_or_else(Problem::not_found)?;
    Ok(Json(CustomerView::read(&item)?))
}

pub(crate) const PATCH: Keyed = Endpoint::patch("/v1/me")
    .summary("Changes the customer's profile.")
    .about(
        "`null` clears a field; an absent field keeps its value. A changed e-mail address or telephone number is announced, so \
         that the customer can be notified at the previous one.",
    )
    .open()
    .body::<ProfileBody>()
    .ok::<CustomerChangeView>("Changed")
    .problems(&[Code::LegacyRecordUnreadable])
    .when(Code::WrongState, "the customer was erased within the last minute")
    .when(Code::NotFound, "no wallet has been opened for this customer, or the customer was erased")
    .keyed(Operation::ProfilePatch);

pub(crate) async fn patch(
    State(app): State<App>,
    who: Customer,
    KeyedJson(key, body): KeyedJson<ProfileBody>,
) -> Result<Outcome, Problem> {
    let (sent, fields) = body.read()?;
    let (claim, admission) = PATCH.claim(&app, &who, key, &[], fields).await?;
    let key = Partition::customer(who.tenant(), who.id()).profile();
    let plan = async |cx| {
        let patch = sent.patch()?;
        let previous = if patch.touches_contact() {
            let items = app.ledger().read_for(&claim, std::slice::from_ref(&key)).await?;
            Some(Contact::read(items.iter().flatten().next().ok_or(PlanError::Missing)?)?)
        } else {
            None
        };
        let keys = app.keys_of_change(who.tenant(), !patch.kana.is_keep()).await?;
        let change = ProfileChange { patch: &patch, previous: previous.as_ref(), keys: &keys };
        Ok(profile::plan_own(who.tenant(), who.id(), change, &cx)?)
    };
    Ok(app.perform(claim.clone(), admission, plan, |receipt| ok(&CustomerChangeView::from(receipt))).await)
}
