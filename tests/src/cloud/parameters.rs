//! The parameters of a deployment in `samconfig.toml`, and the rules of the template that refuse them.

use super::Template;
use serde_json::Value;
use std::collections::BTreeMap;

/// Parameters by name.
pub type Parameters = BTreeMap<String, String>;

/// The parameters of an environment.
///
/// # Panics
/// When `samconfig.toml` has no such environment.
#[must_use]
pub fn of_environment(name: &str) -> Parameters {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../samconfig.toml");
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("samconfig.toml: {error}"));
    let (_, section) = text
        .split_once(&format!("[{name}.deploy.parameters]"))
        .unwrap_or_else(|| panic!("samconfig.toml has no environment {name}"));
    let (_, list) =
        section.split_once("parameter_overrides = [").unwrap_or_else(|| panic!("{name} has no parameter_overrides"));
    let lines = list.lines().map(str::trim).take_while(|line| *line != "]");
    let set = lines.filter_map(|line| line.strip_prefix('"')?.strip_suffix("\",")?.split_once('='));
    set.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The messages of the template's rules that refuse these parameters.
///
/// # Panics
/// When a rule has an unsupported form.
#[must_use]
pub fn refused(template: &Template, parameters: &Parameters) -> Vec<String> {
    let holds = |condition: &Value| is_true(template, parameters, condition);
    let mut found = Vec::new();
    for rule in template.at("/Rules").as_object().into_iter().flat_map(|rules| rules.values()) {
        if rule["RuleCondition"].is_null() || holds(&rule["RuleCondition"]) {
            let broken = rule["Assertions"].as_array().into_iter().flatten().filter(|of| !holds(&of["Assert"]));
            found.extend(broken.map(|of| of["AssertDescription"].as_str().unwrap_or_default().to_owned()));
        }
    }
    found
}

fn is_true(template: &Template, parameters: &Parameters, condition: &Value) -> bool {
    let call = condition.as_object().and_then(|call| call.iter().next());
    let (name, of) = call.unwrap_or_else(|| panic!("{condition} is not a condition"));
    let listed = |at: usize| values(template, parameters, &of[at]);
    match name.as_str() {
        "Fn::Not" => !is_true(template, parameters, &of[0]),
        "Fn::Equals" => listed(0) == listed(1),
        "Fn::Contains" => listed(0).contains(&listed(1).concat()),
        "Fn::EachMemberEquals" => listed(0).iter().all(|member| *member == listed(1).concat()),
        "Fn::EachMemberIn" => listed(0).iter().all(|member| listed(1).contains(member)),
        other => panic!("unsupported in a rule: {other}"),
    }
}

/// The values of an expression; a single value is a list of one.
fn values(template: &Template, parameters: &Parameters, value: &Value) -> Vec<String> {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let Some(name) = value["Ref"].as_str() else { return vec![plain(value)] };
    let declared = template.parameter(name);
    let set = parameters.get(name).cloned().unwrap_or_else(|| plain(&declared["Default"]));
    if declared["Type"] == "CommaDelimitedList" { set.split(',').map(str::to_owned).collect() } else { vec![set] }
}
