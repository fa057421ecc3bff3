//! The arguments of the `show` command.

use super::PlaceArgs;
use crate::show_command::ShowCommand;
use clap::Args;

/// Which items are printed.
#[derive(Debug, Clone, Args)]
pub struct ShowArgs {
    /// Partition key, such as demo#payment#<id>.
    #[arg(value_name = "PK")]
    partition_key: String,
    /// Sort key, such as PAYMENT (default: every item of the partition).
    #[arg(value_name = "SK")]
    sort_key: Option<String>,
    /// Print text of and about persons, too.
    #[arg(long)]
    personal: bool,
    /// Which table.
    #[command(flatten)]
    place: PlaceArgs,
}

impl ShowArgs {
    /// Converts the arguments.
    pub fn command(self) -> ShowCommand {
        let Self { partition_key, sort_key, personal, place } = self;
        ShowCommand { partition_key, sort_key, is_personal: personal, place: place.into() }
    }
}
