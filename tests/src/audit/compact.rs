//! Expands stored entries and references, by the page that describes their form
//! (`docs/architecture/entries.md`) and without the ledger's code, so that an error there is not repeated here.

use super::rows::{opt_text, s};
use ledger_core::dynamo::{Item, Value};
use uuid::Uuid;

/// The expanded form of a stored row. A row that is expanded, or of another kind, is returned as it is.
///
/// # Errors
/// What is wrong with the row.
pub fn full(pk: &str, sk: &str, row: &Item) -> Result<Item, String> {
    let Some(id) = sk.strip_prefix("TXN#").or_else(|| sk.strip_prefix("TXNREF#")) else { return Ok(row.clone()) };
    // Every expanded row has its id, and no stored one has it beside its key.
    if row.contains_key("transaction_id") {
        return Ok(row.clone());
    }
    let wrong = |name: &str| format!("{pk} {sk}: `{name}` is not valid in the stored form");
    let (kind, owner) = pk.split_once('#').and_then(|(_, rest)| rest.split_once('#')).ok_or_else(|| wrong("uuid"))?;
    let id_of = |name: &str| match row.get(name) {
        None => Ok(None),
        Some(Value::B(bytes)) if bytes == b"k" => Ok(Some(owner.to_owned())),
        Some(Value::B(bytes)) => uuid(bytes).map(Some).ok_or_else(|| wrong(name)),
        Some(_) => Err(wrong(name)),
    };
    let merchant = match id_of("mi")? {
        Some(id) => Some(id),
        None => opt_text(row, "merchant_id").map(str::to_owned),
    };
    let merchant = merchant.map(|id| format!("merchant:{id}"));
    let party_of = |name: &str| match row.get(name) {
        None => Ok(None),
        Some(Value::B(bytes)) => match bytes.as_slice() {
            b"m" => merchant.clone(),
            b"p" => Some("stripe".to_owned()),
            b"y" => Some("system".to_owned()),
            bytes => party(bytes),
        }
        .map(Some)
        .ok_or_else(|| wrong(name)),
        Some(_) => Err(wrong(name)),
    };
    let home = match party_of("ho")? {
        Some(home) => home,
        // The partition of an account of the tenant's own has the account's name.
        None if kind == "own" => owner.to_owned(),
        None => opt_text(row, "home").map_or_else(|| format!("{kind}:{owner}"), str::to_owned),
    };
    let others: Vec<String> = match row.get("oa") {
        None => Vec::new(),
        Some(Value::B(bytes)) => bytes.chunks(17).map(party).collect::<Option<_>>().ok_or_else(|| wrong("oa"))?,
        Some(_) => return Err(wrong("oa")),
    };
    let mut full = Item::from([("transaction_id".to_owned(), s(id))]);
    for (name, value) in row {
        let text = match value {
            Value::S(text) => Some(text.as_str()),
            Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => None,
        };
        let (name, value) = match name.as_str() {
            "oa" => continue,
            "ca" => ("created_at", instant(value).map(Value::S)),
            "op" => ("operation", text.map(s)),
            "ps" => ("payment_status", text.map(s)),
            "ro" => ("reverses_operation", text.map(s)),
            "cs" => ("co2_source", text.map(s)),
            "cv" => ("co2_version", text.map(s)),
            "cr" => ("co2_rate", Some(value.clone())),
            "tv" => ("terms_version", Some(value.clone())),
            "kt" => ("idempotency_key", text.map(s)),
            "ik" => ("idempotency_key", key(value).map(Value::S)),
            "pr" => ("principal", party_of("pr")?.map(Value::S)),
            "ac" => ("actor", party_of("ac")?.map(Value::S)),
            "ho" => ("home", Some(s(&home))),
            "mi" => ("merchant_id", id_of("mi")?.map(Value::S)),
            "pi" => ("payment_id", id_of("pi")?.map(Value::S)),
            "ri" => ("refund_id", id_of("ri")?.map(Value::S)),
            "ti" => ("topup_id", id_of("ti")?.map(Value::S)),
            "si" => ("settlement_id", id_of("si")?.map(Value::S)),
            "ai" => ("adjustment_id", id_of("ai")?.map(Value::S)),
            "rb" => ("requested_by", id_of("rb")?.map(Value::S)),
            "re" => ("reverses", id_of("re")?.map(Value::S)),
            "ch" => ("changes", text.and_then(changes).map(Value::M)),
            "po" => {
                let account = |token: &str| match token {
                    "h" => Some(home.clone()),
                    "m" => merchant.clone(),
                    _ => match token.parse::<usize>() {
                        Ok(number) => others.get(number.wrapping_sub(1)).cloned(),
                        Err(_) => Some(token.to_owned()),
                    },
                };
                ("postings", text.and_then(|text| postings(text, account)).map(Value::L))
            }
            other => (other, Some(value.clone())),
        };
        if full.insert(name.to_owned(), value.ok_or_else(|| wrong(name))?).is_some() {
            return Err(format!("{pk} {sk} has `{name}` twice"));
        }
    }
    // A row of the legacy model says neither.
    if !full.contains_key("legacy") {
        let principal = full.entry("principal".to_owned()).or_insert_with(|| s(&home)).clone();
        full.entry("actor".to_owned()).or_insert(principal);
    }
    Ok(full)
}

