//! The stored form of an entry and of a reference to one, which is compact, and the full form, which has every attribute by
//! its name. Builders make the full form, and readers take it.
//!
//! The compact form leaves out what follows from the key or from another attribute, keeps ids as bytes, and has short
//! names. [`expanded`] makes the full form of it. Only what covers an item as it is stored, such as a seal, reads the stored
//! form itself. A reference to a row of a legacy model is stored in full: it has no principal.

use crate::account::{Account, Bucket};
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::ids::parse_uuid;
use crate::keys::{Key, attr, sk};
use crate::terms_version::TermsVersion;
use crate::time::Timestamp;
use std::borrow::Cow;
use uuid::Uuid;
use uuid::fmt::Hyphenated;

/// The attribute that marks the compact form.
const FORM: &str = "v";
/// Its value. The full form has no such attribute.
const COMPACT: &str = "2";
/// The attribute with the accounts of postings that are neither the home nor the merchant.
const OTHER_ACCOUNTS: &str = "oa";

const OPERATION: &str = "operation";
const TRANSACTION: &str = "transaction_id";
const PRINCIPAL: &str = "principal";
const ACTOR: &str = "actor";
const HOME: &str = "home";
const MERCHANT: &str = "merchant_id";

/// The bytes of a party: the letter of its kind, and its id.
const PARTY_BYTES: usize = 17;
/// Follows the account of a posting to the held part.
const HELD: char = '*';

/// How an attribute's value is kept. Each way has one type, so that a value of another type is never taken for one.
#[derive(Clone, Copy)]
enum Kept {
    /// A text, as it is.
    Text,
    /// A number, as it is.
    Number,
    /// An id: its bytes, or [`OF_KEY`] if it is the id of the partition key.
    Id,
    /// A text that begins with an id: the id's bytes, then the rest.
    IdThenText,
    /// A party: the letter of its kind and the bytes of its id, or one letter of [`PARTIES`].
    Party,
    /// An instant: its milliseconds since 1970.
    Instant,
    /// Postings, as one text.
    Postings,
    /// Changes by asset, as one text.
    Changes,
}

/// The attributes that have another name in the compact form: full, compact, and how the value is kept. The first row
/// that a value fits is used. A value that fits none is kept under its full name, as it is. Rows are only added.
const ATTRIBUTES: [(&str, &str, Kept); 23] = [
    (attr::CREATED_AT, "ca", Kept::Instant),
    (OPERATION, "op", Kept::Text),
    (PRINCIPAL, "pr", Kept::Party),
    (ACTOR, "ac", Kept::Party),
    ("idempotency_key", "ik", Kept::IdThenText),
    ("idempotency_key", "kt", Kept::Text),
    ("postings", "po", Kept::Postings),
    (HOME, "ho", Kept::Party),
    ("changes", "ch", Kept::Changes),
    (MERCHANT, "mi", Kept::Id),
    ("payment_id", "pi", Kept::Id),
    ("payment_status", "ps", Kept::Text),
    ("refund_id", "ri", Kept::Id),
    ("topup_id", "ti", Kept::Id),
    ("settlement_id", "si", Kept::Id),
    ("adjustment_id", "ai", Kept::Id),
    ("requested_by", "rb", Kept::Id),
    ("reverses", "re", Kept::Id),
    ("reverses_operation", "ro", Kept::Text),
    ("co2_rate", "cr", Kept::Number),
    ("co2_source", "cs", Kept::Text),
    ("co2_version", "cv", Kept::Text),
    (TermsVersion::ATTRIBUTE, "tv", Kept::Number),
];

/// Stands for the id of the partition key.
const OF_KEY: u8 = b'k';
/// Stands for the merchant of `merchant_id`.
const OF_MERCHANT: u8 = b'm';
/// The parties without an id, with the letters that stand for them.
const PARTIES: [(&str, u8); 2] = [("stripe", b'p'), ("system", b'y')];
/// The kinds of parties with an id, with the letters that stand for them.
const KINDS: [(&str, u8); 6] = [
    ("customer", b'c'),
    ("card", b'd'),
    ("merchant", b'm'),
    ("terminal", b't'),
    ("staff", b's'),
    ("merchant_staff", b'e'),
];

/// The assets, with what stands for them after a number. A regional currency's key follows.
const ASSETS: [(&str, &str); 4] = [("ECOPAY", ""), ("POINT", "P"), ("JCREDIT", "J"), ("REGIONAL#", "R#")];

/// Returns the full form of a stored entry or reference. The full form is returned as it is.
///
/// # Errors
/// [`ItemError`] if the item has another form, or an attribute that is not valid in the compact form.
pub fn expanded(item: Item) -> Result<Item, ItemError> {
    Ok(match expand(&item)? {
        Cow::Borrowed(_) => item,
        Cow::Owned(full) => full,
    })
}

