//! Deployment parameters: production must set some, and no default is refused by a new AWS account.

use ledger_tests::cloud::parameters::{Parameters, of_environment, refused};
use ledger_tests::cloud::{Template, alarms, operations};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const NONE: [String; 0] = [];

fn with(mut parameters: Parameters, set: &[(&str, &str)]) -> Parameters {
    parameters.extend(set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    parameters
}

/// Without its origins, browsers would refuse production's web pages; without an address, no person is paged.
#[test]
fn production_without_web_origins_page_address_or_trail_is_refused() {
    let template = Template::read();
    let wanted = ["In production, WebOrigins says where the web pages are served from."];
    let no_page = "In production, PageEmail says who is paged when an alarm of money rings.";
    assert_eq!(refused(&template, &of_environment("prod")), [wanted[0], no_page]);
    let paged = with(of_environment("prod"), &[("PageEmail", "page@example.com")]);
    assert_eq!(refused(&template, &paged), wanted);
    let prod = with(paged.clone(), &[("WebOrigins", "https://pay.example.com,https://admin.example.com")]);
    assert_eq!(refused(&template, &prod), NONE);
    let untrailed = with(prod.clone(), &[("WithTrail", "no")]);
    assert_eq!(refused(&template, &untrailed), ["In production, WithTrail records at least every write of the table."]);
    let left = with(prod, &[("WebOrigins", "https://pay.example.com,https://web.invalid")]);
    assert_eq!(refused(&template, &left), wanted);
    for trial in ["default", "staging"] {
        assert_eq!(refused(&template, &of_environment(trial)), NONE, "{trial}");
    }
    // Without the assertion nothing is refused.
    let lax = template.with(|root| {
        let assertions = root["Rules"]["ProductionIsCareful"]["Assertions"].as_array_mut().expect("assertions");
        assertions.retain(|of| !of.to_string().contains("WebOrigins"));
    });
    assert_eq!(refused(&lax, &paged), NONE);
}

#[test]
fn incomplete_parameter_groups_are_refused() {
    let template = Template::read();
    for (set, wanted) in [
        (("WarmReadUnits", "20000"), "With WarmReadUnits, WarmWriteUnits is needed."),
        (("WarmWriteUnits", "20000"), "With WarmWriteUnits, WarmReadUnits is needed."),
        (
            ("MailIdentityArn", "arn:aws:ses:ap-northeast-1:111122223333:identity/example.com"),
            "With MailIdentityArn, MailFrom is needed.",
        ),
        (("MigratingTenants", "other"), "MigratingTenants are some of Tenants."),
        (("DomainName", "api.example.com"), "With DomainName, CertificateArn is needed."),
    ] {
        assert_eq!(refused(&template, &with(Parameters::new(), &[set])), [wanted]);
    }
    let warm = [("WarmReadUnits", "20000"), ("WarmWriteUnits", "20000")];
    assert_eq!(refused(&template, &with(Parameters::new(), &warm)), NONE);
}

/// Settings that a new AWS account refuses: reserved concurrency must leave 100 unreserved, of a quota of 10 or 1,000.
fn refused_by_a_fresh_account(template: &Template) -> Vec<String> {
    let by_parameter = json!({"Fn::If": [
        "WithWebhookConcurrency", {"Ref": "WebhookConcurrency"}, {"Ref": "AWS::NoValue"},
    ]});
    let reserved = |value: &Value| !value.is_null() && *value != by_parameter;
    let functions = template.functions().into_iter();
    let mut found: Vec<String> = functions
        .filter(|function| reserved(&function.properties["ReservedConcurrentExecutions"]))
        .map(|function| format!("{} reserves concurrency", function.id))
        .collect();
    for parameter in ["WebhookConcurrency", "WarmReadUnits", "WarmWriteUnits"] {
        if template.parameter(parameter)["Default"] != 0 {
            found.push(format!("{parameter} is on by default"));
        }
    }
    found
}

#[test]
fn stack_fits_the_quotas_of_a_new_account() {
    let template = Template::read();
    assert_eq!(refused_by_a_fresh_account(&template), NONE);
    let environments = ["default", "staging", "prod"].map(of_environment);
    assert!(environments.iter().all(|set| !set.contains_key("WebhookConcurrency")), "samconfig.toml");
    let changed = template.with(|root| {
        root["Resources"]["StripeWebhookFunction"]["Properties"]["ReservedConcurrentExecutions"] =
            json!({"Fn::If": ["IsProd", 20, {"Ref": "AWS::NoValue"}]});
    });
    assert_eq!(refused_by_a_fresh_account(&changed), ["StripeWebhookFunction reserves concurrency"]);
}

/// Retained resources that a failed creation would leave behind.
fn left_behind(template: &Template) -> Vec<String> {
    let policy = |id: &str, name: &str| template.at(&format!("/Resources/{id}/{name}")).clone();
    let kept = template.resources().filter(|id| !policy(id, "DeletionPolicy").is_null());
    let wrong = kept.filter(|id| {
        policy(id, "DeletionPolicy") != "RetainExceptOnCreate" || policy(id, "UpdateReplacePolicy") != "Retain"
    });
    wrong.map(str::to_owned).collect()
}

#[test]
fn failed_creation_leaves_no_retained_resource() {
    let template = Template::read();
    assert_eq!(left_behind(&template), NONE);
    let kept = template.resources().filter(|id| !template.at(&format!("/Resources/{id}/DeletionPolicy")).is_null());
    let wanted = [
        "LogKey",
        "MarkerKeysSecret",
        "Registry",
        "ReportBucket",
        "Table",
        "TableKey",
        "TopicKey",
        "TrailBucket",
        "UserPool",
    ];
    assert_eq!(kept.collect::<BTreeSet<_>>(), BTreeSet::from(wanted));
    let changed = template.with(|root| root["Resources"]["Table"]["DeletionPolicy"] = "Retain".into());
    assert_eq!(left_behind(&changed), ["Table"]);
}

/// Cognito's own sender is limited to about 50 mails a day; with an SES identity the account's quota applies.
#[test]
fn user_pool_mail_can_be_sent_by_ses() {
    let template = Template::read();
    let mail = &template.properties("UserPool")["EmailConfiguration"]["Fn::If"];
    assert_eq!(mail[0], "WithMailIdentity");
    let ses = json!({
        "EmailSendingAccount": "DEVELOPER", "SourceArn": {"Ref": "MailIdentityArn"}, "From": {"Ref": "MailFrom"},
    });
    assert_eq!((&mail[1], &mail[2]), (&ses, &json!({"EmailSendingAccount": "COGNITO_DEFAULT"})));
}

/// On the table and each of its indexes: a cold index throttles the table's writes.
#[test]
fn warm_throughput_covers_table_and_all_indexes() {
    let template = Template::read();
    let warm = json!({"Fn::If": [
        "WithWarmThroughput",
        {"ReadUnitsPerSecond": {"Ref": "WarmReadUnits"}, "WriteUnitsPerSecond": {"Ref": "WarmWriteUnits"}},
        {"Ref": "AWS::NoValue"},
    ]});
    let table = template.properties("Table");
    let indexes = table["GlobalSecondaryIndexes"].as_array().expect("indexes");
    assert!(indexes.len() > 1);
    for of in indexes.iter().chain([table]) {
        assert_eq!(of["WarmThroughput"], warm, "{}", of["IndexName"]);
    }
}

/// Topic policies that name another topic too: whether SNS accepts one for two is not verified.
fn shared_policies(template: &Template) -> Vec<&str> {
    let is_own = |id: &str| {
        let policy = template.properties(id);
        let statements = policy["PolicyDocument"]["Statement"].as_array().expect("statements");
        policy["Topics"].as_array().is_some_and(|topics| {
            topics.len() == 1 && statements.iter().all(|statement| statement["Resource"] == topics[0])
        })
    };
    template.of_kind("AWS::SNS::TopicPolicy").filter(|id| !is_own(id)).collect()
}

#[test]
fn each_topic_has_its_own_policy() {
    let template = Template::read();
    assert_eq!(shared_policies(&template), Vec::<&str>::new());
    assert_eq!(template.of_kind("AWS::SNS::TopicPolicy").count(), template.of_kind("AWS::SNS::Topic").count());
    let changed = template.with(|root| {
        let both = json!([{"Ref": "PageTopic"}, {"Ref": "TicketTopic"}]);
        root["Resources"]["PageTopicPolicy"]["Properties"]["Topics"] = both;
    });
    assert_eq!(shared_policies(&changed), ["PageTopicPolicy"]);
}

/// Each event of the trail is charged, and most are reads of ticks, so reads can be left out.
#[test]
fn trail_can_exclude_reads() {
    let template = Template::read();
    assert_eq!(template.parameter("WithTrail")["AllowedValues"], json!(["yes", "writes", "no"]));
    let fields = template.properties("Trail")["AdvancedEventSelectors"][0]["FieldSelectors"].as_array();
    let writes = json!({"Fn::If": [
        "AreReadsTrailed", {"Ref": "AWS::NoValue"}, {"Field": "readOnly", "Equals": ["false"]},
    ]});
    assert!(fields.expect("fields").contains(&writes), "{fields:?}");
    assert_eq!(template.at("/Conditions/AreReadsTrailed"), &json!({"Fn::Equals": [{"Ref": "WithTrail"}, "yes"]}));
}

/// The capitalized words that follow a mark in a document.
fn named<'a>(document: &'a str, mark: &str) -> Vec<&'a str> {
    let rest = document.split(mark).skip(1);
    let words = rest.map(|rest| rest.split(|sign: char| !sign.is_ascii_alphanumeric()).next().unwrap_or_default());
    words.filter(|word| word.starts_with(|sign: char| sign.is_ascii_uppercase())).collect()
}

