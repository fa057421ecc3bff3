//! A break as a run stores it, `BREAK#<run>#<id>` in the tenant's partition.

use crate::account::Account;
use crate::dynamo::{Item, ItemError, Value, read};
use crate::forms::SeenCorrections;
use crate::ids::{AdjustmentId, FindingId};
use crate::money::{Asset, Delta};
use crate::reconcile::{BreakKind, Finding};

/// A break as a run stored it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundBreak {
    /// Its id.
    pub id: FindingId,
    /// What is wrong.
    pub kind: BreakKind,
    /// Of what.
    pub subject: String,
    /// In which asset.
    pub asset: Option<Asset>,
    /// What should be.
    pub expected: String,
    /// What is.
    pub found: String,
    /// Ids of the items that say so.
    pub evidence: Vec<String>,
    /// The subject of the break that explains it.
    pub follows: Option<String>,
    /// What an adjustment would add.
    pub proposed: Option<Delta>,
    /// The version of the balance's corrections that the run read; `None` if its release did not read it.
    pub seen: Option<SeenCorrections>,
    /// The adjustment that was asked for, if one was.
    pub adjustment: Option<AdjustmentId>,
}

pub(super) fn stored(id: FindingId, found: &Finding) -> Item {
    let mut item = Item::from([
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
        item.insert("proposed".to_owned(), Value::N(proposal.delta.text()));
        item.extend(proposal.seen.into_iter().flat_map(SeenCorrections::attributes));
    }
    item
}

impl FoundBreak {
    /// Reads a stored break.
    ///
    /// # Errors
    /// [`ItemError`] if it does not look as we write it.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let wrong = |attribute: &str| ItemError::invalid(attribute);
        let asset = read::opt_parsed(item, "asset", Asset::parse)?;
        let evidence = read::list(item, "evidence")?.iter().map(|id| match id {
            Value::S(id) => Ok(id.clone()),
            Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => Err(wrong("evidence")),
        });
        let proposed = match (read::opt_number(item, "proposed")?, &asset) {
            (Some(number), Some(asset)) => {
                Some(Delta::from_stored(asset.clone(), number).map_err(|_| wrong("proposed"))?)
            }
            (Some(_), None) => return Err(wrong("asset")),
            (None, _) => None,
        };
        Ok(Self {
            id: read::parsed(item, "finding_id", FindingId::parse)?,
            kind: BreakKind::parse(read::text(item, "kind")?).ok_or_else(|| wrong("kind"))?,
            subject: read::text(item, "subject")?.to_owned(),
            expected: read::text(item, "expected")?.to_owned(),
            found: read::text(item, "found")?.to_owned(),
            evidence: evidence.collect::<Result<_, _>>()?,
            follows: read::opt_string(item, "follows")?,
            proposed,
            seen: SeenCorrections::kept(item)?,
            adjustment: read::opt_parsed(item, "adjustment_id", AdjustmentId::parse)?,
            asset,
        })
    }

    /// Whose balance an adjustment would change.
    #[must_use]
    pub fn account(&self) -> Option<Account> {
        self.proposed.as_ref().and(Account::parse(&self.subject).ok())
    }
}
