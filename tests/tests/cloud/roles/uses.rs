//! Each role allows exactly what its function was seen to do; permissions other than the table's data are listed here.

use super::{drive, migrating};
use ledger_local::faces::FACES;
use ledger_local::stack::TABLE_DEFAULT;
use ledger_tests::cloud::gate;
use ledger_tests::cloud::iam::{Effect, Policy, Quantifier, Request, authorise};
use ledger_tests::cloud::refs::table_arn;
use ledger_tests::cloud::{Function, Template};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

type RequestsByFunction = BTreeMap<&'static str, BTreeSet<Request>>;

/// An action on a resource.
type Use = (String, String);

const DATA: [&str; 8] = [
    "dynamodb:BatchGetItem",
    "dynamodb:ConditionCheckItem",
    "dynamodb:DeleteItem",
    "dynamodb:GetItem",
    "dynamodb:PutItem",
    "dynamodb:Query",
    "dynamodb:Scan",
    "dynamodb:UpdateItem",
];
/// Permissions of every function for logs and traces.
const LOGS_AND_TRACES: [&str; 4] = [
    "logs:CreateLogStream <logs>",
    "logs:PutLogEvents <logs>",
    "xray:PutTelemetryRecords *",
    "xray:PutTraceSegments *",
];
const KEY: &str = "kms:Decrypt <TableKey.Arn>";
const BUS: &str = "events:PutEvents arn:aws:events:ap-northeast-1:111122223333:event-bus/default";
const PUT_REPORT: &str = "s3:PutObject <ReportBucket.Arn>/*";
const PIN_KEYS: &str = "secretsmanager:GetSecretValue <CardPinKeys>";
const SECRET: &str = "secretsmanager:GetSecretValue <StripeSecret>";
const MARKER_KEYS: &str = "secretsmanager:GetSecretValue <MarkerKeysSecret>";

/// Permissions that the local stack cannot observe: function, then actions with resources.
const OTHER_PERMISSIONS: [(&str, &[&str]); 12] = [
    ("customer", &[KEY, SECRET, MARKER_KEYS, PIN_KEYS]),
    ("merchant", &[KEY, MARKER_KEYS]),
    ("admin", &[KEY, SECRET, MARKER_KEYS, "cloudwatch:GetMetricData *", "s3:GetObject <FilesBucket.Arn>/*"]),
    ("terminal", &[KEY, MARKER_KEYS, PIN_KEYS]),
    ("stripe-webhook", &[KEY, SECRET, MARKER_KEYS]),
    (
        "jobs",
        &[
            KEY,
            SECRET,
            MARKER_KEYS,
            BUS,
            "sqs:DeleteMessage <JobsQueue.Arn>",
            "sqs:GetQueueAttributes <JobsQueue.Arn>",
            "sqs:ReceiveMessage <JobsQueue.Arn>",
            "states:StartExecution arn:aws:states:ap-northeast-1:111122223333:stateMachine:stack-settlement",
        ],
    ),
    (
        "outbox",
        &[
            KEY,
            SECRET,
            MARKER_KEYS,
            "sqs:DeleteMessage <OutboxQueue.Arn>",
            "sqs:GetQueueAttributes <OutboxQueue.Arn>",
            "sqs:ReceiveMessage <OutboxQueue.Arn>",
            "sqs:SendMessage <EventQueue.Arn>",
            "sqs:SendMessage <PutAsideDeadLetters.Arn>",
            "sqs:SendMessage <StreamDeadLetters.Arn>",
            "dynamodb:DescribeStream <stream>",
            "dynamodb:GetRecords <stream>",
            "dynamodb:GetShardIterator <stream>",
            "dynamodb:ListStreams *",
        ],
    ),
    ("settlement", &[KEY, SECRET, "secretsmanager:GetSecretValue <KycSecret>"]),
    (
        "reconcile",
        &[
            KEY,
            SECRET,
            PUT_REPORT,
            "s3:PutObject <FilesBucket.Arn>/*",
            BUS,
            "sqs:DeleteMessage <ReconcileQueue.Arn>",
            "sqs:GetQueueAttributes <ReconcileQueue.Arn>",
            "sqs:ReceiveMessage <ReconcileQueue.Arn>",
        ],
    ),
    (
        "migrate",
        &[
            KEY,
            MARKER_KEYS,
            "sqs:DeleteMessage <MigrateQueue.Arn>",
            "sqs:GetQueueAttributes <MigrateQueue.Arn>",
            "sqs:ReceiveMessage <MigrateQueue.Arn>",
        ],
    ),
    (
        "reconcile-export",
        &[
            "s3:GetObject <ExportBucket.Arn>/exports/*",
            "s3:GetObject <ExportBucket.Arn>/runs/*",
            "s3:ListBucket <ExportBucket.Arn>",
            "s3:PutObject <ExportBucket.Arn>/runs/*",
            PUT_REPORT,
        ],
    ),
    ("token-claims", &[]),
];

