//! How callers are limited, named in logs, and found behind a front end, from the environment.

use super::{ConfigError, request_rate};
use ledger_core::personal::Masked;
use ledger_core::rate::RequestRate;

const CALLER_REQUESTS: &str = "CALLER_REQUESTS_PER_SECOND";
const SOURCE_REQUESTS: &str = "SOURCE_REQUESTS_PER_SECOND";
const FRONT_END: &str = "FRONT_END_SECRET_DIGESTS";
const FRONT_END_EXAMPLE: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const LOG_KEY: &str = "LOG_PSEUDONYM_KEY";
const LOG_KEY_EXAMPLE: &str = "32-or-more-random-letters-and-digits";
/// The fewest characters of a key: with fewer it could be guessed, and with it each pseudonym.
const LOG_KEY_LENGTH_MIN: usize = 32;

/// A SHA-256 digest of the secret that a front end sends. It does not show the secret, so it need not be one itself.
pub type SecretDigest = [u8; 32];

/// How callers are limited, named and found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerConfig {
    /// The requests per second of one customer, staff member or terminal, in one process.
    pub requests: RequestRate,
    /// The requests per second of one source at the endpoints that need no identity, in one process.
    pub source_requests: RequestRate,
    /// The digests of the secrets that trusted front ends send: two while the secret is changed, none without a front
    /// end.
    pub front_end: Vec<SecretDigest>,
    /// The key of the pseudonyms in logs; `None` makes a random one for each process.
    pub log_key: Option<Masked<String>>,
}

impl Default for CallerConfig {
    fn default() -> Self {
        let (requests, source_requests) = (RequestRate::CALLER_DEFAULT, RequestRate::SOURCE_DEFAULT);
        Self { requests, source_requests, front_end: Vec::new(), log_key: None }
    }
}

impl CallerConfig {
    /// The highest rates, for tests and measurements that send much in the name of few.
    #[must_use]
    pub fn of_highest_rates() -> Self {
        Self { requests: RequestRate::MAX, source_requests: RequestRate::MAX, ..Self::default() }
    }

    /// Reads the variables by name.
    ///
    /// # Errors
    /// [`ConfigError`] if a rate is not a whole number from 1 to 100,000, a digest is not 64 hexadecimal digits, or the
    /// key is short.
    pub fn from_vars(set: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let set = |name: &str| set(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let front_end = set(FRONT_END).map(|texts| texts.split(',').map(digest).collect()).transpose()?;
        let log_key = set(LOG_KEY);
        if log_key.as_ref().is_some_and(|key| key.len() < LOG_KEY_LENGTH_MIN) {
            let why = "is shorter than 32 characters";
            return Err(ConfigError::Wrong { name: LOG_KEY, why, example: LOG_KEY_EXAMPLE });
        }
        Ok(Self {
            requests: request_rate(set, (CALLER_REQUESTS, "20"), RequestRate::CALLER_DEFAULT)?,
            source_requests: request_rate(set, (SOURCE_REQUESTS, "20"), RequestRate::SOURCE_DEFAULT)?,
            front_end: front_end.unwrap_or_default(),
            log_key: log_key.map(Masked::new),
        })
    }
}

fn digest(text: &str) -> Result<SecretDigest, ConfigError> {
    let mut digest = SecretDigest::default();
    hex::decode_to_slice(text.trim(), &mut digest).map_err(|_| ConfigError::Wrong {
        name: FRONT_END,
        why: "is not a list of SHA-256 digests: each has 64 hexadecimal digits, and commas separate them",
        example: FRONT_END_EXAMPLE,
    })?;
    Ok(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(vars: &[(&str, &str)]) -> Result<CallerConfig, String> {
        let set = |name: &str| vars.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned());
        CallerConfig::from_vars(set).map_err(|error| error.to_string())
    }

    #[test]
    fn without_variables_no_front_end_is_trusted() {
        assert_eq!(config(&[]), Ok(CallerConfig::default()));
        assert_eq!(config(&[(FRONT_END, " ")]).unwrap().front_end, Vec::<SecretDigest>::new());
    }

    #[test]
    fn rates_digests_and_key_are_read() {
        let digests = format!("{FRONT_END_EXAMPLE}, {}", FRONT_END_EXAMPLE.to_uppercase());
        let read = config(&[
            (CALLER_REQUESTS, "7"),
            (SOURCE_REQUESTS, "100000"),
            (FRONT_END, &digests),
            (LOG_KEY, LOG_KEY_EXAMPLE),
        ]);
        let read = read.unwrap();
        assert_eq!((read.requests.per_second(), read.source_requests), (7, RequestRate::MAX));
        assert_eq!((read.front_end.len(), read.front_end[0][0], read.front_end[1][0]), (2, 0x9f, 0x9f));
        assert_eq!(read.log_key.unwrap().expose(), LOG_KEY_EXAMPLE);
    }

    #[test]
    fn wrong_values_are_refused_without_being_repeated() {
        for (name, value) in [
            (CALLER_REQUESTS, "0"),
            (SOURCE_REQUESTS, "many"),
            (FRONT_END, "the-secret-itself"),
            (FRONT_END, "9f86d081"),
            (LOG_KEY, "short-key"),
        ] {
            let error = config(&[(name, value)]).unwrap_err();
            assert!(error.contains(&format!("{name} is")) && error.contains("for example"), "{error}");
            assert!(!error.contains("secret-itself") && !error.contains("short-key"), "{error}");
        }
    }
}
