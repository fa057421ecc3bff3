//! Rules for every policy: no wildcards except those listed here, and of the table only reads by key and writes in
//! transactions.

use ledger_local::stack::TABLE_DEFAULT;
use ledger_tests::cloud::Template;
use ledger_tests::cloud::iam::{
    Condition, Decision, Denied, Effect, Policy, Quantifier, Request, Statement, authorise,
};
use ledger_tests::cloud::refs::table_arn;
use ledger_tests::cloud::template::BOUNDARY;
use ledger_tests::{sources, tree};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Statements that allow a pattern of resources: policy, statement, and reason.
const PATTERNS: [(&str, &str, &str); 21] = [
    ("*", "Log", "streams of a log group are named by Lambda"),
    ("*", "Trace", "X-Ray actions have no resource types"),
    ("AdminRole", "ReadMetricsBack", "reading CloudWatch metrics has no resource type"),
    ("OutboxRole", "FindTheStream", "the DynamoDB action has no resource type"),
    ("AdminRole", "LinkFiles", "a file is named by its job"),
    ("ReconcileRole", "KeepReports", "a report is named by its run"),
    ("ReconcileRole", "KeepFiles", "a file is named by its job"),
    ("ReconcileExportRole", "ReadTheExport", "DynamoDB names an export"),
    ("ReconcileExportRole", "KeepFacts", "facts are named by their run"),
    ("ReconcileExportRole", "KeepReports", "a report is named by its run"),
    (EXPORTER, "LookAtTheExport", "DynamoDB names an export"),
    (EXPORTER, "KeepTheExport", "DynamoDB names an export"),
    (EXPORTER, "LookAfterItsParts", "executions are named by Step Functions"),
    (BOUNDARY, "Read", "each role names its indexes; the boundary's size is limited"),
    (BOUNDARY, "KeepFacts", "facts are named by their run"),
    (BOUNDARY, "KeepFiles", "a file is named by its job, a report by its run"),
    (BOUNDARY, "ReadStream", "a stream's label is its creation time"),
    (BOUNDARY, "OnNoResource", "these CloudWatch, DynamoDB and X-Ray actions have no resource types"),
    ("RollOutRole", "MoveTheAliases", "the part after a function's name is the alias"),
    ("RollOutRole", "LookAtProvisionedConcurrency", "the part after a function's name is the alias"),
    ("RollOutRole", "LookAtTheAlarms", "describing several CloudWatch alarms has no resource type"),
];

const READS: [&str; 3] = ["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query"];
const WRITES: [&str; 2] = ["dynamodb:PutItem", "dynamodb:UpdateItem"];
/// Exists only in transactions, and AWS has no condition key for the enclosing operation on it.
const CHECK: &str = "dynamodb:ConditionCheckItem";
const STREAM: [&str; 3] = ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"];
const STREAMS: &str = "dynamodb:ListStreams";
/// Actions that no function may ever do, whatever a role allows.
const NEVER: [&str; 6] = [
    "dynamodb:BatchWriteItem",
    "dynamodb:DeleteItem",
    "dynamodb:PartiQLDelete",
    "dynamodb:PartiQLInsert",
    "dynamodb:PartiQLSelect",
    "dynamodb:PartiQLUpdate",
];
/// The only policies that may allow scans of the table.
const SCANS: [&str; 3] = ["MigrateRole", "ReconcileRole", BOUNDARY];
/// The only policy that may allow exports of the table: the state machine's that reconciles exports.
const EXPORTER: &str = "ReconcileExportMachineRole";
const EXPORTS: [&str; 2] = ["dynamodb:DescribeExport", "dynamodb:ExportTableToPointInTime"];
const TRANSACTION: &str = "TransactWriteItems";
const ENCLOSING: &str = "dynamodb:enclosingoperation";

/// Whether a function's own code contains one of these words.
pub(crate) fn code_contains(binary: &str, words: &[&str]) -> bool {
    let start = tree::root().join(format!("crates/ledger-aws/src/bin/{binary}.rs"));
    let files = sources(&[&format!("functions/{binary}/src")]).into_iter().chain([start]);
    let texts = files.map(std::fs::read_to_string);
    let texts: Vec<String> = texts.map(|text| text.expect("a source")).collect();
    texts.iter().any(|text| words.iter().any(|word| text.contains(word)))
}