/// The actions and resources that a policy allows.
fn allowed(policy: &Policy) -> BTreeSet<Use> {
    let allowing = policy.statements.iter().filter(|statement| statement.effect == Effect::Allow);
    let uses = allowing.flat_map(|of| {
        of.actions.iter().flat_map(|action| of.resources.iter().map(move |on| (action.clone(), on.clone())))
    });
    uses.collect()
}

/// Table permissions that the functions were not seen to use.
fn unused(template: &Template, observed: &RequestsByFunction) -> Vec<String> {
    let mut found = Vec::new();
    for function in template.functions() {
        let policy = template.role(&function.role).expect("a policy");
        let seen: BTreeSet<Use> = observed.get(function.binary.as_str()).into_iter().flatten().map(use_of).collect();
        let of_data = allowed(&policy).into_iter().filter(|(action, _)| DATA.contains(&action.as_str()));
        found.extend(
            of_data.filter(|of| !seen.contains(of)).map(|of| format!("{}: {} on {}", function.role, of.0, of.1)),
        );
    }
    found
}

/// Requests that functions were seen to make and the template's roles deny.
fn refused(template: &Template, observed: &RequestsByFunction) -> Vec<String> {
    let boundary = template.boundary().expect("a policy");
    let mut found = Vec::new();
    for function in template.functions() {
        let policy = template.role(&function.role).expect("a policy");
        let requests = observed.get(function.binary.as_str()).into_iter().flatten();
        let denied = requests.filter(|request| authorise(&policy, &boundary, request).is_err());
        found.extend(denied.map(|request| format!("{}: {request}", function.role)));
    }
    found
}

fn use_of(request: &Request) -> Use {
    (request.action.clone(), request.resource.clone())
}

fn role<'a>(root: &'a mut Value, id: &str) -> &'a mut Vec<Value> {
    let document = &mut root["Resources"][id]["Properties"]["Policies"][0]["PolicyDocument"];
    document["Statement"].as_array_mut().expect("statements")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn roles_allow_exactly_what_functions_do() {
    let mut runs = migrating::everything();
    runs.spawn(drive::everything());
    runs.join_all().await;
    let record = gate::record();
    assert_eq!(record.refused, BTreeSet::new());
    let template = Template::read();
    // Each operation was run with success; otherwise an unused permission would prove nothing.
    for function in template.functions() {
        for route in &function.routes {
            let served = (face(&function), route.method.clone(), route.path.clone());
            assert!(record.served.contains(&served), "{} {} was not run", route.method, route.path);
        }
    }
    assert_eq!(refused(&template, &record.requests), Vec::<String>::new());
    assert_eq!(unused(&template, &record.requests), Vec::<String>::new());
    planted(&template, &record.requests);
}

fn face(function: &Function) -> &'static str {
    let face = FACES.iter().find(|(name, _)| *name == function.binary);
    face.unwrap_or_else(|| panic!("{} has routes but no router", function.binary)).0
}

