//! Stripe's address, and its secrets: in the environment, or in a kept secret that may change while functions run.

use super::ConfigError;
use ledger_core::personal::Masked;
use serde::Deserialize;

/// Set instead of the two variables below.
const SECRET_ID: &str = "STRIPE_SECRET_ID";
const SECRET_ID_EXAMPLE: &str = "arn:aws:secretsmanager:ap-northeast-1:123456789012:secret:stripe";
const KEY: &str = "STRIPE_API_KEY";
/// Several secrets are separated by commas, during a rotation.
const SECRET: &str = "STRIPE_WEBHOOK_SECRET";
const URL: &str = "STRIPE_BASE_URL";
const ACCOUNT: &str = "STRIPE_ACCOUNT";
/// The base URL of Stripe's API if `STRIPE_BASE_URL` is not set.
pub const STRIPE_URL_DEFAULT: &str = "https://api.stripe.com";

/// Stripe's address, the key for its API, and the secrets that verify its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StripeConfig {
    /// The base URL of Stripe's API: HTTPS, unless it is on the loopback.
    pub base_url: String,
    /// The secret API key.
    pub api_key: Masked<String>,
    /// The secrets that events are signed with: two during a rotation.
    pub webhook_secrets: Vec<Masked<String>>,
    /// The connected account that is charged; `None` for the key's account.
    pub account: Option<String>,
}

/// Where Stripe's secrets are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StripeAccess {
    /// In the environment.
    Given(StripeConfig),
    /// In a kept secret.
    Kept(KeptStripe),
}

/// Stripe's address, and the kept secret with its key and webhook secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptStripe {
    /// The secret's ARN.
    pub secret_id: String,
    /// The base URL of Stripe's API.
    pub base_url: String,
    /// The connected account that is charged; `None` for the key's account.
    pub account: Option<String>,
}

/// The text of a kept secret is not of the expected form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    r#"the secret is not of the form {{"api_key":"sk_...","webhook_secrets":["whsec_..."]}} with both or neither set"#
)]
pub struct SecretShapeError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretText {
    api_key: String,
    webhook_secrets: Vec<String>,
}

impl StripeAccess {
    /// Reads the variables by name; `None` if neither a secret's ARN, a key nor webhook secrets are set.
    ///
    /// # Errors
    /// [`ConfigError`] says which variable to set to what.
    pub fn from_vars(set: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, ConfigError> {
        let given = StripeConfig::from_vars(&set)?;
        match (set(SECRET_ID), given) {
            (None, given) => Ok(given.map(Self::Given)),
            (Some(secret_id), None) => {
                Ok(Some(Self::Kept(KeptStripe { secret_id, base_url: base_url(&set)?, account: set(ACCOUNT) })))
            }
            (Some(_), Some(_)) => {
                let why = "is set together with STRIPE_API_KEY and STRIPE_WEBHOOK_SECRET: set it alone, or those two";
                Err(ConfigError::Wrong { name: SECRET_ID, why, example: SECRET_ID_EXAMPLE })
            }
        }
    }
}

impl StripeConfig {
    /// Whether the key moves real money.
    #[must_use]
    pub fn livemode(&self) -> bool {
        ["sk_live_", "rk_live_"].iter().any(|prefix| self.api_key.expose().starts_with(prefix))
    }

