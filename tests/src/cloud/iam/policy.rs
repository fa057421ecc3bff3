//! Reads a policy document into statements. Every unlisted field or operator is an error, so that no restriction of a
//! policy is ignored.

use super::Unknown;
use serde_json::Value;

/// The effect of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The statement allows.
    Allow,
    /// The statement denies, even if another allows.
    Deny,
}

/// The values of a key for which a condition must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// The only value.
    One,
    /// At least one value.
    Any,
    /// All values.
    All,
}

/// A policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Its statements.
    pub statements: Vec<Statement>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Its name.
    pub sid: String,
    /// Its effect.
    pub effect: Effect,
    /// Patterns of actions.
    pub actions: Vec<String>,
    /// Patterns of resources.
    pub resources: Vec<String>,
    /// The conditions that must all hold.
    pub conditions: Vec<Condition>,
}

/// A comparison of strings: the operators `StringEquals` and `StringNotEquals`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The values for which it must hold.
    pub quantifier: Quantifier,
    /// Whether it is `StringNotEquals`.
    pub negated: bool,
    /// The condition key, in lower case.
    pub key: String,
    /// The values to compare with.
    pub values: Vec<String>,
}

impl Policy {
    /// Reads a policy document; `text` resolves a template's value to text.
    ///
    /// # Errors
    /// When a part is not supported.
    pub fn read(document: &Value, text: &impl Fn(&Value) -> Result<String, Unknown>) -> Result<Self, Unknown> {
        let statements = document["Statement"].as_array().ok_or_else(|| unknown("a document", document))?;
        if document["Version"] != "2012-10-17" || statements.is_empty() {
            return Err(unknown("a document", document));
        }
        let statements = statements.iter().map(|statement| Statement::read(where_wanted(statement), text));
        Ok(Self { statements: statements.collect::<Result<_, _>>()? })
    }

    /// One policy with the statements of all of these.
    #[must_use]
    pub fn joined(policies: impl IntoIterator<Item = Self>) -> Self {
        Self { statements: policies.into_iter().flat_map(|policy| policy.statements).collect() }
    }
}

impl Statement {
    fn read(statement: &Value, text: &impl Fn(&Value) -> Result<String, Unknown>) -> Result<Self, Unknown> {
        let fields = statement.as_object().ok_or_else(|| unknown("a statement", statement))?;
        if let Some(field) = fields.keys().find(|field| !FIELDS.contains(&field.as_str())) {
            return Err(Unknown(format!("the field {field} in {statement}")));
        }
        let effect = match statement["Effect"].as_str() {
            Some("Allow") => Effect::Allow,
            Some("Deny") => Effect::Deny,
            Some(_) | None => return Err(unknown("an effect", statement)),
        };
        let sid = statement["Sid"].as_str().ok_or_else(|| unknown("a statement's name", statement))?.to_owned();
        let (actions, resources) = (texts(&statement["Action"], text)?, texts(&statement["Resource"], text)?);
        let mut conditions = Vec::new();
        if let Some(operators) = fields.get("Condition") {
            for (operator, keys) in operators.as_object().ok_or_else(|| unknown("a condition", operators))? {
                for (key, values) in keys.as_object().ok_or_else(|| unknown("a condition", keys))? {
                    conditions.push(Condition::read(operator, key, texts(values, text)?)?);
                }
            }
        }
        Ok(Self { sid, effect, actions, resources, conditions })
    }
}

impl Condition {
    fn read(operator: &str, key: &str, values: Vec<String>) -> Result<Self, Unknown> {
        let (quantifier, comparison) = match operator.split_once(':') {
            Some(("ForAnyValue", comparison)) => (Quantifier::Any, comparison),
            Some(("ForAllValues", comparison)) => (Quantifier::All, comparison),
            Some(_) => return Err(Unknown(format!("the operator {operator}"))),
            None => (Quantifier::One, operator),
        };
        let negated = match comparison {
            "StringEquals" => false,
            "StringNotEquals" => true,
            _ => return Err(Unknown(format!("the operator {operator}"))),
        };
        Ok(Self { quantifier, negated, key: key.to_lowercase(), values })
    }
}

const FIELDS: [&str; 5] = ["Sid", "Effect", "Action", "Resource", "Condition"];

/// A text or a list of texts, without policy variables: IAM resolves those at each request.
fn texts(value: &Value, text: &impl Fn(&Value) -> Result<String, Unknown>) -> Result<Vec<String>, Unknown> {
    let values = value.as_array().map_or_else(|| std::slice::from_ref(value), Vec::as_slice);
    let texts = values.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    if texts.is_empty() || texts.iter().any(|text| text.is_empty() || text.contains("${")) {
        return Err(unknown("a text", value));
    }
    Ok(texts)
}

/// A conditional statement, `[condition, statement, nothing]`, is read as if it were present.
fn where_wanted(statement: &Value) -> &Value {
    match statement["Fn::If"].as_array().map(Vec::as_slice) {
        Some([_, wanted, nothing]) if nothing["Ref"] == "AWS::NoValue" => wanted,
        Some(_) | None => statement,
    }
}

fn unknown(what: &str, value: &Value) -> Unknown {
    Unknown(format!("{what}: {value}"))
}
