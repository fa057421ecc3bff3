//! The pages that declare every attribute say what is in the table: in every golden vector, and in a tenant in which every endpoint
//! was called and every worker ran.
use ledger_core::keys::ITEM_FORMS;
use ledger_local::items::{ItemPages, Section};
use ledger_runtime::publishing::Publisher;
use ledger_runtime::reconcile::{Outlets, Settings};
use ledger_runtime::worker::Due;
use ledger_tests::cloud::gate;
use ledger_tests::declared_items::{Compared, check, compare_vectors};
use ledger_tests::http::endpoints::{Endpoint, Stage};
use ledger_tests::http::event_tap::EventTap;
use ledger_tests::http::world::World;
use ledger_tests::share;
use std::collections::BTreeSet;
use std::sync::Arc;

const BUDGET: &str = "The budget of an asset";
const NO_BUDGET: &str = "no asset of a vector has a budget";
/// An entry's value that does not fit the compact form keeps its name.
const EXPANDED: &str = "a value that does not fit the compact form: properties of `journal::compact` have them";
const NO_VECTOR: &str = "no vector has such an item; tests of the running stack have";
const LEFT_OUT: &str = "vectors leave it out";
const LEGACY: &str = "the migration moves whatever a balance has; no vector has it in the legacy model";

/// Attributes that no vector has, by section, with the reason.
const NOT_IN_VECTORS: [(&str, &[&str], &str); 19] = [
    ("Every item", &["f"], "no release writes it: only a later one does"),
    ("Every item", &["_tx", "_of"], LEFT_OUT),
    ("A marker", &["location"], "no vector's answer has one; answers of the running stack have"),
    (
        "Every entry",
        &[
            "transaction_id",
            "operation",
            "principal",
            "actor",
            "idempotency_key",
            "merchant_id",
            "payment_id",
            "refund_id",
            "payment_status",
            "topup_id",
            "settlement_id",
            "adjustment_id",
            "requested_by",
            "reverses",
            "reverses_operation",
            "co2_rate",
            "co2_source",
            "co2_version",
            "terms_version",
        ],
        EXPANDED,
    ),
    ("A journal entry", &["postings"], EXPANDED),
    ("A journal entry", &["taken_from"], NO_VECTOR),
    ("A reference to an entry", &["home", "changes"], EXPANDED),
    ("A step to the outside", &["refund_id", "settlement_id", "task"], LEFT_OUT),
    ("A balance of a merchant", &["corrections", "corrected_at"], NO_VECTOR),
    ("A line of a job", &["customer_id"], NO_VECTOR),
    ("The active accounts of a batch", &["cards"], NO_VECTOR),
    (BUDGET, &["asset", "budget", "issued", "remaining"], NO_BUDGET),
    ("Every legacy balance", &["<asset>_reserved", "<asset>_owed"], LEGACY),
    ("Every legacy balance", &["<asset>_corrections", "<asset>_corrected_at"], LEGACY),
    ("The aggregates of the legacy model", &["refunds", "refunded_total"], LEGACY),
    ("A God Record", &["metrics_refunds", "metrics_refunded_total"], LEGACY),
    (
        "The last pass of a migration",
        &["kind", "state", "migration_fence", "phase", "requested_by", "per_second"],
        NO_VECTOR,
    ),
    ("The last pass of a migration", &["fence", "lease_until", "after", "finished_at"], NO_VECTOR),
    ("The last pass of a migration", &["customers", "changed", "left", "concerns", "examples"], NO_VECTOR),
];

fn lines<T: std::fmt::Debug>(of: impl IntoIterator<Item = T>) -> String {
    of.into_iter().map(|line| format!("{line:?}\n")).collect()
}

