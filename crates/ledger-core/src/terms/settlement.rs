//! The settlement fee: a rate on what was taken less what was refunded, and a tax on the fee. Each is rounded down to
//! the yen separately, in the merchant's favour.

use crate::bank::Sender;
use crate::calendar::BankDeadline;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::money::{Amount, AssetSpec, Balance, Charge, MoneyError, Share};
use crate::time::TimeOfDay;
use std::fmt;

const REGISTRATION: &str = "registration_number";
const LEAD_DAYS: &str = "bank_lead_days";
const CUT_OFF: &str = "bank_cut_off";
const AHEAD_DAYS: &str = "bank_ahead_days";
const FILE_CUT: &str = "bank_file_cut";

/// A tenant's settlement terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettlementTerms {
    /// Yen of fee per yen settled.
    pub fee_rate: Share<Charge>,
    /// Yen of tax per yen of fee.
    pub tax_rate: Share<Charge>,
    /// The account that merchants are paid from; `None` if the tenant pays through its payment provider only.
    pub sender: Option<Sender>,
    /// The number under which the operator issues qualified invoices of its fees; `None` if it is not registered.
    pub registration: Option<RegistrationNumber>,
    /// When the bank of that account takes a file.
    pub deadline: BankDeadline,
}

/// The registration number of an issuer of qualified invoices (適格請求書発行事業者の登録番号): `T` and 13 digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationNumber(String);

impl RegistrationNumber {
    /// Reads `T1234567890123`; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('T')?;
        (digits.len() == 13 && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| Self(text.to_owned()))
    }
}

impl fmt::Display for RegistrationNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a settled sum is divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charged {
    /// The fee, if there is one.
    pub fee: Option<Amount>,
    /// Its tax, if there is one.
    pub tax: Option<Amount>,
    /// The rest, which is paid to the merchant.
    pub payable: Amount,
}

impl SettlementTerms {
    /// The terms of a tenant without settlement terms: no fee, no account to pay from, and the default deadline.
    #[must_use]
    pub fn free() -> Self {
        let (fee_rate, tax_rate) = (Share::ZERO, Share::ZERO);
        Self { fee_rate, tax_rate, sender: None, registration: None, deadline: BankDeadline::DEFAULT }
    }

    /// Divides `net` yen. The fee is taken on `base`, and is none if that is not above 0. `None` if fee and tax leave nothing:
    /// cash that the merchant owed reduced `net`, and not the fee.
    ///
    /// # Errors
    /// [`MoneyError`] if the sums do not fit.
    pub fn charge(&self, net: &Amount, base: &Balance) -> Result<Option<Charged>, MoneyError> {
        let yen = &AssetSpec::ECOPAY;
        let fee = base.as_amount().map(|base| base.share(&self.fee_rate, yen)).transpose()?.flatten();
        let tax = fee.as_ref().map(|fee| fee.share(&self.tax_rate, yen)).transpose()?.flatten();
        let mut parts = fee.iter().chain(&tax);
        let left = parts.try_fold(net.as_balance(), |left, part| left.checked_sub(&part.as_balance()))?;
        Ok(left.as_amount().map(|payable| Charged { fee, tax, payable }))
    }

    /// Reads the terms from a tenant's `CONFIG` or a settlement.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or was not written by [`SettlementTerms::item`].
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            fee_rate: item.share("fee_rate")?,
            tax_rate: item.share("tax_rate")?,
            sender: item.opt_map("sender")?.map(Sender::read).transpose()?,
            registration: item.opt_named(REGISTRATION, RegistrationNumber::parse)?,
            deadline: read_deadline(item)?,
        })
    }

    /// The attributes that are stored. Of the bank's deadline those that are not the default.
    #[must_use]
    pub fn item(&self) -> Item {
        let mut item = Item::from([
            ("fee_rate".to_owned(), Value::N(self.fee_rate.text())),
            ("tax_rate".to_owned(), Value::N(self.tax_rate.text())),
        ]);
        if let Some(sender) = &self.sender {
            item.insert("sender".to_owned(), Value::M(sender.item()));
        }
        item.extend(self.registration.as_ref().map(|number| (REGISTRATION.to_owned(), Value::s(number))));
        let (BankDeadline { lead_days, cut_off, ahead_days, file_cut }, default) =
            (self.deadline, BankDeadline::DEFAULT);
        let of = [
            (LEAD_DAYS, (lead_days != default.lead_days).then(|| Value::int(lead_days.into()))),
            (CUT_OFF, (cut_off != default.cut_off).then(|| Value::s(cut_off))),
            (AHEAD_DAYS, (ahead_days != default.ahead_days).then(|| Value::int(ahead_days.into()))),
            (FILE_CUT, (file_cut != default.file_cut).then(|| Value::s(file_cut))),
        ];
        item.extend(of.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        item
    }
}

