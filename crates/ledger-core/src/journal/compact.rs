//! The stored form of an entry and of a reference to one, and the expanded form, which readers take: every attribute by its
//! name.
//!
//! The stored form leaves out what follows from the key or from another attribute, keeps ids as bytes, and has short
//! names. Builders write it directly, as a [`StoredLine`]; [`expanded`] makes the expanded form of it. Only what covers an item as
//! it is stored, such as a seal, reads the stored form itself.

use crate::account::{Account, Bucket, Posting};
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::ids::parse_uuid;
use crate::keys::{self, Key, attr, sk};
use crate::money::{Asset, Delta};
use crate::terms_version::TermsVersion;
use crate::time::Timestamp;
use std::borrow::Cow;
use std::collections::BTreeMap;
use uuid::Uuid;
use uuid::fmt::Hyphenated;

/// The attribute with the accounts of postings that are neither the home nor the merchant.
const OTHER_ACCOUNTS: &str = "oa";

const OPERATION: &str = "operation";
const TRANSACTION: &str = "transaction_id";
const PRINCIPAL: &str = "principal";
const ACTOR: &str = "actor";
const HOME: &str = "home";
const MERCHANT: &str = "merchant_id";
const POSTINGS: &str = "postings";
const CHANGES: &str = "changes";
/// The attribute of a reference to a row of a legacy model with the row. Such a reference has no principal and no actor.
pub(crate) const LEGACY: &str = "legacy";

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

/// The attributes that have another name in the stored form: expanded, stored, and how the value is kept. The first row
/// that a value fits is used. A value that fits none is kept under its expanded name, as it is. Rows are only added.
const ATTRIBUTES: [(&str, &str, Kept); 23] = [
    (attr::CREATED_AT, "ca", Kept::Instant),
    (OPERATION, "op", Kept::Text),
    (PRINCIPAL, "pr", Kept::Party),
    (ACTOR, "ac", Kept::Party),
    ("idempotency_key", "ik", Kept::IdThenText),
    ("idempotency_key", "kt", Kept::Text),
    (POSTINGS, "po", Kept::Postings),
    (HOME, "ho", Kept::Party),
    (CHANGES, "ch", Kept::Changes),
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

/// Returns the expanded form of a stored entry or reference. An expanded one, or a row of a legacy history, is returned as it is.
///
/// # Errors
/// [`ItemError`] if an attribute is not valid in the stored form.
pub fn expanded(item: Item) -> Result<Item, ItemError> {
    Ok(match expand(&item)? {
        Cow::Borrowed(_) => item,
        Cow::Owned(expanded) => expanded,
    })
}

/// Returns the expanded form of a stored entry or reference, as [`expanded`].
///
/// # Errors
/// [`ItemError`] if an attribute is not valid in the stored form.
pub fn expand(item: &Item) -> Result<Cow<'_, Item>, ItemError> {
    // Every expanded item has its id, and no stored one has it beside its key.
    if item.contains_key(TRANSACTION) {
        return Ok(Cow::Borrowed(item));
    }
    let (pk, sk) = (item.text(attr::PK)?, item.text(attr::SK)?);
    if sk.starts_with(sk::HISTORY) { Ok(Cow::Borrowed(item)) } else { full(pk, sk, item).map(Cow::Owned) }
}

/// Returns the expanded form of an entry or reference that is written under `key`, whose attributes are not in the item.
///
/// # Errors
/// [`ItemError`] if an attribute is not valid in the stored form.
pub(crate) fn expand_under(key: &Key, item: &Item) -> Result<Item, ItemError> {
    full(key.pk(), key.sk(), item)
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
        let of_key = || if kind == keys::OWN { owner.to_owned() } else { format!("{kind}:{owner}") };
        let home = home.unwrap_or_else(of_key);
        let id = sk.strip_prefix(sk::TXN).or_else(|| sk.strip_prefix(sk::TXNREF));
        Ok(Self { owner, id: id.ok_or_else(|| ItemError::invalid(attr::SK))?, home, merchant: None })
    }
}

/// An entry or a reference in the stored form, as it is written.
pub struct StoredLine<'a> {
    context: Context<'a>,
    item: Item,
}

impl<'a> StoredLine<'a> {
    /// The line that is written under `key` with these attributes, which have their expanded names, but without postings and
    /// changes. `None` if one is missing that the stored form implies, or if one has a name of the stored form's own.
    #[must_use]
    pub fn under(key: &'a Key, mut attributes: Item) -> Option<Self> {
        let mut context = Context::of(key.pk(), key.sk(), attributes.opt_string(HOME).ok()?).ok()?;
        context.merchant = attributes.opt_text(MERCHANT).ok()?.map(|id| format!("merchant:{id}"));
        if attributes.remove(TRANSACTION)? != Value::s(context.id) {
            return None;
        }
        if attributes.contains_key(LEGACY) {
            if attributes.contains_key(PRINCIPAL) || attributes.contains_key(ACTOR) {
                return None;
            }
        } else {
            let (principal, actor) = (attributes.string(PRINCIPAL).ok()?, attributes.string(ACTOR).ok()?);
            if actor == principal {
                attributes.remove(ACTOR);
            }
            if principal == context.home {
                attributes.remove(PRINCIPAL);
            }
        }
        let mut item = Item::new();
        for (name, value) in attributes {
            let is_own = |own: &str| own == name || [POSTINGS, CHANGES].contains(&name.as_str());
            if is_own(OTHER_ACCOUNTS) || ATTRIBUTES.iter().any(|(_, own, _)| is_own(own)) {
                return None;
            }
            let mut rows = ATTRIBUTES.iter().filter(|(full, ..)| *full == name);
            match rows.find_map(|(_, own, kept)| Some((*own, packed(*kept, &value, &context)?))) {
                Some((own, value)) => item.insert(own.to_owned(), value),
                None => item.insert(name, value),
            };
        }
        Some(Self { context, item })
    }

