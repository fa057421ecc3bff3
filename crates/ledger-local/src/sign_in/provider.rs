//! The provider's clients, and what its endpoints share.

use super::sessions::Sessions;
use crate::demo::Demo;
use crate::issuer::Issuer;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where the `token` command receives its code. The clients in template.yaml have the same URL by default.
pub const SHELL_CALLBACK: &str = "http://localhost:8976/callback";

/// The provider's state.
#[derive(Debug)]
pub(crate) struct Provider {
    issuer: Arc<Issuer>,
    demo: Demo,
    /// The redirect URIs of every client.
    callbacks: Vec<String>,
    sessions: Mutex<Sessions>,
}

impl Provider {
    /// Creates the provider whose clients have these redirect URIs, beside the `token` command's.
    pub(crate) fn new(issuer: Arc<Issuer>, demo: Demo, mut callbacks: Vec<String>) -> Self {
        callbacks.push(SHELL_CALLBACK.to_owned());
        Self { issuer, demo, callbacks, sessions: Mutex::default() }
    }

    pub(super) fn issuer(&self) -> &Issuer {
        &self.issuer
    }

    pub(super) fn demo(&self) -> &Demo {
        &self.demo
    }

    /// Whether a redirect URI is registered. It is compared as text.
    pub(super) fn is_callback(&self, uri: &str) -> bool {
        self.callbacks.iter().any(|known| known == uri)
    }

    pub(super) fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// 256 random bits as text: a code, a refresh token's secret, an id.
///
/// # Errors
/// If the system provides no randomness.
pub(crate) fn secret() -> Result<String, getrandom::Error> {
    let mut random = [0; 32];
    getrandom::fill(&mut random)?;
    Ok(URL_SAFE_NO_PAD.encode(random))
}
