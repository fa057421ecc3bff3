//! Resolves `!Ref`, `!GetAtt` and `!Sub` as in a deployed stack. The names of the table and the log groups are
//! resolved, because policies have patterns of them; other names stay as in the template.

use super::Template;
use super::iam::Unknown;
use ledger_local::stack::TABLE_DEFAULT;
use serde_json::Value;

const REGION: &str = "ap-northeast-1";
const ACCOUNT: &str = "111122223333";

/// The ARN of a table.
#[must_use]
pub fn table_arn(table: &str) -> String {
    format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{table}")
}

/// Resolves a value of the template to text.
///
/// # Errors
/// When it names an unknown resource or parameter, or has an unsupported form.
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
    // SAM creates a function's alias.
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
        // The parameter holds the name of the table in use.
        ("AWS::SSM::Parameter", "Value") => Ok(TABLE_DEFAULT.to_owned()),
        ("AWS::Logs::LogGroup", "Arn") => {
            let name = text(template, &template.properties(resource)["LogGroupName"])?;
            Ok(format!("arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{name}:*"))
        }
        _ => Ok(format!("<{name}>")),
    }
}

/// Resolves a resource of a statement to an ARN.
///
/// # Errors
/// When the text contains a name whose ARN is not supported.
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
