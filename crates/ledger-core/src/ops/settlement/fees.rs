//! The fee: a rate on what was taken less what was refunded, and a tax on the fee. Each is rounded down to
//! the yen by itself, in the merchant's favour.

use crate::bank::Sender;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::money::{Amount, AssetSpec, Balance, MoneyError, Rate};

/// What a tenant has agreed with its merchants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettlementTerms {
    /// Yen of fee per yen settled.
    pub fee_rate: Rate,
    /// Yen of tax per yen of fee.
    pub tax_rate: Rate,
    /// Whose account merchants are paid from; `None` if the tenant pays through its payment provider only.
    pub sender: Option<Sender>,
}

/// How a settled sum divides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charged {
    /// The fee, if there is one.
    pub fee: Option<Amount>,
    /// Its tax, if there is one.
    pub tax: Option<Amount>,
    /// What is left for the merchant, if anything is.
    pub payable: Option<Amount>,
}

impl SettlementTerms {
    /// The terms of a tenant that has set none: no fee, and nobody to pay from.
    #[must_use]
    pub fn free() -> Self {
        Self { fee_rate: Rate::ZERO, tax_rate: Rate::ZERO, sender: None }
    }

    /// How `net` yen divide, of which `came_back` were charged when they were paid before. Fee and tax together
    /// never take more than there is.
    ///
    /// # Errors
    /// [`MoneyError`] if the sums do not fit.
    pub fn charge(&self, net: &Amount, came_back: &Balance) -> Result<Charged, MoneyError> {
        let down_to_the_yen = &AssetSpec::ECOPAY;
        let rated = match net.as_balance().checked_sub(came_back)?.as_amount() {
            Some(charged) => charged.at_rate(&self.fee_rate, down_to_the_yen)?,
            None => None,
        };
        let fee = match rated {
            Some(fee) => fee.at_most(&net.as_balance())?,
            None => None,
        };
        let Some(fee) = fee else { return Ok(Charged { fee: None, tax: None, payable: Some(net.clone()) }) };
        let Some(after_fee) = net.checked_sub(&fee)? else {
            return Ok(Charged { fee: Some(fee), tax: None, payable: None });
        };
        let tax = match fee.at_rate(&self.tax_rate, down_to_the_yen)? {
            Some(tax) => tax.at_most(&after_fee.as_balance())?,
            None => None,
        };
        let payable = match &tax {
            Some(tax) => after_fee.checked_sub(tax)?,
            None => Some(after_fee),
        };
        Ok(Charged { fee: Some(fee), tax, payable })
    }

    /// Reads the terms, as they stand in a tenant's `CONFIG` and in a settlement.
    ///
    /// # Errors
    /// [`ItemError`] if they do not look as [`SettlementTerms::item`] writes them.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            fee_rate: item.rate("fee_rate")?,
            tax_rate: item.rate("tax_rate")?,
            sender: item.opt_map("sender")?.map(Sender::read).transpose()?,
        })
    }

    /// Their attributes.
    #[must_use]
    pub fn item(&self) -> Item {
        let mut item = Item::from([
            ("fee_rate".to_owned(), Value::N(self.fee_rate.text())),
            ("tax_rate".to_owned(), Value::N(self.tax_rate.text())),
        ]);
        if let Some(sender) = &self.sender {
            item.insert("sender".to_owned(), Value::M(sender.item()));
        }
        item
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charged(net: &str, came_back: &str, fee: &str, tax: &str) -> [String; 3] {
        let came_back = Balance::from_stored(crate::money::Asset::Ecopay, came_back).unwrap();
        let terms =
            SettlementTerms { fee_rate: Rate::parse(fee).unwrap(), tax_rate: Rate::parse(tax).unwrap(), sender: None };
        let charged = terms.charge(&Amount::parse(&AssetSpec::ECOPAY, net).unwrap(), &came_back).unwrap();
        [charged.fee, charged.tax, charged.payable].map(|part| part.map_or("0".to_owned(), |part| part.text()))
    }

    #[test]
    fn each_part_is_rounded_down_by_itself_and_nothing_is_lost() {
        for (net, fee, tax, want) in [
            ("400000", "0.015", "0.1", ["6000", "600", "393400"]),
            ("66", "0.015", "0.1", ["0", "0", "66"]),
            ("67", "0.015", "0.1", ["1", "0", "66"]),
            ("1999", "0.015", "0.1", ["29", "2", "1968"]),
            ("1", "0", "0.1", ["0", "0", "1"]),
            ("100", "1", "0.1", ["100", "0", "0"]),
            ("100", "0.95", "0.1", ["95", "5", "0"]),
            ("100", "2", "0.1", ["100", "0", "0"]),
        ] {
            assert_eq!(charged(net, "0", fee, tax), want, "{net} at {fee}, {tax}");
        }
    }

    #[test]
    fn what_came_back_was_charged_before() {
        for (net, came_back, want) in [
            ("400000", "400000", ["0", "0", "400000"]),
            ("400000", "0", ["6000", "600", "393400"]),
            ("402000", "2000", ["6000", "600", "395400"]),
            // What was refunded since comes out of it.
            ("300", "2000", ["0", "0", "300"]),
        ] {
            assert_eq!(charged(net, came_back, "0.015", "0.1"), want, "{net} with {came_back}");
        }
    }
}
