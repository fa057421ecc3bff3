//! A tenant leaves a legacy model under traffic: in any interleaving, balances are right wherever they are read,
//! nothing is spent twice, and no change of a profile is lost.

mod cases;
mod checks;
mod engine;
mod fault;
mod faults;
mod golden;
mod ops;
mod play;
mod scene;
mod seeds;
mod space;
mod world;
