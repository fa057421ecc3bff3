//! A table that a command reads: deployed, at an endpoint, or in the local stack's data file.

use crate::engine::{Data, Engine, EngineConfig, EngineError};
use crate::operator::{self, CredentialsError};
use aws_sdk_dynamodb::Client;
use ledger_runtime::dynamo::{self, Dynamo};
use ledger_runtime::entropy::Entropy;
use std::path::PathBuf;

/// The place of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The local stack's data file. The stack must not run meanwhile.
    File {
        /// The file.
        data: PathBuf,
        /// The table's name.
        table: String,
    },
    /// A table on AWS, or at an endpoint.
    Table {
        /// The table's name.
        name: String,
        /// The endpoint URL; `None` for the AWS SDK's Region.
        endpoint_url: Option<String>,
    },
}

/// Why a table cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The data file does not exist.
    #[error("the data file {} does not exist: name the table with --table, or the file with --data", .0.display())]
    NoFile(PathBuf),
    /// The engine could not open the data file.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// No AWS credentials were found.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
}

/// A table, with the engine that holds it if it is in a file.
pub(crate) struct OpenedTable {
    /// The client of the table.
    pub(crate) client: Client,
    /// The table's name.
    pub(crate) name: String,
    engine: Option<Engine>,
}

impl OpenedTable {
    /// Opens the table of a place.
    pub(crate) async fn open(place: &Place) -> Result<Self, PlaceError> {
        let (engine, name, endpoint_url) = match place {
            Place::Table { name, endpoint_url } => (None, name, endpoint_url.clone()),
            Place::File { data, .. } if !data.exists() => return Err(PlaceError::NoFile(data.clone())),
            Place::File { data, table } => {
                let engine = Engine::start(&EngineConfig { data: Data::File(data.clone()), port: None })?;
                let url = engine.url();
                (Some(engine), table, Some(url))
            }
        };
        let endpoint_url = endpoint_url.as_deref();
        let sdk = operator::sdk_config(endpoint_url).await?;
        Ok(Self { client: dynamo::client(&sdk, endpoint_url), name: name.clone(), engine })
    }

    /// The ledger's own access to the table.
    pub(crate) fn store(&self) -> Dynamo {
        Dynamo::from_client(self.client.clone(), &self.name, Entropy::system())
    }

    /// Stops the engine, if there is one.
    pub(crate) async fn close(self) {
        if let Some(engine) = self.engine {
            engine.stop().await;
        }
    }
}