#[test]
fn vectors_have_declared_attributes_alone_and_all_of_them() {
    let pages = ItemPages::read().unwrap();
    let mut compared = Compared::new(&pages);
    compare_vectors(&mut compared);
    assert!(compared.undeclared.is_empty(), "no page declares:\n{}", lines(&compared.undeclared));
    let excepted: BTreeSet<(&str, &str)> =
        NOT_IN_VECTORS.iter().flat_map(|(section, names, _)| names.iter().map(move |name| (*section, *name))).collect();
    let is_used = |(section, name): &(&str, &str)| compared.used.contains(&((*section).to_owned(), (*name).to_owned()));
    let declared: BTreeSet<(&str, &str)> =
        pages.sections().iter().flat_map(|of| of.attributes.iter().map(|row| (of.name, row.name))).collect();
    let unused: Vec<_> = declared.iter().filter(|row| !is_used(row) && !excepted.contains(*row)).collect();
    assert!(unused.is_empty(), "declared, and in no vector:\n{}", lines(unused));
    let is_met = |of: &&Section| of.keys.is_empty() || of.name == BUDGET || compared.kinds.contains(of.name);
    let unmet: Vec<_> = pages.sections().iter().filter(|of| !is_met(of)).map(|of| of.name).collect();
    assert!(unmet.is_empty(), "kinds in no vector:\n{}", lines(unmet));
    let written: Vec<_> = excepted.iter().filter(|row| is_used(row) || !declared.contains(*row)).collect();
    assert!(written.is_empty(), "excepted without need:\n{}", lines(written));
}

#[test]
fn kinds_are_those_of_the_keys() {
    let pages = ItemPages::read().unwrap();
    // A name in angle brackets is another one on the pages.
    let unnamed = |form: &str| {
        let parts: Vec<&str> =
            form.split('<').map(|part| part.split_once('>').map_or(part, |(_, rest)| rest)).collect();
        parts.join("<>")
    };
    let declared: BTreeSet<[String; 2]> = ITEM_FORMS
        .iter()
        .map(|form| [format!("<>#{}", unnamed(form.partition)), unnamed(form.sort_key)])
        // A period is a lane and a number, and a closed day is of the tenant alone.
        .map(|[partition, sort]| match sort.as_str() {
            "PERIOD#<>" | "PERIOD_BACK#<>" => [partition, format!("{sort}#<>")],
            "DAY#<>" => ["<>#totals#tenant".to_owned(), sort],
            _ => [partition, sort],
        })
        .collect();
    let sections = pages.sections().iter().flat_map(|section| &section.keys);
    let sections = sections.map(|[partition, sort]| [unnamed(partition), unnamed(sort)]);
    // The registry is a table of its own.
    let sections: BTreeSet<[String; 2]> = sections.filter(|[partition, _]| partition != "tenants#<>").collect();
    let differ: Vec<_> = sections.symmetric_difference(&declared).collect();
    assert!(differ.is_empty(), "in one of keys/kinds.rs and the pages:\n{}", lines(differ));
}

async fn run_every_worker(world: &World) {
    let (app, tenant) = (&world.app, world.slug());
    let publisher = Publisher::new(app, Arc::new(EventTap::default()));
    let due = Due::everything(tenant.clone());
    let (outlets, settings) = (Outlets::default(), Settings::of(app));
    // What fails has written what it has written.
    let _ = gate::as_function("jobs", jobs::run_due(app, &tenant)).await;
    let _ = gate::as_function("outbox", outbox::run_due(app, &tenant)).await;
    let _ = gate::as_function("outbox", outbox::pass_and_fold(app, Some(&publisher), &tenant)).await;
    let _ = gate::as_function("reconcile", reconcile::run_as((app, &outlets), &due, &settings)).await;
}

#[tokio::test]
async fn stored_items_have_declared_attributes_alone() {
    let stage = Stage::new(World::alone("items").await).await;
    let world = &stage.world;
    for endpoint in share::of_family(Endpoint::ALL.into_iter().filter(|endpoint| !endpoint.is_migrations())) {
        let call = endpoint.prepare(&stage).await.call;
        let _ = world.api.send(&call).await;
    }
    for _ in 0..3 {
        run_every_worker(world).await;
    }
    check(&world.stored("items").await);
}
