//! Configuration from the environment, checked at start. Errors name the variable and give an example.

mod callers;
mod events;
mod export;
mod reconcile;
mod settlement;
mod stripe;
mod token_clients;

pub use callers::{CallerConfig, SecretDigest};
pub use events::EventQueues;
pub use export::ExportAccess;
pub use reconcile::ReconcileAccess;
pub use settlement::{KycConfig, SettlementAccess};
pub use stripe::{KeptStripe, STRIPE_URL_DEFAULT, SecretShapeError, StripeAccess, StripeConfig};
pub use token_clients::TokenClients;

use ledger_core::rate::RequestRate;
use tracing_subscriber::filter::Targets;

/// The configuration of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The DynamoDB table.
    pub table: String,
    /// The deployment's name, which marks its objects at the payment provider. It does not change when the table is
    /// restored under another name.
    pub ledger: String,
    /// The URL of DynamoDB; `None` for the Region's endpoint.
    pub endpoint_url: Option<String>,
    /// The log filter, in the syntax of `tracing` filters.
    pub log_filter: String,
    /// Stripe's address and secrets; `None` in functions that do not call it.
    pub stripe: Option<StripeAccess>,
    /// The requests per second of a tenant whose terms set no rate.
    pub tenant_requests: RequestRate,
    /// How callers are limited, named in logs, and found behind a front end.
    pub callers: CallerConfig,
    /// The clients whose tokens are good for each API.
    pub token_clients: TokenClients,
    /// The id of the secret that has the keys of markers; `None` in functions that need none.
    pub marker_keys_secret: Option<String>,
    /// The queues of events; `None` in functions that publish nothing.
    pub events: Option<EventQueues>,
    /// The services of settlements. Each function sets only those that it needs.
    pub settlement: SettlementAccess,
    /// The ARN of the secret that holds the keys of cards' PINs; `None` in functions that check none.
    pub card_pin_keys: Option<String>,
    /// The bucket of the files that staff fetch; `None` in functions that have none.
    pub files_bucket: Option<String>,
    /// How reconciliations run.
    pub reconcile: ReconcileAccess,
}

/// A variable that is missing or wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The variable must be set.
    #[error("the environment variable {name} is not set: set it to {what}, for example {name}={example}")]
    Missing {
        /// The variable's name.
        name: &'static str,
        /// What the variable holds.
        what: &'static str,
        /// A valid value.
        example: &'static str,
    },
    /// The variable's value is invalid.
    #[error("the environment variable {name} {why}; for example {name}={example}")]
    Wrong {
        /// The variable's name.
        name: &'static str,
        /// What is wrong with the value.
        why: &'static str,
        /// A valid value.
        example: &'static str,
    },
}

const TABLE: &str = "TABLE_NAME";
const TABLE_EXAMPLE: &str = "ecopay-ledger";
/// In the order of precedence: this ledger's variable, then the SDK's.
const ENDPOINTS: [&str; 2] = ["LEDGER_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB"];
const ENDPOINT_EXAMPLE: &str = "http://127.0.0.1:8000";
const LEDGER: &str = "LEDGER_NAME";
const LOG: &str = "LOG_LEVEL";
const LOG_DEFAULT: &str = "info";
const TENANT_REQUESTS: &str = "TENANT_REQUESTS_PER_SECOND";
const MARKER_KEYS_SECRET: &str = "MARKER_KEYS_SECRET_ID";
const CARD_PIN_KEYS: &str = "CARD_PIN_KEYS_SECRET_ID";
const FILES_BUCKET: &str = "FILES_BUCKET";

impl Config {
    /// Creates the configuration of a table, with defaults for everything else.
    #[must_use]
    pub fn of_table(table: &str) -> Self {
        let (table, ledger) = (table.to_owned(), table.to_owned());
        let (log_filter, tenant_requests) = (LOG_DEFAULT.to_owned(), RequestRate::DEFAULT);
        let settlement = SettlementAccess::default();
        let (stripe, events, reconcile) = (None, None, ReconcileAccess::default());
        Self {
            table,
            ledger,
            endpoint_url: None,
            log_filter,
            stripe,
            tenant_requests,
            callers: CallerConfig::default(),
            token_clients: TokenClients::default(),
            marker_keys_secret: None,
            settlement,
            events,
            card_pin_keys: None,
            files_bucket: None,
            reconcile,
        }
    }

