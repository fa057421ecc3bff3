//! Configuration from the environment, checked at start. What is wrong is said with the variable's
//! name and an example.

use ledger_core::personal::Masked;
use tracing_subscriber::EnvFilter;

/// How a process is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The DynamoDB table.
    pub table: String,
    /// Another DynamoDB than the Region's.
    pub endpoint_url: Option<String>,
    /// What is logged, as `tracing` filters are written.
    pub log_filter: String,
    /// How Stripe is reached; `None` in functions that do not call it.
    pub stripe: Option<StripeConfig>,
}

/// How Stripe is reached, and how its events are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StripeConfig {
    /// The base URL of its API: HTTPS, unless it is on the loopback.
    pub base_url: String,
    /// The secret API key.
    pub api_key: Masked<String>,
    /// The secrets that events are signed with: two of them while they rotate.
    pub webhook_secrets: Vec<Masked<String>>,
    /// The connected account that is charged, if it is not the key's own.
    pub account: Option<String>,
}

impl StripeConfig {
    /// Whether the key moves real money.
    #[must_use]
    pub fn livemode(&self) -> bool {
        ["sk_live_", "rk_live_"].iter().any(|prefix| self.api_key.expose().starts_with(prefix))
    }
}

/// A variable that is missing or wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// It must be set.
    #[error("the environment variable {name} is not set: set it to {what}, for example {name}={example}")]
    Missing {
        /// Which variable.
        name: &'static str,
        /// What it is.
        what: &'static str,
        /// A good value.
        example: &'static str,
    },
    /// It is set to something else than it should be.
    #[error("the environment variable {name} {why}; for example {name}={example}")]
    Wrong {
        /// Which variable.
        name: &'static str,
        /// What is wrong with it.
        why: &'static str,
        /// A good value.
        example: &'static str,
    },
}

const TABLE: &str = "TABLE_NAME";
const TABLE_EXAMPLE: &str = "ecopay-ledger";
/// Ours comes before the SDK's own.
const ENDPOINTS: [&str; 2] = ["LEDGER_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB"];
const ENDPOINT_EXAMPLE: &str = "http://127.0.0.1:8000";
const LOG: &str = "LOG_LEVEL";
const STRIPE_KEY: &str = "STRIPE_API_KEY";
/// Several are separated by commas, while they rotate.
const STRIPE_SECRET: &str = "STRIPE_WEBHOOK_SECRET";
const STRIPE_URL: &str = "STRIPE_BASE_URL";
const STRIPE_ACCOUNT: &str = "STRIPE_ACCOUNT";
/// Where Stripe is when nobody says otherwise.
pub const STRIPE_URL_DEFAULT: &str = "https://api.stripe.com";

impl Config {
    /// From the process's environment.
    ///
    /// # Errors
    /// [`ConfigError`] says which variable to set to what.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::from_vars(|name| std::env::var(name).ok())
    }

    /// From variables by name.
    ///
    /// # Errors
    /// [`ConfigError`] says which variable to set to what.
    pub fn from_vars(var: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let set = |name: &str| var(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let table = set(TABLE).ok_or(ConfigError::Missing {
            name: TABLE,
            what: "the name of the DynamoDB table",
            example: TABLE_EXAMPLE,
        })?;
        if !is_table_name(&table) {
            let why = "is no table name: 3 to 255 letters, digits, `_`, `-` and `.`";
            return Err(ConfigError::Wrong { name: TABLE, why, example: TABLE_EXAMPLE });
        }
        let mut endpoint_url = None;
        for name in ENDPOINTS {
            if let (Some(url), None) = (set(name), &endpoint_url) {
                if !is_endpoint(&url) {
                    let why = "is no URL: it begins with http:// or https:// and names a host";
                    return Err(ConfigError::Wrong { name, why, example: ENDPOINT_EXAMPLE });
                }
                endpoint_url = Some(url);
            }
        }
        let log_filter = set(LOG).unwrap_or_else(|| "info".to_owned());
        if EnvFilter::try_new(&log_filter).is_err() {
            let why = "is no log level: error, warn, info, debug or trace";
            return Err(ConfigError::Wrong { name: LOG, why, example: "info" });
        }
        Ok(Self { table, endpoint_url, log_filter, stripe: StripeConfig::from_vars(set)? })
    }
}

