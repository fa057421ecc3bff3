//! Where a split record stands in the legacy model, and under which names.

use super::legacy::{EpochUnit, KIND, LegacyKind, NO_MAP, NULL, Unadoptable, unadoptable};
use super::plan::{Concern, Model};
use super::record::REGIONAL;
use super::snapshot::{LegacyItem, Odd};
use crate::dynamo::{Item, Value, at, put_at};
use crate::ids::CustomerId;
use crate::keys::{self, Key, Partition, attr, sk};
use crate::money::{Asset, AssetSpec};
use crate::time::Timestamp;

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

/// What a split record's attribute is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nature {
    /// A number that is only ever added to.
    Sum,
    /// What is set and removed.
    Field,
    /// When something happened to the item itself: no part of what it says.
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
    // Since when somebody has been a customer. A profile that a patch makes anew has an instant of its own.
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

impl Counterpart {
    /// Of a split record; `None` of whatever has none: journal entries, markers, others' items.
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

    /// Every one of a customer's, of a tenant that runs these assets.
    pub(super) fn all(customer: CustomerId, partition: &Partition, assets: &[AssetSpec]) -> Vec<Self> {
        let kinds = [Kind::Profile, Kind::Metrics].into_iter();
        let kinds = kinds.chain(assets.iter().map(|spec| Kind::Balance(spec.asset().clone())));
        kinds.map(|kind| Self { customer, partition: partition.clone(), kind }).collect()
    }

    /// Whose it is.
    #[must_use]
    pub fn customer(&self) -> CustomerId {
        self.customer
    }

    /// With what it moves.
    #[must_use]
    pub fn concern(&self) -> Concern {
        match &self.kind {
            Kind::Profile => Concern::Profile,
            Kind::Metrics => Concern::Metrics,
            Kind::Balance(asset) => Concern::of(asset),
        }
    }

    /// The asset, of a balance.
    #[must_use]
    pub fn asset(&self) -> Option<&Asset> {
        match &self.kind {
            Kind::Balance(asset) => Some(asset),
            Kind::Profile | Kind::Metrics => None,
        }
    }

    /// The split record.
    #[must_use]
    pub fn split(&self) -> Key {
        match &self.kind {
            Kind::Profile => self.partition.profile(),
            Kind::Metrics => keys::metrics_of(&self.partition),
            Kind::Balance(asset) => self.partition.balance(asset),
        }
    }

    /// The legacy item in which it stands.
    #[must_use]
    pub fn legacy(&self, model: Model) -> Key {
        match (model, self.concern()) {
            (Model::HalfWay, Concern::Points | Concern::Jcredit) => keys::metrics_of(&self.partition),
            (Model::GodRecord | Model::HalfWay, _) => self.partition.god_record(),
        }
    }

