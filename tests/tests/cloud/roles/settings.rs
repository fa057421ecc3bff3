//! Each function has its own role, log group and timeout.

use ledger_tests::cloud::Template;
use ledger_tests::cloud::template::BOUNDARY;
use ledger_tests::sources;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// API Gateway ends a request after 30 s.
const FACE_TIMEOUT_S: u64 = 29;

/// Violations in the functions' settings.
fn wrong(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let mut taken = BTreeSet::new();
    for function in template.functions() {
        let mut must = |holds: bool, what: String| {
            if !holds {
                found.push(format!("{}: {what}", function.id));
            }
        };
        for own in [&function.role, &function.log_group] {
            must(taken.insert(own.clone()), format!("{own} is shared with another function"));
        }
        let has = |name: &str| &function.properties[name];
        must(has("Runtime") == "provided.al2023", "wrong runtime".to_owned());
        must(*has("Architectures") == json!(["arm64"]), "wrong architecture".to_owned());
        must(has("Tracing") == "Active", "no tracing".to_owned());
        must(has("Policies").is_null(), "policies besides its role".to_owned());
        let timeout = has("Timeout").as_u64();
        let most = if function.routes.is_empty() { 900 } else { FACE_TIMEOUT_S };
        must(timeout.is_some_and(|seconds| seconds <= most), format!("wrong timeout {timeout:?}"));

        let logs = template.properties(&function.log_group);
        let name = format!("/ecopay/${{AWS::StackName}}/{}", function.binary);
        must(logs["LogGroupName"]["Fn::Sub"] == name.as_str(), format!("logs go to {}", logs["LogGroupName"]));
        must(!logs["RetentionInDays"].is_null(), "logs have no retention".to_owned());

        let role = template.properties(&function.role);
        must(role["PermissionsBoundary"]["Ref"] == BOUNDARY, format!("{} has no permissions boundary", function.role));
        must(is_lambdas(role), format!("{} can be assumed by another principal", function.role));
    }
    found
}

/// Whether only Lambda can assume the role.
fn is_lambdas(role: &Value) -> bool {
    let trust = &role["AssumeRolePolicyDocument"]["Statement"];
    *trust == json!([{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}])
}

#[test]
fn every_function_has_its_own_role_and_logs() {
    let template = Template::read();
    assert!(template.functions().len() > 7);
    assert_eq!(wrong(&template), Vec::<String>::new());
}

/// The roles of AWS's services.
const SERVICE_ROLES: [&str; 4] = ["ReconcileExportMachineRole", "RollOutRole", "ScheduleRole", "SettlementSagaRole"];

/// The actions of a policy's text.
fn actions(of: &Value) -> BTreeSet<String> {
    match of {
        Value::Object(map) => {
            let named = map.get("Action").into_iter().flat_map(|actions| match actions {
                Value::Array(list) => list.clone(),
                one => vec![one.clone()],
            });
            named
                .filter_map(|action| action.as_str().map(str::to_owned))
                .chain(map.values().flat_map(actions))
                .collect()
        }
        Value::Array(list) => list.iter().flat_map(actions).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => BTreeSet::new(),
    }
}

/// A service's role without a boundary could be given anything, and an action that the boundary lacks has no effect.
#[test]
fn every_service_role_is_bounded_by_the_actions_that_they_have() {
    let template = Template::read();
    let of_roles = SERVICE_ROLES.iter().flat_map(|id| {
        let boundary = template.at(&format!("/Resources/{id}/Properties/PermissionsBoundary"));
        assert_eq!(boundary, &json!({"Ref": "ServiceBoundary"}), "{id}");
        actions(template.at(&format!("/Resources/{id}/Properties/Policies")))
    });
    let bounded = actions(template.at("/Resources/ServiceBoundary/Properties/PolicyDocument"));
    assert_eq!(bounded, of_roles.collect());
}

/// No policy is attached from elsewhere, and every role belongs to a function, CodeDeploy, the schedules or a state
/// machine.
#[test]
fn every_iam_resource_is_expected() {
    let template = Template::read();
    let iam = template.resources().filter(|id| template.kind(id).starts_with("AWS::IAM::"));
    let mut expected: BTreeSet<String> = template.functions().into_iter().map(|function| function.role).collect();
    expected.extend([BOUNDARY, "ServiceBoundary"].into_iter().chain(SERVICE_ROLES).map(str::to_owned));
    assert_eq!(iam.map(str::to_owned).collect::<BTreeSet<_>>(), expected);
}

#[test]
fn function_without_required_settings_is_found() {
    for (resource, field, value) in [
        ("JobsFunction", "Role", json!({"Fn::GetAtt": "OutboxRole.Arn"})),
        ("JobsFunction", "LoggingConfig", json!({"LogGroup": {"Ref": "OutboxLogs"}})),
        ("JobsFunction", "Tracing", json!("PassThrough")),
        ("JobsFunction", "Architectures", json!(["x86_64"])),
        ("JobsFunction", "Runtime", json!("provided.al2")),
        ("JobsFunction", "Timeout", json!(null)),
        ("CustomerFunction", "Timeout", json!(60)),
        ("JobsFunction", "Policies", json!(["AmazonDynamoDBFullAccess"])),
        ("JobsLogs", "RetentionInDays", json!(null)),
        ("JobsRole", "PermissionsBoundary", json!(null)),
        ("JobsRole", "AssumeRolePolicyDocument", json!({"Statement": []})),
    ] {
        let changed = Template::read().with(|root| root["Resources"][resource]["Properties"][field] = value.clone());
        assert!(!wrong(&changed).is_empty(), "{resource}.{field} = {value}");
    }
}

