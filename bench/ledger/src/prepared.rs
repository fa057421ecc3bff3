//! Customers with money, merchants and their tokens, on the local stack: in a data file, of which each run has a copy so
//! that all begin with the same books, or in memory.

use crate::connection::Connection;
use futures::stream::{self, StreamExt};
use ledger_tests::http::process::Process;
use ledger_tests::http::{Who, World};
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// What each customer has at the start, in yen: the cap of the demo's terms.
pub const OPENING: u64 = 50_000;
/// How many customers or merchants are made at a time.
const AT_A_TIME: usize = 16;
const DATA_FILE: &str = "ledger.db";
const ANY_PORT: &str = "0";
/// The highest rates: the limits of requests are not what is measured.
const RATES: [(&str, &str); 3] = [
    ("TENANT_REQUESTS_PER_SECOND", "100000"),
    ("CALLER_REQUESTS_PER_SECOND", "100000"),
    ("SOURCE_REQUESTS_PER_SECOND", "100000"),
];

/// A customer or a merchant's staff member, with a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// The customer's or the merchant's id.
    pub id: String,
    /// The token.
    pub token: String,
}

/// The data file and the parties in it.
#[derive(Debug)]
pub struct Prepared {
    folder: Folder,
    /// The port of each run, for the parties' tokens name the stack's URL.
    port: String,
    /// Customers, with [`OPENING`] yen each.
    pub payers: Vec<Party>,
    /// Merchants.
    pub merchants: Vec<Party>,
}

/// A local stack on a copy of the data file. It ends, and the copy is removed, when this is dropped.
#[derive(Debug)]
pub struct Running {
    /// The process.
    pub process: Process,
    _folder: Folder,
}

/// A folder, removed when it is dropped.
#[derive(Debug)]
struct Folder(PathBuf);

impl Prepared {
    /// Makes the data file in a folder of its own below `folder`, with the binary of this build's profile.
    ///
    /// # Errors
    /// If a folder cannot be written.
    ///
    /// # Panics
    /// If the local stack does not start or refuses a request.
    pub async fn make(folder: &Path, customers: usize, merchants: usize) -> io::Result<Self> {
        let folder = Folder::make(folder, "prepared")?;
        let running = start(&folder.0, ANY_PORT, &[]);
        let port = address_of(&running.url).port().to_string();
        let (payers, merchants) = parties(&world(&running).await, customers, merchants).await;
        let ended = running.interrupt();
        assert!(ended.success(), "the local stack ended with {ended}");
        Ok(Self { folder, port, payers, merchants })
    }

    /// The data file.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.folder.0.join(DATA_FILE)
    }

    /// Starts the local stack on a copy of the data file. One runs at a time: each uses the same port.
    ///
    /// # Errors
    /// If the copy cannot be written.
    ///
    /// # Panics
    /// If the local stack does not start.
    pub fn run(&self) -> io::Result<Running> {
        let folder = Folder::make(self.folder.0.parent().unwrap_or(Path::new(".")), "run")?;
        copy(&self.folder.0, &folder.0)?;
        Ok(Running { process: start(&folder.0, &self.port, &[]), _folder: folder })
    }
}

impl Running {
    /// A local stack with its table in memory, its customers and its merchants.
    ///
    /// # Errors
    /// If a folder cannot be written.
    ///
    /// # Panics
    /// If the local stack does not start or refuses a request.
    pub async fn in_memory(
        folder: &Path,
        customers: usize,
        merchants: usize,
    ) -> io::Result<(Self, Vec<Party>, Vec<Party>)> {
        let folder = Folder::make(folder, "memory")?;
        let process = start(&folder.0, ANY_PORT, &["--in-memory"]);
        let (payers, merchants) = parties(&world(&process).await, customers, merchants).await;
        Ok((Self { process, _folder: folder }, payers, merchants))
    }

    /// The API's address.
    ///
    /// # Panics
    /// Never: the process has printed its URL.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        address_of(&self.process.url)
    }

    /// A connection to the engine.
    ///
    /// # Errors
    /// As the system reports them.
    pub fn engine(&self) -> io::Result<Connection> {
        Connection::open(address_of(&self.process.dynamodb_url))
    }

    /// Its demo tenant, for the audit.
    pub async fn world(&self) -> World {
        world(&self.process).await
    }
}

impl Folder {
    fn make(below: &Path, name: &str) -> io::Result<Self> {
        let folder = below.join(format!("{name}-{}-{:08x}", std::process::id(), fastrand::u32(..)));
        fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that is left is below the target folder, and is harmless.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn start(folder: &Path, port: &str, more: &[&str]) -> Process {
    let data = folder.join(DATA_FILE);
    let data = data.to_str().expect("the folder's name is UTF-8");
    Process::start_with(&[&["--port", port, "--data", data], more].concat(), &RATES)
}

/// Opens customers with money, and merchants.
async fn parties(world: &World, customers: usize, merchants: usize) -> (Vec<Party>, Vec<Party>) {
    let opening = &OPENING.to_string();
    let payers = stream::iter(0..customers).map(|_| async move {
        let customer = world.customer_with(opening).await;
        Party { id: customer.id, token: token(customer.who) }
    });
    let merchants = stream::iter(0..merchants).map(|_| async move {
        let merchant = world.merchant().await;
        Party { id: merchant.id, token: token(merchant.who) }
    });
    (payers.buffered(AT_A_TIME).collect().await, merchants.buffered(AT_A_TIME).collect().await)
}

async fn world(process: &Process) -> World {
    World::remote(&process.url, (&process.dynamodb_url, &process.table)).await
}

fn token(who: Who) -> String {
    match who {
        Who::Bearer(token) => token,
        Who::Anonymous | Who::Terminal(_) => panic!("a party without a token"),
    }
}

fn address_of(url: &str) -> SocketAddr {
    let address = url.trim_start_matches("http://").parse();
    address.unwrap_or_else(|error| panic!("{url} is not an address: {error}"))
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target)?;
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
