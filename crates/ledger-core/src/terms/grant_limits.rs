//! The most that one person grants alone.

use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::money::{Amount, Asset};
use std::collections::BTreeMap;

/// The most that a member may grant without approval in a day, by asset. A grant of an asset without a limit always needs
/// approval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrantLimits(pub BTreeMap<Asset, Amount>);

impl GrantLimits {
    /// The attribute of `CONFIG`; absent if there are none.
    pub(super) const ATTRIBUTE: &str = "grant_limits";

    pub(super) fn read(config: &Item) -> Result<Self, ItemError> {
        let Some(limits) = config.opt_map(Self::ATTRIBUTE)? else { return Ok(Self::default()) };
        let limit = |name: &String| {
            let asset = Asset::parse(name).map_err(|_| ItemError::invalid(Self::ATTRIBUTE))?;
            Ok((asset.clone(), limits.amount(name, asset)?))
        };
        Ok(Self(limits.keys().map(limit).collect::<Result<_, _>>()?))
    }

    pub(super) fn attribute(&self) -> Option<(String, Value)> {
        let limit = |(asset, limit): (&Asset, &Amount)| (asset.to_string(), Value::N(limit.text()));
        (!self.0.is_empty()).then(|| (Self::ATTRIBUTE.to_owned(), Value::M(self.0.iter().map(limit).collect())))
    }
}
