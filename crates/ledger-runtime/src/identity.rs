//! The caller's identity, taken only from the claims that API Gateway's authorizer has verified.
//!
//! No body, header or path can name a tenant or a caller.

use crate::gateway::{FACE, GatewayContext, TokenClaims};
use crate::notes::RequestNotes;
use crate::problem::Problem;
use axum::extract::FromRequestParts;
use http::Extensions;
use http::request::Parts;
use ledger_core::idempotency::{Admission, IdempotencyKey, KeyError, Window};
use ledger_core::ids::{Actor, CustomerId, Employer, MerchantId, Principal, ShopId, StaffId, SubjectId, Tenant};
use ledger_core::payments::PaymentRecord;
use ledger_core::personal::Masked;
use ledger_core::time::Timestamp;

/// A caller with a verified identity.
pub trait Caller {
    /// The tenant, whose items the caller works on.
    fn tenant(&self) -> &Tenant;

    /// The owner of the caller's idempotency keys.
    fn principal(&self) -> Principal;

    /// The actor, for the journal and the audit trail.
    fn actor(&self) -> Actor;

    /// Decides whether a key that the caller sent may be executed.
    ///
    /// # Errors
    /// [`KeyError`] if the caller may not use the key.
    fn admit(&self, key: &IdempotencyKey, now: Timestamp, window: &Window) -> Result<Admission, KeyError> {
        key.admit(now, window)
    }
}

/// A caller of the customer API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Customer {
    tenant: Tenant,
    id: CustomerId,
    sign_in: Option<SubjectId>,
}

/// A caller of the merchant API: a merchant's staff member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merchant {
    tenant: Tenant,
    merchant: MerchantId,
    staff: StaffId,
    shop: Option<ShopId>,
    email: Option<VerifiedEmail>,
}

/// The shop that the calling member is limited to, by the member's record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemberShop(pub(crate) ShopId);

/// A caller of the operator API: the operator's staff member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admin {
    tenant: Tenant,
    staff: StaffId,
    email: Option<VerifiedEmail>,
}

/// An e-mail address that the issuer has verified. `Debug` masks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedEmail(Masked<String>);

impl VerifiedEmail {
    /// The address of the claims; `None` unless `email_verified` is true.
    fn of(claims: &TokenClaims) -> Option<Self> {
        let is_verified = claims.get("email_verified").is_some_and(|verified| verified == "true");
        claims.get("email").filter(|_| is_verified).map(|email| Self(Masked::new(email.clone())))
    }

    /// The address.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

/// The staff member that a token identifies: whose staff, and which person. It says nothing of what the person may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    tenant: Tenant,
    employer: Employer,
    id: StaffId,
}

impl Member {
    /// Returns the caller of the operator API.
    pub(crate) fn of_operator(extensions: &Extensions) -> Result<Self, Problem> {
        Ok(Admin::from_claims(&Claims::verified(extensions)?)?.member())
    }

    /// Returns the caller of the merchant API.
    pub(crate) fn of_merchant(extensions: &Extensions) -> Result<Self, Problem> {
        Ok(Merchant::from_claims(&Claims::verified(extensions)?)?.member())
    }

    /// The tenant.
    #[must_use]
    pub fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    /// Whose staff.
    #[must_use]
    pub fn employer(&self) -> Employer {
        self.employer
    }

    /// The person.
    #[must_use]
    pub fn id(&self) -> StaffId {
        self.id
    }

    /// What names the person's record.
    #[must_use]
    pub fn key(&self) -> (Employer, StaffId) {
        (self.employer, self.id)
    }
}

impl Merchant {
    /// The caller as a member of the merchant's staff.
    #[must_use]
    pub fn member(&self) -> Member {
        Member { tenant: self.tenant.clone(), employer: Employer::Merchant(self.merchant), id: self.staff }
    }
}

impl Admin {
    /// The caller as a member of the operator's staff.
    #[must_use]
    pub fn member(&self) -> Member {
        Member { tenant: self.tenant.clone(), employer: Employer::Operator, id: self.staff }
    }
}

impl Customer {
    /// The customer's id.
    #[must_use]
    pub fn id(&self) -> CustomerId {
        self.id
    }

