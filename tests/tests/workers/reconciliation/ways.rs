//! Breaks of wallets and cards that an adjustment repairs: the run that follows is clean.

use super::planted::{found, roots};
use ledger_core::dynamo::Item;
use ledger_tests::audit::{self, n};
use ledger_tests::http::approvals::decides;
use ledger_tests::http::world::new_id;
use ledger_tests::http::{Answer, Call, Customer, World};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What a run proposes for one account.
struct Proposed {
    kind: String,
    /// The path that requests it.
    path: String,
    /// What is posted, and what is added to the exposure beyond that.
    parts: [Value; 2],
}

/// A balance item.
struct Wallet {
    pk: String,
    sk: &'static str,
}

impl Wallet {
    fn of(world: &World, customer: &Customer) -> Self {
        Self { pk: format!("{}#customer#{}", world.tenant, customer.id), sk: "BALANCE#ECOPAY" }
    }

    fn of_card(world: &World, card: &str) -> Self {
        Self { pk: format!("{}#card#{card}", world.tenant), sk: "card" }
    }

    async fn row(&self, world: &World) -> Item {
        world.books().await.row(&self.pk, self.sk).expect("a balance").clone()
    }

    /// Adds to its numbers behind the ledger's back.
    async fn add(&self, world: &World, parts: &[(&str, i64)]) {
        let mut row = self.row(world).await;
        for (name, delta) in parts {
            let number = whole(&row, name).checked_add(*delta).expect("a small number");
            row.insert((*name).to_owned(), n(number));
        }
        world.plant(row).await;
    }

    /// The available part; panics if the exposure is not the sum of the parts.
    async fn available(&self, world: &World) -> i64 {
        let row = self.row(world).await;
        if self.sk != "card" {
            let parts: i64 = ["balance", "held", "reserved"].iter().map(|part| whole(&row, part)).sum();
            assert_eq!(whole(&row, "exposure"), parts, "{row:?}");
        }
        whole(&row, "balance")
    }
}

fn whole(row: &Item, name: &str) -> i64 {
    if row.contains_key(name) { i64::try_from(audit::number(row, name)).expect("whole yen") } else { 0 }
}

/// Runs the reconciliation; returns its proposals by subject.
async fn proposals(world: &World) -> BTreeMap<String, Proposed> {
    let report = world.reconciled().await;
    let run = report["run_id"].as_str().expect("an id");
    let items = report["findings"]["items"].as_array().expect("findings").iter();
    let proposing = items.filter(|item| item.get("proposed").is_some() || item.get("proposed_exposure").is_some());
    let of = |item: &Value| {
        let text = |name: &str| item[name].as_str().expect("a text").to_owned();
        let path = format!("/v1/admin/reconciliation/runs/{run}/findings/{}/adjustment", text("finding_id"));
        let parts = ["proposed", "proposed_exposure"].map(|name| item[name].clone());
        (text("subject"), Proposed { kind: text("kind"), path, parts })
    };
    proposing.map(of).collect()
}

/// Requests what a break proposes.
async fn request(world: &World, path: &str) -> Answer {
    let call = Call::post(path, &world.operator.who, &json!({"note": "changed without an entry"})).key(new_id());
    world.api.settle(&call).await
}

async fn approve(world: &World, id: &str) -> Answer {
    world.api.settle(&decides("approve", id, &world.second.who)).await
}

#[track_caller]
fn assert_clean(report: &Value) {
    assert_eq!(report["status"], "clean", "{report}");
}

