//! A tenant leaves a legacy model while requests go on: whatever runs beside whatever, nobody's balance is wrong
//! wherever it is read, nothing is spent twice, and no change of a profile is lost.

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
