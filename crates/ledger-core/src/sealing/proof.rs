//! A proof that a record was sealed before a binding, without any other record.
//!
//! It leads from the record's hash to the root of its segment, from the segment's hash to the root of its binding, and from
//! that binding's hash to the hash of a later one, the head, which was noted elsewhere. It is verified without the table.

use super::canonical::{SealHash, digest};
use super::lanes::{Binding, LaneSegment, Unbound, binding_hash, segment_hash};
use super::merkle::{Sibling, path, root_of};
use crate::dynamo::{Item, Value};
use crate::keys::attr;
use crate::money::stored_text;

/// Attributes that a segment's hash does not cover, and the name of what stands for them.
const NOT_OF_SEGMENT: [&str; 3] = ["hash", "records", "root"];

/// A proof that a record was sealed before a binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// What the record's seal covers of it.
    pub record: Item,
    /// The path from the record's hash to the root of its segment.
    pub in_segment: Vec<Sibling>,
    /// What the segment's hash covers besides the root.
    pub segment: Item,
    /// The path from the segment's hash to the root of its lane.
    pub in_lane: Vec<Sibling>,
    /// The path from the lane's root to the root of the binding.
    pub in_binding: Vec<Sibling>,
    /// The hash of the binding before it; `None` if it is the first.
    pub after: Option<SealHash>,
    /// The binding, and those after it up to the head.
    pub bindings: Vec<BindingCover>,
}

/// What a binding's hash covers besides the hash of the binding before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindingCover {
    /// The root of what it binds.
    pub root: SealHash,
    /// The hash of its other attributes.
    pub rest: SealHash,
}

/// Why a proof is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofFault {
    /// An attribute is not covered by a hash, or is a number in another form than the hash covers.
    #[error("attribute `{0}` is not what a seal covers")]
    Uncovered(String),
    /// The record does not lead to the root of the binding.
    #[error("the record is not in the binding")]
    NotBound,
    /// The bindings do not lead to the head.
    #[error("the proof does not lead to this head")]
    OtherHead,
}

impl Proof {
    /// The proof for a record of a stored segment, with the segments of its binding and the stored bindings from that to the
    /// head. `None` if they do not lead from the record to the head: verification says what was changed.
    #[must_use]
    pub fn of(record: &Item, segment: (&LaneSegment, &Item), bound: &Unbound, bindings: &[Item]) -> Option<Self> {
        let (segment, stored) = segment;
        let hash = digest(record);
        let hashes: Vec<SealHash> = segment.records.iter().map(|(_, hash)| *hash).collect();
        let at = hashes.iter().position(|listed| *listed == hash)?;
        let (in_lane, in_binding) = bound.paths((segment.link.lane, segment.link.number))?;
        let cover = |item: &Item| Some(BindingCover { root: Binding::root_in(item)?, rest: Binding::rest(item) });
        let proof = Self {
            record: record.iter().filter(|(name, _)| !is_outside(name)).map(canonical).collect(),
            in_segment: path(&hashes, at)?,
            segment: LaneSegment::rest(stored).iter().filter(|(name, _)| !is_outside(name)).map(canonical).collect(),
            in_lane,
            in_binding,
            after: Binding::after_in(bindings.first()?),
            bindings: bindings.iter().map(cover).collect::<Option<_>>()?,
        };
        let head = Binding::digest(bindings.last()?);
        proof.verify(head).is_ok().then_some(proof)
    }

    /// Verifies that the record was sealed before the binding with this hash.
    ///
    /// # Errors
    /// [`ProofFault`] if the proof does not show it.
    pub fn verify(&self, head: SealHash) -> Result<(), ProofFault> {
        let is_of_segment = |name: &str| !NOT_OF_SEGMENT.contains(&name);
        let uncovered = self.record.iter().find(|(name, value)| is_outside(name) || !is_canonical(value));
        let in_segment =
            |(name, value): &(&String, &Value)| is_outside(name) || !is_of_segment(name) || !is_canonical(value);
        if let Some((name, _)) = uncovered.or_else(|| self.segment.iter().find(in_segment)) {
            return Err(ProofFault::Uncovered(name.clone()));
        }
        let segment = segment_hash(&self.segment, root_of(digest(&self.record), &self.in_segment));
        let root = root_of(root_of(segment, &self.in_lane), &self.in_binding);
        if self.bindings.first().map(|first| first.root) != Some(root) {
            return Err(ProofFault::NotBound);
        }
        let chain = |after, cover: &BindingCover| Some(binding_hash(after, cover.root, cover.rest));
        match self.bindings.iter().fold(self.after, chain) == Some(head) {
            true => Ok(()),
            false => Err(ProofFault::OtherHead),
        }
    }
}

fn is_outside(name: &str) -> bool {
    name.starts_with(attr::OUTSIDE_SEAL)
}

/// The attribute with its numbers as the hash covers them.
fn canonical((name, value): (&String, &Value)) -> (String, Value) {
    fn of(value: &Value) -> Value {
        match value {
            Value::N(number) => Value::N(stored_text(number).unwrap_or_else(|_| number.clone())),
            Value::L(list) => Value::L(list.iter().map(of).collect()),
            Value::M(map) => Value::M(map.iter().map(|(name, value)| (name.clone(), of(value))).collect()),
            Value::S(_) | Value::Bool(_) | Value::B(_) => value.clone(),
        }
    }
    (name.clone(), of(value))
}

fn is_canonical(value: &Value) -> bool {
    match value {
        Value::N(number) => stored_text(number).map_or(true, |text| text == *number),
        Value::L(list) => list.iter().all(is_canonical),
        Value::M(map) => map.values().all(is_canonical),
        Value::S(_) | Value::Bool(_) | Value::B(_) => true,
    }
}