#[tokio::test]
async fn balance_that_alone_differs_is_repaired_by_one_approval() {
    let world = World::alone("ways-balance").await;
    let shop = world.merchant().await;
    let (above, below) = (world.customer_with("1000").await, world.customer_with("1000").await);
    let both = world.customer_with("1000").await;
    let card = world.card(None, "500").await;
    let subject = |customer: &Customer| format!("customer:{}", customer.id);
    // The numbers that change, what is proposed, and the balance afterwards less what is paid meanwhile.
    let plants: [(_, _, &[(&str, i64)], _, _); 4] = [
        (subject(&above), Wallet::of(&world, &above), &[("balance", 100)], [json!("-100"), json!("100")], 939),
        (subject(&below), Wallet::of(&world, &below), &[("balance", -100)], [json!("100"), json!("-100")], 1030),
        (
            subject(&both),
            Wallet::of(&world, &both),
            &[("balance", 7), ("exposure", -2)],
            [json!("-7"), json!("9")],
            1000,
        ),
        (
            format!("card:{card}"),
            Wallet::of_card(&world, &card),
            &[("balance", 100)],
            [json!("-100"), Value::Null],
            500,
        ),
    ];
    for (_, wallet, parts, ..) in &plants {
        wallet.add(&world, parts).await;
    }
    let proposed = proposals(&world).await;
    assert_eq!(proposed.len(), plants.len());
    let mut requested = Vec::new();
    for (subject, _, _, parts, _) in &plants {
        let of = &proposed[subject];
        assert_eq!((of.kind.as_str(), &of.parts), ("balance_differs", parts), "{subject}");
        requested.push(request(&world, &of.path).await.good().text("/approval_id"));
    }
    // The wallets are used between the finding and the repair, and during it.
    let _ = world.api.settle(&above.pays(&shop, "30")).await.good();
    let _ = world.api.settle(&above.sends(&below, "30")).await.good();
    let paid = world.api.settle(&above.pays(&shop, "40")).await.good().text("/payment_id");
    let _ = world.api.settle(&shop.refunds(&paid, "40")).await.good();
    let last = above.pays(&shop, "1");
    let (approved, last) = tokio::join!(approve(&world, &requested[0]), world.api.settle(&last));
    let _ = (approved.good(), last.good());
    for id in &requested[1..] {
        let _ = approve(&world, id).await.good();
    }
    assert_clean(&world.reconciled().await);
    for (subject, wallet, _, _, after) in &plants {
        assert_eq!(wallet.available(&world).await, *after, "{subject}");
    }
}

#[tokio::test]
async fn exposure_that_alone_differs_is_corrected_and_posts_nothing() {
    let world = World::alone("ways-exposure").await;
    let shop = world.merchant().await;
    let (customer, lower) = (world.customer_with("1000").await, world.customer_with("1000").await);
    let (of, of_lower) = (Wallet::of(&world, &customer), Wallet::of(&world, &lower));
    let (subject, subject_of_lower) = (format!("customer:{}", customer.id), format!("customer:{}", lower.id));
    of.add(&world, &[("exposure", 500)]).await;
    of_lower.add(&world, &[("exposure", -300)]).await;
    let before = world.books().await;
    let first = proposals(&world).await;
    let of_first = &first[&subject];
    assert_eq!((of_first.kind.as_str(), &of_first.parts), ("exposure_differs", &[Value::Null, json!("-500")]));
    assert_eq!(first[&subject_of_lower].parts, [Value::Null, json!("300")]);
    let id = request(&world, &of_first.path).await.good().text("/approval_id");
    let _ = request(&world, &of_first.path).await.problem(409, "already_exists");
    let shown = world.api.send(&Call::get(&format!("/v1/admin/approvals/{id}"), &world.second.who)).await.good().json();
    let changes = json!([{"name": "exposure", "from": "1500", "to": "1000"}]);
    assert_eq!((&shown["changes"], &shown["postings"]), (&changes, &json!([])), "{shown}");
    let own = decides("approve", &id, &world.operator.who);
    let _ = world.api.settle(&own).await.problem(403, "four_eyes_required");

    // The wallet is used, and the next nights find the same difference. One correction is made.
    let _ = world.api.settle(&customer.pays(&shop, "30")).await.good();
    let (second, third) = (proposals(&world).await, proposals(&world).await);
    assert_eq!(second[&subject].parts, of_first.parts);
    let of_second = request(&world, &second[&subject].path).await.good().text("/approval_id");
    let approval = decides("approve", &id, &world.second.who);
    let approved = world.api.settle(&approval).await;
    let _ = approved.clone().good();
    assert_eq!(world.api.settle(&approval).await.stored(), approved.stored(), "the same request again");
    let _ = approve(&world, &of_second).await.problem(400, "approval_stale");
    let _ = request(&world, &third[&subject].path).await.problem(400, "wrong_state");
    assert_eq!(of.available(&world).await, 970);
    let adjustment = Call::get(&format!("/v1/admin/adjustments/{id}"), &world.operator.who);
    let adjustment = world.api.send(&adjustment).await.good().json();
    assert_eq!((&adjustment["status"], &adjustment["exposure_delta"]), (&json!("approved"), &json!("-500")));
    assert!(adjustment.get("delta").is_none() && adjustment.get("transaction_id").is_none(), "{adjustment}");

    // The other wallet's exposure is put back by another way before the approval.
    let of_lower_id = request(&world, &third[&subject_of_lower].path).await.good().text("/approval_id");
    of_lower.add(&world, &[("exposure", 300)]).await;
    let _ = approve(&world, &of_lower_id).await.problem(400, "approval_stale");
    assert_clean(&world.reconciled().await);
    let after = world.books().await;
    assert_eq!(after.entries_of("adjustment"), before.entries_of("adjustment"), "no value moves");
    // A break that is found later is corrected as well.
    of.add(&world, &[("exposure", -1)]).await;
    let again = request(&world, &proposals(&world).await[&subject].path).await.good().text("/approval_id");
    let _ = approve(&world, &again).await.good();
    assert_clean(&world.reconciled().await);
}