    /// The subject of the customer's token, if the tenant has moved customers to other sign-ins.
    #[must_use]
    pub fn sign_in(&self) -> Option<SubjectId> {
        self.sign_in
    }

    /// The caller that a request's token names, as a tenant sees it that has moved no customer: the subject is the
    /// customer's id.
    pub(crate) fn of_token(parts: &Parts) -> Result<Self, Problem> {
        Self::from_claims(&Claims::of(parts)?)
    }

    /// The customer whose sign-in the subject is.
    pub(crate) fn signed_in_as(self, id: CustomerId, subject: SubjectId) -> Self {
        Self { id, sign_in: Some(subject), ..self }
    }
}

impl Merchant {
    /// The merchant's id.
    #[must_use]
    pub fn merchant_id(&self) -> MerchantId {
        self.merchant
    }

    /// The staff member's id.
    #[must_use]
    pub fn staff_id(&self) -> StaffId {
        self.staff
    }

    /// The shop whose payments alone the staff member may see and change; `None`: those of all shops.
    #[must_use]
    pub fn shop(&self) -> Option<ShopId> {
        self.shop
    }

    /// The caller's e-mail address, if the issuer has verified it.
    #[must_use]
    pub fn verified_email(&self) -> Option<&VerifiedEmail> {
        self.email.as_ref()
    }

    /// Whether a payment is the caller's to see and to change: of the merchant, and of the caller's shop.
    #[must_use]
    pub fn owns(&self, payment: &PaymentRecord) -> bool {
        payment.merchant == self.merchant && self.shop.is_none_or(|shop| payment.shop == Some(shop))
    }
}

impl Admin {
    /// The staff member's id.
    #[must_use]
    pub fn staff_id(&self) -> StaffId {
        self.staff
    }

    /// The caller's e-mail address, if the issuer has verified it.
    #[must_use]
    pub fn verified_email(&self) -> Option<&VerifiedEmail> {
        self.email.as_ref()
    }
}

impl Caller for Customer {
    fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    fn principal(&self) -> Principal {
        Principal::Customer(self.id)
    }

    fn actor(&self) -> Actor {
        Actor::Customer(self.id)
    }
}

impl Caller for Merchant {
    fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    fn principal(&self) -> Principal {
        Principal::Merchant(self.merchant)
    }

    fn actor(&self) -> Actor {
        Actor::MerchantStaff(self.staff)
    }
}

impl Caller for Admin {
    fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    fn principal(&self) -> Principal {
        Principal::Staff(self.staff)
    }

    fn actor(&self) -> Actor {
        Actor::Staff(self.staff)
    }
}

impl<S: Sync> FromRequestParts<S> for Merchant {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let shop = parts.extensions.get::<MemberShop>().map(|member| member.0);
        let claims = Claims::of(parts)?;
        Ok(Self { shop, ..Self::from_claims(&claims)? })
    }
}

impl<S: Sync> FromRequestParts<S> for Admin {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let claims = Claims::of(parts)?;
        Self::from_claims(&claims)
    }
}

impl Customer {
    fn from_claims(claims: &Claims<'_>) -> Result<Self, Problem> {
        claims.require_face("customer")?;
        Ok(Self { tenant: claims.tenant.clone(), id: claims.id("sub", CustomerId::parse)?, sign_in: None })
    }
}

impl Merchant {
    fn from_claims(claims: &Claims<'_>) -> Result<Self, Problem> {
        claims.require_face("merchant")?;
        Ok(Self {
            tenant: claims.tenant.clone(),
            merchant: claims.id("merchant_id", MerchantId::parse)?,
            staff: claims.id("sub", StaffId::parse)?,
            shop: None,
            email: VerifiedEmail::of(claims.all),
        })
    }
}

impl Admin {
    fn from_claims(claims: &Claims<'_>) -> Result<Self, Problem> {
        claims.require_face("admin")?;
        let (tenant, email) = (claims.tenant.clone(), VerifiedEmail::of(claims.all));
        Ok(Self { tenant, staff: claims.id("sub", StaffId::parse)?, email })
    }
}

