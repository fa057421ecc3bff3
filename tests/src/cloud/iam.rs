//! IAM's decision for exactly what the template's policies use: Allow and Deny, `*` and `?`, two string
//! operators and their quantifiers. What it does not know is an error, and an error is a denial.

mod policy;
#[cfg(test)]
mod tests;

pub use policy::{Condition, Effect, Policy, Quantifier, Statement};

use std::collections::BTreeMap;
use std::fmt;

/// Something in a policy or a request that is not understood here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown(pub String);

/// What IAM is asked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// Such as `dynamodb:GetItem`.
    pub action: String,
    /// The resource's ARN.
    pub resource: String,
    /// Condition keys, in lower case, with their values.
    pub context: BTreeMap<String, Vec<String>>,
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// A statement denies it.
    By(String),
    /// The role allows nothing of the kind.
    NotByRole,
    /// The role does, and its boundary does not.
    NotByBoundary,
    /// It cannot be said.
    Unknown(Unknown),
}

/// Whether a role within its boundary may do something: no statement of the two denies it, and each of
/// the two allows it.
///
/// # Errors
/// [`Denied`] says why not.
pub fn authorise(role: &Policy, boundary: &Policy, request: &Request) -> Result<(), Denied> {
    let [role, boundary] = [role, boundary].map(|policy| policy.decide(request));
    let (role, boundary) = (role.map_err(Denied::Unknown)?, boundary.map_err(Denied::Unknown)?);
    match (role, boundary) {
        (Decision::Denied(sid), _) | (_, Decision::Denied(sid)) => Err(Denied::By(sid)),
        (Decision::Silent, Decision::Allowed | Decision::Silent) => Err(Denied::NotByRole),
        (Decision::Allowed, Decision::Silent) => Err(Denied::NotByBoundary),
        (Decision::Allowed, Decision::Allowed) => Ok(()),
    }
}

/// What one policy says of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The statement of this name denies it.
    Denied(String),
    /// It is allowed, and not denied.
    Allowed,
    /// No statement is about it.
    Silent,
}

impl Policy {
    /// What this policy alone says.
    ///
    /// # Errors
    /// When a condition cannot be decided.
    pub fn decide(&self, request: &Request) -> Result<Decision, Unknown> {
        let mut decision = Decision::Silent;
        for statement in &self.statements {
            if !statement.is_about(request)? {
                continue;
            }
            match statement.effect {
                Effect::Deny => return Ok(Decision::Denied(statement.sid.clone())),
                Effect::Allow => decision = Decision::Allowed,
            }
        }
        Ok(decision)
    }
}

impl Statement {
    fn is_about(&self, request: &Request) -> Result<bool, Unknown> {
        let action = request.action.to_lowercase();
        if !self.actions.iter().any(|pattern| matches(&pattern.to_lowercase(), &action))
            || !self.resources.iter().any(|pattern| matches(pattern, &request.resource))
        {
            return Ok(false);
        }
        for condition in &self.conditions {
            if !condition.holds(request)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Condition {
    fn holds(&self, request: &Request) -> Result<bool, Unknown> {
        let given = request.context.get(&self.key).map(Vec::as_slice).unwrap_or_default();
        let fits = |value: &String| self.values.contains(value) != self.negated;
        Ok(match (self.quantifier, given) {
            // Without the key only what asks for a difference holds.
            (Quantifier::One, []) => self.negated,
            (Quantifier::One, [value]) => fits(value),
            (Quantifier::One, _) => return Err(Unknown(format!("several values of {}", self.key))),
            (Quantifier::Any, values) => values.iter().any(fits),
            // Which holds for an absent key too.
            (Quantifier::All, values) => values.iter().all(fits),
        })
    }
}

/// Whether a text is what a pattern with `*` and `?` describes.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut read) = (0, 0);
    // Where the last `*` stands, and how much of the text it covers.
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        match (pattern.get(at), star) {
            (Some('*'), _) => {
                star = Some((at, read));
                at += 1;
            }
            (Some(&sign), _) if sign == '?' || sign == text[read] => (at, read) = (at + 1, read + 1),
            (_, Some((last, covered))) => {
                star = Some((last, covered + 1));
                (at, read) = (last + 1, covered + 1);
            }
            (_, None) => return false,
        }
    }
    pattern[at..].iter().all(|sign| *sign == '*')
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not understood: {}", self.0)
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {} with {:?}", self.action, self.resource, self.context)
    }
}