    /// The attributes of the split record, and what each is.
    pub(super) fn attributes(&self) -> &'static [(&'static str, Nature)] {
        match &self.kind {
            Kind::Profile => PROFILE,
            Kind::Balance(_) => BALANCE,
            Kind::Metrics => METRICS,
        }
    }

    /// A word for it, which no other counterpart of the customer has.
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

    /// What an attribute of the split record is called in the legacy item; `None` if it has no name there. What the
    /// legacy model had keeps its name, the rest is named after the counterpart: `balance_held`.
    pub(super) fn name(&self, attribute: &str) -> Option<String> {
        let named = || format!("{}_{attribute}", self.word());
        let name = match (&self.kind, attribute) {
            (Kind::Balance(Asset::Regional(key)), attr::PK | attr::BALANCE) => format!("regional.{}", key.as_str()),
            // A balance is there if its sum is.
            (Kind::Balance(_), attr::PK | attr::BALANCE) => self.word(),
            (Kind::Profile | Kind::Metrics, attr::PK) => attr::PK.to_owned(),
            (Kind::Profile, "name" | "email" | attr::UPDATED_AT) | (Kind::Metrics, "co2_total") => attribute.to_owned(),
            (Kind::Profile, "phone") => "phone_number".to_owned(),
            (_, attr::CREATED_AT) => attr::CREATED_AT.to_owned(),
            (Kind::Profile | Kind::Balance(_) | Kind::Metrics, _) => {
                self.attributes().iter().any(|(name, _)| *name == attribute).then(named)?
            }
        };
        Some(name)
    }

    /// The legacy item's attributes that the legacy model did not have: those that are named after the counterpart.
    pub(super) fn companions(&self) -> impl Iterator<Item = String> + '_ {
        let named = format!("{}_", self.word());
        let names = self.attributes().iter().filter_map(|(attribute, _)| self.name(attribute));
        names.filter(move |name| name.starts_with(&named))
    }

    /// Whether the legacy item has it. A profile and aggregates it always has, a balance if its sum is there.
    pub(super) fn stands_in(&self, legacy: &Item) -> bool {
        self.name(attr::PK).is_some_and(|name| at(legacy, &name).is_some())
    }

    /// The split record as the legacy item has it. What the legacy model left out reads as what it meant: a sum of
    /// nothing, an active account. An empty text is a text that is not there, and a timestamp that is a number is text.
    ///
    /// # Errors
    /// [`Unadoptable`] if it has an attribute of a type that the ledger does not read there.
    pub(super) fn view(&self, legacy: &Item, odd: impl Fn(&str) -> Option<Odd>) -> Result<Item, Unadoptable> {
        let split = self.split();
        if let Kind::Balance(Asset::Regional(_)) = &self.kind {
            is_map(legacy.get(REGIONAL), odd(REGIONAL))?;
        }
        let mut view =
            Item::from([(attr::PK.to_owned(), Value::s(split.pk())), (attr::SK.to_owned(), Value::s(split.sk()))]);
        for (attribute, _) in self.attributes() {
            let Some(name) = self.name(attribute) else { continue };
            if let Some(value) = self.kind_of(attribute).read(&name, at(legacy, &name), odd(&name))? {
                view.insert((*attribute).to_owned(), value);
            }
        }
        self.complete(&mut view);
        Ok(view)
    }

    /// The same of an item with what cannot be read of it.
    ///
    /// # Errors
    /// As [`Self::view`].
    pub(super) fn view_of(&self, legacy: &LegacyItem) -> Result<Item, Unadoptable> {
        let odd = |name: &str| legacy.odd.iter().find(|(odd, _)| odd == name).map(|(_, odd)| *odd);
        self.view(&legacy.item, odd)
    }

    /// What the legacy system may have stored for an attribute.
    fn kind_of(&self, attribute: &str) -> LegacyKind {
        match (&self.kind, attribute) {
            (Kind::Balance(_), attr::BALANCE) | (Kind::Metrics, "co2_total") => LegacyKind::Sum,
            (Kind::Profile, "name" | "email" | "phone") => LegacyKind::Text,
            (Kind::Profile, attr::UPDATED_AT) | (_, attr::CREATED_AT) => LegacyKind::Time,
            (Kind::Profile | Kind::Balance(_) | Kind::Metrics, _) => LegacyKind::Own,
        }
    }

    /// A split record's value as the legacy item holds it. A timestamp keeps the type and the unit that it has there:
    /// the legacy system's readers may still be on.
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

    /// Puts a new split record's attributes into a new legacy item; `Err` names one that has no place there.
    pub(super) fn put(&self, split: &Item, legacy: &mut Item) -> Result<(), String> {
        for (attribute, value) in split {
            put_at(legacy, &self.name(attribute).ok_or_else(|| attribute.clone())?, value.clone());
        }
        Ok(())
    }
}

/// A map of regional currencies, or none.
pub(super) fn is_map(stored: Option<&Value>, odd: Option<Odd>) -> Result<(), Unadoptable> {
    match (stored, odd) {
        (_, Some(Odd::Other)) => Err(unadoptable(REGIONAL, KIND)),
        (_, Some(Odd::Null)) => Err(unadoptable(REGIONAL, NULL)),
        (None | Some(Value::M(_)), None) => Ok(()),
        (Some(Value::S(_) | Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_)), None) => {
            Err(unadoptable(REGIONAL, NO_MAP))
        }
    }
}
