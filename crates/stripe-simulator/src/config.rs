//! The configuration of a simulator: its keys and its state file. Its `Debug` output shows no key or secret.

use std::fmt;
use std::path::PathBuf;

/// The API key of [`SimulatorConfig::default`].
pub const API_KEY_DEFAULT: &str = "sk_test_local";
/// The webhook secret of [`SimulatorConfig::default`].
pub const WEBHOOK_SECRET_DEFAULT: &str = "whsec_local";

/// The configuration of a simulator.
#[derive(Clone)]
pub struct SimulatorConfig {
    /// The only key that the API accepts.
    pub api_key: String,
    /// The secrets of deliveries. Each delivery has a signature for each, as during a secret rotation at Stripe.
    pub webhook_secrets: Vec<String>,
    /// The file that keeps the state across restarts. Without one, the state ends with the process.
    pub state_file: Option<PathBuf>,
}

impl Default for SimulatorConfig {
    fn default() -> Self {
        Self {
            api_key: API_KEY_DEFAULT.to_owned(),
            webhook_secrets: vec![WEBHOOK_SECRET_DEFAULT.to_owned()],
            state_file: None,
        }
    }
}

impl fmt::Debug for SimulatorConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatorConfig").field("state_file", &self.state_file).finish_non_exhaustive()
    }
}