/// Every environment variable of a function is read by some code.
#[test]
fn every_environment_variable_is_read() {
    let files = sources(&["crates/ledger-runtime/src", "functions"]).into_iter();
    let code: Vec<String> = files.map(|file| std::fs::read_to_string(file).expect("a source")).collect();
    for function in Template::read().functions() {
        for name in function.environment {
            let read = code.iter().any(|text| text.contains(&format!("\"{name}\"")));
            assert!(read, "{}: nothing reads {name}", function.id);
        }
    }
}

/// A function has Stripe's secret in its environment exactly if it reads it and links its client. The same holds for
/// other resources.
#[test]
fn environment_matches_permissions_and_code() {
    let template = Template::read();
    for function in template.functions() {
        let role = template.role(&function.role).expect("a policy");
        let may = |action: &str| role.statements.iter().any(|of| of.actions.iter().any(|name| name == action));
        let reads = super::rules::code_contains(
            &function.binary,
            &[".psp_executor()", ".provider()", ".provider_if_any()", ".settler()"],
        );
        let opens = |sid: &str| role.statements.iter().any(|of| of.sid == sid);
        assert_eq!(opens("ReadStripesSecret"), reads, "{}: Stripe's secret", function.id);
        assert_eq!(function.environment.contains("STRIPE_SECRET_ID"), reads, "{}: its name", function.id);
        assert_eq!(
            super::rules::code_contains(&function.binary, &[".use_stripe()"]),
            reads,
            "{}: its client",
            function.id
        );
        // What claims keys of requests, stores the responses of operations in flight, or lists customers.
        let seals = super::rules::code_contains(
            &function.binary,
            &[".keyed(", "app.perform(", ".recover(", "psp_executor.apply(", "migration::run_due("],
        );
        assert_eq!(opens("ReadMarkerKeys"), seals, "{}: the keys of markers", function.id);
        assert_eq!(function.environment.contains("MARKER_KEYS_SECRET_ID"), seals, "{}: their name", function.id);
        let links = super::rules::code_contains(&function.binary, &[".use_marker_keys()"]);
        assert_eq!(links, seals, "{}: their client", function.id);
        let looks = super::rules::code_contains(&function.binary, &["dyn MetricSource"]);
        assert_eq!(may("cloudwatch:GetMetricData"), looks, "{}: metrics", function.id);
        let links = super::rules::code_contains(&function.binary, &[".cloud_watch()"]);
        assert_eq!(links, looks, "{}: CloudWatch's client", function.id);
        let publishes = super::rules::code_contains(&function.binary, &["Option<&Publisher>"]);
        for name in ["EVENTS_QUEUE_URL", "EVENTS_DEAD_LETTERS_URL"] {
            assert_eq!(function.environment.contains(name), publishes, "{}: {name}", function.id);
        }
        let links = super::rules::code_contains(&function.binary, &[".publisher()"]);
        assert_eq!(links, publishes, "{}: the queues' client", function.id);
        for (name, words) in [
            ("EVENT_BUS", [".outlets()", ".announcer()"].as_slice()),
            ("EXPORT_BUCKET", &["ledger_aws::exports"]),
            ("FILES_BUCKET", &[".use_files()"]),
            ("KYC_URL", &[".settler()"]),
            ("RECONCILIATION_BUCKET", &["ledger_aws::exports", ".outlets()"]),
            ("SETTLEMENT_STATE_MACHINE", &[".state_machine()"]),
        ] {
            let links = super::rules::code_contains(&function.binary, words);
            assert_eq!(function.environment.contains(name), links, "{}: {name}", function.id);
        }
        let checks = super::rules::code_contains(&function.binary, &["SentPin::new"]);
        assert_eq!(opens("ReadCardPinKeys"), checks, "{}: the keys of PINs", function.id);
        assert_eq!(function.environment.contains("CARD_PIN_KEYS_SECRET_ID"), checks, "{}: their name", function.id);
        let links = super::rules::code_contains(&function.binary, &[".use_pin_keys()"]);
        assert_eq!(links, checks, "{}: their client", function.id);
        assert_eq!(opens("ReadKycsSecret"), function.environment.contains("KYC_SECRET_ID"), "{}", function.id);
        let counted = function.routes.iter().any(|route| !route.path.starts_with("/v1/webhooks/"));
        let limit = function.environment.contains("TENANT_REQUESTS_PER_SECOND");
        assert_eq!(limit, counted, "{}: the limit of its tenants", function.id);
        assert_eq!(function.environment.contains("CALLER_REQUESTS_PER_SECOND"), counted, "{}: of callers", function.id);
        let is_anonymous = super::rules::code_contains(&function.binary, &[".anonymous()"]);
        let limit = function.environment.contains("SOURCE_REQUESTS_PER_SECOND");
        assert_eq!(limit, is_anonymous, "{}: the limit of its sources", function.id);
        for name in ["FRONT_END_SECRET_DIGESTS", "LOG_PSEUDONYM_KEY"] {
            assert_eq!(function.environment.contains(name), !function.routes.is_empty(), "{}: {name}", function.id);
        }
        let stores = function.environment.contains("TABLE_NAME");
        assert_eq!(may("dynamodb:GetItem"), stores, "{}: the table", function.id);
        assert_eq!(may("kms:Decrypt"), stores, "{}: its key", function.id);
    }
}