/// The tenant and the actor of the verified token; a customer is named by the token's subject. `None` without a token, and no
/// actor if its claims name none: the request's handler refuses it then.
pub(crate) fn verified_caller(extensions: &Extensions) -> Option<(Tenant, Option<Actor>)> {
    let claims = Claims::verified(extensions).ok()?;
    let actor = match claims.all.get(FACE).map(String::as_str) {
        Some("customer") => Customer::from_claims(&claims).map(|caller| caller.actor()).ok(),
        Some("merchant") => Merchant::from_claims(&claims).map(|caller| caller.actor()).ok(),
        Some("admin") => Admin::from_claims(&claims).map(|caller| caller.actor()).ok(),
        Some(_) | None => None,
    };
    Some((claims.tenant, actor))
}

/// The claims of the verified token.
struct Claims<'a> {
    tenant: Tenant,
    all: &'a TokenClaims,
}

impl<'a> Claims<'a> {
    fn of(parts: &'a Parts) -> Result<Self, Problem> {
        let claims = Self::verified(&parts.extensions)?;
        if let Some(notes) = parts.extensions.get::<RequestNotes>() {
            notes.set_tenant(&claims.tenant);
        }
        Ok(claims)
    }

    fn verified(extensions: &'a Extensions) -> Result<Self, Problem> {
        let claims = extensions.get::<GatewayContext>().and_then(|context| context.claims.as_ref());
        Self::read(claims.ok_or_else(Problem::unauthenticated)?)
    }

    fn read(all: &'a TokenClaims) -> Result<Self, Problem> {
        let tenant = all.get("tenant").and_then(|tenant| Tenant::parse(tenant).ok());
        Ok(Self { tenant: tenant.ok_or_else(Problem::unauthenticated)?, all })
    }

    /// Requires a token of the API's client. One of a client that is not known has no [`FACE`].
    fn require_face(&self, face: &str) -> Result<(), Problem> {
        if self.all.get(FACE).is_some_and(|of| of == face) { Ok(()) } else { Err(Problem::wrong_face()) }
    }

    fn id<T, E>(&self, claim: &str, parse: impl FnOnce(&str) -> Result<T, E>) -> Result<T, Problem> {
        let text = self.all.get(claim).ok_or_else(Problem::unauthenticated)?;
        parse(text).map_err(|_| Problem::unauthenticated())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";

    fn claims(pairs: &[(&str, &str)]) -> TokenClaims {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn token_of_one_api_is_refused_by_the_others() {
        let all = claims(&[("tenant", "demo"), ("sub", ID), ("face", "customer")]);
        let read = Claims::read(&all).unwrap();
        let customer = Customer::from_claims(&read).unwrap();
        assert_eq!((customer.tenant().as_str(), customer.id().to_string().as_str()), ("demo", ID));
        assert_eq!(Admin::from_claims(&read).unwrap_err().code(), "wrong_face");
        assert_eq!(Merchant::from_claims(&read).unwrap_err().code(), "wrong_face");
    }

    #[test]
    fn missing_or_malformed_claims_are_unauthenticated() {
        let good = [("tenant", "demo"), ("sub", ID), ("face", "merchant"), ("merchant_id", ID)];
        for (at, wrong) in [(0, ""), (0, "a#b"), (1, "me"), (3, ""), (3, "x")] {
            let mut pairs = good;
            pairs[at].1 = wrong;
            let all = claims(&pairs);
            let outcome = Claims::read(&all).and_then(|claims| Merchant::from_claims(&claims));
            assert_eq!(outcome.unwrap_err().code(), "unauthenticated", "{wrong}");
        }
        let with = |verified: &str| {
            let all = claims(&[&good[..], &[("email", "a@example.jp"), ("email_verified", verified)]].concat());
            let read = Claims::read(&all).and_then(|claims| Merchant::from_claims(&claims)).unwrap();
            read.verified_email().map(|email| email.expose().to_owned())
        };
        assert_eq!((with("true").as_deref(), with("false"), with("")), (Some("a@example.jp"), None, None));
        for absent in 0..good.len() {
            let mut pairs = good.to_vec();
            pairs.remove(absent);
            let all = claims(&pairs);
            let outcome = Claims::read(&all).and_then(|claims| Merchant::from_claims(&claims));
            let code = if good[absent].0 == FACE { "wrong_face" } else { "unauthenticated" };
            assert_eq!(outcome.unwrap_err().code(), code);
        }
    }
}
