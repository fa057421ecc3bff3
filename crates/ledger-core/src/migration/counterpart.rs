//! Where the legacy model keeps a split record, and under which attribute names.

use super::legacy::{EpochUnit, KIND, LegacyKind, NO_MAP, NULL, Unadoptable, unadoptable};
use super::plan::{Concern, Model};
use super::record::REGIONAL;
use super::snapshot::{LegacyItem, UnsupportedType};
use crate::cards::listing;
use crate::customer_state::ERASED_AT;
use crate::dynamo::{Item, Value, at, put_at};
use crate::ids::CustomerId;
use crate::keys::{self, Key, Partition, attr, sk};
use crate::limits;
use crate::money::{Asset, AssetSpec};
use crate::time::Timestamp;
use std::collections::BTreeMap;

/// A split record that has a counterpart in the legacy model: a customer's profile, balance or aggregates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterpart {
    customer: CustomerId,
    partition: Partition,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Profile,
    Balance(Asset),
    Metrics,
}

/// How an attribute of a split record changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nature {
    /// A number that is only changed by additions.
    Sum,
    /// A value that is set and removed.
    Field,
    /// When the item itself was changed: not part of its content, so not compared.
    Stamp,
}

use Nature::{Field, Stamp, Sum};

const PROFILE: &[(&str, Nature)] = &[
    ("customer_id", Field),
    ("name", Field),
    ("email", Field),
    ("phone", Field),
    ("status", Field),
    ("accounts", Field),
    (attr::FROZEN, Field),
    (listing::CARDS, Sum),
    // No customer is erased while a tenant migrates, so neither model ever has it.
    (ERASED_AT, Field),
    // When the customer joined. A patch that creates a profile sets a different instant, so it is compared.
    (attr::CREATED_AT, Field),
    (attr::UPDATED_AT, Stamp),
];

const BALANCE: &[(&str, Nature)] = &[
    (attr::BALANCE, Sum),
    (attr::HELD, Sum),
    (attr::RESERVED, Sum),
    (attr::OWED, Sum),
    (attr::EXPOSURE, Sum),
    (attr::FROZEN, Field),
    // No customer is closed while a tenant migrates, so neither model ever has it.
    (attr::CLOSED_AT, Field),
    ("corrected_at", Field),
    ("corrections", Sum),
    (attr::CREATED_AT, Stamp),
    (attr::UPDATED_AT, Stamp),
];

const METRICS: &[(&str, Nature)] = &[
    ("co2_total", Sum),
    ("payments", Sum),
    ("paid_total", Sum),
    ("refunds", Sum),
    ("refunded_total", Sum),
    (attr::UPDATED_AT, Stamp),
];

/// The attributes of a profile that the index by owner reads. A God Record is not listed: when it is emptied, the profile
/// gets them.
const OF_INDEX: [&str; 2] = [attr::OWNER_PK, attr::OWNER_SK];

impl Counterpart {
    /// The counterpart of a split record; `None` of an item that has none, such as a journal entry or a marker.
    #[must_use]
    pub fn of(key: &Key) -> Option<Self> {
        let (partition, customer) = (key.partition(), key.customer()?);
        let kind = if *key == partition.profile() {
            Kind::Profile
        } else if *key == keys::metrics_of(&partition) {
            Kind::Metrics
        } else {
            Kind::Balance(Asset::parse(key.sk().strip_prefix(sk::BALANCE)?).ok()?)
        };
        Some(Self { customer, partition, kind })
    }

    /// All counterparts of a customer, for a tenant with these assets.
    pub(super) fn all(customer: CustomerId, partition: &Partition, assets: &[AssetSpec]) -> Vec<Self> {
        let kinds = [Kind::Profile, Kind::Metrics].into_iter();
        let kinds = kinds.chain(assets.iter().map(|spec| Kind::Balance(spec.asset().clone())));
        kinds.map(|kind| Self { customer, partition: partition.clone(), kind }).collect()
    }

    /// The customer that the record belongs to.
    #[must_use]
    pub fn customer(&self) -> CustomerId {
        self.customer
    }

    /// The concern with which the record moves.
    #[must_use]
    pub fn concern(&self) -> Concern {
        match &self.kind {
            Kind::Profile => Concern::Profile,
            Kind::Metrics => Concern::Metrics,
            Kind::Balance(asset) => Concern::of(asset),
        }
    }

    /// The asset of a balance; `None` of a profile or aggregates.
    #[must_use]
    pub fn asset(&self) -> Option<&Asset> {
        match &self.kind {
            Kind::Balance(asset) => Some(asset),
            Kind::Profile | Kind::Metrics => None,
        }
    }

