//! Checks the template's statements against AWS's service authorization data: unknown actions, resources of another
//! type than the action takes, and unknown condition keys. IAM accepts such a statement, but allows nothing by it.

use super::iam::Unknown;
use super::{Template, refs};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};

/// Resources that an action takes in addition to those of the data: action, form of the ARN, source.
const FORMS: [(&str, &str, &str); 1] = [(
    "lambda:InvokeFunction",
    "arn:${Partition}:lambda:${Region}:${Account}:function:${FunctionName}:${Alias}",
    "Lambda developer guide, identity-based policies: a call that names an alias is a call of the alias's ARN",
)];
/// Exceptions: statements with more resources than the data has: policy, statement, reason.
const EXTRA_RESOURCES: [(&str, &str, &str); 1] =
    [("RollOutRole", "MoveTheAliases", "the alias's ARN; the data names only the function's")];
/// Exceptions: statements on all resources although the data has some: policy, statement, reason.
const ALL_RESOURCES: [(&str, &str, &str); 2] = [
    ("RollOutRole", "LookAtTheAlarms", "CodeDeploy describes several alarms in one call, which no ARN names"),
    ("ServiceBoundary", "LookAtTheAlarms", "CodeDeploy describes several alarms in one call, which no ARN names"),
];
/// Condition keys that every request has, whatever its action.
const GLOBAL: [&str; 4] = ["aws:PrincipalArn", "aws:SecureTransport", "aws:SourceAccount", "aws:SourceArn"];
/// Parts of ARNs that may contain colons or slashes.
const PARTS_WITH_SEPARATORS: [&str; 5] =
    ["LogGroupName", "LogStreamName", "ObjectName", "StateMachineName", "StreamLabel"];

/// The committed extract of the data.
#[derive(Debug)]
pub struct Authorization(Value);

/// A statement of the template, with the logical id of the resource that has it.
#[derive(Debug)]
struct Stated<'a> {
    owner: &'a str,
    sid: &'a str,
    statement: &'a Value,
    is_of_a_resource: bool,
}

impl Authorization {
    /// Reads the extract.
    ///
    /// # Panics
    /// When it is not JSON.
    #[must_use]
    pub fn read() -> Self {
        Self(serde_json::from_str(include_str!("../../cloud/service-authorization.json")).expect("JSON"))
    }

    /// The extract's source and date.
    #[must_use]
    pub fn source(&self) -> [Option<&str>; 2] {
        ["source", "date"].map(|field| self.0[field].as_str())
    }

    /// Every contradiction between the template's statements and the data, and every unused exception.
    #[must_use]
    pub fn wrong(&self, template: &Template) -> Vec<String> {
        let (mut found, mut used) = (Vec::new(), BTreeSet::new());
        let stated = statements(template);
        for of in &stated {
            for wrong in self.wrong_in(template, of, &mut used) {
                found.push(format!("{}: {}: {wrong}", of.owner, of.sid));
            }
        }
        let named = EXTRA_RESOURCES.iter().chain(&ALL_RESOURCES).map(|(owner, sid, _)| format!("{owner}: {sid}"));
        let named = named.chain(FORMS.iter().map(|(action, ..)| (*action).to_owned()));
        found
            .extend(named.filter(|name| !used.contains(name)).map(|name| format!("{name}: the exception is not used")));
        found
    }

    fn wrong_in(&self, template: &Template, of: &Stated<'_>, used: &mut BTreeSet<String>) -> Vec<String> {
        let (mut found, statement) = (Vec::new(), of.statement);
        let resources: Result<Vec<String>, Unknown> =
            listed(&statement["Resource"]).into_iter().map(|resource| refs::arn(template, resource)).collect();
        let resources = match resources {
            Ok(resources) => resources,
            Err(unknown) => return vec![unknown.to_string()],
        };
        for action in listed(&statement["Action"]).into_iter().map(|action| action.as_str().unwrap_or_default()) {
            let (service, name) = action.split_once(':').unwrap_or_default();
            let service = &self.0["services"][service];
            if name == "*" && service.is_object() {
                continue;
            }
            let types = &service["actions"][name]["resource_types"];
            let Some(types) = types.as_object() else {
                found.push(format!("{action} is no action of the data"));
                continue;
            };
            let mut forms: Vec<&str> =
                types.keys().filter_map(|name| service["resources"][name]["arn"].as_str()).collect();
            if let Some((_, form, _)) = FORMS.iter().find(|(of, ..)| *of == action) {
                used.insert(action.to_owned());
                forms.push(form);
            }
            found.extend(wrong_resources(of, action, &forms, &resources, used));
            let own = types.values().chain(types.keys().map(|name| &service["resources"][name]["condition_keys"]));
            let own: BTreeSet<&str> =
                own.flat_map(|keys| keys.as_array().into_iter().flatten()).filter_map(Value::as_str).collect();
            for key in statement["Condition"].as_object().into_iter().flatten().flat_map(|(_, keys)| keys.as_object()) {
                let unknown = key.keys().filter(|key| !GLOBAL.contains(&key.as_str()) && !has_key(&own, key));
                found.extend(unknown.map(|key| format!("{action} does not support the condition key {key}")));
            }
        }
        found
    }
}