    /// Reads the variables by name; `None` if neither key nor webhook secret is set.
    ///
    /// # Errors
    /// [`ConfigError`] says which variable to set to what.
    pub fn from_vars(set: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, ConfigError> {
        let missing = |name, what, example| ConfigError::Missing { name, what, example };
        let (api_key, secrets) = match (set(KEY), set(SECRET)) {
            (None, None) => return Ok(None),
            (Some(key), Some(secrets)) => (key, secrets),
            (None, Some(_)) => return Err(missing(KEY, "Stripe's secret API key", "sk_test_...")),
            (Some(_), None) => {
                return Err(missing(SECRET, "the signing secret of the webhook endpoint", "whsec_..."));
            }
        };
        let webhook_secrets: Vec<Masked<String>> = secrets.split(',').map(trimmed).collect();
        if webhook_secrets.iter().any(|secret| secret.expose().is_empty()) {
            let why = "holds an empty secret";
            return Err(ConfigError::Wrong { name: SECRET, why, example: "whsec_one,whsec_two" });
        }
        let base_url = base_url(&set)?;
        Ok(Some(Self { base_url, api_key: Masked::new(api_key), webhook_secrets, account: set(ACCOUNT) }))
    }
}

impl KeptStripe {
    /// Parses a secret's text. `None` if both parts are empty, so that a deployment can precede its Stripe account.
    ///
    /// # Errors
    /// [`SecretShapeError`], which repeats no part of the text.
    pub fn config(&self, text: &Masked<String>) -> Result<Option<StripeConfig>, SecretShapeError> {
        let text: SecretText = serde_json::from_str(text.expose()).map_err(|_| SecretShapeError)?;
        let api_key = trimmed(&text.api_key);
        let webhook_secrets: Vec<Masked<String>> = text.webhook_secrets.iter().map(|secret| trimmed(secret)).collect();
        if api_key.expose().is_empty() && webhook_secrets.is_empty() {
            return Ok(None);
        }
        let any_empty = webhook_secrets.iter().any(|secret| secret.expose().is_empty());
        if api_key.expose().is_empty() || webhook_secrets.is_empty() || any_empty {
            return Err(SecretShapeError);
        }
        let (base_url, account) = (self.base_url.clone(), self.account.clone());
        Ok(Some(StripeConfig { base_url, api_key, webhook_secrets, account }))
    }
}

fn base_url(set: impl Fn(&str) -> Option<String>) -> Result<String, ConfigError> {
    let base_url = set(URL).unwrap_or_else(|| STRIPE_URL_DEFAULT.to_owned());
    if !is_safe(&base_url) {
        let why = "must begin with https://, unless it is on the loopback";
        return Err(ConfigError::Wrong { name: URL, why, example: STRIPE_URL_DEFAULT });
    }
    Ok(base_url.trim_end_matches('/').to_owned())
}

/// Whether the secret key may be sent to this URL: HTTPS, or HTTP on the loopback.
fn is_safe(url: &str) -> bool {
    url.parse::<http::Uri>().is_ok_and(|uri| match (uri.scheme_str(), uri.host()) {
        (Some("https"), Some(host)) => !host.is_empty(),
        (Some("http"), Some(host)) => matches!(host, "127.0.0.1" | "localhost" | "[::1]"),
        (Some(_) | None, _) => false,
    })
}

fn trimmed(secret: &str) -> Masked<String> {
    Masked::new(secret.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(vars: &[(&str, &str)]) -> Result<Option<StripeAccess>, String> {
        let set = |name: &str| vars.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned());
        StripeAccess::from_vars(set).map_err(|error| error.to_string())
    }

    fn given(vars: &[(&str, &str)]) -> StripeConfig {
        match access(vars).unwrap() {
            Some(StripeAccess::Given(config)) => config,
            other => panic!("{other:?}"),
        }
    }

    const LIVE: [(&str, &str); 2] = [("STRIPE_API_KEY", "sk_live_1"), ("STRIPE_WEBHOOK_SECRET", "whsec_1, whsec_2")];

    #[test]
    fn errors_name_the_variable_and_an_example() {
        let cases: &[(&[(&str, &str)], &str)] = &[
            (&[("STRIPE_API_KEY", "sk_test_1")], "STRIPE_WEBHOOK_SECRET=whsec_"),
            (&[("STRIPE_WEBHOOK_SECRET", "whsec_1")], "STRIPE_API_KEY=sk_test_"),
            (&[LIVE[0], ("STRIPE_WEBHOOK_SECRET", "a,")], "STRIPE_WEBHOOK_SECRET holds an empty"),
            (&[LIVE[0], LIVE[1], ("STRIPE_BASE_URL", "http://example.com")], "begin with https://"),
            (&[("STRIPE_SECRET_ID", "arn"), ("STRIPE_BASE_URL", "http://example.com")], "begin with https://"),
            (&[LIVE[0], LIVE[1], ("STRIPE_SECRET_ID", "arn")], "STRIPE_SECRET_ID is set together with"),
        ];
        for (vars, want) in cases {
            let error = access(vars).unwrap_err();
            assert!(error.contains(want) && error.contains("for example"), "{error}");
        }
        assert_eq!(access(&[]), Ok(None));
    }

    #[test]
    fn two_webhook_secrets_and_http_on_the_loopback_are_accepted() {
        let stripe = given(&LIVE);
        assert_eq!((stripe.base_url.as_str(), stripe.livemode()), ("https://api.stripe.com", true));
        let secrets: Vec<&str> = stripe.webhook_secrets.iter().map(|secret| secret.expose().as_str()).collect();
        assert_eq!(secrets, ["whsec_1", "whsec_2"]);
        assert!(!format!("{stripe:?}").contains("sk_live"), "secrets do not print");
        let local = given(&[LIVE[0], LIVE[1], ("STRIPE_BASE_URL", "http://127.0.0.1:3000/stripe/")]);
        assert_eq!(local.base_url, "http://127.0.0.1:3000/stripe");
    }

    #[test]
    fn kept_secret_sets_both_parts_or_neither() {
        let vars = [("STRIPE_SECRET_ID", "arn:x"), ("STRIPE_ACCOUNT", "acct_1")];
        let Ok(Some(StripeAccess::Kept(kept))) = access(&vars) else { panic!("kept") };
        let config = |text: &str| kept.config(&Masked::new(text.to_owned()));
        let good = config(r#"{"api_key":" sk_test_1\n","webhook_secrets":["whsec_1"," whsec_2 "]}"#).unwrap().unwrap();
        assert_eq!(good.api_key.expose(), "sk_test_1");
        assert_eq!((good.webhook_secrets.len(), good.account.as_deref()), (2, Some("acct_1")));
        assert_eq!(config(r#"{"api_key":"","webhook_secrets":[]}"#), Ok(None));
        for bad in [
            "",
            "sk_live_1",
            "{}",
            r#"{"api_key":"sk_live_1","webhook_secrets":[]}"#,
            r#"{"api_key":"","webhook_secrets":["whsec_1"]}"#,
            r#"{"api_key":"sk_live_1","webhook_secrets":["whsec_1",""]}"#,
            r#"{"api_key":"sk_live_1","webhook_secrets":"whsec_1"}"#,
            r#"{"api_key":"sk_live_1","webhook_secrets":["whsec_1"],"webhook_secret":"whsec_2"}"#,
        ] {
            let error = config(bad).unwrap_err().to_string();
            assert!(error.contains(r#"{"api_key":"#) && !error.contains("sk_live_1"), "{error}");
        }
    }
}
