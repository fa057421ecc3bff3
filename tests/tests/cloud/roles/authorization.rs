//! The template's actions, resource forms and condition keys exist in AWS's service authorization data. A role that is
//! wrong in one of these is denied only at its first call.

use ledger_tests::cloud::Template;
use ledger_tests::cloud::authorization::{Authorization, meets};
use ledger_tests::cloud::iam::{Decision, Policy, Request};
use ledger_tests::cloud::refs;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const NONE: [String; 0] = [];

#[test]
fn statements_match_the_authorization_data() {
    let data = Authorization::read();
    assert!(data.source().iter().all(Option::is_some), "{:?}", data.source());
    assert_eq!(data.wrong(&Template::read()), NONE);
}

fn statement<'a>(root: &'a mut Value, role: &str, sid: &str) -> &'a mut Value {
    let document = &mut root["Resources"][role]["Properties"]["Policies"][0]["PolicyDocument"];
    let statements = document["Statement"].as_array_mut().expect("statements");
    statements.iter_mut().find(|statement| statement["Sid"] == sid).expect("a statement")
}

/// The first is a former mistake: the second deployment failed, because CodeDeploy could not move an alias.
#[test]
fn statement_that_allows_nothing_is_found() {
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 9] = [
        ("lambda:GetAlias on none of", |root| {
            let moves = statement(root, "RollOutRole", "MoveTheAliases");
            moves["Resource"].as_array_mut().expect("resources").retain(|resource| resource["Fn::Sub"].is_string());
        }),
        ("lambda:GetProvisionedConcurrencyConfig on none of", |root| {
            let looks = statement(root, "RollOutRole", "LookAtProvisionedConcurrency");
            looks["Resource"] = json!([{"Fn::GetAtt": "CustomerFunction.Arn"}]);
        }),
        ("dynamodb:ConditionCheckItem does not support the condition key dynamodb:EnclosingOperation", |root| {
            let check = statement(root, "CustomerRole", "Check");
            check["Condition"] = json!({"StringEquals": {"dynamodb:EnclosingOperation": "TransactWriteItems"}});
        }),
        ("dynamodb:ListStreams on none of", |root| {
            statement(root, "OutboxRole", "FindTheStream")["Resource"] = json!({"Fn::Sub": "${Table.Arn}/stream/*"});
        }),
        ("dynamodb:ReadItem is no action", |root| {
            statement(root, "JobsRole", "Read")["Action"] = json!(["dynamodb:ReadItem"]);
        }),
        ("s3:PutObject on none of", |root| {
            statement(root, "ReconcileRole", "KeepReports")["Resource"] = json!({"Fn::GetAtt": "FilesBucket.Arn"});
        }),
        ("s3:ListBucket on none of", |root| {
            let lists = statement(root, "ReconcileExportRole", "TellWhatIsMissing");
            lists["Resource"] = json!({"Fn::Sub": "${ExportBucket.Arn}/*"});
        }),
        ("kms:Decrypt does not support the condition key kms:Via", |root| {
            statement(root, "JobsRole", "OpenTheTable")["Condition"] = json!({"StringEquals": {"kms:Via": "a"}});
        }),
        ("sqs:SendMessage on all resources", |root| {
            statement(root, "ScheduleRole", "SendTicks")["Resource"] = json!("*");
        }),
    ];
    let data = Authorization::read();
    for (what, change) in changes {
        let found = data.wrong(&Template::read().with(change));
        assert!(found.iter().any(|wrong| wrong.contains(what)), "{what}: {found:?}");
    }
}

/// A role's policy with its resources' ARNs resolved.
fn policy(template: &Template, role: &str) -> Policy {
    let document = &template.properties(role)["Policies"][0]["PolicyDocument"];
    Policy::read(document, &|value| refs::arn(template, value)).expect("a policy")
}

/// Requests of CodeDeploy that the role denies: for each function with a gradual deployment, in each resource form that
/// the data has for the call.
fn immovable(template: &Template) -> Vec<String> {
    let role = policy(template, "RollOutRole");
    let mut found = Vec::new();
    for function in template.functions() {
        if function.properties["DeploymentPreference"]["Enabled"] == false {
            continue;
        }
        let arn = refs::arn(template, &json!({"Fn::GetAtt": format!("{}.Arn", function.id)})).expect("an ARN");
        for (action, on) in [
            ("lambda:GetAlias", arn.clone()),
            ("lambda:UpdateAlias", arn.clone()),
            ("lambda:GetProvisionedConcurrencyConfig", format!("{arn}:live")),
        ] {
            let request = Request { action: action.to_owned(), resource: on, context: BTreeMap::new() };
            if role.decide(&request) != Ok(Decision::Allowed) {
                found.push(request.to_string());
            }
        }
    }
    found
}

#[test]
fn roll_out_role_can_move_every_alias() {
    let template = Template::read();
    assert_eq!(immovable(&template), NONE);
    let changed = template.with(|root| {
        let moves = statement(root, "RollOutRole", "MoveTheAliases");
        let resources = moves["Resource"].as_array_mut().expect("resources");
        resources.retain(|resource| resource["Fn::GetAtt"] != "MigrateFunction.Arn");
    });
    assert_eq!(immovable(&changed).len(), 2);
}

#[test]
fn resource_pattern_meets_form_of_its_arns() {
    let function = "arn:${Partition}:lambda:${Region}:${Account}:function:${FunctionName}";
    let alias = format!("{function}:${{Alias}}");
    let object = "arn:${Partition}:s3:::${BucketName}/${ObjectName}";
    let logs = "arn:${Partition}:logs:${Region}:${Account}:log-group:${LogGroupName}:log-stream:${LogStreamName}";
    for (form, pattern, is) in [
        (function, "arn:aws:lambda:r:1:function:f", true),
        (function, "arn:aws:lambda:r:1:function:f:*", false),
        (function, "arn:aws:lambda:r:1:function:*", true),
        (alias.as_str(), "arn:aws:lambda:r:1:function:f:*", true),
        (alias.as_str(), "arn:aws:lambda:r:1:function:f", false),
        (object, "arn:aws:s3:::b/*", true),
        (object, "arn:aws:s3:::b/a/b/*", true),
        (object, "arn:aws:s3:::b", false),
        (logs, "arn:aws:logs:r:1:log-group:/a/b:*", true),
        (logs, "arn:aws:logs:r:1:log-group:/a/*", true),
        (logs, "arn:aws:logs:r:1:log-group:/a/b", false),
    ] {
        assert_eq!(meets(form, pattern), is, "{form}: {pattern}");
    }
}
