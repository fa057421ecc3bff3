//! Every role on every endpoint, call by call, and the page that shows it.

use http::Method;
use ledger_core::approvals::{CLASS_CUSTOMERS_MIN, COMMAND_RULES, ScopeRule};
use ledger_core::permission::{Permission, Staff};
use ledger_core::staff::StaffRole;
use ledger_tests::http::contract::document;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Call, Who, World, staff};
use serde_json::Value;
use std::fmt::Write as _;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/permissions.md");

/// An endpoint of staff, as the document states it.
struct Declared {
    method: String,
    path: String,
    permission: Permission,
}

fn declared() -> Vec<Declared> {
    let document = document();
    let mut all = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let Some(name) = operation["x-permission"].as_str() else { continue };
            let permission = Permission::parse(name).unwrap_or_else(|| panic!("{method} {path}: {name}"));
            all.push(Declared { method: method.to_uppercase(), path: path.clone(), permission });
        }
    }
    assert!(all.len() > 60, "{} endpoints of staff", all.len());
    all
}

impl Declared {
    /// A request that is permitted or not, whatever else is wrong with it.
    fn call(&self, who: &Who) -> Call {
        let segment = |part: &str| if part.starts_with('{') { new_id() } else { part.to_owned() };
        let path = self.path.split('/').map(segment).collect::<Vec<_>>().join("/");
        let call = Call::get(&path, who);
        match self.method.as_str() {
            "GET" => call,
            method => {
                let method = method.parse::<Method>().expect("a method");
                Call { method, ..call }.json(&serde_json::json!({})).key(new_key())
            }
        }
    }
}

async fn check(world: &World, role: StaffRole, who: &Who) {
    for declared in declared().iter().filter(|declared| declared.permission.staff() == role.staff()) {
        let answer = world.api.send(&declared.call(who)).await;
        let denied = answer.code().as_deref() == Some("permission_missing");
        let what = format!("{role}: {} {}: {answer:?}", declared.method, declared.path);
        assert_eq!(denied, !role.has(declared.permission), "{what}");
        if denied {
            assert_eq!(
                (answer.status, answer.text("/permission").as_str()),
                (403, declared.permission.name()),
                "{what}"
            );
        }
        assert_ne!(answer.status, 401, "{what}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_role_may_call_exactly_what_it_permits() {
    let world = World::new("matrix").await;
    for role in StaffRole::all(Staff::Operator) {
        let (_, who) = staff::member(&world, role.name()).await;
        check(&world, role, &who).await;
    }
    let owned = world.merchant().await;
    for role in StaffRole::all(Staff::Merchant) {
        let (_, who) = staff::shop_member(&world, &owned, role.name()).await;
        check(&world, role, &who).await;
    }
    // A token without a record permits nothing, and so does a record of another merchant.
    let [stranger, elsewhere] = [new_id(), new_id()];
    let unknown = world.token("admin", &stranger, None).await;
    let other = world.token("merchant", &elsewhere, Some(&owned.id)).await;
    for declared in declared() {
        let who = match declared.permission.staff() {
            Staff::Operator => &unknown,
            Staff::Merchant => &other,
        };
        let _ = world.api.send(&declared.call(who)).await.problem(403, "permission_missing");
    }
}

/// The page is generated: `UPDATE=1 cargo test -p ledger-tests --test http permissions::matrix::page`.
#[test]
fn page() {
    let text = text();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(PAGE, &text).expect("the page is written");
    }
    let kept = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(kept == text, "docs/permissions.md is out of date: run this test with UPDATE=1");
}

fn text() -> String {
    let mut text = String::from(
        "# Who may do what?\n\n\
         A person's roles are on the person's staff record, and each endpoint needs one permission. A token identifies the\n\
         person and permits nothing by itself. This page is generated from the code; a test calls every endpoint in every\n\
         role. [Staff](architecture/staff.md) explains the records.\n",
    );
    for (staff, title) in [(Staff::Operator, "the operator's staff"), (Staff::Merchant, "a merchant's staff")] {
        let roles: Vec<StaffRole> = StaffRole::all(staff).collect();
        let _ = write!(text, "\n## What may {title} do?\n\n| permission |");
        for role in &roles {
            let _ = write!(text, " {role} |");
        }
        text.push_str("\n|---|");
        text.push_str(&"---|".repeat(roles.len()));
        text.push('\n');
        for permission in Permission::ALL.iter().filter(|permission| permission.staff() == staff) {
            let _ = write!(text, "|`{}`|", permission.name());
            for role in &roles {
                text.push_str(if role.has(*permission) { "x|" } else { "|" });
            }
            text.push('\n');
        }
    }
    text.push_str("\n## Which endpoint needs which permission?\n\n| permission | endpoints |\n|---|---|\n");
    let declared = declared();
    for permission in Permission::ALL {
        let of = declared.iter().filter(|declared| declared.permission == *permission);
        let endpoints: Vec<String> = of.map(|declared| format!("`{} {}`", declared.method, declared.path)).collect();
        let endpoints = if endpoints.is_empty() { in_addition(*permission).to_owned() } else { endpoints.join("<br>") };
        let _ = writeln!(text, "| `{}` | {endpoints} |", permission.name());
    }
    text.push_str(&commands());
    text
}

/// The commands of two people.
fn commands() -> String {
    let mut text = String::from(
        "\n## Which command takes two people, and whose ties are asked?\n\n\
         Who asks has the permission of the command, who decides has `approvals.decide` and did not ask. A member with an own\n\
         [tie](architecture/ties.md) to a named account does neither. One with a tie of the family or a business decides on it\n\
         while no other member may. A tie to one of a class is shown and recorded.\n\n\
         The states are those in which a request is stored, and after an arrow those in which a decision executes it. Without an\n\
         arrow they are the same.\n\n\
         | command | who asks | named or class | whose ties | in which states of its subject |\n|---|---|---|---|---|\n",
    );
    for rule in COMMAND_RULES {
        let scope = match rule.scope {
            ScopeRule::Named => "named".to_owned(),
            ScopeRule::Class => "class".to_owned(),
            ScopeRule::ByCount => format!("named; class from {CLASS_CUSTOMERS_MIN} customers on"),
        };
        let permission = rule.permission.name();
        let (operation, ties, states) = (rule.operation, rule.accounts, rule.states());
        let _ = writeln!(text, "| `{operation}` | `{permission}` | {scope} | {ties} | {states} |");
    }
    text
}

/// What a permission is for that no endpoint needs alone.
fn in_addition(permission: Permission) -> &'static str {
    assert_eq!(permission, Permission::DestinationsChange, "no endpoint needs {}", permission.name());
    "`PATCH /v1/admin/merchants/{merchant_id}` with a `payout_destination`, in addition"
}

/// The OpenAPI document has the same words as the core.
#[test]
fn roles_in_the_document_are_those_of_the_core() {
    let document = document();
    let words = &document["components"]["schemas"]["StaffView"]["properties"]["roles"]["items"];
    let words = match words["$ref"].as_str() {
        Some(to) => document.pointer(to.trim_start_matches('#')).expect("a schema"),
        None => words,
    };
    let mut stated: Vec<&str> = words["enum"].as_array().expect("words").iter().filter_map(Value::as_str).collect();
    let all = StaffRole::all(Staff::Operator).chain(StaffRole::all(Staff::Merchant));
    let mut known: Vec<&str> = all.map(StaffRole::name).collect();
    for names in [&mut stated, &mut known] {
        names.sort_unstable();
        names.dedup();
    }
    assert_eq!(stated, known);
}
