//! Requests about staff that the operator and merchant APIs share: list, invite, change, accept.

use crate::app::App;
use crate::approvals::Requested;
use crate::endpoint::{Endpoint, Keyed};
use crate::execute::{Outcome, PlanError, created, ok};
use crate::identity::{Caller, Member, VerifiedEmail};
use crate::problem::Problem;
use crate::request::{self, RequestKey, SentText};
use crate::views::{StaffChangeView, words};
use ledger_core::account::Account;
use ledger_core::approvals::Command;
use ledger_core::idempotency::{Claim, Fields};
use ledger_core::ids::{Employer, ShopId, StaffId};
use ledger_core::keys::{self, Key};
use ledger_core::money::Amount;
use ledger_core::permission::{Permission, Staff};
use ledger_core::plan::Context;
use ledger_core::staff::{
    self, BeneficiaryKind, BeneficiaryKinds, Invitation, MemberState, StaffAmount, StaffChange, StaffMember, StaffRole,
};
use ledger_core::terms::TenantTerms;
use ledger_core::transaction::TransactItem;
use serde::Deserialize;
use std::collections::BTreeSet;
use utoipa::ToSchema;

/// The most roles in a request.
const ROLES_MAX: usize = 10;
/// The word for the payments of all shops.
const ALL_SHOPS: &str = "all";

/// An invitation of a person to the staff.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StaffInviteBody {
    /// The person: the subject of the person's tokens, as the identity provider names it.
    pub staff_id: String,
    /// The person's verified e-mail address. A person has one record.
    pub email: String,
    /// The roles: at least one.
    #[schema(value_type = Vec<words::StaffRoleWord>)]
    pub roles: Vec<String>,
    /// The accounts that are the person's own, or of the person's family or business. Of the operator's staff only.
    pub beneficiary_of: Option<Vec<BeneficiaryBody>>,
    /// The id of the shop whose payments alone the person may see and change; `all`, or absent: those of all shops. Of a
    /// merchant's staff only; an owner has none.
    #[schema(pattern = "^(all|[0-9a-fA-F-]{36})$", example = "all")]
    pub shop: Option<String>,
}

/// An account of a person, of the person's family, or of a business which the person has an interest in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BeneficiaryBody {
    /// The account: `customer:<id>`, `card:<id>` or `merchant:<id>`.
    pub account: String,
    /// `own`: the person asks for, decides on and does alone nothing that is for it. `family` or `business`: the person decides on
    /// nothing that is for it while another member may.
    #[schema(value_type = words::BeneficiaryKindWord)]
    pub kind: String,
}

/// A change of a staff member. An absent field keeps its value.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StaffChangeBody {
    /// All roles that the member has from now on: at least one.
    #[schema(value_type = Option<Vec<words::StaffRoleWord>>)]
    pub roles: Option<Vec<String>>,
    /// All accounts that are declared from now on, as in an invitation. An empty list removes all, which needs approval, as does
    /// another kind that binds the person less.
    pub beneficiary_of: Option<Vec<BeneficiaryBody>>,
    /// The id of the shop whose payments alone the member may see and change from then on; `all`: those of all shops. Of a
    /// merchant's staff only; an owner has none.
    #[schema(pattern = "^(all|[0-9a-fA-F-]{36})$", example = "all")]
    pub shop: Option<String>,
    /// `disabled` stops everything that the member may do, within a minute; `active` allows it again.
    #[schema(value_type = Option<words::StaffStatusChange>)]
    pub status: Option<String>,
    /// The reason for the change; at most 140 characters, no card number.
    pub reason: Option<String>,
}

impl App {
    /// Reads a member of the caller's employer.
    ///
    /// # Errors
    /// 404 if there is no such member, 503 if the store cannot be read.
    pub async fn staff_member(&self, who: &Member, id: StaffId) -> Result<StaffMember, Problem> {
        let key = keys::staff_member(who.tenant(), who.employer(), id);
        let item = self.dynamo().get(&key).await?.ok_or_else(Problem::not_found)?;
        Ok(StaffMember::read(who.employer(), &item)?)
    }

