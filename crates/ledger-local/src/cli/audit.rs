//! The arguments of the `audit` command.

use super::PlaceArgs;
use crate::audit_command::{CheckCommand, ProveCommand, VerifyCommand};
use clap::Subcommand;
use std::path::PathBuf;

/// The sub-commands of `audit`.
#[derive(Debug, Clone, Subcommand)]
pub enum AuditSub {
    /// Verify a tenant's trail and its chain, and print each record that was changed, is missing or is not sealed; or verify
    /// a proof, without a table: audit verify --proof proof.json --head HASH.
    Verify {
        /// Slug of the tenant.
        #[arg(long, value_name = "SLUG", required_unless_present = "proof")]
        tenant: Option<String>,
        /// File with a proof that `audit proof` printed; - for standard input.
        #[arg(long, value_name = "PATH", requires = "head", conflicts_with_all = ["tenant", "from", "to", "table", "data"])]
        proof: Option<PathBuf>,
        /// First day, in UTC, such as 2026-11-21.
        #[arg(long, value_name = "DAY")]
        from: Option<String>,
        /// Last day, in UTC, included.
        #[arg(long, value_name = "DAY")]
        to: Option<String>,
        /// Hash of a segment or binding, recorded elsewhere, that must be in the chain. A proof leads to that of a binding.
        #[arg(long, value_name = "HASH")]
        head: Option<String>,
        /// Where the trail is.
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Print a proof that an entry was sealed before a binding, as JSON: it shows that entry and no other.
    Proof {
        /// The entry: the account in whose history it is, and its id, such as customer:<id>/<transaction id>.
        #[arg(value_name = "ENTRY")]
        entry: String,
        /// Hash of a binding, recorded elsewhere, that was written after the entry was sealed.
        #[arg(long, value_name = "HASH")]
        head: String,
        /// Slug of the tenant.
        #[arg(long, value_name = "SLUG")]
        tenant: String,
        /// Where the trail is.
        #[command(flatten)]
        place: PlaceArgs,
    },
}

/// A command of `audit`.
#[derive(Debug, Clone)]
pub enum AuditCommand {
    /// Verify a trail.
    Verify(VerifyCommand),
    /// Verify a proof.
    Check(CheckCommand),
    /// Prove an entry.
    Prove(ProveCommand),
}

impl AuditSub {
    /// Converts the arguments.
    pub fn command(self) -> AuditCommand {
        match self {
            Self::Verify { proof: Some(proof), head, .. } => {
                // clap has checked that both are given.
                AuditCommand::Check(CheckCommand { proof, head: head.unwrap_or_default() })
            }
            Self::Verify { tenant, proof: None, from, to, head, place } => {
                let slug = tenant.unwrap_or_default();
                AuditCommand::Verify(VerifyCommand { slug, from, to, head, place: place.into() })
            }
            Self::Proof { entry, head, tenant: slug, place } => {
                AuditCommand::Prove(ProveCommand { slug, entry, head, place: place.into() })
            }
        }
    }
}
