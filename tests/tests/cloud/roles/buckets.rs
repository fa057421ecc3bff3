//! Who may write into which bucket: the bucket's own policy denies what no role of the template is to be given.

use ledger_tests::cloud::template::Template;
use serde_json::Value;
use std::collections::BTreeSet;

/// The bucket, the statement of its policy that denies writes, and the roles that it lets through.
const WRITERS: [(&str, &str, &[&str]); 2] = [
    ("FilesBucket", "OnlyReconcileWrites", &["ReconcileRole"]),
    ("ReportBucket", "OnlyReconciliationsWrite", &["ReconcileExportRole", "ReconcileRole"]),
];

fn statements(properties: &Value) -> &[Value] {
    properties["PolicyDocument"]["Statement"].as_array().expect("statements")
}

/// Whether a part of the template names an attribute of a resource.
fn names(part: &Value, resource: &str) -> bool {
    let text = part.to_string();
    [format!("\"{resource}.Arn\""), format!("[\"{resource}\",\"Arn\"]"), format!("${{{resource}.Arn}}")]
        .iter()
        .any(|form| text.contains(form))
}

/// The roles whose policies permit to put objects into a bucket.
fn permitted<'a>(template: &'a Template, bucket: &str) -> BTreeSet<&'a str> {
    let puts = |statement: &Value| {
        statement["Action"].to_string().contains("s3:PutObject") && names(&statement["Resource"], bucket)
    };
    let may_put = |role: &&str| {
        let policies = template.properties(role)["Policies"].as_array().cloned().unwrap_or_default();
        policies.iter().any(|policy| statements(policy).iter().any(puts))
    };
    template.roles().filter(may_put).collect()
}

/// What is wrong with the policies of buckets.
fn findings(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (bucket, sid, writers) in WRITERS {
        let writers: BTreeSet<&str> = writers.iter().copied().collect();
        let policy = statements(template.properties(&format!("{bucket}Policy")));
        let denies = |statement: &&Value| {
            statement["Sid"] == sid
                && statement["Effect"] == "Deny"
                && statement["Principal"] == "*"
                && statement["Action"].to_string().contains("s3:PutObject")
                && names(&statement["Resource"], bucket)
        };
        match policy.iter().find(denies) {
            Some(deny) => {
                let exempt = &deny["Condition"]["ArnNotEquals"]["aws:PrincipalArn"];
                let exempt: BTreeSet<&str> = template.roles().filter(|role| names(exempt, role)).collect();
                if exempt != writers {
                    found.push(format!("{bucket} lets {exempt:?} write"));
                }
            }
            None => found.push(format!("{bucket} denies no writes")),
        }
        let permitted = permitted(template, bucket);
        if permitted != writers {
            found.push(format!("{permitted:?} are permitted to write into {bucket}"));
        }
    }
    for bucket in template.of_kind("AWS::S3::Bucket") {
        let policies = template.of_kind("AWS::S3::BucketPolicy").map(|policy| template.properties(policy));
        let own = policies.filter(|policy| policy["Bucket"]["Ref"] == bucket);
        let in_the_clear = |statement: &Value| {
            statement["Effect"] == "Deny" && statement["Condition"]["Bool"]["aws:SecureTransport"] == "false"
        };
        if !own.flat_map(statements).any(in_the_clear) {
            found.push(format!("{bucket} takes requests in the clear"));
        }
    }
    found
}

#[test]
fn buckets_deny_writes_to_all_roles_but_their_writers() {
    let template = Template::read();
    assert_eq!(findings(&template), Vec::<String>::new());
    for (bucket, sid, _) in WRITERS {
        let policy = format!("{bucket}Policy");
        let without = template.with(|root| {
            let statements = &mut root["Resources"][&policy]["Properties"]["PolicyDocument"]["Statement"];
            statements.as_array_mut().expect("statements").retain(|statement| statement["Sid"] != sid);
        });
        assert_eq!(findings(&without), [format!("{bucket} denies no writes")]);
    }
    let wider = template.with(|root| {
        let statements = &mut root["Resources"]["FilesBucketPolicy"]["Properties"]["PolicyDocument"]["Statement"];
        for statement in statements.as_array_mut().expect("statements") {
            if statement["Sid"] == "OnlyReconcileWrites" {
                let exempt = &mut statement["Condition"]["ArnNotEquals"]["aws:PrincipalArn"];
                let reconcile = exempt.take();
                let settlement = serde_json::json!({ "Fn::GetAtt": ["SettlementRole", "Arn"] });
                *exempt = Value::Array(vec![reconcile, settlement]);
            }
        }
    });
    assert_eq!(findings(&wider).len(), 1, "{:?}", findings(&wider));
}