impl StripeConfig {
    /// From variables by name; `None` if neither key nor secret is set.
    ///
    /// # Errors
    /// [`ConfigError`] says which variable to set to what.
    pub fn from_vars(set: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, ConfigError> {
        let missing = |name, what, example| ConfigError::Missing { name, what, example };
        let (api_key, secrets) = match (set(STRIPE_KEY), set(STRIPE_SECRET)) {
            (None, None) => return Ok(None),
            (Some(key), Some(secrets)) => (key, secrets),
            (None, Some(_)) => return Err(missing(STRIPE_KEY, "Stripe's secret API key", "sk_test_...")),
            (Some(_), None) => {
                return Err(missing(STRIPE_SECRET, "the signing secret of the webhook endpoint", "whsec_..."));
            }
        };
        let webhook_secrets: Vec<Masked<String>> =
            secrets.split(',').map(|secret| Masked::new(secret.trim().to_owned())).collect();
        if webhook_secrets.iter().any(|secret| secret.expose().is_empty()) {
            let why = "holds an empty secret";
            return Err(ConfigError::Wrong { name: STRIPE_SECRET, why, example: "whsec_one,whsec_two" });
        }
        let base_url = set(STRIPE_URL).unwrap_or_else(|| STRIPE_URL_DEFAULT.to_owned());
        if !is_safe_endpoint(&base_url) {
            let why = "must begin with https://, unless it is on the loopback";
            return Err(ConfigError::Wrong { name: STRIPE_URL, why, example: STRIPE_URL_DEFAULT });
        }
        let base_url = base_url.trim_end_matches('/').to_owned();
        let api_key = Masked::new(api_key);
        Ok(Some(Self { base_url, api_key, webhook_secrets, account: set(STRIPE_ACCOUNT) }))
    }
}

/// A secret key must not travel in the clear.
fn is_safe_endpoint(url: &str) -> bool {
    url.parse::<http::Uri>().is_ok_and(|uri| match (uri.scheme_str(), uri.host()) {
        (Some("https"), Some(host)) => !host.is_empty(),
        (Some("http"), Some(host)) => matches!(host, "127.0.0.1" | "localhost" | "[::1]"),
        (Some(_) | None, _) => false,
    })
}

fn is_table_name(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    (3..=255).contains(&name.len()) && name.bytes().all(fits)
}

fn is_endpoint(url: &str) -> bool {
    url.parse::<http::Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|host| !host.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(vars: &[(&str, &str)]) -> Result<Config, String> {
        let var = |name: &str| vars.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned());
        Config::from_vars(var).map_err(|error| error.to_string())
    }

    #[test]
    fn the_table_is_enough() {
        let config = config(&[("TABLE_NAME", "ledger-prod")]).unwrap();
        assert_eq!(
            config,
            Config { table: "ledger-prod".into(), endpoint_url: None, log_filter: "info".into(), stripe: None }
        );
    }

    #[test]
    fn errors_name_the_variable_and_an_example() {
        let cases: &[(&[(&str, &str)], &str)] = &[
            (&[], "TABLE_NAME=ecopay-ledger"),
            (&[("TABLE_NAME", " ")], "TABLE_NAME=ecopay-ledger"),
            (&[("TABLE_NAME", "a/b/c")], "TABLE_NAME is no table name"),
            (&[("TABLE_NAME", "abc"), ("LEDGER_ENDPOINT_URL", "localhost:8000")], "LEDGER_ENDPOINT_URL is no URL"),
            (&[("TABLE_NAME", "abc"), ("AWS_ENDPOINT_URL_DYNAMODB", "ftp://x")], "AWS_ENDPOINT_URL_DYNAMODB is no URL"),
            (&[("TABLE_NAME", "abc"), ("LOG_LEVEL", "a=b=c")], "LOG_LEVEL is no log level"),
            (&[("TABLE_NAME", "abc"), ("STRIPE_API_KEY", "sk_test_1")], "STRIPE_WEBHOOK_SECRET=whsec_"),
            (&[("TABLE_NAME", "abc"), ("STRIPE_WEBHOOK_SECRET", "whsec_1")], "STRIPE_API_KEY=sk_test_"),
            (&[STRIPE[0], STRIPE[1], ("STRIPE_WEBHOOK_SECRET", "a,")], "STRIPE_WEBHOOK_SECRET holds an empty"),
            (&[STRIPE[0], STRIPE[1], STRIPE[2], ("STRIPE_BASE_URL", "http://example.com")], "begin with https://"),
        ];
        for (vars, want) in cases {
            let error = config(vars).unwrap_err();
            assert!(error.contains(want) && error.contains("for example"), "{error}");
        }
    }

    const STRIPE: [(&str, &str); 3] =
        [("TABLE_NAME", "abc"), ("STRIPE_API_KEY", "sk_live_1"), ("STRIPE_WEBHOOK_SECRET", "whsec_1, whsec_2")];

    #[test]
    fn stripe_may_have_two_secrets_and_is_reached_in_the_clear_on_the_loopback_only() {
        let stripe = config(&STRIPE).unwrap().stripe.unwrap();
        assert_eq!((stripe.base_url.as_str(), stripe.livemode()), ("https://api.stripe.com", true));
        assert_eq!(
            stripe.webhook_secrets.iter().map(|s| s.expose().as_str()).collect::<Vec<_>>(),
            ["whsec_1", "whsec_2"]
        );
        assert!(!format!("{stripe:?}").contains("sk_live"), "secrets do not print");
        let local = [STRIPE[0], STRIPE[1], STRIPE[2], ("STRIPE_BASE_URL", "http://127.0.0.1:3000/stripe/")];
        assert_eq!(config(&local).unwrap().stripe.unwrap().base_url, "http://127.0.0.1:3000/stripe");
    }

    #[test]
    fn our_endpoint_comes_before_the_sdks() {
        let both =
            [("TABLE_NAME", "abc"), ("AWS_ENDPOINT_URL_DYNAMODB", "http://b"), ("LEDGER_ENDPOINT_URL", "http://a")];
        assert_eq!(config(&both).unwrap().endpoint_url.as_deref(), Some("http://a"));
    }
}