/// Returns the full form of a stored entry or reference, as [`expanded`].
///
/// # Errors
/// [`ItemError`] if the item has another form, or an attribute that is not valid in the compact form.
pub fn expand(item: &Item) -> Result<Cow<'_, Item>, ItemError> {
    if !item.contains_key(FORM) {
        return Ok(Cow::Borrowed(item));
    }
    full(item.text(attr::PK)?, item.text(attr::SK)?, item).map(Cow::Owned)
}

/// Returns the full form of an entry or reference that is written under `key`, whose attributes are not in the item.
///
/// # Errors
/// [`ItemError`] if the item has another form, or an attribute that is not valid in the compact form.
pub(crate) fn expand_under<'a>(key: &Key, item: &'a Item) -> Result<Cow<'a, Item>, ItemError> {
    if item.contains_key(FORM) { full(key.pk(), key.sk(), item).map(Cow::Owned) } else { Ok(Cow::Borrowed(item)) }
}

/// Returns the stored form of an entry or reference that is to be written under `key`; `None` if it cannot say exactly the
/// same.
#[must_use]
pub fn compact(key: &Key, full: &Item) -> Option<Item> {
    // INVARIANT: what is stored can always be expanded to exactly what the builder made.
    compact_form(key, full).filter(|compact| expand_under(key, compact).is_ok_and(|said| *said == *full))
}

/// What the key and other attributes say of an item.
struct Context<'a> {
    /// The id of the partition key.
    owner: &'a str,
    /// The id of the sort key.
    id: &'a str,
    /// The account in whose partition the entry is kept.
    home: String,
    /// The merchant of `merchant_id`.
    merchant: Option<String>,
}

impl<'a> Context<'a> {
    /// The parts of the key. `home` is what a reference says.
    fn of(pk: &'a str, sk: &'a str, home: Option<String>) -> Result<Self, ItemError> {
        let mut parts = pk.splitn(3, '#').skip(1);
        let (Some(kind), Some(owner)) = (parts.next(), parts.next()) else { return Err(ItemError::invalid(attr::PK)) };
        let home = home.unwrap_or_else(|| format!("{kind}:{owner}"));
        let id = sk.strip_prefix(sk::TXN).or_else(|| sk.strip_prefix(sk::TXNREF));
        Ok(Self { owner, id: id.ok_or_else(|| ItemError::invalid(attr::SK))?, home, merchant: None })
    }
}

/// The compact form; `None` if the item lacks an attribute that the form implies, or has one of the form's own.
fn compact_form(key: &Key, full: &Item) -> Option<Item> {
    let home = full.opt_string(HOME).ok()?;
    let mut context = Context::of(key.pk(), key.sk(), home).ok()?;
    if full.text(TRANSACTION) != Ok(context.id) {
        return None;
    }
    let (principal, actor) = (full.text(PRINCIPAL).ok()?, full.text(ACTOR).ok()?);
    let is_own =
        |name: &str| name == FORM || name == OTHER_ACCOUNTS || ATTRIBUTES.iter().any(|(_, own, _)| *own == name);
    if full.keys().any(|name| is_own(name)) {
        return None;
    }
    context.merchant = full.opt_text(MERCHANT).ok()?.map(|id| format!("merchant:{id}"));
    let mut compact = Item::from([(FORM.to_owned(), Value::N(COMPACT.to_owned()))]);
    let mut others = Vec::new();
    for (name, value) in full {
        let is_implied = name == TRANSACTION
            || (name == PRINCIPAL && principal == context.home)
            || (name == ACTOR && actor == principal);
        if is_implied {
            continue;
        }
        let mut rows = ATTRIBUTES.iter().filter(|(full, ..)| full == name);
        let kept = rows.find_map(|(_, short, kept)| Some((*short, packed(*kept, value, &context, &mut others)?)));
        let (name, value) = kept.unwrap_or_else(|| (name, value.clone()));
        compact.insert(name.to_owned(), value);
    }
    if !others.is_empty() {
        compact.insert(OTHER_ACCOUNTS.to_owned(), Value::B(others));
    }
    Some(compact)
}