fn uuid(bytes: &[u8]) -> Option<String> {
    Some(Uuid::from_slice(bytes).ok()?.to_string())
}

/// A letter of a kind, and an id.
fn party(bytes: &[u8]) -> Option<String> {
    let (letter, id) = bytes.split_first()?;
    let kind = match letter {
        b'c' => "customer",
        b'd' => "card",
        b'm' => "merchant",
        b't' => "terminal",
        b's' => "staff",
        b'e' => "merchant_staff",
        _ => return None,
    };
    Some(format!("{kind}:{}", uuid(id)?))
}

/// An id, and text.
fn key(value: &Value) -> Option<String> {
    let Value::B(bytes) = value else { return None };
    let (id, rest) = bytes.split_at_checked(16)?;
    Some(format!("{}{}", uuid(id)?, std::str::from_utf8(rest).ok()?))
}

/// The text of milliseconds since 1970, by the civil calendar.
fn instant(value: &Value) -> Option<String> {
    let Value::N(millis) = value else { return None };
    let millis: i64 = millis.parse().ok()?;
    let (days, of_day) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
    // Days since 0000-03-01, in eras of 400 years.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second, rest) = (of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1_000 % 60, of_day % 1_000);
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{rest:03}Z"))
}

/// A signed number, and what stands for the asset.
fn change(text: &str) -> Option<(String, Value)> {
    let end = text.find(|c: char| c.is_ascii_uppercase()).unwrap_or(text.len());
    let (number, asset) = text.split_at(end);
    let asset = match asset {
        "" => "ECOPAY".to_owned(),
        "P" => "POINT".to_owned(),
        "J" => "JCREDIT".to_owned(),
        regional => format!("REGIONAL#{}", regional.strip_prefix("R#")?),
    };
    Some((asset, Value::N(number.trim_start_matches('+').to_owned())))
}

fn changes(text: &str) -> Option<Item> {
    text.split_whitespace().map(change).collect()
}

fn postings(text: &str, account: impl Fn(&str) -> Option<String>) -> Option<Vec<Value>> {
    let posting = |text: &str| {
        let (token, rest) = text.split_at(text.find(['+', '-'])?);
        let (asset, delta) = change(rest)?;
        let mut posting = Item::from([
            ("account".to_owned(), s(account(token.trim_end_matches('*'))?)),
            ("asset".to_owned(), s(asset)),
            ("delta".to_owned(), delta),
        ]);
        if token.ends_with('*') {
            posting.insert("bucket".to_owned(), s("held"));
        }
        Some(Value::M(posting))
    };
    text.split_whitespace().map(posting).collect()
}
