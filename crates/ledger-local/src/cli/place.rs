//! The arguments that name a table.

use super::DATA_DEFAULT;
use crate::opened::Place;
use crate::stack::TABLE_DEFAULT;
use clap::Args;
use std::path::PathBuf;

/// Which table: a deployed one, or that of the local stack's file.
#[derive(Debug, Clone, Args)]
pub struct PlaceArgs {
    /// Name of a table on AWS, or at the endpoint (default: the table in the local stack's file).
    #[arg(long, conflicts_with = "data")]
    table: Option<String>,
    /// DynamoDB endpoint URL (default: the AWS SDK's Region).
    #[arg(long, value_name = "URL", requires = "table")]
    endpoint_url: Option<String>,
    /// File of the local stack, which must not run meanwhile.
    #[arg(long, value_name = "PATH", default_value = DATA_DEFAULT)]
    data: PathBuf,
}

impl From<PlaceArgs> for Place {
    /// The named table, or the one in the local stack's file.
    fn from(PlaceArgs { table, endpoint_url, data }: PlaceArgs) -> Self {
        match table {
            Some(name) => Self::Table { name, endpoint_url },
            None => Self::File { data, table: TABLE_DEFAULT.to_owned() },
        }
    }
}
