//! A proof that an entry was sealed, as JSON: what `audit proof` prints, and `audit verify --proof` and others verify.

use crate::item_json::{json_of, value};
use ledger_core::dynamo::Item;
use ledger_core::sealing::{BindingCover, Proof, SealHash, Sibling};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// The form of the file.
const FORM: u8 = 1;

/// Why a text is no proof.
#[derive(Debug, thiserror::Error)]
pub enum ProofFileError {
    /// It is no JSON, or has other members.
    #[error("not a proof: {0}. Use what `audit proof` prints")]
    Malformed(#[from] serde_json::Error),
    /// It has a form that this release does not know.
    #[error("a proof of form {0}: this release reads form {FORM}")]
    Form(u8),
    /// A value is malformed.
    #[error("not a proof: `{0}` is malformed")]
    Value(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    form: u8,
    /// What the seal covers of the entry, as the AWS CLI prints it.
    record: Map<String, Json>,
    /// The siblings from the record's leaf to the root of its segment.
    record_path: Vec<Step>,
    /// What the segment's hash covers besides that root.
    segment: Map<String, Json>,
    /// The siblings from the segment's leaf to the root of its lane.
    segment_path: Vec<Step>,
    /// The siblings from the leaf of that root to the root of the binding.
    lane_path: Vec<Step>,
    /// The hash of the binding before it.
    after: Option<String>,
    /// The binding, and those after it up to the head.
    bindings: Vec<Cover>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
enum Step {
    Left(String),
    Right(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cover {
    root: String,
    rest: String,
}

/// The proof as JSON.
///
/// # Errors
/// [`ProofFileError`], which no proof causes.
pub fn text(proof: &Proof) -> Result<String, ProofFileError> {
    let file = File {
        form: FORM,
        record: members(&proof.record),
        record_path: steps(&proof.in_segment),
        segment: members(&proof.segment),
        segment_path: steps(&proof.in_lane),
        lane_path: steps(&proof.in_binding),
        after: proof.after.map(|after| after.to_string()),
        bindings: proof.bindings.iter().map(Cover::of).collect(),
    };
    Ok(serde_json::to_string_pretty(&file)?)
}

/// Reads a proof.
///
/// # Errors
/// [`ProofFileError`] if the text is no proof.
pub fn read(text: &str) -> Result<Proof, ProofFileError> {
    let file: File = serde_json::from_str(text)?;
    if file.form != FORM {
        return Err(ProofFileError::Form(file.form));
    }
    let cover = |cover: &Cover| Ok(BindingCover { root: hash("root", &cover.root)?, rest: hash("rest", &cover.rest)? });
    Ok(Proof {
        record: item("record", &file.record)?,
        in_segment: siblings("record_path", &file.record_path)?,
        segment: item("segment", &file.segment)?,
        in_lane: siblings("segment_path", &file.segment_path)?,
        in_binding: siblings("lane_path", &file.lane_path)?,
        after: file.after.map(|after| hash("after", &after)).transpose()?,
        bindings: file.bindings.iter().map(cover).collect::<Result<_, ProofFileError>>()?,
    })
}

impl Cover {
    fn of(cover: &BindingCover) -> Self {
        Self { root: cover.root.to_string(), rest: cover.rest.to_string() }
    }
}

fn members(item: &Item) -> Map<String, Json> {
    item.iter().map(|(name, value)| (name.clone(), json_of(value))).collect()
}

fn item(of: &str, members: &Map<String, Json>) -> Result<Item, ProofFileError> {
    let malformed = |name: &String| ProofFileError::Value(format!("{of}.{name}"));
    let read = |(name, json): (&String, &Json)| Ok((name.clone(), value(json).ok_or_else(|| malformed(name))?));
    members.iter().map(read).collect()
}

fn steps(path: &[Sibling]) -> Vec<Step> {
    let step = |sibling: &Sibling| match sibling {
        Sibling::Left(hash) => Step::Left(hash.to_string()),
        Sibling::Right(hash) => Step::Right(hash.to_string()),
    };
    path.iter().map(step).collect()
}

fn siblings(of: &str, path: &[Step]) -> Result<Vec<Sibling>, ProofFileError> {
    let sibling = |step: &Step| match step {
        Step::Left(text) => Ok(Sibling::Left(hash(of, text)?)),
        Step::Right(text) => Ok(Sibling::Right(hash(of, text)?)),
    };
    path.iter().map(sibling).collect()
}

fn hash(of: &str, text: &str) -> Result<SealHash, ProofFileError> {
    SealHash::parse(text).ok_or_else(|| ProofFileError::Value(of.to_owned()))
}
