//! Limits of single accounts, as the operator changes them.

use super::World;
use super::prepared::{Prepared, make};
use crate::cloud::gate;
use ledger_core::failure::Failure;
use ledger_core::ids::Actor;
use ledger_core::limits::{Holder, LimitChange};
use ledger_core::money::{Asset, AssetSpec};
use ledger_core::operation::Operation;
use ledger_core::tenants;
use serde_json::{Value, json};

/// The body of a change: one rule in yen.
#[must_use]
pub fn body(account: &str, rule: &str, to: &str) -> Value {
    json!({"account": account, "asset": "ECOPAY", "limits": {rule: to}})
}

/// The request that changes the limits of a customer, in a tenant that limits something else.
pub(super) async fn prepare(world: &World) -> Prepared {
    let (app, tenant) = (&world.app, world.slug());
    let spec = AssetSpec::finest(Asset::Jcredit);
    let change = LimitChange::parse(Holder::Customer, &spec, "pay_month=100000").expect("a rule");
    let write = async {
        let cx = app.ledger().context(app.now()).expect("a context");
        let of = (Holder::Customer, spec.asset());
        let limits = tenants::set_limits(&tenant, None, of, (&[change], None), Actor::System, &cx).expect("limits");
        match app.ledger().apply(&tenant, Operation::TenantConfigure, &limits).await {
            Ok(()) => {}
            // An earlier request of the test set them.
            Err(error) => assert_eq!(error.failure(), Some(Failure::StalePlan), "{error:?}"),
        }
    };
    gate::as_test(write).await;
    let account = format!("customer:{}", world.customer().await.id);
    let made = make(world, "/v1/admin/account-limits", &body(&account, "pay_day", "20000"));
    Prepared { status: 200, ..made.with_other("limits", json!({"pay_day": "none"})) }
}
