//! Reads `template.yaml`: resources by kind, functions with their roles, routes and schedules. An accessor panics if
//! the template lacks what it reads.

use super::iam::{Policy, Unknown};
use super::{refs, yaml};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const FUNCTION: &str = "AWS::Serverless::Function";
const ROLE: &str = "AWS::IAM::Role";
/// The policy that bounds the functions' roles.
pub const BOUNDARY: &str = "FunctionBoundary";
const FOR_EACH: &str = "Fn::ForEach::";
pub(super) const ALARM: &str = "AWS::CloudWatch::Alarm";
const INTEGRATIONS: &str = "x-amazon-apigateway-integrations";

/// A template.
#[derive(Clone, Debug)]
pub struct Template {
    root: Value,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its logical id.
    pub id: String,
    /// The name of its binary and of the folder in `functions`.
    pub binary: String,
    /// The logical id of its role.
    pub role: String,
    /// The logical id of its log group.
    pub log_group: String,
    /// The names of its environment variables.
    pub environment: BTreeSet<String>,
    /// The routes that invoke it.
    pub routes: Vec<Route>,
    /// The logical ids of the queues that invoke it.
    pub queues: Vec<String>,
    /// Its properties, including those shared by all functions.
    pub properties: Value,
}

/// A route of the API.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// The method in upper case.
    pub method: String,
    /// The path with parameters in braces.
    pub path: String,
    /// Whether API Gateway requires a token.
    pub authorized: bool,
}

/// A schedule of a tenant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Schedule {
    /// The parameter that lists the tenants with this schedule.
    pub tenants: String,
    /// The logical id of the queue that it sends to.
    pub queue: String,
    /// The schedule expression.
    pub expression: String,
    /// The message that it sends, with `${Tenant}` for the tenant.
    pub input: String,
}

