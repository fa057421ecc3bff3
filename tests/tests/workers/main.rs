//! What happens without a request: crediting, publishing, settlement, reconciliation, sealing, interrupted top-ups.

// Tests begin in the order of their names: the one that takes minutes is named to begin first.
mod annual_reports;
mod audit_proof;
mod audit_trail;
mod balances;
mod bank_files;
mod bonuses;
mod books_crowd;
mod cash;
mod copy;
mod costs;
mod counters;
mod crediting_by_seal;
mod deciders;
mod deposits;
mod erased_texts;
mod erasures;
mod figures;
mod files;
mod idle;
mod jobs;
mod notices;
mod prepaid;
mod publishing;
mod reconciliation;
mod rooms;
mod sealing;
mod settlement;
mod settlement_runs;
mod statements;
mod topup_faults;
mod volumes;
mod wind_downs;
