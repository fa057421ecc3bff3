//! Measures each function: the time until it asks for its first event, its memory after the first response, and its
//! size as a binary and as a zip. The store is on the loopback, so the time includes no TLS.

use super::kept::Sizes;
use super::{Deployed, Rig};
use crate::binaries;
use flate2::Compression;
use flate2::read::DeflateEncoder;
use std::env::consts::{ARCH, OS};
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

/// How often each function is started; the median counts.
const STARTS: usize = 9;
const INIT_AIM: Duration = Duration::from_millis(25);
const RESIDENT_AIM: u64 = 30_000_000;
const ZIP_AIM: u64 = 5_000_000;
/// The target of `cargo lambda build --arm64`.
const ARM64: &str = "aarch64-linux";

/// A function's figures.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The function's name.
    pub function: &'static str,
    /// The time from the start of the process until it asks for its first event.
    pub init: Duration,
    /// Its resident memory after the first response in bytes, if the system states it.
    pub resident: Option<u64>,
    /// The size of the binary in bytes.
    pub binary: u64,
    /// The size of the deflated binary in bytes.
    pub zip: u64,
}

/// Measures functions whose binaries are in a folder.
pub async fn measure(folder: &Path, functions: &[Deployed]) -> Vec<Figures> {
    let rig = Rig::with(folder).await;
    let mut all = Vec::with_capacity(functions.len());
    for function in functions {
        all.push(measure_one(&rig, *function, folder).await);
    }
    all
}

async fn measure_one(rig: &Rig, function: Deployed, folder: &Path) -> Figures {
    let (mut starts, mut resident) = (Vec::with_capacity(STARTS), None);
    for _ in 0..STARTS {
        let mut started = rig.spawn(function.name, &rig.variables(rig.embedded_store())).await;
        starts.push(started.ready().await);
        let _ = started.invoke(&rig.event(function.event)).await.response();
        resident = started.resident_bytes().max(resident);
    }
    starts.sort_unstable();
    let path = binaries::path(folder, function.name);
    let binary = path.metadata().expect("a binary").len();
    Figures { function: function.name, init: starts[STARTS / 2], resident, binary, zip: deflated(&path) }
}

/// The size of a deflated file in bytes.
///
/// # Panics
/// When it cannot be read.
#[must_use]
pub fn deflated(path: &Path) -> u64 {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    io::copy(&mut DeflateEncoder::new(file, Compression::default()), &mut io::sink()).expect("it can be read")
}

/// The name of a build in the recorded sizes.
#[must_use]
pub fn build_name(profile: &str) -> String {
    format!("{profile} {ARCH}-{OS}")
}

/// The name of a build for AWS's ARM processors in the recorded sizes.
#[must_use]
pub fn arm64_name(profile: &str) -> String {
    format!("{profile} {ARM64}")
}

/// The sizes under the names by which they are recorded.
#[must_use]
pub fn sizes(build: &str, figures: &[Figures]) -> Sizes {
    figures.iter().flat_map(|of| named(build, of.function, of.binary, of.zip)).collect()
}

/// The sizes of what `cargo lambda build` has put into a folder, under the names by which they are recorded.
///
/// # Panics
/// When a function is missing.
#[must_use]
pub fn built(build: &str, folder: &Path, functions: &[Deployed]) -> Sizes {
    let size = |function: &Deployed| {
        let path = folder.join(function.name).join("bootstrap");
        let data = path.metadata().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        named(build, function.name, data.len(), deflated(&path))
    };
    functions.iter().flat_map(size).collect()
}

fn named(build: &str, function: &str, binary: u64, zip: u64) -> [(String, u64); 2] {
    [("binary", binary), ("zip", zip)].map(|(form, bytes)| (format!("{build} {function} {form}"), bytes))
}

/// The figures as a table; values that miss their target are marked.
#[must_use]
pub fn table(figures: &[Figures]) -> String {
    let mut table = row(["function", "init ms", "RSS MB", "binary MB", "zip MB"].map(str::to_owned));
    for of in figures {
        let resident = of.resident.map(|bytes| marked(megabytes(bytes), bytes < RESIDENT_AIM));
        table += &row([
            of.function.to_owned(),
            marked(milliseconds(of.init), of.init < INIT_AIM),
            resident.unwrap_or_else(|| "?".to_owned()),
            megabytes(of.binary),
            marked(megabytes(of.zip), of.zip < ZIP_AIM),
        ]);
    }
    table
        + &row([
            "aim (! misses it)".to_owned(),
            milliseconds(INIT_AIM),
            megabytes(RESIDENT_AIM),
            String::new(),
            megabytes(ZIP_AIM),
        ])
}

fn row([function, init, resident, binary, zip]: [String; 5]) -> String {
    let mut row = String::new();
    writeln!(row, "{function:<17} {init:>8} {resident:>8} {binary:>10} {zip:>8}").expect("a string takes it");
    row
}

fn marked(text: String, good: bool) -> String {
    if good { text } else { format!("!{text}") }
}

fn megabytes(bytes: u64) -> String {
    format!("{}.{:02}", bytes / 1_000_000, bytes % 1_000_000 / 10_000)
}

fn milliseconds(time: Duration) -> String {
    format!("{}.{}", time.as_millis(), time.as_micros() % 1000 / 100)
}
