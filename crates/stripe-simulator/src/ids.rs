//! Ids in Stripe's form: a prefix for the kind, then letters and digits.
//!
//! Each contains a sequence number, so ids are unique even if the system provides no randomness.

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_LETTERS: usize = 20;

/// Makes an id such as `pi_3K…`. `sequence` must differ on every call.
pub(crate) fn fresh(prefix: &str, sequence: u64) -> String {
    let mut id = prefix.to_owned();
    id.push('_');
    id.push_str(&random_letters());
    id.push_str(&format!("{sequence:04x}"));
    id
}

/// Random letters and digits, as at the end of a client secret.
pub(crate) fn random_letters() -> String {
    let mut random = [0; RANDOM_LETTERS];
    // Without randomness ids can be guessed, which is harmless on a development stack.
    let _ = getrandom::fill(&mut random);
    random.iter().map(|byte| letter(*byte)).collect()
}

fn letter(byte: u8) -> char {
    ALPHABET.get(usize::from(byte).checked_rem(ALPHABET.len()).unwrap_or_default()).copied().map_or('0', char::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_have_their_prefix() {
        let (first, second) = (fresh("pi", 1), fresh("pi", 2));
        assert!(first.starts_with("pi_") && first.len() == 27, "{first}");
        assert_ne!(first, second);
        assert!(first.trim_start_matches("pi_").chars().all(|c| c.is_ascii_alphanumeric()));
    }
}
