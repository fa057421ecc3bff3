//! The customers', merchants', operators' and terminals' requests, over HTTP to the local stack.

mod abuse;
mod attention;
mod audit;
mod crediting;
mod expiry;
mod faults;
mod frozen;
mod fuzz;
mod history;
mod holds;
mod idempotency;
mod load;
mod migration;
mod migration_endpoints;
mod openapi;
mod rate;
mod roundtrips;
mod routes;
mod scenarios;
mod signatures;
mod strangers;
mod topup_refunds;
mod topups;
mod webhook;
mod webhook_signatures;
mod wire;
