//! Checks the evaluator of IAM requests against decisions that AWS documents, and against mistakes that must not pass.

use ledger_tests::cloud::iam::{Decision, Denied, Effect, Policy, Request, Unknown, authorise, matches};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const TABLE: &str = "arn:aws:dynamodb:r:1:table/t";

fn policy(statements: &Value) -> Result<Policy, Unknown> {
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(|| Unknown(value.to_string()));
    Policy::read(&json!({"Version": "2012-10-17", "Statement": statements}), &text)
}

fn allows(action: &str, resource: &str, condition: Option<Value>) -> Policy {
    let mut statement = json!({"Sid": "s", "Effect": "Allow", "Action": [action], "Resource": resource});
    if let Some(condition) = condition {
        statement["Condition"] = condition;
    }
    policy(&json!([statement])).expect("a policy")
}

fn request_for(action: &str, enclosing: Option<&str>) -> Request {
    let context = enclosing.map(|operation| ("dynamodb:enclosingoperation".to_owned(), vec![operation.to_owned()]));
    Request { action: action.to_owned(), resource: TABLE.to_owned(), context: context.into_iter().collect() }
}

fn everything() -> Policy {
    allows("*", "*", None)
}

#[track_caller]
fn assert_decision(policy: &Policy, request: &Request, expected: Result<(), Denied>) {
    assert_eq!(authorise(policy, &everything(), request), expected, "{request}");
}

#[test]
fn request_needs_role_and_boundary() {
    let (reads, writes) = (allows("dynamodb:GetItem", TABLE, None), allows("dynamodb:PutItem", TABLE, None));
    let get = request_for("dynamodb:GetItem", None);
    assert_eq!(authorise(&reads, &reads, &get), Ok(()));
    assert_eq!(authorise(&reads, &writes, &get), Err(Denied::NotByBoundary));
    assert_eq!(authorise(&writes, &reads, &get), Err(Denied::NotByRole));
    assert_eq!(authorise(&writes, &writes, &get), Err(Denied::NotByRole));
}

#[test]
fn denial_in_role_or_boundary_wins() {
    let denies = json!({"Sid": "no", "Effect": "Deny", "Action": "dynamodb:*", "Resource": "*"});
    let allows = json!({"Sid": "yes", "Effect": "Allow", "Action": "*", "Resource": "*"});
    let get = request_for("dynamodb:GetItem", None);
    for statements in [json!([denies, allows]), json!([allows, denies])] {
        let policy = policy(&statements).expect("a policy");
        assert_eq!(authorise(&policy, &everything(), &get), Err(Denied::By("no".to_owned())));
        assert_eq!(authorise(&everything(), &policy, &get), Err(Denied::By("no".to_owned())));
        assert_decision(&policy, &request_for("s3:GetObject", None), Ok(()));
    }
}

#[test]
fn for_any_value_fails_for_an_absent_key() {
    let within = json!({"ForAnyValue:StringEquals": {"dynamodb:EnclosingOperation": ["TransactWriteItems"]}});
    let policy = allows("dynamodb:PutItem", TABLE, Some(within));
    assert_decision(&policy, &request_for("dynamodb:PutItem", Some("TransactWriteItems")), Ok(()));
    assert_decision(&policy, &request_for("dynamodb:PutItem", Some("TransactGetItems")), Err(Denied::NotByRole));
    // The planted mistake: a single write does not have this key.
    assert_decision(&policy, &request_for("dynamodb:PutItem", None), Err(Denied::NotByRole));
}

#[test]
fn for_all_values_holds_for_an_absent_key() {
    let outside = json!({"ForAllValues:StringNotEquals": {"dynamodb:EnclosingOperation": ["TransactWriteItems"]}});
    let mut policy = allows("dynamodb:PutItem", TABLE, Some(outside.clone()));
    policy.statements[0].effect = Effect::Deny;
    let policy = Policy::joined([policy, everything()]);
    assert_decision(&policy, &request_for("dynamodb:PutItem", None), Err(Denied::By("s".to_owned())));
    assert_decision(&policy, &request_for("dynamodb:PutItem", Some("Other")), Err(Denied::By("s".to_owned())));
    assert_decision(&policy, &request_for("dynamodb:PutItem", Some("TransactWriteItems")), Ok(()));
    // An Allow with `ForAllValues` would allow it, too.
    let hole = allows(
        "dynamodb:PutItem",
        TABLE,
        Some(json!({
            "ForAllValues:StringEquals": {"dynamodb:EnclosingOperation": ["TransactWriteItems"]},
        })),
    );
    assert_decision(&hole, &request_for("dynamodb:PutItem", None), Ok(()));
}

