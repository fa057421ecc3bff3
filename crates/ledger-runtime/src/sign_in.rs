//! A caller of the customer API: the customer whose sign-in the subject of the token is.

use crate::app::App;
use crate::identity::{Caller, Customer};
use crate::problem::Problem;
use axum::extract::FromRequestParts;
use http::request::Parts;
use ledger_core::customers::sign_in::{SignIn, own_of};
use ledger_core::terms::SignInTerms;

impl FromRequestParts<App> for Customer {
    type Rejection = Problem;

    /// As far as the caches of this process know. A tenant that has moved no customer costs no read beside that of its terms.
    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let caller = Self::of_token(parts)?;
        let (now, subject) = (app.now(), own_of(caller.id()));
        match app.records().sign_ins(app.dynamo(), caller.tenant(), now).await? {
            SignInTerms::OwnIds => Ok(caller),
            SignInTerms::Moved => match app.records().sign_in(app.dynamo(), caller.tenant(), subject, now).await? {
                SignIn::Own => {
                    let own = caller.id();
                    Ok(caller.signed_in_as(own, subject))
                }
                SignIn::Of(customer) => Ok(caller.signed_in_as(customer, subject)),
                SignIn::Ended(_) => Err(Problem::not_found()),
            },
        }
    }
}
