//! The payload of a merchant's QR code, which a customer scans to pay.
//!
//! Source: EMV QR Code Specification for Payment Systems, Merchant-Presented Mode, version 1.1 (EMVCo, 2020). Each data
//! object is an id of two digits, a length of two digits in characters, and a value.

use crate::ids::{MerchantId, Tenant};
use crate::money::{Amount, Asset};
use crc::{CRC_16_IBM_3740, Crc};

/// The globally unique identifier of the codes of this ledger: a UUID without hyphens.
pub const IDENTIFIER: &str = "d48d97207cae48108bfa2f6b32dd1525";
/// The checksum that the specification names by ISO/IEC 13239: polynomial 1021, initial value FFFF.
const CHECKSUM: Crc<u16> = Crc::<u16>::new(&CRC_16_IBM_3740);
/// The largest number of characters of a merchant's name, by the specification.
const NAME_CHARS: usize = 25;
/// The largest number of characters of a city, by the specification.
const CITY_CHARS: usize = 15;
/// The largest number of characters of an amount, by the specification.
const AMOUNT_CHARS: usize = 13;
/// Various shops, by ISO 18245: what a merchant sells is not recorded.
const CATEGORY: &str = "5999";
/// Yen, by ISO 4217.
const YEN: &str = "392";
/// No currency, by ISO 4217.
const NO_CURRENCY: &str = "999";

/// An amount whose text is longer than 13 characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("has more than 13 characters, the most that a QR code can have")]
pub struct AmountTooLong;

/// The payload of a merchant's code: a static one that is paid any number of times, or with an amount. The merchant's
/// id is object 01 of template 26; an asset other than `ECOPAY` is object 01 of template 80.
///
/// Object 59 takes the programme's name in place of a name that is not ASCII; template 64 has that name.
///
/// # Errors
/// [`AmountTooLong`].
pub fn payload(
    tenant: &Tenant,
    merchant: MerchantId,
    name: &str,
    amount: Option<&Amount>,
) -> Result<String, AmountTooLong> {
    let asset = amount.map_or(&Asset::Ecopay, Amount::asset);
    let amount = amount.map(Amount::text);
    if amount.as_ref().is_some_and(|text| text.len() > AMOUNT_CHARS) {
        return Err(AmountTooLong);
    }
    let issued = |value: &str| object("00", IDENTIFIER) + &object("01", value);
    let is_latin = name.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let latin = if is_latin { name } else { tenant.as_str() };
    let mut payload = object("00", "01")
        + &object("01", if amount.is_some() { "12" } else { "11" })
        + &object("26", &issued(&merchant.to_string()))
        + &object("52", CATEGORY)
        + &object("53", currency(asset));
    if let Some(amount) = amount {
        payload += &object("54", &amount);
    }
    payload += &object("58", "JP");
    payload += &object("59", &first(latin, NAME_CHARS));
    payload += &object("60", &first(tenant.as_str(), CITY_CHARS));
    if !is_latin {
        payload += &object("64", &(object("00", "ja") + &object("01", &first(name, NAME_CHARS))));
    }
    if *asset != Asset::Ecopay {
        payload += &object("80", &issued(&asset.to_string()));
    }
    payload += "6304";
    let checksum = CHECKSUM.checksum(payload.as_bytes());
    Ok(format!("{payload}{checksum:04X}"))
}

/// The currency's number in ISO 4217. A point and a unit of a regional currency are worth one yen each.
fn currency(asset: &Asset) -> &'static str {
    match asset {
        Asset::Ecopay | Asset::Point | Asset::Regional(_) => YEN,
        Asset::Jcredit => NO_CURRENCY,
    }
}

fn object(id: &str, value: &str) -> String {
    format!("{id}{:02}{value}", value.chars().count())
}

fn first(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::AssetSpec;
    use crate::money::RegionalKey;
    use uuid::Uuid;

    const MERCHANT: &str = "019a0000-0000-7000-8000-0000000000c1";

    fn merchant() -> MerchantId {
        MerchantId::new(Uuid::parse_str(MERCHANT).unwrap())
    }

    fn aoba() -> Tenant {
        Tenant::parse("aoba-no-mori-coin").unwrap()
    }

    /// The example of the specification, Annex A.
    #[test]
    fn checksum_of_the_specifications_example_is_a13a() {
        let example = "00020101021229300012D156000000000510A93FO3230Q31280012D15600000001030812345678520441115802CN\
                       5914BEST TRANSPORT6007BEIJING64200002ZH0104最佳运输0202北京540523.7253031565502016233030412340603***\
                       0708A60086670902ME91320016A0112233449988770708123456786304";
        assert_eq!(format!("{:04X}", CHECKSUM.checksum(example.as_bytes())), "A13A");
    }

    #[test]
    fn static_code_has_no_amount() {
        let payload = payload(&aoba(), merchant(), "Morinaga Bakery at the station", None).unwrap();
        let expected = "00020101021126760032d48d97207cae48108bfa2f6b32dd15250136019a0000-0000-7000-8000-0000000000c1\
                        5204599953033925802JP5925Morinaga Bakery at the st6015aoba-no-mori-co6304";
        assert_eq!(payload.strip_prefix(expected).map(str::len), Some(4), "{payload}");
    }

    #[test]
    fn code_with_amount_of_a_regional_currency_names_the_asset_and_the_local_name() {
        let asset = Asset::Regional(RegionalKey::parse("aoba").unwrap());
        let amount = Amount::parse(&AssetSpec::finest(asset), "1240.5").unwrap();
        let payload = payload(&aoba(), merchant(), "青葉のパン屋", Some(&amount)).unwrap();
        let expected = "00020101021226760032d48d97207cae48108bfa2f6b32dd15250136019a0000-0000-7000-8000-0000000000c1\
                        52045999530339254061240.55802JP5917aoba-no-mori-coin6015aoba-no-mori-co\
                        64160002ja0106青葉のパン屋80530032d48d97207cae48108bfa2f6b32dd15250113REGIONAL#aoba6304";
        assert_eq!(payload.strip_prefix(expected).map(str::len), Some(4), "{payload}");
    }

    #[test]
    fn amount_of_more_than_13_characters_is_refused() {
        let of = |text: &str| Amount::parse(&AssetSpec::ECOPAY, text).unwrap();
        assert!(payload(&aoba(), merchant(), "Baker", Some(&of("9999999999999"))).is_ok());
        assert_eq!(payload(&aoba(), merchant(), "Baker", Some(&of("10000000000000"))), Err(AmountTooLong));
    }

    #[test]
    fn longest_values_fit_their_objects() {
        let tenant = Tenant::parse(&"a".repeat(32)).unwrap();
        let asset = Asset::Regional(RegionalKey::parse(&"k".repeat(32)).unwrap());
        let amount = Amount::parse(&AssetSpec::finest(asset), "999999.999999").unwrap();
        let payload = payload(&tenant, merchant(), &"森".repeat(80), Some(&amount)).unwrap();
        // The specification's most is 512 characters.
        let chars: Vec<char> = payload.chars().collect();
        let (mut rest, mut ids) = (chars.as_slice(), Vec::new());
        while let [tens, ones, length_tens, length_ones, ..] = rest {
            let length: usize = format!("{length_tens}{length_ones}").parse().unwrap();
            ids.push(format!("{tens}{ones}"));
            rest = rest.get(4 + length..).unwrap();
        }
        assert_eq!(ids, ["00", "01", "26", "52", "53", "54", "58", "59", "60", "64", "80", "63"]);
        assert!(payload.chars().count() <= 512);
    }
}
