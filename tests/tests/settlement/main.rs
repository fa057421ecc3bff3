//! Settlements over HTTP and the embedded engine: scenario 6 of DOMAIN.md to the yen and its file to the byte,
//! what is carried and what turns back, and failure and repetition at every write of the saga.

mod faults;
mod machine;
mod paths;
mod people;
mod scenario;