#[test]
fn comparison_takes_one_value_or_an_absent_key() {
    let equal = |operator: &str| allows("a:B", "*", Some(json!({operator: {"K": ["x", "y"]}})));
    let with = |values: &[&str]| {
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        let context = if values.is_empty() { BTreeMap::new() } else { BTreeMap::from([("k".to_owned(), values)]) };
        Request { action: "a:B".to_owned(), resource: "r".to_owned(), context }
    };
    for (values, equals, differs) in [(&[][..], false, true), (&["y"], true, false), (&["Y"], false, true)] {
        assert_eq!(equal("StringEquals").decide(&with(values)) == Ok(Decision::Allowed), equals, "{values:?}");
        assert_eq!(equal("StringNotEquals").decide(&with(values)) == Ok(Decision::Allowed), differs, "{values:?}");
    }
    assert!(equal("StringEquals").decide(&with(&["x", "y"])).is_err());
    let unknown = authorise(&equal("StringEquals"), &everything(), &with(&["x", "y"]));
    assert!(matches!(unknown, Err(Denied::Unknown(_))), "{unknown:?}");
}

#[test]
fn all_conditions_must_hold() {
    let both = json!({"StringEquals": {"a:One": "1", "a:Two": "2"}});
    let policy = allows("a:B", "*", Some(both));
    let with = |keys: &[(&str, &str)]| Request {
        action: "a:B".to_owned(),
        resource: "r".to_owned(),
        context: keys.iter().map(|(key, value)| ((*key).to_owned(), vec![(*value).to_owned()])).collect(),
    };
    assert_decision(&policy, &with(&[("a:one", "1"), ("a:two", "2")]), Ok(()));
    assert_decision(&policy, &with(&[("a:one", "1")]), Err(Denied::NotByRole));
    assert_decision(&policy, &with(&[("a:one", "1"), ("a:two", "1")]), Err(Denied::NotByRole));
}

#[test]
fn patterns_match_wildcards() {
    for (pattern, text, fits) in [
        ("*", "", true),
        ("*", "a", true),
        ("", "a", false),
        ("table/t", "table/t", true),
        ("table/t", "table/t2", false),
        ("table/t", "table/t/index/due", false),
        ("table/*", "table/t/index/due", true),
        ("table/t/index/*", "table/t", false),
        ("*/due", "table/t/index/due", true),
        ("t*e/?", "table/t", true),
        ("t*e/?", "table/tt", false),
        ("*a*b", "aab", true),
        ("*a*b", "aba", false),
        ("a**", "a", true),
    ] {
        assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
    }
    assert_decision(&allows("DynamoDB:get*", TABLE, None), &request_for("dynamodb:GetItem", None), Ok(()));
    let elsewhere = allows("dynamodb:GetItem", &TABLE.to_uppercase(), None);
    assert_decision(&elsewhere, &request_for("dynamodb:GetItem", None), Err(Denied::NotByRole));
}

#[test]
fn policy_with_an_unsupported_part_is_refused() {
    let good = json!({"Sid": "s", "Effect": "Allow", "Action": "a:B", "Resource": "*"});
    assert!(policy(&json!([good])).is_ok());
    for (field, value) in [
        ("NotAction", json!("a:C")),
        ("NotResource", json!("r")),
        ("Principal", json!("*")),
        ("Effect", json!("allow")),
        ("Action", json!([])),
        ("Action", json!(null)),
        ("Resource", json!("arn:${aws:username}")),
        ("Resource", json!("")),
        ("Condition", json!({"StringLike": {"k": "*"}})),
        ("Condition", json!({"StringEqualsIfExists": {"k": "v"}})),
        ("Condition", json!({"ForSomeValues:StringEquals": {"k": "v"}})),
        ("Condition", json!({"StringEquals": {"k": []}})),
        ("Condition", json!({"StringEquals": "v"})),
        ("Condition", json!("v")),
    ] {
        let mut bad = good.clone();
        bad[field] = value;
        assert!(policy(&json!([bad])).is_err(), "{bad}");
    }
    assert!(policy(&json!([])).is_err());
    assert!(policy(&json!(["s"])).is_err());
}
