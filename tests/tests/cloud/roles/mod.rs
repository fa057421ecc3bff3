//! The rules on every role of the template, and that each function's role allows what its code does and
//! nothing else: every endpoint, worker and event is driven, and what the store was asked for is compared.
mod authorization;
mod drive;
mod migrating;
mod parameters;
mod rules;
mod settings;
mod uses;
