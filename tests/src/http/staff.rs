//! Staff of a tenant: records, members with roles, and merchants with an owner.

use super::endpoints::Endpoint;
use super::prepared::{Prepared, change, make, prepared};
use super::world::{new_id, new_key};
use super::{Call, Customer, Merchant, Who, World};
use crate::cloud::gate;
use ledger_core::failure::Failure;
use ledger_core::ids::StaffId;
use ledger_core::operation::Operation;
use ledger_core::personal::FreeText;
use ledger_core::staff::{Founder, Founders, Recovery, request_recovery};
use ledger_local::clock::epoch_s;
use ledger_local::issuer::TOKEN_LIFETIME_S;
use serde_json::{Value, json};

/// An e-mail address that belongs to an id alone. It has letters only, for digits may look like a card number.
#[must_use]
pub fn email_of(id: &str) -> String {
    let letter = |c: char| c.to_digit(16).and_then(|digit| char::from_digit(digit + 10, 26));
    let name: String = id.chars().filter_map(letter).collect();
    format!("{name}@example.com")
}

/// The first owners of a test's tenant.
///
/// # Panics
/// When the ids are no UUIDs or equal.
#[must_use]
pub fn founders(ids: [&str; 2]) -> Founders {
    Founders::new(ids.map(founder).to_vec()).expect("two persons")
}

fn founder(id: &str) -> Founder {
    Founder { id: StaffId::parse(id).expect("a UUID"), email: FreeText::email(&email_of(id)).expect("an address") }
}

/// Requests a recovery of the tenant's owners at a shell, unless one is pending; returns it.
///
/// # Panics
/// When the store refuses.
pub async fn requested_recovery(world: &World, ids: [&str; 2]) -> Recovery {
    let ledger = world.app.ledger();
    let cx = ledger.context(world.app.now()).expect("a context");
    let (recovery, write) = request_recovery(&world.slug(), &founders(ids), &cx).expect("a transaction");
    let applied = gate::as_test(ledger.apply(&world.slug(), Operation::OwnerRecovery, &write)).await;
    match applied {
        Err(error) if error.failure() == Some(Failure::AlreadyExists) => {}
        done => done.expect("the store is available"),
    }
    recovery
}

/// A member of the operator's staff who signs in to a wallet with the same subject.
pub async fn member_with_wallet(world: &World, role: &str) -> (Customer, Who) {
    let customer = world.customer().await;
    let _ = world.operator("/v1/admin/staff", &invitation(&customer.id, role)).await;
    let who = world.token("admin", &customer.id, None).await;
    let accepts = Call::post("/v1/admin/staff/accept", &who, &json!({})).key(new_key());
    let _ = world.api.settle(&accepts).await.good();
    (customer, who)
}

/// A person in a request.
#[must_use]
pub fn person(id: &str) -> Value {
    json!({"staff_id": id, "email": email_of(id)})
}

/// An invitation of a person with one role.
#[must_use]
pub fn invitation(id: &str, role: &str) -> Value {
    json!({"staff_id": id, "email": email_of(id), "roles": [role]})
}

/// Invites a person to the operator's staff, and returns the person's id.
pub async fn invited(world: &World, role: &str) -> String {
    let id = new_id();
    let _ = world.operator("/v1/admin/staff", &invitation(&id, role)).await;
    id
}

/// Invites a person to a merchant's staff, and returns the person's id.
pub async fn invited_by(world: &World, owned: &Merchant, role: &str) -> String {
    let id = new_id();
    let call = Call::post("/v1/merchant/staff", &owned.who, &invitation(&id, role)).key(new_key());
    let _ = world.api.settle(&call).await.good();
    id
}

/// The operator strikes out an invitation in a merchant's staff.
#[must_use]
pub fn strikes(merchant: &str, person: &str, who: &Who) -> Call {
    let path = format!("/v1/admin/merchants/{merchant}/staff/{person}/strike");
    Call::post(&path, who, &json!({"reason": "left the shop"})).key(new_key())
}

/// A member of a merchant's staff with this address, who has accepted: another person, or the same one under another id.
pub async fn employed(world: &World, shop: &Merchant, email: &str) -> String {
    let id = new_id();
    let body = json!({"staff_id": id, "email": email, "roles": ["owner"]});
    let _ = world.api.settle(&Call::post("/v1/merchant/staff", &shop.who, &body).key(new_key())).await.good();
    let grant = world.grant_of("merchant", &id, Some(&shop.id)).with_email(Some(email.to_owned()));
    let who = world.issue(&grant, epoch_s(), TOKEN_LIFETIME_S);
    let _ = world.api.settle(&Call::post("/v1/merchant/staff/accept", &who, &json!({})).key(new_key())).await.good();
    id
}

