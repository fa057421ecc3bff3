//! A stored break of a run, `BREAK#<id>` in the run's partition.

use crate::account::Account;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::forms::SeenCorrections;
use crate::ids::{ApprovalId, FindingId, RunId, Tenant};
use crate::keys::{self, attr};
use crate::money::Asset;
use crate::reconcile::{BreakKind, Finding, Proposal};

const PROPOSED: &str = "proposed";
const PROPOSED_EXPOSURE: &str = "proposed_exposure";

/// A stored break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundBreak {
    /// Its id.
    pub id: FindingId,
    /// The kind of the break.
    pub kind: BreakKind,
    /// The subject.
    pub subject: String,
    /// The asset, if it is about one.
    pub asset: Option<Asset>,
    /// The expected value.
    pub expected: String,
    /// The value that was found.
    pub found: String,
    /// Ids of the items that show the break.
    pub evidence: Vec<String>,
    /// The subject of the break that explains it.
    pub follows: Option<String>,
    /// The adjustment that would correct the balance or its exposure.
    pub proposed: Option<Proposal>,
    /// The adjustment that was requested for it, if one was.
    pub adjustment: Option<ApprovalId>,
}

pub(super) fn stored(tenant: &Tenant, (run, id): (RunId, FindingId), found: &Finding) -> Item {
    let mut item = Item::from([
        (attr::OWNER_PK.to_owned(), Value::S(keys::breaks_partition(tenant))),
        (attr::OWNER_SK.to_owned(), Value::S(keys::break_place(run, id))),
        ("finding_id".to_owned(), Value::s(id)),
        ("kind".to_owned(), Value::s(found.kind.name())),
        ("subject".to_owned(), Value::s(&found.subject)),
        ("expected".to_owned(), Value::s(&found.expected)),
        ("found".to_owned(), Value::s(&found.found)),
        ("evidence".to_owned(), Value::L(found.evidence.iter().map(Value::s).collect())),
    ]);
    if let Some(asset) = &found.asset {
        item.insert("asset".to_owned(), Value::s(asset));
    }
    if let Some(follows) = &found.follows {
        item.insert("follows".to_owned(), Value::s(follows));
    }
    if let Some(proposal) = &found.proposal {
        let parts = [(PROPOSED, &proposal.delta), (PROPOSED_EXPOSURE, &proposal.exposure)];
        let parts =
            parts.into_iter().filter_map(|(name, delta)| Some((name.to_owned(), Value::N(delta.as_ref()?.text()))));
        item.extend(parts);
        item.extend(proposal.seen.attributes());
    }
    item
}

impl FoundBreak {
    /// Reads a stored break.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let asset = item.opt_parsed("asset", Asset::parse)?;
        let part = |name| match &asset {
            Some(asset) => item.opt_delta(name, asset.clone()),
            None if item.opt_number(name)?.is_some() => Err(ItemError::invalid("asset")),
            None => Ok(None),
        };
        let proposed = match (part(PROPOSED)?, part(PROPOSED_EXPOSURE)?) {
            (None, None) => None,
            (delta, exposure) => Some(Proposal { delta, exposure, seen: SeenCorrections::kept(item)? }),
        };
        Ok(Self {
            id: item.parsed("finding_id", FindingId::parse)?,
            kind: item.named("kind", BreakKind::parse)?,
            subject: item.string("subject")?,
            expected: item.string("expected")?,
            found: item.string("found")?,
            evidence: item.texts("evidence", str::parse)?,
            follows: item.opt_string("follows")?,
            proposed,
            adjustment: item.opt_parsed("adjustment_id", ApprovalId::parse)?,
            asset,
        })
    }

    /// The account that an adjustment would change; `None` without a proposal.
    #[must_use]
    pub fn account(&self) -> Option<Account> {
        self.proposed.as_ref().and(Account::parse(&self.subject).ok())
    }
}