    /// The item of an entry with these postings.
    #[must_use]
    pub fn with_postings(mut self, postings: &[Posting]) -> Item {
        let mut others = Vec::new();
        let texts: Vec<String> = postings.iter().map(|of| posting_text(of, &self.context, &mut others)).collect();
        self.item.insert("po".to_owned(), Value::S(texts.join(" ")));
        if !others.is_empty() {
            self.item.insert(OTHER_ACCOUNTS.to_owned(), Value::B(others.concat()));
        }
        self.item
    }

    /// The item of a reference with these changes of its party, one for each asset.
    #[must_use]
    pub fn with_changes(mut self, changes: &[Delta]) -> Item {
        let texts: BTreeMap<String, String> =
            changes.iter().map(|delta| (delta.asset().to_string(), change_text(delta))).collect();
        self.item.insert("ch".to_owned(), Value::S(texts.into_values().collect::<Vec<_>>().join(" ")));
        self.item
    }
}

/// The expanded form of a stored item. An error names the attribute as it is stored.
fn full(pk: &str, sk: &str, item: &Item) -> Result<Item, ItemError> {
    let mut context = Context::of(pk, sk, None)?;
    let others = item.opt_parsed_bytes(OTHER_ACCOUNTS, others_of)?.unwrap_or_default();
    // Other attributes refer to these two.
    context.merchant = text_of(item, MERCHANT, &context, &others)?.map(|id| format!("merchant:{id}"));
    if let Some(home) = text_of(item, HOME, &context, &others)? {
        context.home = home;
    }
    let mut full = Item::from([(TRANSACTION.to_owned(), Value::s(context.id))]);
    for (name, value) in item.iter().filter(|(name, _)| *name != OTHER_ACCOUNTS) {
        let (full_name, value) = match ATTRIBUTES.iter().find(|(_, short, _)| short == name) {
            Some((full_name, _, kept)) => (*full_name, unpacked(item, (name, *kept), &context, &others)?),
            None => (name.as_str(), value.clone()),
        };
        // An attribute under both names has two values.
        if full.insert(full_name.to_owned(), value).is_some() {
            return Err(ItemError::invalid(name));
        }
    }
    if !full.contains_key(LEGACY) {
        let principal = full.entry(PRINCIPAL.to_owned()).or_insert_with(|| Value::S(context.home)).clone();
        full.entry(ACTOR.to_owned()).or_insert(principal);
    }
    Ok(full)
}

/// The value that the stored form keeps; `None` if it does not fit.
fn packed(kept: Kept, value: &Value, context: &Context<'_>) -> Option<Value> {
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
        // A line is given these by their types.
        (Kept::Postings | Kept::Changes, _)
        | (
            Kept::Text | Kept::Number | Kept::Id | Kept::IdThenText | Kept::Party | Kept::Instant,
            Value::S(_) | Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_),
        ) => None,
    }
}

/// The text of an attribute of the expanded form; `None` if it is absent.
fn text_of(item: &Item, name: &str, context: &Context<'_>, others: &[String]) -> Result<Option<String>, ItemError> {
    let row = ATTRIBUTES.iter().find(|(full, short, _)| *full == name && item.contains_key(*short));
    let Some((_, short, kept)) = row else { return item.opt_string(name) };
    let full = Item::from([(name.to_owned(), unpacked(item, (short, *kept), context, others)?)]);
    full.string(name).map(Some)
}

/// The value of the expanded form, of an attribute of the stored form.
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
fn posting_text(posting: &Posting, context: &Context<'_>, others: &mut Vec<[u8; PARTY_BYTES]>) -> String {
    let account = posting.account.to_string();
    let mut text = if account == context.home {
        "h".to_owned()
    } else if Some(&account) == context.merchant.as_ref() {
        "m".to_owned()
    } else if let Some(party) = party(&account) {
        let number = others.iter().position(|other| *other == party).unwrap_or_else(|| {
            others.push(party);
            others.len().saturating_sub(1)
        });
        number.saturating_add(1).to_string()
    } else {
        // A tenant's own account.
        account
    };
    match posting.bucket {
        Bucket::Available => {}
        Bucket::Held => text.push(HELD),
    }
    text.push_str(&change_text(&posting.delta));
    text
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
fn change_text(delta: &Delta) -> String {
    let number = delta.text();
    let sign = if number.starts_with('-') { "" } else { "+" };
    let asset = match delta.asset() {
        Asset::Ecopay => String::new(),
        Asset::Point => "P".to_owned(),
        Asset::Jcredit => "J".to_owned(),
        Asset::Regional(key) => format!("R#{}", key.as_str()),
    };
    format!("{sign}{number}{asset}")
}

fn change_of(text: &str) -> Option<(String, Value)> {
    let (number, asset) = text.split_at_checked(text.find(|c: char| c.is_ascii_uppercase()).unwrap_or(text.len()))?;
    let asset = match asset {
        "" => Asset::Ecopay,
        "P" => Asset::Point,
        "J" => Asset::Jcredit,
        regional => Asset::parse(&format!("REGIONAL#{}", regional.strip_prefix("R#")?)).ok()?,
    };
    Some((asset.to_string(), Value::N(number.strip_prefix('+').unwrap_or(number).to_owned())))
}

#[cfg(test)]
mod tests;