/// The full form of an item in the compact form. An error names the attribute as it is stored.
fn full(pk: &str, sk: &str, item: &Item) -> Result<Item, ItemError> {
    if item.number(FORM)? != COMPACT {
        return Err(ItemError::invalid(FORM));
    }
    let mut context = Context::of(pk, sk, None)?;
    let others = item.opt_parsed_bytes(OTHER_ACCOUNTS, others_of)?.unwrap_or_default();
    // Other attributes refer to these two.
    context.merchant = text_of(item, MERCHANT, &context, &others)?.map(|id| format!("merchant:{id}"));
    if let Some(home) = text_of(item, HOME, &context, &others)? {
        context.home = home;
    }
    let mut full = Item::from([(TRANSACTION.to_owned(), Value::s(context.id))]);
    for (name, value) in item.iter().filter(|(name, _)| *name != FORM && *name != OTHER_ACCOUNTS) {
        let (full_name, value) = match ATTRIBUTES.iter().find(|(_, short, _)| short == name) {
            Some((full_name, _, kept)) => (*full_name, unpacked(item, (name, *kept), &context, &others)?),
            None => (name.as_str(), value.clone()),
        };
        // An attribute under both names has two values.
        if full.insert(full_name.to_owned(), value).is_some() {
            return Err(ItemError::invalid(name));
        }
    }
    let principal = full.entry(PRINCIPAL.to_owned()).or_insert_with(|| Value::S(context.home)).clone();
    full.entry(ACTOR.to_owned()).or_insert(principal);
    Ok(full)
}

/// The value that the compact form keeps; `None` if it does not fit.
fn packed(kept: Kept, value: &Value, context: &Context<'_>, others: &mut Vec<u8>) -> Option<Value> {
    match (kept, value) {
        (Kept::Text, Value::S(_)) | (Kept::Number, Value::N(_)) => Some(value.clone()),
        (Kept::Id, Value::S(text)) if text == context.owner => Some(Value::B(vec![OF_KEY])),
        (Kept::Id, Value::S(text)) => Some(Value::B(parse_uuid(text).ok()?.as_bytes().to_vec())),
        (Kept::IdThenText, Value::S(text)) => {
            let (id, rest) = text.split_at_checked(Hyphenated::LENGTH)?;
            Some(Value::B([parse_uuid(id).ok()?.as_bytes(), rest.as_bytes()].concat()))
        }
        (Kept::Party, Value::S(text)) if Some(text) == context.merchant.as_ref() => Some(Value::B(vec![OF_MERCHANT])),
        (Kept::Party, Value::S(text)) => match PARTIES.iter().find(|(name, _)| name == text) {
            Some((_, letter)) => Some(Value::B(vec![*letter])),
            None => Some(Value::B(party(text)?.to_vec())),
        },
        (Kept::Instant, Value::S(text)) => {
            let instant = Timestamp::parse(text).ok()?;
            (instant.rfc3339() == *text).then(|| Value::int(instant.millis()))
        }
        (Kept::Postings, Value::L(postings)) => {
            let mut accounts = Vec::new();
            let texts = postings.iter().map(|posting| posting_text(posting, context, &mut accounts));
            let text = texts.collect::<Option<Vec<String>>>()?.join(" ");
            others.extend(accounts.iter().flatten());
            Some(Value::S(text))
        }
        (Kept::Changes, Value::M(changes)) => {
            let texts = changes.iter().map(|(asset, number)| change_text(asset, number));
            Some(Value::S(texts.collect::<Option<Vec<String>>>()?.join(" ")))
        }
        (
            Kept::Text
            | Kept::Number
            | Kept::Id
            | Kept::IdThenText
            | Kept::Party
            | Kept::Instant
            | Kept::Postings
            | Kept::Changes,
            Value::S(_) | Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_),
        ) => None,
    }
}

/// The text of an attribute of the full form; `None` if it is absent.
fn text_of(item: &Item, name: &str, context: &Context<'_>, others: &[String]) -> Result<Option<String>, ItemError> {
    let row = ATTRIBUTES.iter().find(|(full, short, _)| *full == name && item.contains_key(*short));
    let Some((_, short, kept)) = row else { return item.opt_string(name) };
    let full = Item::from([(name.to_owned(), unpacked(item, (short, *kept), context, others)?)]);
    full.string(name).map(Some)
}

/// The value of the full form, of an attribute of the compact form.
fn unpacked(
    item: &Item,
    (name, kept): (&str, Kept),
    context: &Context<'_>,
    others: &[String],
) -> Result<Value, ItemError> {
    match kept {
        Kept::Text => item.text(name).map(Value::s),
        Kept::Number => item.number(name).map(|number| Value::N(number.to_owned())),
        Kept::Id => item.parsed_bytes(name, |bytes| match bytes {
            [OF_KEY] => Some(Value::s(context.owner)),
            id => Uuid::from_slice(id).ok().map(Value::s),
        }),
        Kept::IdThenText => item.parsed_bytes(name, |bytes| {
            let (id, rest) = bytes.split_first_chunk()?;
            Some(Value::S(format!("{}{}", Uuid::from_bytes(*id), std::str::from_utf8(rest).ok()?)))
        }),
        Kept::Party => item.parsed_bytes(name, |bytes| match bytes {
            [OF_MERCHANT] => context.merchant.clone().map(Value::S),
            [letter] => PARTIES.iter().find(|(_, known)| known == letter).map(|(name, _)| Value::s(name)),
            party => party_text(party.try_into().ok()?).map(Value::S),
        }),
        Kept::Instant => item.checked_int(name, |millis| {
            let instant = Timestamp::from_millis(millis);
            (instant.millis() == millis).then(|| Value::s(instant))
        }),
        Kept::Postings => item.named(name, |text| {
            let postings = text.split_terminator(' ').map(|posting| posting_of(posting, context, others));
            postings.collect::<Option<_>>().map(Value::L)
        }),
        Kept::Changes => {
            item.named(name, |text| text.split_terminator(' ').map(change_of).collect::<Option<_>>().map(Value::M))
        }
    }
}