/// The customer has spent what was added without an entry. The operator bears it: the same amount is credited first.
#[tokio::test]
async fn balance_that_was_spent_is_credited_before_it_is_repaired() {
    let world = World::alone("ways-spent").await;
    let shop = world.merchant().await;
    let customer = world.customer_with("50").await;
    let of = Wallet::of(&world, &customer);
    of.add(&world, &[("balance", 100)]).await;
    let _ = world.api.settle(&customer.pays(&shop, "150")).await.good();
    let (_, proposed) = proposals(&world).await.pop_first().expect("a proposal");
    assert_eq!(proposed.parts, [json!("-100"), json!("100")]);
    let id = request(&world, &proposed.path).await.good().text("/approval_id");
    let _ = approve(&world, &id).await.problem(400, "insufficient_balance");
    world.adjust(&json!({"customer_id": customer.id}), "credit", "100").await;
    let _ = approve(&world, &id).await.good();
    assert_clean(&world.reconciled().await);
    assert_eq!(of.available(&world).await, 0);
}

/// While another part of a balance differs, nothing is proposed; once that is put back, the rest is.
#[tokio::test]
async fn balance_is_repaired_after_its_other_parts_are_put_back() {
    let world = World::alone("ways-parts").await;
    let customer = world.customer_with("1000").await;
    let of = Wallet::of(&world, &customer);
    of.add(&world, &[("balance", -100), ("held", 100)]).await;
    let report = world.reconciled().await;
    let subject = format!("customer:{}", customer.id);
    let both = &found("balance_differs", &subject) | &found("held_differs", &subject);
    assert_eq!(roots(&report), both, "{report}");
    assert!(report["findings"]["items"].as_array().expect("findings").iter().all(|of| of.get("proposed").is_none()));
    of.add(&world, &[("held", -100)]).await;
    let (_, proposed) = proposals(&world).await.pop_first().expect("a proposal");
    assert_eq!(proposed.parts, [json!("100"), json!("-100")]);
    let id = request(&world, &proposed.path).await.good().text("/approval_id");
    let _ = approve(&world, &id).await.good();
    assert_clean(&world.reconciled().await);
    assert_eq!(of.available(&world).await, 1000);
}
