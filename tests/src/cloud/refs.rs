//! What `!Ref`, `!GetAtt` and `!Sub` stand for once the stack is deployed. The table's and the log groups'
//! names are made out, for policies have patterns of them; anything else is named as the template does.

use super::Template;
use super::iam::Unknown;
use ledger_local::stack::TABLE_DEFAULT;
use serde_json::Value;

const REGION: &str = "ap-northeast-1";
const ACCOUNT: &str = "111122223333";

/// The table's ARN, under the name that it has on the local stack.
#[must_use]
pub fn table_arn(table: &str) -> String {
    format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{table}")
}

/// The text that a value of the template comes to.
///
/// # Errors
/// When it names something that there is not, or is made in a way that is not known here.
pub fn text(template: &Template, value: &Value) -> Result<String, Unknown> {
    if let Some(text) = value.as_str() {
        return Ok(text.to_owned());
    }
    let call = value.as_object().filter(|call| call.len() == 1).and_then(|call| call.iter().next());
    match call.and_then(|(name, argument)| Some((name.as_str(), argument.as_str()?))) {
        Some(("Ref", name)) => reference(template, name),
        Some(("Fn::GetAtt", name)) => attribute(template, name),
        Some(("Fn::Sub", text)) => filled_in(template, text),
        Some(_) | None => Err(Unknown(format!("a text: {value}"))),
    }
}

fn filled_in(template: &Template, text: &str) -> Result<String, Unknown> {
    let (mut made, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}').ok_or_else(|| Unknown(text.to_owned()))?;
        made += before;
        made += &if name.contains('.') { attribute(template, name)? } else { reference(template, name)? };
        rest = after;
    }
    Ok(made + rest)
}

fn reference(template: &Template, name: &str) -> Result<String, Unknown> {
    match name {
        "AWS::Partition" => return Ok("aws".to_owned()),
        "AWS::Region" => return Ok(REGION.to_owned()),
        "AWS::AccountId" => return Ok(ACCOUNT.to_owned()),
        "AWS::StackName" => return Ok("stack".to_owned()),
        "Table" => return Ok(TABLE_DEFAULT.to_owned()),
        _ => {}
    }
    // A function's alias is one that SAM makes.
    let of = name.strip_suffix(".Alias").unwrap_or(name);
    let is_known = template.has_resource(of) || !template.parameter(name).is_null();
    if is_known { Ok(format!("<{name}>")) } else { Err(Unknown(format!("the name {name}"))) }
}

fn attribute(template: &Template, name: &str) -> Result<String, Unknown> {
    let (resource, attribute) = name.split_once('.').ok_or_else(|| Unknown(format!("the attribute {name}")))?;
    if !template.has_resource(resource) {
        return Err(Unknown(format!("the resource {resource}")));
    }
    match (template.kind(resource), attribute) {
        ("AWS::DynamoDB::Table", "Arn") => Ok(table_arn(TABLE_DEFAULT)),
        ("AWS::DynamoDB::Table", "StreamArn") => Ok(table_arn(TABLE_DEFAULT) + "/stream/2026-11-21T00:00:00.000"),
        // The name of the table in use.
        ("AWS::SSM::Parameter", "Value") => Ok(TABLE_DEFAULT.to_owned()),
        ("AWS::Logs::LogGroup", "Arn") => {
            let name = text(template, &template.properties(resource)["LogGroupName"])?;
            Ok(format!("arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{name}:*"))
        }
        _ => Ok(format!("<{name}>")),
    }
}

/// The ARN that a resource of a statement comes to.
///
/// # Errors
/// When the text has a name in it whose ARN is not known here.
pub fn arn(template: &Template, value: &Value) -> Result<String, Unknown> {
    let text = text(template, value)?;
    let Some((name, rest)) = text.strip_prefix('<').and_then(|text| text.split_once('>')) else { return Ok(text) };
    let (resource, attribute) = name.split_once('.').unwrap_or((name, ""));
    let made = match (template.kind(resource), attribute) {
        ("AWS::KMS::Key", "Arn") => format!("kms:{REGION}:{ACCOUNT}:key/{resource}"),
        ("AWS::S3::Bucket", "Arn") => format!("s3:::{resource}"),
        ("AWS::SNS::Topic", "") => format!("sns:{REGION}:{ACCOUNT}:{resource}"),
        ("AWS::SQS::Queue", "Arn") => format!("sqs:{REGION}:{ACCOUNT}:{resource}"),
        ("AWS::SecretsManager::Secret", "") => format!("secretsmanager:{REGION}:{ACCOUNT}:secret:{resource}-1a2B3c"),
        ("AWS::Serverless::Function", "Alias") => format!("lambda:{REGION}:{ACCOUNT}:function:{resource}:live"),
        ("AWS::Serverless::Function", "Arn") => format!("lambda:{REGION}:{ACCOUNT}:function:{resource}"),
        _ => return Err(Unknown(format!("the ARN of {name}"))),
    };
    Ok(format!("arn:aws:{made}{rest}"))
}