    /// Reads the configuration from the process's environment.
    ///
    /// # Errors
    /// [`ConfigError`] says which variable to set to what.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::from_vars(|name| std::env::var(name).ok())
    }

    /// Reads the configuration from variables by name.
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
            let why = "is not a table name: 3 to 255 letters, digits, `_`, `-` and `.`";
            return Err(ConfigError::Wrong { name: TABLE, why, example: TABLE_EXAMPLE });
        }
        let mut endpoint_url = None;
        for name in ENDPOINTS {
            if let (Some(url), None) = (set(name), &endpoint_url) {
                if !is_endpoint(&url) {
                    let why = "is not a URL: it must begin with http:// or https:// and name a host";
                    return Err(ConfigError::Wrong { name, why, example: ENDPOINT_EXAMPLE });
                }
                endpoint_url = Some(url);
            }
        }
        let ledger = set(LEDGER).unwrap_or_else(|| table.clone());
        let (log_filter, tenant_requests) = (log_filter(set)?, tenant_requests(set)?);
        let (stripe, events) = (StripeAccess::from_vars(set)?, EventQueues::from_vars(set)?);
        let settlement = SettlementAccess::from_vars(set)?;
        let reconcile = ReconcileAccess::from_vars(set)?;
        Ok(Self {
            table,
            ledger,
            endpoint_url,
            log_filter,
            stripe,
            tenant_requests,
            callers: CallerConfig::from_vars(set)?,
            token_clients: TokenClients::from_vars(set),
            marker_keys_secret: set(MARKER_KEYS_SECRET),
            events,
            settlement,
            card_pin_keys: set(CARD_PIN_KEYS),
            files_bucket: set(FILES_BUCKET),
            reconcile,
        })
    }
}

/// Reads the log filter, for functions that need no other configuration.
///
/// # Errors
/// [`ConfigError`] says what to set.
pub fn log_filter_from_env() -> Result<String, ConfigError> {
    log_filter(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()))
}

fn log_filter(set: impl Fn(&str) -> Option<String>) -> Result<String, ConfigError> {
    let filter = set(LOG).unwrap_or_else(|| LOG_DEFAULT.to_owned());
    if filter.parse::<Targets>().is_err() {
        let why = "is not a log level: error, warn, info, debug or trace";
        return Err(ConfigError::Wrong { name: LOG, why, example: "info" });
    }
    Ok(filter)
}

/// Returns the requests per second of a tenant whose terms set no rate; 200 if the variable is not set.
///
/// # Errors
/// [`ConfigError`] if the value is not a whole number from 1 to 100000.
pub fn tenant_requests(set: impl Fn(&str) -> Option<String>) -> Result<RequestRate, ConfigError> {
    request_rate(set, (TENANT_REQUESTS, "200"), RequestRate::DEFAULT)
}

fn request_rate(
    set: impl Fn(&str) -> Option<String>,
    (name, example): (&'static str, &'static str),
    default: RequestRate,
) -> Result<RequestRate, ConfigError> {
    let Some(text) = set(name) else { return Ok(default) };
    let why = "is not a whole number from 1 to 100000";
    text.parse().ok().and_then(RequestRate::new).ok_or(ConfigError::Wrong { name, why, example })
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
    fn table_name_is_the_only_required_variable() {
        assert_eq!(config(&[("TABLE_NAME", "ledger-prod")]), Ok(Config::of_table("ledger-prod")));
        let restored = config(&[("TABLE_NAME", "restored"), ("LEDGER_NAME", "ledger-prod")]).unwrap();
        assert_eq!((restored.table.as_str(), restored.ledger.as_str()), ("restored", "ledger-prod"));
    }

    #[test]
    fn errors_name_the_variable_and_an_example() {
        let cases: &[(&[(&str, &str)], &str)] = &[
            (&[], "TABLE_NAME=ecopay-ledger"),
            (&[("TABLE_NAME", " ")], "TABLE_NAME=ecopay-ledger"),
            (&[("TABLE_NAME", "a/b/c")], "TABLE_NAME is not a table name"),
            (&[("TABLE_NAME", "abc"), ("LEDGER_ENDPOINT_URL", "localhost:8000")], "LEDGER_ENDPOINT_URL is not a URL"),
            (
                &[("TABLE_NAME", "abc"), ("AWS_ENDPOINT_URL_DYNAMODB", "ftp://x")],
                "AWS_ENDPOINT_URL_DYNAMODB is not a URL",
            ),
            (&[("TABLE_NAME", "abc"), ("LOG_LEVEL", "a=b=c")], "LOG_LEVEL is not a log level"),
        ];
        for (vars, want) in cases {
            let error = config(vars).unwrap_err();
            assert!(error.contains(want) && error.contains("for example"), "{error}");
        }
    }

    #[test]
    fn tenant_request_rate_is_from_1_to_100_000_per_second() {
        let given = |text| config(&[("TABLE_NAME", "abc"), ("TENANT_REQUESTS_PER_SECOND", text)]);
        for (text, want) in [(" 1 ", 1), ("100000", 100_000), ("", 200)] {
            assert_eq!(given(text).unwrap().tenant_requests.per_second(), want);
        }
        for text in ["0", "100001", "-1", "1.5", "many", "99999999999"] {
            assert!(given(text).unwrap_err().contains("from 1 to 100000; for example TENANT_REQUESTS_PER_SECOND=200"));
        }
    }

    #[test]
    fn ledger_endpoint_takes_precedence_over_the_sdks() {
        let both =
            [("TABLE_NAME", "abc"), ("AWS_ENDPOINT_URL_DYNAMODB", "http://b"), ("LEDGER_ENDPOINT_URL", "http://a")];
        assert_eq!(config(&both).unwrap().endpoint_url.as_deref(), Some("http://a"));
    }
}
