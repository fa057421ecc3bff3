//! DynamoDB's reserved words, from the list in the repository.

use std::collections::HashSet;
use std::sync::LazyLock;

/// The reserved words, in upper case.
pub static WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    include_str!("../../dynamodb-reserved-words.txt").lines().filter(|line| !line.starts_with('#')).collect()
});

/// Whether the word is reserved: an expression can name such an attribute only by a placeholder.
#[must_use]
pub fn is_reserved(word: &str) -> bool {
    WORDS.contains(word.to_ascii_uppercase().as_str())
}