/// A party of a known kind: `customer:<id>`.
fn party(text: &str) -> Option<[u8; PARTY_BYTES]> {
    let (kind, id) = text.split_once(':')?;
    let (_, letter) = KINDS.iter().find(|(known, _)| *known == kind)?;
    let mut party = [*letter; PARTY_BYTES];
    let (_, bytes) = party.split_first_mut()?;
    bytes.copy_from_slice(parse_uuid(id).ok()?.as_bytes());
    Some(party)
}

fn party_text(party: &[u8; PARTY_BYTES]) -> Option<String> {
    let (letter, id) = party.split_first()?;
    let (kind, _) = KINDS.iter().find(|(_, known)| known == letter)?;
    Some(format!("{kind}:{}", Uuid::from_slice(id).ok()?))
}

fn others_of(bytes: &[u8]) -> Option<Vec<String>> {
    let (parties, rest) = bytes.as_chunks::<PARTY_BYTES>();
    if rest.is_empty() { parties.iter().map(party_text).collect() } else { None }
}

/// A posting as text: its account, its signed number, and its asset, for example `h-1740`, `m+500P` and
/// `points_issued-17P`.
fn posting_text(posting: &Value, context: &Context<'_>, others: &mut Vec<[u8; PARTY_BYTES]>) -> Option<String> {
    let Value::M(posting) = posting else { return None };
    let account = posting.text("account").ok()?;
    let mut text = if *account == context.home {
        "h".to_owned()
    } else if Some(account) == context.merchant.as_deref() {
        "m".to_owned()
    } else if let Some(party) = party(account) {
        let number = others.iter().position(|other| *other == party).unwrap_or_else(|| {
            others.push(party);
            others.len().saturating_sub(1)
        });
        number.saturating_add(1).to_string()
    } else {
        // A tenant's own account.
        Account::parse(account).ok()?.to_string()
    };
    let is_held = posting.opt_text("bucket").ok()? == Some(Bucket::Held.name());
    if is_held {
        text.push(HELD);
    }
    text.push_str(&change_text(posting.text("asset").ok()?, posting.get("delta")?)?);
    Some(text)
}

fn posting_of(text: &str, context: &Context<'_>, others: &[String]) -> Option<Value> {
    let (account, change) = text.split_at_checked(text.find(['+', '-'])?)?;
    let (account, is_held) = match account.strip_suffix(HELD) {
        Some(account) => (account, true),
        None => (account, false),
    };
    let account = match (account, account.parse::<usize>()) {
        ("h", _) => context.home.clone(),
        ("m", _) => context.merchant.clone()?,
        (_, Ok(number)) => others.get(number.checked_sub(1)?)?.clone(),
        (name, Err(_)) => Account::parse(name).ok()?.to_string(),
    };
    let (asset, delta) = change_of(change)?;
    let mut posting = Item::from([
        ("account".to_owned(), Value::S(account)),
        ("asset".to_owned(), Value::S(asset)),
        ("delta".to_owned(), delta),
    ]);
    if is_held {
        posting.insert("bucket".to_owned(), Value::s(Bucket::Held.name()));
    }
    Some(Value::M(posting))
}

/// A change of an asset as text: a sign, a number, and what stands for the asset.
fn change_text(asset: &str, number: &Value) -> Option<String> {
    let Value::N(number) = number else { return None };
    let sign = if number.starts_with('-') { "" } else { "+" };
    let (name, letter) = ASSETS.iter().find(|(name, _)| asset.starts_with(name))?;
    Some(format!("{sign}{number}{letter}{}", asset.strip_prefix(name)?))
}

fn change_of(text: &str) -> Option<(String, Value)> {
    let (number, asset) = text.split_at_checked(text.find(|c: char| c.is_ascii_uppercase()).unwrap_or(text.len()))?;
    let named = ASSETS.iter().filter(|(_, letter)| !letter.is_empty()).find_map(|(name, letter)| {
        let key = asset.strip_prefix(letter)?;
        Some(format!("{name}{key}"))
    });
    let asset = if asset.is_empty() { "ECOPAY".to_owned() } else { named? };
    Some((asset, Value::N(number.strip_prefix('+').unwrap_or(number).to_owned())))
}

#[cfg(test)]
mod tests;
