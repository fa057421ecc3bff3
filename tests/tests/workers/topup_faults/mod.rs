//! Crashes at every point of an operation that calls Stripe, with every way of recovery.
//! Each ends with one object at Stripe, one effect in the books and one response.
mod abandoned;
mod audit;
mod clocks;
mod holders;
mod matrix;
mod people;
mod provider;
mod store;