/// Every role's policy, and the boundary.
fn policies(template: &Template) -> Vec<(String, Policy)> {
    let read = |id: &str| (id.to_owned(), template.role(id).unwrap_or_else(|unknown| panic!("{id}: {unknown}")));
    let mut policies: Vec<_> = template.roles().map(read).collect();
    policies.push((BOUNDARY.to_owned(), template.boundary().expect("a policy")));
    policies
}

/// Violations of the rules.
fn wrong(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, policy) in policies(template) {
        let names: BTreeSet<&str> = policy.statements.iter().map(|statement| statement.sid.as_str()).collect();
        if names.len() != policy.statements.len() {
            found.push(format!("{id}: two statements have one name"));
        }
        let allowing = policy.statements.iter().filter(|statement| statement.effect == Effect::Allow);
        found.extend(allowing.flat_map(|statement| wrong_in(&id, statement)));
    }
    found
}

fn wrong_in(policy: &str, statement: &Statement) -> Vec<String> {
    let is_pattern = |text: &String| text.contains(['*', '?']);
    let sid = &statement.sid;
    let named = PATTERNS.iter().any(|(of, name, _)| (*of == "*" || *of == policy) && name == sid);
    let mut found: Vec<String> = Vec::new();
    found.extend(
        statement.actions.iter().filter(|action| is_pattern(action)).map(|action| format!("the action {action}")),
    );
    if !named {
        found.extend(statement.resources.iter().filter(|of| is_pattern(of)).map(|of| format!("the resource {of}")));
    }
    for action in statement.actions.iter().filter(|action| action.to_lowercase().starts_with("dynamodb:")) {
        let is = |actions: &[&str]| actions.contains(&action.as_str());
        let within = Condition {
            quantifier: Quantifier::Any,
            negated: false,
            key: ENCLOSING.to_owned(),
            values: vec![TRANSACTION.to_owned()],
        };
        let is_named = (action == "dynamodb:Scan" && SCANS.contains(&policy))
            || (is(&EXPORTS) && policy == EXPORTER)
            || (action == STREAMS && named);
        if is(&WRITES) && statement.conditions != [within] {
            found.push(format!("{action} outside of a transaction"));
        } else if is_named {
            continue;
        } else if action == CHECK && !statement.conditions.is_empty() {
            found.push(format!("{action} under a condition key that AWS does not support for it"));
        } else if !is(&READS) && !is(&WRITES) && !is(&STREAM) && action != CHECK {
            found.push(action.clone());
        }
        let resources = statement.resources.iter();
        let streams = resources.clone().all(|of| of.starts_with(&(table_arn(TABLE_DEFAULT) + "/stream/")));
        let indexes = resources.clone().filter(|of| of.contains("/index/")).count();
        if is(&STREAM) != streams || (indexes > 0 && (action != "dynamodb:Query" && policy != BOUNDARY)) {
            found.push(format!("{action} on {:?}", statement.resources));
        }
    }
    found.into_iter().map(|what| format!("{policy}: {sid}: {what}")).collect()
}

#[test]
fn policies_follow_the_rules() {
    let template = Template::read();
    assert_eq!(wrong(&template), Vec::<String>::new());
    // Every exception is still used.
    for (of, sid, why) in PATTERNS {
        let applies = |id: &str, statement: &Statement| {
            (of == "*" || of == id) && statement.sid == sid && statement.resources.iter().any(|of| of.contains('*'))
        };
        let used = policies(&template).iter().any(|(id, policy)| policy.statements.iter().any(|of| applies(id, of)));
        assert!(used, "{of}: {sid}: {why}");
    }
}

