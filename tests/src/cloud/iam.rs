//! Decides IAM requests for the parts of IAM that the template's policies use: Allow and Deny, `*` and `?`, two string
//! operators and their quantifiers. Any other part is an error, and an error is a denial.

mod policy;

pub use policy::{Condition, Effect, Policy, Quantifier, Statement};

use std::collections::BTreeMap;
use std::fmt;

/// A part of a policy or request that this module does not support.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown(pub String);

/// A request for permission.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// The action, such as `dynamodb:GetItem`.
    pub action: String,
    /// The resource's ARN.
    pub resource: String,
    /// Condition keys, in lower case, with their values.
    pub context: BTreeMap<String, Vec<String>>,
}

/// The reason of a denial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// The statement of this name denies it.
    By(String),
    /// No statement of the role allows it.
    NotByRole,
    /// The role allows it, the boundary does not.
    NotByBoundary,
    /// The decision needs an unsupported part of IAM.
    Unknown(Unknown),
}

/// Decides whether a role with a permissions boundary may do something: no statement may deny it, and both must allow
/// it.
///
/// # Errors
/// [`Denied`] with the reason.
pub fn authorise(role: &Policy, boundary: &Policy, request: &Request) -> Result<(), Denied> {
    let [role, boundary] = [role, boundary].map(|policy| policy.decide(request));
    let (role, boundary) = (role.map_err(Denied::Unknown)?, boundary.map_err(Denied::Unknown)?);
    match (role, boundary) {
        (Decision::Denied(sid), _) | (_, Decision::Denied(sid)) => Err(Denied::By(sid)),
        (Decision::ImplicitDeny, Decision::Allowed | Decision::ImplicitDeny) => Err(Denied::NotByRole),
        (Decision::Allowed, Decision::ImplicitDeny) => Err(Denied::NotByBoundary),
        (Decision::Allowed, Decision::Allowed) => Ok(()),
    }
}

/// The decision of one policy on a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The statement of this name denies it.
    Denied(String),
    /// It is allowed, and not denied.
    Allowed,
    /// No statement applies to it.
    ImplicitDeny,
}

impl Policy {
    /// The decision of this policy alone.
    ///
    /// # Errors
    /// When a condition cannot be evaluated.
    pub fn decide(&self, request: &Request) -> Result<Decision, Unknown> {
        let mut decision = Decision::ImplicitDeny;
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
            // If the key is absent, only a negated condition holds.
            (Quantifier::One, []) => self.negated,
            (Quantifier::One, [value]) => fits(value),
            (Quantifier::One, _) => return Err(Unknown(format!("several values of {}", self.key))),
            (Quantifier::Any, values) => values.iter().any(fits),
            // This also holds for an absent key.
            (Quantifier::All, values) => values.iter().all(fits),
        })
    }
}

/// Whether a pattern with `*` and `?` matches a text.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut read) = (0, 0);
    // The position of the last `*`, and the end of the text that it covers.
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
        write!(f, "unsupported: {}", self.0)
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {} with {:?}", self.action, self.resource, self.context)
    }
}