/// Outputs and alarms that a document names and the template lacks.
fn unknown(template: &Template, document: &str) -> Vec<String> {
    let outputs = named(document, "out ").into_iter().filter(|name| template.at(&format!("/Outputs/{name}")).is_null());
    let alarms: BTreeSet<String> = alarms::all(template).into_iter().map(|alarm| alarm.id).collect();
    let is_alarm = |name: &str| alarms.iter().any(|id| id.strip_suffix("Alarm").unwrap_or(id).starts_with(name));
    let of_alarms = named(document, "$STACK-").into_iter().filter(|name| !is_alarm(name));
    outputs.chain(of_alarms).map(str::to_owned).collect()
}

#[test]
fn documents_name_existing_outputs_alarms_and_parameters() {
    let template = Template::read();
    let read = |name: &str| {
        let path = format!("{}/../{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let first = read("docs/first-deployment.md");
    let pages = operations::pages();
    let all_pages: String = pages.values().map(|page| page.text.as_str()).collect();
    for document in [&first, &all_pages] {
        assert!(named(document, "out ").len() > 3 && !named(document, "$STACK-").is_empty());
    }
    assert_eq!(unknown(&template, &first), NONE, "docs/first-deployment.md");
    for page in pages.values() {
        assert_eq!(unknown(&template, &page.text), NONE, "docs/operations/{}", page.name);
    }
    assert_eq!(unknown(&template, "$(out NoSuchUrl) and $STACK-NoSuch"), ["NoSuchUrl", "NoSuch"]);
    // Parameters that are off by default, or required, are prerequisites in the document.
    for name in ["WebhookConcurrency", "WarmReadUnits", "WarmWriteUnits", "MailIdentityArn", "MailFrom", "WebOrigins"] {
        assert!(!template.parameter(name).is_null() && first.contains(&format!("`{name}`")), "{name}");
    }
}