#[test]
fn violations_of_the_rules_are_found() {
    let arn = table_arn(TABLE_DEFAULT);
    for (what, change) in [
        ("a plain write", json!({"Action": ["dynamodb:UpdateItem"], "Resource": arn})),
        (
            "a write without the condition key",
            json!({
                "Action": ["dynamodb:UpdateItem"], "Resource": arn,
                "Condition": {"ForAllValues:StringEquals": {"dynamodb:EnclosingOperation": [TRANSACTION]}},
            }),
        ),
        (
            "a write in another call too",
            json!({
                "Action": ["dynamodb:UpdateItem"], "Resource": arn,
                "Condition": {"ForAnyValue:StringEquals": {"dynamodb:EnclosingOperation": [TRANSACTION, "Other"]}},
            }),
        ),
        ("everything", json!({"Action": ["dynamodb:*"], "Resource": arn})),
        (
            "a check under a condition",
            json!({
                "Action": [CHECK], "Resource": arn,
                "Condition": {"ForAnyValue:StringEquals": {"dynamodb:EnclosingOperation": [TRANSACTION]}},
            }),
        ),
        ("a scan", json!({"Action": ["dynamodb:Scan"], "Resource": arn})),
        ("an export", json!({"Action": ["dynamodb:ExportTableToPointInTime"], "Resource": arn})),
        (
            "a deletion",
            json!({
                "Action": ["dynamodb:DeleteItem"], "Resource": arn,
                "Condition": {"ForAnyValue:StringEquals": {"dynamodb:EnclosingOperation": [TRANSACTION]}},
            }),
        ),
        ("a statement of PartiQL", json!({"Action": ["dynamodb:PartiQLSelect"], "Resource": arn})),
        ("every table", json!({"Action": ["dynamodb:GetItem"], "Resource": "*"})),
        ("every index", json!({"Action": ["dynamodb:Query"], "Resource": format!("{arn}/index/*")})),
        ("every secret", json!({"Action": ["secretsmanager:GetSecretValue"], "Resource": "*"})),
        ("every queue", json!({"Action": ["sqs:SendMessage"], "Resource": "arn:aws:sqs:*:*:*"})),
    ] {
        let changed = Template::read().with(|root| {
            let statements =
                &mut root["Resources"]["OutboxRole"]["Properties"]["Policies"][0]["PolicyDocument"]["Statement"];
            let mut statement = change.clone();
            statement["Sid"] = json!("Planted");
            statement["Effect"] = json!("Allow");
            statements.as_array_mut().expect("statements").push(statement);
        });
        assert!(!wrong(&changed).is_empty(), "{what}");
    }
}

fn request_for(action: &str, enclosing: Option<&str>) -> Request {
    let context = enclosing.map(|operation| (ENCLOSING.to_owned(), vec![operation.to_owned()]));
    Request {
        action: action.to_owned(),
        resource: table_arn(TABLE_DEFAULT),
        context: context.into_iter().collect::<BTreeMap<_, _>>(),
    }
}

/// However much a role allows, its boundary limits writes to transactions, and allows no deletion.
#[test]
fn boundary_denies_writes_outside_transactions() {
    let template = Template::read();
    let boundary = template.boundary().expect("a policy");
    let everything = Policy {
        statements: vec![Statement {
            sid: "everything".to_owned(),
            effect: Effect::Allow,
            actions: vec!["*".to_owned()],
            resources: vec!["*".to_owned()],
            conditions: Vec::new(),
        }],
    };
    let decides = |action: &str, within: Option<&str>| authorise(&everything, &boundary, &request_for(action, within));
    for action in WRITES {
        assert_eq!(decides(action, Some(TRANSACTION)), Ok(()), "{action}");
        for outside in [None, Some("TransactGetItems"), Some("BatchWriteItem")] {
            assert!(decides(action, outside).is_err(), "{action} within {outside:?}");
        }
    }
    assert_eq!(decides(CHECK, Some(TRANSACTION)), Ok(()));
    for action in WRITES {
        assert_eq!(decides(action, None), Err(Denied::By("NoWriteOutsideATransaction".to_owned())));
    }
    for action in NEVER {
        for within in [None, Some(TRANSACTION)] {
            assert_eq!(decides(action, within), Err(Denied::By("Never".to_owned())), "{action}");
        }
    }
    for action in ["dynamodb:DeleteTable", "dynamodb:UpdateTable", "dynamodb:DescribeTable", "iam:PassRole"] {
        assert_eq!(decides(action, None), Err(Denied::NotByBoundary), "{action}");
    }
}

/// No role relies on its boundary for that.
#[test]
fn no_role_allows_writes_outside_transactions() {
    let template = Template::read();
    for function in template.functions() {
        let role = template.role(&function.role).expect("a policy");
        for action in WRITES.into_iter().chain(NEVER) {
            for within in [None, Some("TransactGetItems")] {
                assert_eq!(
                    role.decide(&request_for(action, within)),
                    Ok(Decision::ImplicitDeny),
                    "{}: {action}",
                    function.role
                );
            }
        }
        for action in NEVER {
            assert_eq!(
                role.decide(&request_for(action, Some(TRANSACTION))),
                Ok(Decision::ImplicitDeny),
                "{}",
                function.role
            );
        }
    }
}
