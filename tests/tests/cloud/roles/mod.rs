//! Rules for every role of the template, and that each function's role allows exactly what its code does: every
//! endpoint, worker and event is run, and its requests to the store are compared.
mod authorization;
mod buckets;
mod drive;
mod figures;
mod migrating;
mod parameters;
mod rules;
mod settings;
mod uses;
