//! The local stack over HTTP as clients see it: calls, responses, a world per tenant, and an audit of the raw table.

pub mod account_limits;
pub mod answer;
pub mod approvals;
pub mod assets;
pub mod books;
pub mod breaks;
pub mod call;
mod card_life;
mod card_pins;
pub mod contract;
pub mod endpoints;
pub mod event_tap;
pub mod host;
pub mod legacy_types;
pub mod migrating;
pub mod parked;
mod people;
pub mod prepared;
pub mod process;
pub mod psp_tap;
pub mod settling;
pub mod sign_ins;
pub mod staff;
pub mod stripe;
pub mod tap;
pub mod terminal_charges;
pub mod terms;
mod tills;
pub mod topup_rig;
pub mod workers;
pub mod world;

pub use answer::Answer;
pub use call::{Api, Call, Who};
pub use host::Host;
pub use people::{Customer, Merchant, Operator, Terminal};
pub use world::World;
