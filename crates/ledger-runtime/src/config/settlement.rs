//! The services that settlements use, from the environment.

use super::ConfigError;

const KYC_URL: &str = "KYC_URL";
const KYC_SECRET: &str = "KYC_SECRET_ID";
const MACHINE: &str = "SETTLEMENT_STATE_MACHINE";

/// The address and the secret of the KYC service, which checks merchants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KycConfig {
    /// The base URL: `https://`, or `http://` on the loopback.
    pub url: String,
    /// The id of the secret that holds the service's token.
    pub secret_id: String,
}

/// The services that settlements use; `None` for those that the function does not need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettlementAccess {
    /// The service that checks merchants.
    pub kyc: Option<KycConfig>,
    /// The ARN of the saga's state machine.
    pub state_machine: Option<String>,
}

impl SettlementAccess {
    /// Reads the configuration from variables by name.
    ///
    /// # Errors
    /// [`ConfigError`] if the KYC service's URL is set without its secret.
    pub fn from_vars(set: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let kyc = match (set(KYC_URL), set(KYC_SECRET)) {
            (Some(url), Some(secret_id)) => Some(KycConfig { url, secret_id }),
            (Some(_), None) => {
                return Err(ConfigError::Missing {
                    name: KYC_SECRET,
                    what: "the ARN of the secret that holds the service's token",
                    example: "arn:aws:secretsmanager:ap-northeast-1:123456789012:secret:kyc",
                });
            }
            (None, _) => None,
        };
        Ok(Self { kyc, state_machine: set(MACHINE) })
    }
}
