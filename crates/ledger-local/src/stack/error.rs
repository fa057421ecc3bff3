//! Why the stack could not start.

use crate::engine::EngineError;
use crate::events::EventsError;
use crate::faces::MountError;
use crate::issuer::IssuerError;
use crate::marker_keys::MarkerKeysFileError;
use crate::pin_keys::PinKeysFileError;
use crate::table::TableError;
use std::io;
use stripe_simulator::SimulatorError;

/// Why the stack could not start. Each text is one line.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// Another program listens on the API's port.
    #[error("port {0} is taken: choose another with --port")]
    PortTaken(u16),
    /// The system refused a listener.
    #[error("cannot listen on port {port}: {cause}")]
    Listen {
        /// The requested port.
        port: u16,
        /// The system's error.
        cause: io::Error,
    },
    /// The embedded engine could not start.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The table could not be created or checked.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The token issuer could not be created.
    #[error(transparent)]
    Issuer(#[from] IssuerError),
    /// The keys of markers could not be read or made.
    #[error(transparent)]
    MarkerKeys(#[from] MarkerKeysFileError),
    /// The Stripe simulator could not start.
    #[error(transparent)]
    Simulator(#[from] SimulatorError),
    /// The keys of cards' PINs could not be made or read.
    #[error(transparent)]
    PinKeys(#[from] PinKeysFileError),
    /// Events could not be stored.
    #[error(transparent)]
    Events(#[from] EventsError),
    /// The functions could not be mounted, or the demo data not be written.
    #[error(transparent)]
    Mount(#[from] MountError),
}
