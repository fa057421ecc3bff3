//! Crashes at every point of an operation that calls Stripe, and every way to recover from them.
//! However they meet: one object at Stripe, one effect in the books, one answer.
mod abandoned;
mod audit;
mod clocks;
mod holders;
mod matrix;
mod people;
mod provider;
mod store;