/// Whether a condition key is one of the data's, where `service:Name:${Variable}` is every key with that prefix.
fn has_key(data: &BTreeSet<&str>, key: &str) -> bool {
    let with_variable = |known: &&str| known.split_once("${").is_some_and(|(prefix, _)| key.starts_with(prefix));
    data.contains(key) || data.iter().any(with_variable)
}

fn wrong_resources(
    of: &Stated<'_>,
    action: &str,
    forms: &[&str],
    resources: &[String],
    used: &mut BTreeSet<String>,
) -> Vec<String> {
    let mut excepted = |list: &[(&str, &str, &str)]| {
        let is = list.iter().any(|(owner, sid, _)| *owner == of.owner && *sid == of.sid);
        if is {
            used.insert(format!("{}: {}", of.owner, of.sid));
        }
        is
    };
    let is_denied = of.statement["Effect"] == "Deny";
    // A trust policy names no resource, because it applies to its role.
    if is_denied || of.statement["Resource"].is_null() {
        return Vec::new();
    }
    if resources == ["*"] {
        // In a key's policy `*` is the key itself.
        let may = forms.is_empty() || of.is_of_a_resource || excepted(&ALL_RESOURCES);
        return if may {
            Vec::new()
        } else {
            vec![format!("{action} on all resources, although the data has {forms:?}")]
        };
    }
    let is_one = |resource: &String| forms.iter().any(|form| meets(form, resource));
    if !resources.iter().any(is_one) {
        return vec![format!("{action} on none of {forms:?}: {resources:?}")];
    }
    let others: Vec<&String> = resources.iter().filter(|resource| !is_one(resource)).collect();
    // In a statement with several actions each may take some of the resources, such as a bucket's and its objects'.
    let takes_some = listed(&of.statement["Action"]).len() > 1 && of.owner == super::template::BOUNDARY;
    if others.is_empty() || takes_some || excepted(&EXTRA_RESOURCES) {
        return Vec::new();
    }
    vec![format!("{action} on {others:?}, none of {forms:?}")]
}

/// A single value or a list, as a list.
fn listed(value: &Value) -> Vec<&Value> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(values) => values.iter().collect(),
        one => vec![one],
    }
}

/// Every statement in any policy of the template.
fn statements(template: &Template) -> Vec<Stated<'_>> {
    let mut found = Vec::new();
    for owner in template.resources() {
        let is_of_a_resource = !template.kind(owner).starts_with("AWS::IAM::");
        walk(owner, is_of_a_resource, template.properties(owner), &mut found);
    }
    found
}

fn walk<'a>(owner: &'a str, is_of_a_resource: bool, value: &'a Value, found: &mut Vec<Stated<'a>>) {
    match value {
        Value::Object(fields) => {
            for statement in fields.get("Statement").and_then(Value::as_array).into_iter().flatten() {
                // A conditional statement is checked as if it were present.
                let statement = statement.pointer("/Fn::If/1").unwrap_or(statement);
                let sid = statement["Sid"].as_str().unwrap_or("Trust");
                found.push(Stated { owner, sid, statement, is_of_a_resource });
            }
            fields.values().for_each(|value| walk(owner, is_of_a_resource, value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| walk(owner, is_of_a_resource, value, found)),
        _ => {}
    }
}

#[derive(Clone, Copy)]
enum Part {
    Sign(char),
    /// A character of a variable; the flag allows colons and slashes.
    One(bool),
    /// Any number of further characters of a variable.
    Many(bool),
}

/// Whether a resource pattern matches some ARN of a form.
#[must_use]
pub fn meets(form: &str, pattern: &str) -> bool {
    let (mut parts, mut rest) = (Vec::new(), form);
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        parts.extend(before.chars().map(Part::Sign));
        let wide = PARTS_WITH_SEPARATORS.contains(&name);
        parts.extend([Part::One(wide), Part::Many(wide)]);
        rest = after;
    }
    parts.extend(rest.chars().map(Part::Sign));
    let pattern: Vec<char> = pattern.chars().collect();
    fits(&parts, &pattern, (0, 0), &mut HashMap::new())
}

fn fits(parts: &[Part], pattern: &[char], at: (usize, usize), seen: &mut HashMap<(usize, usize), bool>) -> bool {
    if let Some(known) = seen.get(&at) {
        return *known;
    }
    let (part, sign) = (parts.get(at.0).copied(), pattern.get(at.1).copied());
    let mut go = |parts_on: usize, signs_on: usize| fits(parts, pattern, (at.0 + parts_on, at.1 + signs_on), seen);
    let takes = |wide: bool, sign: char| sign != '*' && (wide || !matches!(sign, ':' | '/'));
    let result = match (part, sign) {
        (None, None) => true,
        (Some(_), Some('*')) => go(1, 0) || go(0, 1),
        (None, Some('*')) => go(0, 1),
        (Some(Part::Many(wide)), Some(sign)) => go(1, 0) || (takes(wide, sign) && go(0, 1)),
        (Some(Part::Many(_)), None) => go(1, 0),
        (Some(Part::One(wide)), Some(sign)) => takes(wide, sign) && go(1, 1),
        (Some(Part::Sign(own)), Some(sign)) => (own == sign || sign == '?') && go(1, 1),
        (None, Some(_)) | (Some(_), None) => false,
    };
    seen.insert(at, result);
    result
}