    /// The key of the item that keeps a member's address to the member; `None` if there is none, which no member lacks.
    async fn person_of(&self, who: &Member, member: &StaffMember) -> Result<Option<Key>, Problem> {
        let keys = self.ledger().marker_keys().await?;
        let names = staff::person_names(who.tenant(), who.employer(), &member.email, &keys);
        let items = self.dynamo().get_many(&names).await?;
        Ok(names.into_iter().zip(items).find_map(|(name, item)| item.map(|_| name)))
    }

    /// Reads the caller's own record for a plan, not from the cache.
    ///
    /// # Errors
    /// 403 `permission_missing` if the caller has none.
    pub async fn acting_member(&self, who: &Member, permission: Permission) -> Result<StaffMember, PlanError> {
        let item = self.dynamo().get(&keys::staff_member(who.tenant(), who.employer(), who.id())).await?;
        let item = item.ok_or_else(|| PlanError::Invalid(Problem::permission_missing(permission)))?;
        Ok(StaffMember::read(who.employer(), &item)?)
    }

    /// Counts what the caller refunds or grants, on the caller's record; `None` if no role of the tenant has a limit of it.
    ///
    /// # Errors
    /// 403 `permission_missing` if the record no longer permits it, `limit_exceeded` if the amount alone is too large.
    pub async fn counted(
        &self,
        who: &Member,
        terms: &TenantTerms,
        (what, amount): (StaffAmount, &Amount),
        cx: &Context,
    ) -> Result<Option<TransactItem>, PlanError> {
        let Some(limits) = terms.limits.as_ref().filter(|limits| what.is_limited(limits)) else { return Ok(None) };
        let by = self.acting_member(who, what.permission()).await?;
        Ok(Some(staff::count_amount(who.tenant(), &by, limits, (what, amount), cx)?))
    }

    /// Counts a grant that the caller makes alone; `None` if another person must approve it.
    ///
    /// # Errors
    /// 403 `permission_missing` if the record does not permit it, `limit_exceeded` if the amount alone is too large.
    pub async fn granted_alone(
        &self,
        (claim, who): (&Claim, &Member),
        terms: &TenantTerms,
        amount: &Amount,
        cx: &Context,
    ) -> Result<Option<TransactItem>, PlanError> {
        // Without a limit another person approves each grant of it.
        if !terms.grant_limits.0.contains_key(amount.asset()) {
            return Ok(None);
        }
        let own = keys::staff_member(who.tenant(), who.employer(), who.id());
        let item = self.ledger().read_for(claim, &[own]).await?.into_iter().flatten().next();
        let needed = StaffAmount::Grant.permission();
        let item = item.ok_or_else(|| PlanError::Invalid(Problem::permission_missing(needed)))?;
        let by = StaffMember::read(who.employer(), &item)?;
        Ok(staff::grant_alone(who.tenant(), (&by, &item), terms, amount, cx)?)
    }
}

/// Invites a person. `at` is the endpoint that returns the member, and `approvals` the one that returns approvals, for
/// staff whose roles that decide or pay another person must approve.
///
/// # Errors
/// 400 that names the field; otherwise as [`Keyed::claim`].
pub async fn invite<C: Caller + Sync>(
    app: &App,
    (endpoint, at, approvals): (&Keyed, &Endpoint, Option<&Endpoint>),
    (caller, who): (&C, &Member),
    (key, body): (RequestKey, &StaffInviteBody),
) -> Result<Outcome, Problem> {
    let id = request::id("staff_id", &body.staff_id, StaffId::parse)?;
    let email = request::email("email", &body.email);
    let roles = roles(who.employer(), &body.roles)?;
    let own = body.beneficiary_of.as_deref().map(accounts).transpose()?;
    check_shop(who.employer(), body.shop.as_deref())?;
    let shop = body.shop.as_deref().map(shop_or_all).transpose()?.flatten();
    let fields = Fields::new().with("staff_id", id).with("email", email.as_sent()).with("roles", names(&roles));
    let fields = fields.with_some("beneficiary_of", own.as_ref().map(staff::kinds_text)).with_some("shop", shop);
    let own = own.unwrap_or_default();
    let (claim, admission) = endpoint.claim(app, caller, key, &[], fields).await?;
    let plan = async |cx| {
        let email = email.text()?;
        let gives_power = roles.iter().any(|role| role.decides_or_pays());
        if approvals.is_some() && gives_power {
            let terms = app.terms(who.tenant()).await?;
            let (roles, beneficiary_of) = (roles.clone(), own.clone());
            let command = Command::StaffInvite { id, email, roles, beneficiary_of };
            let stored = app.request_approval((&claim, who), (command, None), &terms, &[], &cx).await?;
            return Ok(Requested::pending(stored));
        }
        let by = app.acting_member(who, managing(who)).await?;
        let (tenant, by, keys) = (who.tenant(), &by, &*app.ledger().marker_keys().await?);
        let invitation = Invitation { tenant, by, id, email: &email, roles: &roles, beneficiary_of: &own, shop, keys };
        Ok(Requested::executed(staff::plan_invite(invitation, &cx)?))
    };
    let invited = |member: &StaffMember| created(at.path(&[&member.id]), &StaffChangeView::from(member));
    let render = |requested: &Requested<StaffMember>| requested.answer(approvals.unwrap_or(at), invited);
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}