impl Template {
    /// Reads the repository's template.
    ///
    /// # Panics
    /// When it cannot be read.
    #[must_use]
    pub fn read() -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../template.yaml");
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("template.yaml: {error}"));
        Self { root: yaml::read(&text).unwrap_or_else(|error| panic!("template.yaml: {error}")) }
    }

    /// A copy with a change, for mistakes that tests plant.
    #[must_use]
    pub fn with(&self, change: impl FnOnce(&mut Value)) -> Self {
        let mut changed = self.clone();
        change(&mut changed.root);
        changed
    }

    /// The value at a JSON pointer; null if it does not exist.
    #[must_use]
    pub fn at(&self, pointer: &str) -> &Value {
        self.root.pointer(pointer).unwrap_or(&Value::Null)
    }

    /// A parameter; null if it does not exist.
    #[must_use]
    pub fn parameter(&self, name: &str) -> &Value {
        &self.root["Parameters"][name]
    }

    /// Whether a resource with this logical id exists.
    #[must_use]
    pub fn has_resource(&self, id: &str) -> bool {
        self.root["Resources"].get(id).is_some()
    }

    /// A resource's type.
    ///
    /// # Panics
    /// When the resource does not exist.
    #[must_use]
    pub fn kind(&self, id: &str) -> &str {
        self.root["Resources"][id]["Type"].as_str().unwrap_or_else(|| panic!("no resource {id}"))
    }

    /// A resource's properties.
    #[must_use]
    pub fn properties(&self, id: &str) -> &Value {
        &self.root["Resources"][id]["Properties"]
    }

    /// The logical ids of all resources except those written once for each tenant.
    ///
    /// # Panics
    /// When the template has no resources.
    pub fn resources(&self) -> impl Iterator<Item = &str> {
        let all = self.root["Resources"].as_object().expect("resources");
        all.keys().map(String::as_str).filter(|id| !id.starts_with(FOR_EACH))
    }

    /// The logical ids of the resources of a type.
    pub fn of_kind(&self, kind: &str) -> impl Iterator<Item = &str> {
        self.resources().filter(move |id| self.kind(id) == kind)
    }

    /// Every function.
    #[must_use]
    pub fn functions(&self) -> Vec<Function> {
        self.of_kind(FUNCTION).map(|id| self.function(id)).collect()
    }

    /// Every role.
    pub fn roles(&self) -> impl Iterator<Item = &str> {
        self.of_kind(ROLE)
    }

    /// A role's own policies as one.
    ///
    /// # Errors
    /// When a part is not supported, or the role has other policies.
    pub fn role(&self, id: &str) -> Result<Policy, Unknown> {
        let role = self.properties(id);
        if !role["ManagedPolicyArns"].is_null() {
            return Err(Unknown(format!("{id} has managed policies")));
        }
        let policies = role["Policies"].as_array().ok_or_else(|| Unknown(format!("no policies: {id}")))?;
        let policies = policies.iter().map(|policy| self.policy(&policy["PolicyDocument"]));
        Ok(Policy::joined(policies.collect::<Result<Vec<_>, _>>()?))
    }

    /// The permissions boundary of the functions.
    ///
    /// # Errors
    /// When a part is not supported.
    pub fn boundary(&self) -> Result<Policy, Unknown> {
        self.policy(&self.properties(BOUNDARY)["PolicyDocument"])
    }

    fn policy(&self, document: &Value) -> Result<Policy, Unknown> {
        Policy::read(document, &|value| refs::text(self, value))
    }

    fn function(&self, id: &str) -> Function {
        let mut properties = self.at("/Globals/Function").clone();
        for (name, value) in self.properties(id).as_object().expect("properties") {
            properties[name] = value.clone();
        }
        let code = properties["CodeUri"].as_str().unwrap_or_default();
        let binary = code.strip_prefix("target/lambda/").and_then(|name| name.strip_suffix('/'));
        let mut queues = Vec::new();
        for (name, event) in properties["Events"].as_object().into_iter().flatten() {
            match event["Type"].as_str() {
                Some("SQS") => queues.push(resource_of(&event["Properties"]["Queue"], ".Arn")),
                // SAM adds a permission for each route that is an event, and a function's policy has a size limit.
                Some("HttpApi") => panic!("{id}: the route {name} is not in the definition of the API"),
                Some(_) | None => panic!("{id}: unknown type of the event {name}"),
            }
        }
        let environment = properties["Environment"]["Variables"].as_object().into_iter().flatten();
        Function {
            id: id.to_owned(),
            binary: binary.unwrap_or_else(|| panic!("{id}: no binary in {code}")).to_owned(),
            role: resource_of(&properties["Role"], ".Arn"),
            log_group: resource_of(&properties["LoggingConfig"]["LogGroup"], ""),
            environment: environment.map(|(name, _)| name.clone()).collect(),
            routes: self.routes(id),
            queues,
            properties,
        }
    }

    /// The routes in the API's definition with this function as integration.
    fn routes(&self, function: &str) -> Vec<Route> {
        let definition = &self.properties("Api")["DefinitionBody"];
        let integrations = &definition["components"][INTEGRATIONS];
        let of = |operation: &Value, route: &str| {
            let name = operation["x-amazon-apigateway-integration"]["$ref"].as_str();
            let name = name.and_then(|name| name.strip_prefix(&format!("#/components/{INTEGRATIONS}/")));
            let name = name.unwrap_or_else(|| panic!("{route}: no integration"));
            let alias = integrations[name]["uri"]["Fn::Join"][1][1]["Ref"].as_str();
            let called = alias.and_then(|alias| alias.strip_suffix(".Alias"));
            called.unwrap_or_else(|| panic!("{route}: {name} calls no function")).to_owned()
        };
        let mut routes = Vec::new();
        for (path, operations) in definition["paths"].as_object().expect("paths") {
            for (method, operation) in operations.as_object().expect("operations") {
                if of(operation, &format!("{method} {path}")) == function {
                    routes.push(Route::of(method, path, operation));
                }
            }
        }
        routes
    }

    /// Resources written once for each tenant: the parameter that lists the tenants, the logical id, the resource.
    ///
    /// # Panics
    /// When a loop is not over tenants.
    #[must_use]
    pub fn looped(&self) -> Vec<(String, String, Value)> {
        let loops = self.root["Resources"].as_object().into_iter().flatten().filter(|(id, _)| id.starts_with(FOR_EACH));
        let mut looped = Vec::new();
        for (id, written) in loops {
            assert_eq!(written[0], "Tenant", "{id}");
            let tenants = resource_of(&written[1], "");
            for (id, resource) in written[2].as_object().expect("resources") {
                assert!(id.ends_with("&{Tenant}"), "{id}");
                looped.push((tenants.clone(), id.clone(), resource.clone()));
            }
        }
        looped
    }

    /// The schedules of each tenant by logical id.
    ///
    /// # Panics
    /// When a looped resource is neither an alarm nor a schedule.
    #[must_use]
    pub fn schedules(&self) -> BTreeMap<String, Schedule> {
        let mut schedules = BTreeMap::new();
        for (tenants, id, resource) in self.looped() {
            if resource["Type"] == ALARM {
                continue;
            }
            assert_eq!(resource["Type"], "AWS::Scheduler::Schedule", "{id}");
            // A list parameter is never empty: if `NONE` stands for no tenant, the resource needs a condition.
            let may_be_empty = self.parameter(&tenants)["Default"] == "NONE";
            assert_eq!(resource["Condition"].is_string(), may_be_empty, "{id}");
            schedules.insert(id, Schedule::of(&tenants, &resource["Properties"]));
        }
        schedules
    }
}

impl Route {
    fn of(method: &str, path: &str, operation: &Value) -> Self {
        let authorized = match &operation["security"] {
            // The API's default authorizer.
            Value::Null => true,
            none if *none == json!([{"NONE": []}]) => false,
            api if *api == json!([{"Customer": []}]) || *api == json!([{"Merchant": []}]) => true,
            other => panic!("{method} {path}: the security {other}"),
        };
        Self { method: method.to_uppercase(), path: path.to_owned(), authorized }
    }
}

impl Schedule {
    fn of(tenants: &str, properties: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{properties}")).to_owned();
        Self {
            tenants: tenants.to_owned(),
            queue: resource_of(&properties["Target"]["Arn"], ".Arn"),
            expression: text(&properties["ScheduleExpression"]),
            input: text(&properties["Target"]["Input"]["Fn::Sub"]),
        }
    }
}

/// The logical id in a `!Ref`, or in a `!GetAtt` of this attribute.
fn resource_of(value: &Value, attribute: &str) -> String {
    let name = if attribute.is_empty() { &value["Ref"] } else { &value["Fn::GetAtt"] };
    let name = name.as_str().and_then(|name| name.strip_suffix(attribute));
    name.unwrap_or_else(|| panic!("{value} names no resource")).to_owned()
}
