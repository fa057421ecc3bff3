//! DynamoDB's reserved words, from the list in the repository.

use std::collections::HashSet;
use std::sync::LazyLock;

static WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    include_str!("../../dynamodb-reserved-words.txt").lines().filter(|line| !line.starts_with('#')).collect()
});

/// Whether the word is reserved: an expression can name such an attribute only by a placeholder.
#[must_use]
pub fn is_reserved(word: &str) -> bool {
    WORDS.contains(word.to_ascii_uppercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_has_the_573_words_of_the_documentation() {
        assert_eq!(WORDS.len(), 573);
        for word in ["type", "Uuid", "ttl", "STATE", "role"] {
            assert!(is_reserved(word), "{word}");
        }
        for word in ["balance", "owner_pk", "due_sk"] {
            assert!(!is_reserved(word), "{word}");
        }
    }
}