fn read_deadline(item: &Item) -> Result<BankDeadline, ItemError> {
    let default = BankDeadline::DEFAULT;
    Ok(BankDeadline {
        lead_days: item.opt_checked_int(LEAD_DAYS, BankDeadline::lead)?.unwrap_or(default.lead_days),
        cut_off: item.opt_named(CUT_OFF, TimeOfDay::parse)?.unwrap_or(default.cut_off),
        ahead_days: item.opt_checked_int(AHEAD_DAYS, BankDeadline::ahead)?.unwrap_or(default.ahead_days),
        file_cut: item.opt_named(FILE_CUT, TimeOfDay::parse)?.unwrap_or(default.file_cut),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charged(net: &str, came_back: &str, fee: &str, tax: &str) -> [String; 3] {
        let came_back = Balance::from_stored(crate::money::Asset::Ecopay, came_back).unwrap();
        let terms = SettlementTerms {
            fee_rate: Share::parse(fee).unwrap(),
            tax_rate: Share::parse(tax).unwrap(),
            ..SettlementTerms::free()
        };
        let net = Amount::parse(&AssetSpec::ECOPAY, net).unwrap();
        let base = net.as_balance().checked_sub(&came_back).unwrap();
        let charged = terms.charge(&net, &base).unwrap().unwrap();
        [charged.fee, charged.tax, Some(charged.payable)].map(|part| part.map_or("0".to_owned(), |part| part.text()))
    }

    #[test]
    fn registration_number_is_a_t_and_thirteen_digits() {
        assert_eq!(
            RegistrationNumber::parse("T1234567890123").map(|number| number.to_string()).as_deref(),
            Some("T1234567890123")
        );
        for wrong in ["", "T", "1234567890123", "T123456789012", "T12345678901234", "t1234567890123", "T123456789012x"]
        {
            assert_eq!(RegistrationNumber::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn fee_and_tax_are_rounded_down_separately_and_parts_sum_to_net() {
        for (net, fee, tax, want) in [
            ("400000", "0.015", "0.1", ["6000", "600", "393400"]),
            ("66", "0.015", "0.1", ["0", "0", "66"]),
            ("67", "0.015", "0.1", ["1", "0", "66"]),
            ("1999", "0.015", "0.1", ["29", "2", "1968"]),
            ("1", "0", "0.1", ["0", "0", "1"]),
            ("100", "0.3", "0.3", ["30", "9", "61"]),
        ] {
            assert_eq!(charged(net, "0", fee, tax), want, "{net} at {fee}, {tax}");
        }
    }

    #[test]
    fn fee_and_tax_that_leave_nothing_are_not_taken() {
        let terms = SettlementTerms {
            fee_rate: Share::parse("0.015").unwrap(),
            tax_rate: Share::parse("0.1").unwrap(),
            ..SettlementTerms::free()
        };
        let yen = |text| Amount::parse(&AssetSpec::ECOPAY, text).unwrap();
        let base = yen("100000").as_balance();
        for net in ["1", "1500", "1649", "1650"] {
            assert_eq!(terms.charge(&yen(net), &base), Ok(None), "{net}");
        }
        let charged = terms.charge(&yen("1651"), &base).unwrap().unwrap();
        assert_eq!((charged.fee, charged.tax, charged.payable), (Some(yen("1500")), Some(yen("150")), yen("1")));
    }

    #[test]
    fn returned_payout_is_not_charged_again() {
        for (net, came_back, want) in [
            ("400000", "400000", ["0", "0", "400000"]),
            ("400000", "0", ["6000", "600", "393400"]),
            ("402000", "2000", ["6000", "600", "395400"]),
            // Refunds made since then reduce it.
            ("300", "2000", ["0", "0", "300"]),
        ] {
            assert_eq!(charged(net, came_back, "0.015", "0.1"), want, "{net} with {came_back}");
        }
    }
}
