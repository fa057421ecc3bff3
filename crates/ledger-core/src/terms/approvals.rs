//! Which commands of a tenant's staff another person must approve.

use super::StaffSource;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::money::{Amount, Asset};
use crate::transaction::Clause;
use std::collections::BTreeMap;

/// Which commands of the operator's staff another person must approve.
///
/// It is only switched on, and needs the records of the staff: they say who may decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalTerms {
    /// Only those that have requests of their own: adjustments, resends, returns and decisions. Tenants of earlier
    /// releases begin so.
    NotRequired,
    /// All commands of the closed list, except for grants up to these limits.
    Required(GrantLimits),
}

/// The most that one request may grant without approval, by asset. An asset without a limit always needs approval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrantLimits(pub BTreeMap<Asset, Amount>);

impl ApprovalTerms {
    /// The attribute of `CONFIG`; absent for [`ApprovalTerms::NotRequired`].
    const ATTRIBUTE: &str = "approvals";
    const REQUIRED: &str = "required";

    /// Whether commands of the closed list need approval.
    #[must_use]
    pub const fn are_required(&self) -> bool {
        match self {
            Self::NotRequired => false,
            Self::Required(_) => true,
        }
    }

    /// Whether a grant of `amount` to one customer needs approval.
    #[must_use]
    pub fn covers_grant(&self, amount: &Amount) -> bool {
        match self {
            Self::NotRequired => false,
            Self::Required(limits) => limits.0.get(amount.asset()).is_none_or(|limit| amount.value() > limit.value()),
        }
    }

    /// The limits up to which grants need no approval; `None` if no grant needs one.
    #[must_use]
    pub const fn grant_limits(&self) -> Option<&GrantLimits> {
        match self {
            Self::NotRequired => None,
            Self::Required(limits) => Some(limits),
        }
    }

    /// As [`ApprovalTerms::grant_limits`], to be changed.
    pub(super) const fn grant_limits_mut(&mut self) -> Option<&mut GrantLimits> {
        match self {
            Self::NotRequired => None,
            Self::Required(limits) => Some(limits),
        }
    }

    /// Reads the terms from the tenant's `CONFIG` item, where an absent attribute is [`Self::NotRequired`].
    ///
    /// # Errors
    /// [`ItemError`] if this release does not know the value, or if tokens decide what the staff may do.
    pub(super) fn read(config: &Item, staff: StaffSource) -> Result<Self, ItemError> {
        match (config.opt_named(Self::ATTRIBUTE, |name| (name == Self::REQUIRED).then_some(()))?, staff) {
            (None, _) => Ok(Self::NotRequired),
            (Some(()), StaffSource::Tokens) => Err(ItemError::invalid(Self::ATTRIBUTE)),
            (Some(()), StaffSource::Records) => Ok(Self::Required(GrantLimits::read(config)?)),
        }
    }

    pub(super) fn item(&self) -> Item {
        match self {
            Self::NotRequired => Item::new(),
            Self::Required(limits) => {
                let required = (Self::ATTRIBUTE.to_owned(), Value::s(Self::REQUIRED));
                [required].into_iter().chain(limits.attribute()).collect()
            }
        }
    }

    /// Requires approvals in `CONFIG`, with the guards for that.
    pub(crate) fn required(config: Update, limits: &GrantLimits) -> (Update, Vec<Clause>) {
        let records = Value::s(StaffSource::Records.name());
        let have_records = Condition::compare(StaffSource::ATTRIBUTE, Cmp::Eq, "records", records);
        let clauses = vec![
            Clause { condition: have_records, failure: Failure::StalePlan },
            Clause { condition: Condition::absent(Self::ATTRIBUTE), failure: Failure::WrongState },
        ];
        let config = config.set(Self::ATTRIBUTE, Self::ATTRIBUTE, Value::s(Self::REQUIRED));
        let config =
            limits.attribute().into_iter().fold(config, |config, (name, value)| config.set(name.clone(), name, value));
        (config, clauses)
    }
}

impl GrantLimits {
    /// The attribute of `CONFIG`; absent if there are none.
    pub(super) const ATTRIBUTE: &str = "grant_limits";

    fn read(config: &Item) -> Result<Self, ItemError> {
        let Some(limits) = config.opt_map(Self::ATTRIBUTE)? else { return Ok(Self::default()) };
        let limit = |name: &String| {
            let asset = Asset::parse(name).map_err(|_| ItemError::invalid(Self::ATTRIBUTE))?;
            Ok((asset.clone(), limits.amount(name, asset)?))
        };
        Ok(Self(limits.keys().map(limit).collect::<Result<_, _>>()?))
    }

    fn attribute(&self) -> Option<(String, Value)> {
        (!self.0.is_empty()).then(|| (Self::ATTRIBUTE.to_owned(), self.value()))
    }

    /// The value of the attribute.
    pub(super) fn value(&self) -> Value {
        Value::M(self.0.iter().map(|(asset, limit)| (asset.to_string(), Value::N(limit.text()))).collect())
    }
}
