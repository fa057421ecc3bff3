//! Shared parts of the tests: DynamoDB's JSON, the embedded engine in process, and the golden vectors. The modules
//! without the feature `stack` do not use the runtime: what is expected of the core is written independently.

pub mod audit;
#[cfg(feature = "stack")]
pub mod binaries;
#[cfg(feature = "stack")]
pub mod bulk;
pub mod chance;
#[cfg(feature = "stack")]
pub mod cloud;
pub mod copy;
pub mod costs;
pub mod declared;
#[cfg(feature = "stack")]
pub mod declared_items;
pub mod documents;
pub mod engine;
pub mod golden;
pub mod holders;
#[cfg(feature = "stack")]
pub mod http;
#[cfg(feature = "stack")]
pub mod lambda;
pub mod layout;
pub mod legacy;
pub mod limits;
pub mod model;
pub mod names;
pub mod rules;
pub mod share;
pub mod tree;
pub mod wire;

pub use tree::sources;
