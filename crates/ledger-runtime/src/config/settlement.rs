//! Whoever has to do with settlements, from the environment.

use super::ConfigError;

const KYC_URL: &str = "KYC_URL";
const KYC_SECRET: &str = "KYC_SECRET_ID";
const BUCKET: &str = "PAYOUT_BUCKET";
const MACHINE: &str = "SETTLEMENT_STATE_MACHINE";

/// How the service that checks merchants is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KycConfig {
    /// Where it is: `https://`, or `http://` on the loopback.
    pub url: String,
    /// The secret that holds its token.
    pub secret_id: String,
}

/// Who is asked, where files go, and who runs sagas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettlementAccess {
    /// Who checks merchants.
    pub kyc: Option<KycConfig>,
    /// The bucket of the bank's files.
    pub bucket: Option<String>,
    /// The state machine of the saga, by its ARN.
    pub state_machine: Option<String>,
}

impl SettlementAccess {
    /// From variables.
    ///
    /// # Errors
    /// [`ConfigError`] if a service is named without the secret that opens it.
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
        Ok(Self { kyc, bucket: set(BUCKET), state_machine: set(MACHINE) })
    }
}
