//! Text that a person typed, in entries, references to them and acts. Such an item is never changed, and its seal covers it,
//! so it has the text in a form that can be erased: [`HASH`] is covered, and the text is outside the seal.
//!
//! The hash is SHA-256 over the salt and the text in UTF-8, as it is stored. Once the text and its salt are removed, the hash
//! says nothing about the text: the salt cannot be guessed.

use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::personal::{FreeText, Masked};
use sha2::{Digest, Sha256};

/// The attribute with the hash of the salt and the text.
pub const HASH: &str = "memo_hash";
/// The attribute with the text and its salt. It begins with [`OUTSIDE_SEAL`](crate::keys::attr::OUTSIDE_SEAL).
pub const MEMO: &str = "_memo";

const TEXT: &str = "text";
const SALT: &str = "salt";

/// The number of bytes of a salt. The length is fixed, so that no other salt and text have the same bytes.
pub const SALT_BYTES: usize = 16;

/// A text that a person typed, with the salt of its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memo {
    text: Masked<String>,
    salt: [u8; SALT_BYTES],
}

impl Memo {
    /// The text with this salt, which no other transaction has.
    #[must_use]
    pub fn new(text: &FreeText, salt: [u8; SALT_BYTES]) -> Self {
        Self { text: Masked::new(text.expose().to_owned()), salt }
    }

    /// The text of a stored record with this salt.
    pub(crate) fn of_record(text: &str, salt: [u8; SALT_BYTES]) -> Self {
        Self { text: Masked::new(text.to_owned()), salt }
    }

    /// The attributes of an item that has the text.
    pub(crate) fn attributes(&self) -> [(String, Value); 2] {
        let memo = Item::from([
            (TEXT.to_owned(), Value::s(self.text.expose())),
            (SALT.to_owned(), Value::B(self.salt.to_vec())),
        ]);
        [(HASH.to_owned(), Value::B(hash(&self.salt, self.text.expose()).to_vec())), (MEMO.to_owned(), Value::M(memo))]
    }
}

/// The attribute of a reference to a row of a legacy model. No seal covers such a reference, and it has no salt.
pub(crate) fn of_legacy(text: &str) -> (String, Value) {
    (MEMO.to_owned(), Value::M(Item::from([(TEXT.to_owned(), Value::s(text))])))
}

/// The text of an entry, a reference or an act. `None` if there is none, or if it was erased.
///
/// # Errors
/// [`ItemError`] if the attribute is malformed.
pub fn text_of(item: &Item) -> Result<Option<String>, ItemError> {
    item.opt_map(MEMO)?.map(|memo| memo.string(TEXT)).transpose()
}

/// Whether the text of a record is the one that its seal covers. An erased text is no fault; a text without its hash is one.
pub(crate) fn is_as_hashed(item: &Item) -> bool {
    let Some(memo) = item.get(MEMO) else { return true };
    let (Value::M(memo), Some(Value::B(stored))) = (memo, item.get(HASH)) else { return false };
    match (memo.get(TEXT), memo.get(SALT)) {
        (Some(Value::S(text)), Some(Value::B(salt))) if salt.len() == SALT_BYTES => *stored == hash(salt, text),
        (Some(_) | None, Some(_) | None) => false,
    }
}

fn hash(salt: &[u8], text: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(salt);
    hash.update(text.as_bytes());
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item() -> Item {
        Item::from(Memo::new(&FreeText::parse("tea for Hanako", 140).unwrap(), [7; SALT_BYTES]).attributes())
    }

    #[test]
    fn hash_is_of_the_salt_and_the_text() {
        let bytes = [[7; SALT_BYTES].as_slice(), b"tea for Hanako"].concat();
        assert_eq!(item().get(HASH), Some(&Value::B(Sha256::digest(bytes).to_vec())));
        assert_eq!(text_of(&item()), Ok(Some("tea for Hanako".to_owned())));
        assert_eq!(crate::sealing::digest(&item()), {
            let mut erased = item();
            erased.remove(MEMO);
            crate::sealing::digest(&erased)
        });
    }

    #[test]
    fn erased_text_is_no_fault_and_changed_text_is() {
        let mut erased = item();
        erased.remove(MEMO);
        assert_eq!((is_as_hashed(&erased), text_of(&erased)), (true, Ok(None)));
        assert!(is_as_hashed(&item()) && is_as_hashed(&Item::new()));

        let with = |name: &str, value: Value| {
            let mut item = item();
            let Some(Value::M(memo)) = item.get_mut(MEMO) else { unreachable!() };
            memo.insert(name.to_owned(), value);
            item
        };
        let mut unhashed = item();
        unhashed.remove(HASH);
        let faults = [
            with(TEXT, Value::s("tea")),
            with(TEXT, Value::int(1)),
            with(SALT, Value::B(vec![8; SALT_BYTES])),
            with(SALT, Value::B(vec![7; 15])),
            unhashed,
            Item::from([(MEMO.to_owned(), Value::s("tea for Hanako"))]),
        ];
        assert!(faults.iter().all(|item| !is_as_hashed(item)));
    }

    #[test]
    fn text_does_not_print() {
        let memo = Memo::new(&FreeText::parse("tea for Hanako", 140).unwrap(), [7; SALT_BYTES]);
        assert!(!format!("{memo:?}").contains("tea"));
    }
}