    /// The key of the split record.
    #[must_use]
    pub fn split(&self) -> Key {
        match &self.kind {
            Kind::Profile => self.partition.profile(),
            Kind::Metrics => keys::metrics_of(&self.partition),
            Kind::Balance(asset) => self.partition.balance(asset),
        }
    }

    /// The key of the legacy item that holds the record.
    #[must_use]
    pub fn legacy(&self, model: Model) -> Key {
        match (model, self.concern()) {
            (Model::HalfWay, Concern::Points | Concern::Jcredit) => keys::metrics_of(&self.partition),
            (Model::GodRecord | Model::HalfWay, _) => self.partition.god_record(),
        }
    }

    /// The attributes of the split record, and how each changes.
    pub(super) fn attributes(&self) -> &'static [(&'static str, Nature)] {
        match &self.kind {
            Kind::Profile => PROFILE,
            Kind::Balance(_) => BALANCE,
            Kind::Metrics => METRICS,
        }
    }

    /// The attributes of either model's item whose names are not fixed, by their names in the split record: what a balance
    /// counts toward limits, by day, and the cards that a profile names.
    pub(super) fn varying(&self, legacy: &Item, split: &Item) -> BTreeMap<String, Nature> {
        let own = format!("{}_", self.word());
        let in_legacy = legacy.keys().filter_map(|name| name.strip_prefix(&own));
        let names = in_legacy.chain(split.keys().map(String::as_str));
        names.filter_map(|name| Some((name.to_owned(), self.varies(name)?))).collect()
    }

    /// How an attribute changes whose name is not fixed; `None` of every other.
    fn varies(&self, attribute: &str) -> Option<Nature> {
        match &self.kind {
            Kind::Balance(_) => limits::is_use(attribute).then_some(Sum),
            Kind::Profile => listing::names_card(attribute).then_some(Field),
            Kind::Metrics => None,
        }
    }

    /// A word for the record, unique among the counterparts of the customer.
    pub(super) fn word(&self) -> String {
        match &self.kind {
            Kind::Profile => "profile".to_owned(),
            Kind::Metrics => "metrics".to_owned(),
            Kind::Balance(Asset::Ecopay) => "balance".to_owned(),
            Kind::Balance(Asset::Point) => "point".to_owned(),
            Kind::Balance(Asset::Jcredit) => "jcredit".to_owned(),
            Kind::Balance(Asset::Regional(key)) => format!("regional_{}", key.as_str()),
        }
    }

    /// The name of a split record's attribute in the legacy item; `None` if it has no name there.
    ///
    /// Attributes of the legacy model keep their legacy names. The others are prefixed with the counterpart's word:
    /// `balance_held`.
    pub(super) fn name(&self, attribute: &str) -> Option<String> {
        let named = || format!("{}_{attribute}", self.word());
        let name = match (&self.kind, attribute) {
            (Kind::Balance(Asset::Regional(key)), attr::PK | attr::BALANCE) => format!("regional.{}", key.as_str()),
            // A balance exists if its sum exists.
            (Kind::Balance(_), attr::PK | attr::BALANCE) => self.word(),
            (Kind::Profile | Kind::Metrics, attr::PK) => attr::PK.to_owned(),
            (Kind::Profile, "name" | "email" | attr::UPDATED_AT) | (Kind::Metrics, "co2_total") => attribute.to_owned(),
            (Kind::Profile, "phone") => "phone_number".to_owned(),
            (_, attr::CREATED_AT) => attr::CREATED_AT.to_owned(),
            _ if self.varies(attribute).is_some() => named(),
            (Kind::Profile | Kind::Balance(_) | Kind::Metrics, _) => {
                self.attributes().iter().any(|(name, _)| *name == attribute).then(named)?
            }
        };
        Some(name)
    }

    /// The attributes of the legacy item that the legacy model did not have: those prefixed with the counterpart's
    /// word.
    pub(super) fn companions(&self) -> impl Iterator<Item = String> + '_ {
        let named = format!("{}_", self.word());
        let names = self.attributes().iter().filter_map(|(attribute, _)| self.name(attribute));
        names.filter(move |name| name.starts_with(&named))
    }

    /// Whether the legacy item holds the record: always for a profile or aggregates, for a balance if its sum exists.
    pub(super) fn is_present_in(&self, legacy: &Item) -> bool {
        self.name(attr::PK).is_some_and(|name| at(legacy, &name).is_some())
    }

    /// The split record as the legacy item holds it.
    ///
    /// What the legacy model left out gets its default: a sum of zero, an active account. An empty text counts as
    /// absent, and a numeric timestamp becomes text.
    ///
    /// # Errors
    /// [`Unadoptable`] if an attribute has a type that the ledger does not read there.
    pub(super) fn view(
        &self,
        legacy: &Item,
        unsupported: impl Fn(&str) -> Option<UnsupportedType>,
    ) -> Result<Item, Unadoptable> {
        let split = self.split();
        if let Kind::Balance(Asset::Regional(_)) = &self.kind {
            is_map(legacy.get(REGIONAL), unsupported(REGIONAL))?;
        }
        let mut view =
            Item::from([(attr::PK.to_owned(), Value::s(split.pk())), (attr::SK.to_owned(), Value::s(split.sk()))]);
        for (attribute, _) in self.attributes() {
            let Some(name) = self.name(attribute) else { continue };
            if let Some(value) = self.kind_of(attribute).read(&name, at(legacy, &name), unsupported(&name))? {
                view.insert((*attribute).to_owned(), value);
            }
        }
        for attribute in self.varying(legacy, &Item::new()).into_keys() {
            if let Some(value) = self.name(&attribute).and_then(|name| legacy.get(&name)) {
                view.insert(attribute, value.clone());
            }
        }
        self.complete(&mut view);
        Ok(view)
    }

    /// As [`Self::view`], for an item some of whose attributes cannot be read.
    ///
    /// # Errors
    /// As [`Self::view`].
    pub(super) fn view_of(&self, legacy: &LegacyItem) -> Result<Item, Unadoptable> {
        let unsupported = |name: &str| {
            legacy.unsupported.iter().find(|(unsupported, _)| unsupported == name).map(|(_, unsupported)| *unsupported)
        };
        self.view(&legacy.item, unsupported)
    }

    /// What type the legacy system may have stored for an attribute.
    fn kind_of(&self, attribute: &str) -> LegacyKind {
        match (&self.kind, attribute) {
            (Kind::Balance(_), attr::BALANCE) | (Kind::Metrics, "co2_total") => LegacyKind::Sum,
            (Kind::Profile, "name" | "email" | "phone") => LegacyKind::Text,
            (Kind::Profile, attr::UPDATED_AT) | (_, attr::CREATED_AT) => LegacyKind::Time,
            (Kind::Profile | Kind::Balance(_) | Kind::Metrics, _) => LegacyKind::Own,
        }
    }

    /// A split record's value as the legacy item stores it. A timestamp keeps the type and unit that it has there,
    /// because readers of the legacy system may still be running.
    pub(super) fn as_stored(&self, attribute: &str, value: &Value, stored: Option<&Value>) -> Value {
        match (self.kind_of(attribute), EpochUnit::of(stored), value) {
            (LegacyKind::Time, Some(unit), Value::S(text)) => match Timestamp::parse(text) {
                Ok(at) => unit.value(at),
                Err(_) => value.clone(),
            },
            _ => value.clone(),
        }
    }

    fn complete(&self, view: &mut Item) {
        let defaults = match &self.kind {
            Kind::Profile => {
                vec![("customer_id", Value::s(self.customer)), ("name", Value::s("")), ("status", Value::s("active"))]
            }
            Kind::Balance(_) => vec![(attr::BALANCE, Value::int(0)), (attr::HELD, Value::int(0))],
            Kind::Metrics => Vec::new(),
        };
        let created_at = view.get(attr::CREATED_AT).cloned().unwrap_or(Value::s(Timestamp::from_millis(0)));
        let stamps = match &self.kind {
            Kind::Profile | Kind::Balance(_) => {
                vec![(attr::CREATED_AT, created_at.clone()), (attr::UPDATED_AT, created_at)]
            }
            Kind::Metrics => Vec::new(),
        };
        for (attribute, value) in defaults.into_iter().chain(stamps) {
            view.entry(attribute.to_owned()).or_insert(value);
        }
    }

    /// Copies a new split record's attributes into a new legacy item, without those that only an index reads; `Err` names
    /// one that has no legacy name.
    pub(super) fn put(&self, split: &Item, legacy: &mut Item) -> Result<(), String> {
        for (attribute, value) in split.iter().filter(|(attribute, _)| !OF_INDEX.contains(&attribute.as_str())) {
            put_at(legacy, &self.name(attribute).ok_or_else(|| attribute.clone())?, value.clone());
        }
        Ok(())
    }
}

/// Accepts a map of regional currencies, or an absent attribute.
pub(super) fn is_map(stored: Option<&Value>, unsupported: Option<UnsupportedType>) -> Result<(), Unadoptable> {
    match (stored, unsupported) {
        (_, Some(UnsupportedType::Other)) => Err(unadoptable(REGIONAL, KIND)),
        (_, Some(UnsupportedType::Null)) => Err(unadoptable(REGIONAL, NULL)),
        (None | Some(Value::M(_)), None) => Ok(()),
        (Some(Value::S(_) | Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_)), None) => {
            Err(unadoptable(REGIONAL, NO_MAP))
        }
    }
}
