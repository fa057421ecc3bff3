//! What happens without a request: crediting, publishing, settlement, reconciliation, sealing, interrupted top-ups.

mod audit_trail;
mod bonuses;
mod books_crowd;
mod cash;
mod costs;
mod counters;
mod crediting_by_seal;
mod deposits;
mod idle;
mod notices;
mod publishing;
mod reconciliation;
mod rooms;
mod sealing;
mod settlement;
mod topup_faults;
mod volumes;
mod wind_downs;
