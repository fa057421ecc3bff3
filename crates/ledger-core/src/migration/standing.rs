//! A customer's balances as one legacy item shows them, without the setting and without any other item.
//!
//! The caller combines what the God Record says about locations with what the legacy items hold.

use super::counterpart::Counterpart;
use super::plan::Concern;
use super::record::{BalanceLocation, FENCE, REGIONAL};
use crate::account::Account;
use crate::dynamo::{Attributes, Item, ItemError};
use crate::keys::{Key, metrics_of};
use crate::money::Asset;

/// The balances of a customer that one legacy item shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegacyBalances {
    /// The customer's account.
    pub account: Account,
    /// For each asset, whether the legacy model alone holds its balance. Empty unless the item is the God Record.
    pub in_legacy: Vec<(Asset, bool)>,
    /// The balances in the item, each in the format of its split record. Whether they are current is not known here.
    pub balances: Vec<(Asset, Item)>,
}

impl LegacyBalances {
    /// Reads an item; `None` if it is not a legacy item, or if its customer is not adopted.
    ///
    /// # Errors
    /// [`ItemError`] if the item does not say where a concern is, or hold a balance, in the expected format.
    pub fn read(key: &Key, item: &Item) -> Result<Option<Self>, ItemError> {
        let Some(customer) = key.customer() else { return Ok(None) };
        let account = Account::Customer(customer);
        let (assets, in_legacy) = if *key == key.partition().god_record() {
            if !item.contains_key(FENCE) {
                return Ok(None);
            }
            let assets: Vec<Asset> = assets(item)?.collect();
            let in_legacy = assets.iter().map(|asset| Ok((asset.clone(), is_in_legacy(item, Concern::of(asset))?)));
            let in_legacy = in_legacy.collect::<Result<_, ItemError>>()?;
            (assets, in_legacy)
        } else if *key == metrics_of(&key.partition()) {
            // This item holds balances in the half-way model.
            (vec![Asset::Point, Asset::Jcredit], Vec::new())
        } else {
            return Ok(None);
        };
        let counterparts = assets.into_iter().filter_map(|asset| Counterpart::of(&key.partition().balance(&asset)));
        let held = counterparts.filter(|counterpart| counterpart.is_present_in(item));
        let held = held.filter_map(|of| of.asset().cloned().map(|asset| (asset, of)));
        let balances = held.map(|(asset, of)| match of.view(item, |_| None) {
            Ok(view) => Ok((asset, view)),
            Err(error) => Err(ItemError::invalid(error.attribute)),
        });
        Ok(Some(Self { account, in_legacy, balances: balances.collect::<Result<_, ItemError>>()? }))
    }
}

/// The assets of which a God Record may hold a balance: the fixed ones, and the regional currencies that it names.
fn assets(record: &Item) -> Result<impl Iterator<Item = Asset>, ItemError> {
    let regional = record.opt_map(REGIONAL)?.into_iter().flatten();
    let regional = regional.filter_map(|(name, _)| Asset::parse(&format!("REGIONAL#{name}")).ok());
    Ok([Asset::Ecopay, Asset::Point, Asset::Jcredit].into_iter().chain(regional))
}

/// Whether the legacy model alone holds a concern. Without the attribute, the God Record has been emptied.
fn is_in_legacy(record: &Item, concern: Concern) -> Result<bool, ItemError> {
    Ok(match BalanceLocation::read(record, concern)? {
        Some(BalanceLocation::Legacy) => true,
        Some(BalanceLocation::Both | BalanceLocation::Split) | None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamo::Value;
    use crate::ids::{CustomerId, Tenant};
    use crate::keys::Partition;

    fn partition() -> Partition {
        let customer = CustomerId::parse("019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e").unwrap();
        Partition::customer(&Tenant::parse("demo").unwrap(), customer)
    }

    fn record(more: &[(&str, Value)]) -> Item {
        let regional = Item::from([("aoba".to_owned(), Value::int(3)), ("not an asset".to_owned(), Value::int(4))]);
        let own = [("balance", Value::int(7)), ("balance_held", Value::int(2)), ("regional", Value::M(regional))];
        own.iter().chain(more).map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    #[test]
    fn god_record_shows_balances_and_which_are_in_legacy_model() {
        let key = partition().god_record();
        assert_eq!(
            LegacyBalances::read(&key, &record(&[])),
            Ok(None),
            "a customer that is not adopted has no legacy balances"
        );
        let truths =
            [("fence_phase", Value::int(1)), ("truth_money", Value::s("legacy")), ("truth_points", Value::s("both"))];
        let standing = LegacyBalances::read(&key, &record(&truths)).unwrap().unwrap();
        let regional = Asset::parse("REGIONAL#aoba").unwrap();
        let want = [(Asset::Ecopay, true), (Asset::Point, false), (Asset::Jcredit, false), (regional.clone(), false)];
        assert_eq!(standing.in_legacy, want);
        let held: Vec<_> =
            standing.balances.iter().map(|(asset, item)| (asset, &item["balance"], &item["held"])).collect();
        let number = Value::int;
        assert_eq!(held, [(&Asset::Ecopay, &number(7), &number(2)), (&regional, &number(3), &number(0))]);
        let unsupported = record(&[("fence_phase", Value::int(1)), ("truth_money", Value::s("here"))]);
        assert_eq!(LegacyBalances::read(&key, &unsupported).unwrap_err().attribute, "truth_money");
    }

    #[test]
    fn aggregates_show_points_without_their_location() {
        let metrics = Item::from([("point".to_owned(), Value::int(5)), ("balance".to_owned(), Value::int(6))]);
        let standing = LegacyBalances::read(&metrics_of(&partition()), &metrics).unwrap().unwrap();
        assert!(standing.in_legacy.is_empty());
        assert_eq!(standing.balances.iter().map(|(asset, _)| asset).collect::<Vec<_>>(), [&Asset::Point]);
        assert_eq!(LegacyBalances::read(&partition().profile(), &metrics), Ok(None));
    }
}
