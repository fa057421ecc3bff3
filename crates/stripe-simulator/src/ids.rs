//! Ids in Stripe's form: a prefix that says the kind, then letters and digits.
//! A running number in each keeps them unique even where the system has no randomness to give.

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_LETTERS: usize = 20;

/// Such as `pi_3K…`. `sequence` must differ on every call.
pub(crate) fn fresh(prefix: &str, sequence: u64) -> String {
    let mut id = prefix.to_owned();
    id.push('_');
    id.push_str(&random_letters());
    id.push_str(&format!("{sequence:04x}"));
    id
}

/// Letters that cannot be guessed, as at the end of a client secret.
pub(crate) fn random_letters() -> String {
    let mut random = [0; RANDOM_LETTERS];
    // Without randomness the ids are easy to guess, which harms nobody on a development stack.
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
    fn ids_differ_and_have_their_kind() {
        let (first, second) = (fresh("pi", 1), fresh("pi", 2));
        assert!(first.starts_with("pi_") && first.len() == 27, "{first}");
        assert_ne!(first, second);
        assert!(first.trim_start_matches("pi_").chars().all(|c| c.is_ascii_alphanumeric()));
    }
}