/// Changes the roles or the state of a member.
///
/// # Errors
/// As [`invite`].
pub async fn change<C: Caller + Sync>(
    app: &App,
    (endpoint, at, approvals): (&Keyed, &Endpoint, Option<&Endpoint>),
    (caller, who): (&C, &Member),
    id: StaffId,
    (key, body): (RequestKey, &StaffChangeBody),
) -> Result<Outcome, Problem> {
    let roles = body.roles.as_ref().map(|given| roles(who.employer(), given)).transpose()?;
    let state = body.status.as_deref();
    let parse = |word: &str| MemberState::parse(word).filter(|state| *state != MemberState::Invited);
    let state = state.map(|word| request::word("status", word, parse, "active or disabled")).transpose()?;
    let reason = body.reason.as_deref().map(|reason| request::memo("reason", reason));
    let own = body.beneficiary_of.as_deref().map(accounts).transpose()?;
    check_shop(who.employer(), body.shop.as_deref())?;
    let shop = body.shop.as_deref().map(shop_or_all).transpose()?;
    let fields = Fields::new()
        .with_some("roles", roles.as_ref().map(names))
        .with_some("beneficiary_of", own.as_ref().map(staff::kinds_text))
        .with_some("shop", shop.map(|shop| shop.map_or_else(|| ALL_SHOPS.to_owned(), |shop| shop.to_string())))
        .with_some("status", state.map(MemberState::name))
        .with_some("reason", reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = endpoint.claim(app, caller, key, &[&id], fields).await?;
    let plan = async |cx| {
        let reason = request::text_of(reason.as_ref())?;
        let key = keys::staff_member(who.tenant(), who.employer(), id);
        let item = app.dynamo().get(&key).await?.ok_or(PlanError::Missing)?;
        let member = StaffMember::read(who.employer(), &item)?;
        let change = StaffChange {
            tenant: who.tenant(),
            member: &member,
            roles: roles.as_ref(),
            beneficiary_of: own.as_ref(),
            shop,
            state,
            reason: reason.as_ref(),
        };
        if approvals.is_some() && change.gives_power() {
            let terms = app.terms(who.tenant()).await?;
            let (roles, beneficiary_of) = (roles.clone(), own.clone());
            let command = Command::StaffChange { id, roles, beneficiary_of, state, seen: member.version };
            let (of, items) = ((command, reason.as_ref()), [Some(item)]);
            return Ok(Requested::pending(app.request_approval((&claim, who), of, &terms, &items, &cx).await?));
        }
        let by = app.acting_member(who, managing(who)).await?;
        Ok(Requested::executed(staff::plan_change(change, &by, &cx)?))
    };
    let changed = |member: &StaffMember| ok(&StaffChangeView::from(member));
    let render = |requested: &Requested<StaffMember>| requested.answer(approvals.unwrap_or(at), changed);
    let outcome = app.perform(claim.clone(), admission, plan, render).await;
    app.records().forget_staff(who.tenant(), (who.employer(), id));
    // A replay withdraws what the first request left.
    if who.employer() == Employer::Operator && state == Some(MemberState::Disabled) && outcome.status() == 200 {
        app.withdraw_requests_of(who, id).await;
    }
    Ok(outcome)
}

/// Declares an account of the caller's own.
///
/// # Errors
/// As [`Keyed::claim`].
pub async fn declare<C: Caller + Sync>(
    app: &App,
    endpoint: &Keyed,
    (caller, who): (&C, &Member),
    (key, body): (RequestKey, &BeneficiaryBody),
) -> Result<Outcome, Problem> {
    let (account, kind) = beneficiary(body)?;
    let fields = Fields::new().with("account", account).with("kind", kind.name());
    let (claim, admission) = endpoint.claim(app, caller, key, &[], fields).await?;
    let plan = async |cx| {
        // No permission is required, so nothing else refuses an unknown tenant.
        app.terms(who.tenant()).await?;
        let member = app.staff_member(who, who.id()).await?;
        Ok(staff::plan_declare(who.tenant(), &member, (account, kind), &cx)?)
    };
    let outcome = app.perform(claim, admission, plan, |member| ok(&StaffChangeView::from(member))).await;
    app.records().forget_staff(who.tenant(), who.key());
    Ok(outcome)
}

/// Accepts the caller's own invitation.
///
/// # Errors
/// As [`Keyed::claim`].
pub async fn accept<C: Caller + Sync>(
    app: &App,
    endpoint: &Keyed,
    (caller, who, email): (&C, &Member, Option<&VerifiedEmail>),
    key: RequestKey,
) -> Result<Outcome, Problem> {
    let fields = Fields::new().with("staff_id", who.id());
    let (claim, admission) = endpoint.claim(app, caller, key, &[], fields).await?;
    let plan = async |cx| {
        // No permission is required of a person who is not a member yet, so nothing else refuses an unknown tenant.
        app.terms(who.tenant()).await?;
        let member = app.staff_member(who, who.id()).await?;
        // INVARIANT: the address of a member is the person's own. The member who invites has chosen it, and proves nothing.
        if !email.is_some_and(|email| staff::is_address_of(email.expose(), &member)) {
            return Err(Problem::email_unverified().into());
        }
        let person = app.person_of(who, &member).await?.ok_or_else(Problem::internal)?;
        Ok(staff::plan_accept(who.tenant(), (&member, person), &cx)?)
    };
    let outcome = app.perform(claim, admission, plan, |member| ok(&StaffChangeView::from(member))).await;
    app.records().forget_staff(who.tenant(), who.key());
    Ok(outcome)
}

/// The permission to manage the staff that the caller belongs to.
fn managing(who: &Member) -> Permission {
    match who.employer().staff() {
        Staff::Operator => Permission::StaffManage,
        Staff::Merchant => Permission::ShopStaffManage,
    }
}

fn roles(employer: Employer, given: &[String]) -> Result<BTreeSet<StaffRole>, Problem> {
    let known: Vec<&str> = StaffRole::all(employer.staff()).map(StaffRole::name).collect();
    let unknown = || Problem::invalid_field("roles", format!("must be 1 or more of {}", known.join(", ")));
    if given.is_empty() || given.len() > ROLES_MAX {
        return Err(unknown());
    }
    given.iter().map(|name| StaffRole::parse(employer.staff(), name).ok_or_else(unknown)).collect()
}

/// Refuses a shop of the operator's staff, which has none.
fn check_shop(employer: Employer, given: Option<&str>) -> Result<(), Problem> {
    match (employer, given) {
        (Employer::Operator, Some(_)) => Err(Problem::invalid_field("shop", "is of a merchant's staff only")),
        (Employer::Operator, None) | (Employer::Merchant(_), _) => Ok(()),
    }
}

/// A shop's id; `None` for the word for all shops.
fn shop_or_all(given: &str) -> Result<Option<ShopId>, Problem> {
    if given == ALL_SHOPS { Ok(None) } else { request::id("shop", given, ShopId::parse).map(Some) }
}

fn accounts(given: &[BeneficiaryBody]) -> Result<BeneficiaryKinds, Problem> {
    given.iter().map(beneficiary).collect()
}

fn beneficiary(given: &BeneficiaryBody) -> Result<(Account, BeneficiaryKind), Problem> {
    let wrong = || Problem::invalid_field("beneficiary_of", "must be customer:<id>, card:<id> or merchant:<id>");
    let account = Account::parse(&given.account).map_err(|_| wrong())?;
    let kind = request::word("kind", &given.kind, BeneficiaryKind::parse, "own, family or business")?;
    Ok((account, kind))
}

/// The roles for the key's fingerprint, in their order.
fn names<T: ToString>(all: &BTreeSet<T>) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join("+")
}