/// Registers a merchant whose token is its first owner's.
pub async fn owned_merchant(world: &World) -> Merchant {
    let id = world.operator("/v1/admin/merchants", &json!({"name": "Aoba Coffee"})).await.text("/merchant_id");
    let owner = new_id();
    let _ = world.operator(&format!("/v1/admin/merchants/{id}/staff"), &person(&owner)).await;
    Merchant { who: world.token("merchant", &owner, Some(&id)).await, id }
}

/// An active member of the operator's staff with one role, invited by an owner.
pub async fn member(world: &World, role: &str) -> (String, Who) {
    let id = invited(world, role).await;
    let who = world.token("admin", &id, None).await;
    let accept = Call::post("/v1/admin/staff/accept", &who, &json!({})).key(new_key());
    let _ = world.api.settle(&accept).await.good();
    (id, who)
}

/// An active member of a merchant's staff with one role, invited by its owner.
pub async fn shop_member(world: &World, owned: &Merchant, role: &str) -> (String, Who) {
    let id = invited_by(world, owned, role).await;
    let who = world.token("merchant", &id, Some(&owned.id)).await;
    let accept = Call::post("/v1/merchant/staff/accept", &who, &json!({})).key(new_key());
    let _ = world.api.settle(&accept).await.good();
    (id, who)
}

/// The request of an endpoint of staff.
pub(super) async fn prepare(endpoint: Endpoint, world: &World) -> Prepared {
    match endpoint {
        Endpoint::MerchantOwner => {
            let merchant = world.operator("/v1/admin/merchants", &json!({"name": "Baker"})).await;
            let path = format!("/v1/admin/merchants/{}/staff", merchant.text("/merchant_id"));
            make(world, &path, &person(&new_id())).with_other("staff_id", new_id())
        }
        Endpoint::StaffStrike => {
            let owned = owned_merchant(world).await;
            let call = strikes(&owned.id, &invited_by(world, &owned, "cashier").await, &world.operator.who);
            prepared(call, 200, 0).with_other("reason", "another person")
        }
        Endpoint::StaffInvite => {
            make(world, "/v1/admin/staff", &invitation(&new_id(), "viewer")).with_other("roles", json!(["auditor"]))
        }
        Endpoint::StaffChange => {
            let path = format!("/v1/admin/staff/{}", invited(world, "viewer").await);
            change(world, &path, &json!({"status": "disabled"})).with_other("roles", json!(["auditor"]))
        }
        Endpoint::StaffAccept => {
            let who = world.token("admin", &invited(world, "viewer").await, None).await;
            prepared(Call::post("/v1/admin/staff/accept", &who, &json!({})).key(new_key()), 200, 0)
        }
        Endpoint::StaffDeclare => {
            let (_, who) = member(world, "viewer").await;
            let body = json!({"account": format!("customer:{}", new_id()), "kind": "family"});
            let call = Call::post("/v1/admin/staff/me/beneficiaries", &who, &body).key(new_key());
            prepared(call, 200, 0).with_other("kind", "own")
        }
        Endpoint::RecoveryCancel => {
            let _ = requested_recovery(world, [&new_id(), &new_id()]).await;
            prepared(
                Call::post("/v1/admin/owner-recovery/cancel", &world.operator.who, &json!({})).key(new_key()),
                200,
                0,
            )
        }
        Endpoint::ShopStaffInvite => {
            let owned = owned_merchant(world).await;
            let body = invitation(&new_id(), "cashier");
            prepared(Call::post("/v1/merchant/staff", &owned.who, &body).key(new_key()), 201, 0)
                .with_other("roles", json!(["manager"]))
        }
        Endpoint::ShopStaffChange => {
            let owned = owned_merchant(world).await;
            let path = format!("/v1/merchant/staff/{}", invited_by(world, &owned, "cashier").await);
            let body = json!({"status": "disabled"});
            prepared(Call::patch(&path, &owned.who, &body).key(new_key()), 200, 0)
                .with_other("roles", json!(["manager"]))
        }
        Endpoint::ShopStaffAccept => {
            let owned = owned_merchant(world).await;
            let person = invited_by(world, &owned, "cashier").await;
            let who = world.token("merchant", &person, Some(&owned.id)).await;
            prepared(Call::post("/v1/merchant/staff/accept", &who, &json!({})).key(new_key()), 200, 0)
        }
        other => panic!("{other:?} is not of staff"),
    }
}