/// Planted permissions, too many or too few, are found by the observed requests.
fn planted(template: &Template, observed: &RequestsByFunction) {
    let index = format!("{}/index/", table_arn(TABLE_DEFAULT));
    for (id, action, on) in [
        ("SettlementRole", "dynamodb:BatchGetItem", table_arn(TABLE_DEFAULT)),
        ("SettlementRole", "dynamodb:Query", index.clone() + "due"),
        ("TerminalRole", "dynamodb:Query", index.clone() + "due"),
        ("CustomerRole", "dynamodb:DeleteItem", table_arn(TABLE_DEFAULT)),
        ("TokenClaimsRole", "dynamodb:GetItem", table_arn(TABLE_DEFAULT)),
    ] {
        let changed = template.with(|root| {
            role(root, id).push(json!({"Sid": "Planted", "Effect": "Allow", "Action": action, "Resource": on}));
        });
        assert_eq!(unused(&changed, observed), [format!("{id}: {action} on {on}")]);
    }
    for (id, sid) in [("MerchantRole", "List"), ("JobsRole", "Write"), ("CustomerRole", "Read")] {
        let changed = template.with(|root| role(root, id).retain(|statement| statement["Sid"] != sid));
        assert!(!refused(&changed, observed).is_empty(), "{id} without {sid}");
    }
    let other_index = template.with(|root| {
        let list = role(root, "OutboxRole").iter_mut().find(|statement| statement["Sid"] == "List");
        list.expect("a statement")["Resource"] = json!(index + "by_owner");
    });
    assert!(!refused(&other_index, observed).is_empty());
    let unbounded = template.with(|root| {
        let document = &mut root["Resources"]["FunctionBoundary"]["Properties"]["PolicyDocument"];
        document["Statement"].as_array_mut().expect("statements").retain(|statement| statement["Sid"] != "Write");
    });
    assert!(!refused(&unbounded, observed).is_empty());
}

/// Permissions other than the table's data are exactly those listed.
#[test]
fn other_permissions_are_exactly_the_listed_ones() {
    let template = Template::read();
    let table = table_arn(TABLE_DEFAULT);
    for function in template.functions() {
        let logs = format!("/ecopay/stack/{}:*", function.binary);
        let short = |(action, on): Use| {
            let on = match on.strip_prefix(&format!("{table}/stream/")) {
                Some(_) => "<stream>".to_owned(),
                None if on.ends_with(&logs) => "<logs>".to_owned(),
                None => on,
            };
            format!("{action} {on}")
        };
        let policy = template.role(&function.role).expect("a policy");
        let others = allowed(&policy).into_iter().filter(|(action, _)| !DATA.contains(&action.as_str())).map(short);
        let written = OTHER_PERMISSIONS.iter().find(|(name, _)| *name == function.binary);
        let (_, written) = written.unwrap_or_else(|| panic!("{} is not listed", function.binary));
        let written = LOGS_AND_TRACES.iter().chain(written.iter()).map(|line| (*line).to_owned());
        assert_eq!(others.collect::<BTreeSet<_>>(), written.collect::<BTreeSet<_>>(), "{}", function.role);
    }
}

/// The boundary allows what a role allows; otherwise the role's permission would have no effect.
#[test]
fn boundary_allows_what_every_role_allows() {
    let template = Template::read();
    let boundary = template.boundary().expect("a policy");
    for function in template.functions() {
        let policy = template.role(&function.role).expect("a policy");
        for statement in &policy.statements {
            let conditions = statement.conditions.iter().map(|condition| {
                assert!(!condition.negated && condition.quantifier != Quantifier::All, "{condition:?}");
                (condition.key.clone(), condition.values.clone())
            });
            let context: BTreeMap<_, _> = conditions.collect();
            for (action, resource) in allowed(&Policy { statements: vec![statement.clone()] }) {
                let request = Request { action, resource, context: context.clone() };
                assert_eq!(authorise(&policy, &boundary, &request), Ok(()), "{}: {request}", function.role);
            }
        }
    }
}
