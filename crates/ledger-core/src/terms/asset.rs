//! An asset's terms, and its life: a regional currency is added, may be stopped in two steps, and is retired.

use super::TenantTerms;
use super::field_values::NOT_ENABLED;
use crate::canonical::parse_canonical;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::money::{Amount, Asset, AssetSpec};
use crate::words::words;

const STATE: &str = "state";
const BUDGETED: &str = "budgeted";

/// The most assets that a change may bring a tenant to. A customer is opened with an account in each, and all are frozen
/// in one transaction.
const ASSETS_MAX: usize = 40;

/// An asset's terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetTerms {
    /// Its name and scale.
    pub spec: AssetSpec,
    /// The most that a customer may hold; `None`: no cap.
    pub cap: Option<Amount>,
    /// Whether customers may send it to each other while it runs.
    pub transferable: bool,
    /// Whether merchants accept it, one to one with the yen, while it runs.
    pub spendable: bool,
    /// How far it is stopped.
    pub state: AssetState,
    /// Whether grants of it take from a budget.
    pub budgeted: bool,
}

words! {
    /// How far an asset is stopped. Only a regional currency is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum AssetState {
        /// It is granted, sent and paid with.
        Running = "running",
        /// It is not granted.
        NotIssued = "not_issued",
        /// Nor is it sent or paid with. Payments of before are captured, voided and refunded.
        NotSpent = "not_spent",
        /// Nor is it credited to a customer: what a refund returns goes to `breakage`. It never runs again.
        Retired = "retired",
    }
}

impl AssetState {
    /// Whether an asset in this state can be brought to another: one step on, or back to running. None follows
    /// retirement.
    #[must_use]
    pub fn can_become(self, to: Self) -> bool {
        match (self, to) {
            (Self::Running, Self::NotIssued)
            | (Self::NotIssued, Self::NotSpent | Self::Running)
            | (Self::NotSpent, Self::Retired | Self::Running) => true,
            (Self::Running, Self::NotSpent | Self::Retired)
            | (Self::NotIssued, Self::Retired)
            | (Self::NotSpent, Self::NotIssued)
            | (Self::Retired, Self::Running | Self::NotIssued | Self::NotSpent) => false,
            (Self::Running, Self::Running)
            | (Self::NotIssued, Self::NotIssued)
            | (Self::NotSpent, Self::NotSpent)
            | (Self::Retired, Self::Retired) => true,
        }
    }
}

impl AssetTerms {
    /// A running asset that customers send to each other and merchants accept.
    #[must_use]
    pub fn running(spec: AssetSpec, cap: Option<Amount>) -> Self {
        Self { spec, cap, transferable: true, spendable: true, state: AssetState::Running, budgeted: false }
    }

    /// Whether it is granted.
    #[must_use]
    pub fn is_issued(&self) -> bool {
        match self.state {
            AssetState::Running => true,
            AssetState::NotIssued | AssetState::NotSpent | AssetState::Retired => false,
        }
    }

    /// Whether merchants accept it.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.spendable && self.moves()
    }

    /// Whether customers send it to each other.
    #[must_use]
    pub fn is_transferred(&self) -> bool {
        self.transferable && self.moves()
    }

    /// Whether it may be credited to a customer.
    #[must_use]
    pub fn is_credited(&self) -> bool {
        match self.state {
            AssetState::Running | AssetState::NotIssued | AssetState::NotSpent => true,
            AssetState::Retired => false,
        }
    }

    fn moves(&self) -> bool {
        match self.state {
            AssetState::Running | AssetState::NotIssued => true,
            AssetState::NotSpent | AssetState::Retired => false,
        }
    }

    pub(super) fn read(asset: Asset, item: &Item) -> Result<Self, ItemError> {
        let spec = match asset {
            Asset::Ecopay => AssetSpec::ECOPAY,
            Asset::Point => AssetSpec::POINT,
            Asset::Jcredit => AssetSpec::JCREDIT,
            Asset::Regional(key) => item.checked_int("scale", |scale| AssetSpec::regional(key, scale))?,
        };
        Ok(Self {
            cap: item.opt_amount("cap", spec.asset().clone())?,
            transferable: item.flag("transferable")?,
            spendable: item.flag("spendable")?,
            state: item.opt_named(STATE, AssetState::parse)?.unwrap_or(AssetState::Running),
            budgeted: item.contains_key(BUDGETED) && item.flag(BUDGETED)?,
            spec,
        })
    }

    /// The stored form. An asset that runs without a budget has neither attribute.
    pub(super) fn item(&self) -> Item {
        let mut item = Item::from([
            ("scale".to_owned(), Value::int(self.spec.scale().into())),
            ("transferable".to_owned(), Value::Bool(self.transferable)),
            ("spendable".to_owned(), Value::Bool(self.spendable)),
        ]);
        if let Some(cap) = &self.cap {
            item.insert("cap".to_owned(), Value::N(cap.text()));
        }
        if self.state != AssetState::Running {
            item.insert(STATE.to_owned(), Value::s(self.state.name()));
        }
        if self.budgeted {
            item.insert(BUDGETED.to_owned(), Value::Bool(true));
        }
        item
    }
}

/// The terms of a regional currency, to be changed.
pub(super) fn regional<'a>(terms: &'a mut TenantTerms, asset: &Asset) -> Result<&'a mut AssetTerms, String> {
    match asset {
        Asset::Regional(_) => terms.assets.get_mut(asset).ok_or_else(|| NOT_ENABLED.to_owned()),
        Asset::Ecopay | Asset::Point | Asset::Jcredit => Err(REGIONAL_ALONE.to_owned()),
    }
}

/// Adds a regional currency. It runs, without a cap; customers send it to each other, and merchants accept it.
// INVARIANT: an asset is never removed, and its scale never changes. So a stored amount has one meaning for ever.
pub(super) fn add(terms: &mut TenantTerms, asset: &Asset, scale: &str) -> Result<(), String> {
    let Asset::Regional(key) = asset else { return Err(REGIONAL_ALONE.to_owned()) };
    let spec = parse_canonical(scale).and_then(|scale| AssetSpec::regional(key.clone(), scale));
    let spec = spec.ok_or_else(|| format!("must be a whole number from 0 to {}", AssetSpec::MAX_SCALE))?;
    match terms.assets.get(asset) {
        Some(present) if present.spec == spec => Ok(()),
        Some(_) => Err("never changes, also not after the asset is retired: add one with another name".to_owned()),
        None if terms.assets.len() >= ASSETS_MAX => {
            Err(format!("the tenant has {ASSETS_MAX} assets: no more can be added"))
        }
        None => {
            terms.assets.insert(asset.clone(), AssetTerms::running(spec, None));
            Ok(())
        }
    }
}

/// The state to which an asset is brought.
pub(super) fn next_state(from: AssetState, to: &str) -> Result<AssetState, String> {
    let to = AssetState::parse(to).ok_or("must be running, not_issued, not_spent or retired")?;
    let next = AssetState::ALL.into_iter().filter(|next| *next != from && from.can_become(*next));
    let next: Vec<&str> = next.map(AssetState::name).collect();
    match from.can_become(to) {
        true => Ok(to),
        false if next.is_empty() => Err("is retired, for ever".to_owned()),
        false => Err(format!("is {}: the next state is {}", from.name(), next.join(" or "))),
    }
}

const REGIONAL_ALONE: &str = "is for regional currencies: this asset always runs";
