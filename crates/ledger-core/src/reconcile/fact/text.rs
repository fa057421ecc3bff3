//! The texts of facts' values in a file. Each value has one text; every other text is refused.

use super::super::num::Num;
use super::{KeyDigest, SettledSum};
use crate::account::Account;
use crate::bank_files::BankFileState;
use crate::cards::bonus::BonusState;
use crate::ids::{BankFileId, MerchantId, RefundId, SettlementId, TerminalOwner, TransactionId};
use crate::money::Asset;
use crate::operation::Operation;
use crate::payment_state::PaymentState;
use crate::payments::ReturnKind;
use crate::psp::{IntentStatus, PayoutStatus, PspId, RefundStatus};
use crate::settlements::SettlementState;
use crate::time::BusinessDate;
use crate::topups::{ClawbackState, EntryDecision, RefundState, TopupState};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// A value with exactly one text.
pub(super) trait LineText: Sized {
    /// The value's text.
    fn to_line(&self) -> String;
    /// Reads the text; `None` for a text that [`LineText::to_line`] does not write.
    fn from_line(text: &str) -> Option<Self>;
}

/// Implements [`LineText`] for ids, accounts and assets by their own text.
macro_rules! own_text {
    ($($type:ident: $parse:expr;)*) => {$(
        impl LineText for $type {
            fn to_line(&self) -> String {
                self.to_string()
            }

            fn from_line(text: &str) -> Option<Self> {
                $parse(text)
            }
        }
    )*};
}

own_text! {
    Account: |text| Account::parse(text).ok();
    Asset: |text| Asset::parse(text).ok();
    BankFileId: |text| BankFileId::parse(text).ok();
    BusinessDate: |text| BusinessDate::parse(text).ok();
    MerchantId: |text| MerchantId::parse(text).ok();
    RefundId: |text| RefundId::parse(text).ok();
    SettlementId: |text| SettlementId::parse(text).ok();
    TerminalOwner: |text| TerminalOwner::parse(text).ok();
    TransactionId: |text| TransactionId::parse(text).ok();
    PspId: PspId::parse;
    Operation: Operation::parse;
    KeyDigest: KeyDigest::parse;
    SettledSum: SettledSum::parse;
}

/// Implements [`LineText`] for states and kinds by their names.
macro_rules! by_name {
    ($($type:ident)*) => {$(
        impl LineText for $type {
            fn to_line(&self) -> String {
                self.name().to_owned()
            }

            fn from_line(text: &str) -> Option<Self> {
                Self::parse(text)
            }
        }
    )*};
}

by_name! {
    BankFileState BonusState ClawbackState EntryDecision IntentStatus PaymentState PayoutStatus RefundState RefundStatus ReturnKind
    SettlementState TopupState
}

fn read<'de, T: LineText, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    let text = Cow::<'de, str>::deserialize(from)?;
    T::from_line(&text).ok_or_else(|| serde::de::Error::custom("the text is not valid in a fact"))
}

/// One value: `#[serde(with = "text::one")]`.
pub(super) mod one {
    use super::{Deserializer, LineText, Serializer};

    pub(in super::super) fn serialize<T: LineText, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&value.to_line())
    }

    pub(in super::super) fn deserialize<'de, T: LineText, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        super::read(from)
    }
}

/// A value or `null`: `#[serde(with = "text::optional")]`. A missing field is refused.
pub(super) mod optional {
    use super::{Deserialize, Deserializer, LineText, Serialize, Serializer};

    pub(in super::super) fn serialize<T: LineText, S: Serializer>(value: &Option<T>, to: S) -> Result<S::Ok, S::Error> {
        value.as_ref().map(LineText::to_line).serialize(to)
    }

    pub(in super::super) fn deserialize<'de, T: LineText, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<T>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        let value = |text: String| T::from_line(&text).ok_or_else(|| serde::de::Error::custom("the value is unknown"));
        text.map(value).transpose()
    }
}

/// A set of values: `#[serde(with = "text::set")]`.
pub(super) mod set {
    use super::{BTreeSet, Deserialize, Deserializer, LineText, Serializer};

    pub(in super::super) fn serialize<T: LineText, S: Serializer>(
        values: &BTreeSet<T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(values.iter().map(LineText::to_line))
    }

    pub(in super::super) fn deserialize<'de, T: LineText + Ord, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeSet<T>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        let value = |text: &String| T::from_line(text).ok_or_else(|| serde::de::Error::custom("the value is unknown"));
        texts.iter().map(value).collect()
    }
}

/// Quantities by key: `#[serde(with = "text::sums")]`.
pub(super) mod sums {
    use super::{BTreeMap, Deserialize, Deserializer, LineText, Num, Serializer};

    pub(in super::super) fn serialize<K: LineText, S: Serializer>(
        sums: &BTreeMap<K, Num>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_map(sums.iter().map(|(of, sum)| (of.to_line(), sum)))
    }

    pub(in super::super) fn deserialize<'de, K: LineText + Ord, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<K, Num>, D::Error> {
        let sums = BTreeMap::<String, Num>::deserialize(from)?;
        let named = |(of, sum): (String, Num)| {
            K::from_line(&of).map(|of| (of, sum)).ok_or_else(|| serde::de::Error::custom("the name is unknown"))
        };
        sums.into_iter().map(named).collect()
    }
}

/// A field that may be `null` and must be present: `#[serde(deserialize_with = "text::present")]`.
pub(super) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(from)
}
