//! Records whose attributes are declared once: a type says how its value is stored, and each field of a record names its attribute.

use super::{Attributes, Item, ItemError, Value};
use crate::account::Account;
use crate::ids::{BankFileId, CustomerId, JobId, MerchantId, SettlementId, StaffId, TransactionId};
use crate::money::{Asset, stored_text};
use crate::personal::FreeText;
use crate::time::{BusinessDate, Timestamp};
use std::collections::BTreeMap;

/// The most characters of a text that a person typed.
const TEXT_CHARACTERS_MAX: usize = 140;

/// A value that is stored as one attribute.
pub(crate) trait Stored: Sized {
    /// Reads the value.
    ///
    /// # Errors
    /// [`ItemError`] if the attribute is missing or malformed.
    fn read(item: &Item, name: &str) -> Result<Self, ItemError>;

    /// The attribute's value; `None` if it is absent.
    fn value(&self) -> Option<Value>;
}

/// Declares a record by its fields and the names of their attributes. `read` and `attributes` follow.
macro_rules! record {
    ($(#[$of:meta])* $all:vis struct $record:ident {
        $($(#[$doc:meta])* $vis:vis $field:ident: $type:ty = $name:expr,)*
    }) => {
        $(#[$of])*
        $all struct $record { $($(#[$doc])* $vis $field: $type,)* }

        impl $record {
            /// Reads the stored record.
            ///
            /// # Errors
            /// [`ItemError`](crate::dynamo::ItemError) if an attribute is missing or malformed.
            $all fn read(item: &$crate::dynamo::Item) -> Result<Self, $crate::dynamo::ItemError> {
                Ok(Self { $($field: $crate::dynamo::Stored::read(item, $name)?,)* })
            }

            /// The attributes of those fields that have a value.
            pub(crate) fn attributes(&self) -> $crate::dynamo::Item {
                let all = [$(($name, $crate::dynamo::Stored::value(&self.$field)),)*];
                all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
            }
        }
    };
}

/// Declares that words are stored by their names.
macro_rules! stored_words {
    ($($word:ty),*) => {$(
        impl $crate::dynamo::Stored for $word {
            fn read(item: &$crate::dynamo::Item, name: &str) -> Result<Self, $crate::dynamo::ItemError> {
                $crate::dynamo::Attributes::named(item, name, Self::parse)
            }

            fn value(&self) -> Option<$crate::dynamo::Value> {
                Some($crate::dynamo::Value::s(self.name()))
            }
        }
    )*};
}

pub(crate) use {record, stored_words};

/// Declares that a type is stored as its text.
macro_rules! texts {
    ($($type:ty: $parse:expr,)*) => {$(
        impl Stored for $type {
            fn read(item: &Item, name: &str) -> Result<Self, ItemError> {
                item.parsed(name, $parse)
            }

            fn value(&self) -> Option<Value> {
                Some(Value::s(self))
            }
        }
    )*};
}

texts! {
    String: |text| Ok::<_, ItemError>(text.to_owned()),
    Account: Account::parse,
    BankFileId: BankFileId::parse,
    BusinessDate: BusinessDate::parse,
    CustomerId: CustomerId::parse,
    JobId: JobId::parse,
    MerchantId: MerchantId::parse,
    SettlementId: SettlementId::parse,
    StaffId: StaffId::parse,
    Timestamp: Timestamp::parse,
    TransactionId: TransactionId::parse,
}

impl Stored for u32 {
    fn read(item: &Item, name: &str) -> Result<Self, ItemError> {
        item.int(name)
    }

    fn value(&self) -> Option<Value> {
        Some(Value::int((*self).into()))
    }
}

impl Stored for FreeText {
    fn read(item: &Item, name: &str) -> Result<Self, ItemError> {
        item.parsed(name, |text| Self::parse(text, TEXT_CHARACTERS_MAX))
    }

    fn value(&self) -> Option<Value> {
        Some(Value::s(self.expose()))
    }
}

/// Amounts by asset, as canonical text.
impl Stored for BTreeMap<Asset, String> {
    fn read(item: &Item, name: &str) -> Result<Self, ItemError> {
        let amounts = item.map(name)?;
        let amount = |key: &String| {
            let asset = Asset::parse(key).map_err(|_| ItemError::invalid(name))?;
            Ok((asset, amounts.parsed_number(key, stored_text)?))
        };
        amounts.keys().map(amount).collect()
    }

    fn value(&self) -> Option<Value> {
        Some(Value::M(self.iter().map(|(asset, amount)| (asset.to_string(), Value::N(amount.clone()))).collect()))
    }
}

impl Stored for Vec<String> {
    fn read(item: &Item, name: &str) -> Result<Self, ItemError> {
        item.texts(name, |text| Ok::<_, ItemError>(text.to_owned()))
    }

    fn value(&self) -> Option<Value> {
        Some(Value::L(self.iter().map(Value::s).collect()))
    }
}

impl<T: Stored> Stored for Option<T> {
    fn read(item: &Item, name: &str) -> Result<Self, ItemError> {
        item.contains_key(name).then(|| T::read(item, name)).transpose()
    }

    fn value(&self) -> Option<Value> {
        self.as_ref().and_then(T::value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamo::AttributeKind;
    use crate::words::words;

    words! {
        /// Whether a door is open.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Door {
            /// It can be passed.
            Open = "open",
            /// It cannot be passed.
            NotOpen = "not_open",
        }
    }
    stored_words!(Door);

    record! {
        /// A house.
        #[derive(Clone, Debug, PartialEq, Eq)]
        struct House {
            /// The door.
            door: Door = "door",
            /// The rooms.
            rooms: Option<u32> = "rooms",
            /// Who lives there.
            names: Vec<String> = "names",
        }
    }

    #[test]
    fn record_is_read_as_it_was_written() {
        let whole = House { door: Door::Open, rooms: Some(4), names: vec!["A".to_owned()] };
        for house in [House { door: Door::NotOpen, rooms: None, names: Vec::new() }, whole] {
            assert_eq!(House::read(&house.attributes()), Ok(house));
        }
    }

    #[test]
    fn wrong_attribute_is_never_read_as_absent() {
        let item = House { door: Door::Open, rooms: Some(4), names: Vec::new() }.attributes();
        let read = |name: &str, value: Option<Value>| {
            let mut item = item.clone();
            let _ = match value {
                Some(value) => item.insert(name.to_owned(), value),
                None => item.remove(name),
            };
            House::read(&item)
        };
        assert_eq!(read("rooms", Some(Value::s("4"))), Err(ItemError::wrong_type("rooms", AttributeKind::WholeNumber)));
        assert_eq!(Door::ALL.len(), 2);
        assert_eq!(read("door", Some(Value::s("ajar"))), Err(ItemError::invalid("door")));
        assert_eq!(read("door", None), Err(ItemError::missing("door")));
        assert_eq!(read("rooms", None).map(|house| house.rooms), Ok(None));
    }
}
