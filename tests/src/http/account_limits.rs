//! Limits of single accounts, as the operator changes them.

use super::World;
use super::prepared::{Prepared, make};
use crate::cloud::gate;
use ledger_core::dynamo::Value as Attribute;
use ledger_core::keys;
use ledger_core::limits::{Holder, LimitChange, LimitTerms};
use ledger_core::money::{Asset, AssetSpec};
use serde_json::{Value, json};

/// The body of a change: one rule in yen.
#[must_use]
pub fn body(account: &str, rule: &str, to: &str) -> Value {
    json!({"account": account, "asset": "ECOPAY", "limits": {rule: to}})
}

/// The request that changes the limits of a customer, in a tenant that limits something else.
pub(super) async fn prepare(world: &World) -> Prepared {
    gate::as_test(limit_jcredit(world)).await;
    let account = format!("customer:{}", world.customer().await.id);
    let made = make(world, "/v1/admin/account-limits", &body(&account, "pay_day", "20000"));
    Prepared { status: 200, ..made.with_other("limits", json!({"pay_day": "none"})) }
}

/// Gives the tenant a limit of JCREDIT, as if it had been opened with it: a version of its terms would hold ten minutes later.
/// A tenant that has limits keeps them.
async fn limit_jcredit(world: &World) {
    let key = keys::config(&world.slug());
    let mut config = world.app.dynamo().get(&key).await.expect("the table").expect("a tenant");
    if config.contains_key("limits") {
        return;
    }
    let spec = AssetSpec::finest(Asset::Jcredit);
    let change = LimitChange::parse(Holder::Customer, &spec, "pay_month=100000").expect("a rule");
    let limits = LimitTerms::none().with(Holder::Customer, spec.asset(), &change);
    let _ = config.insert("limits".to_owned(), Attribute::M(limits.item()));
    world.plant(config).await;
    world.app.records().forget_tenant(&world.slug());
}
