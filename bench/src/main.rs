//! Runs the festival.
fn main() {
    use ledger_bench::{designs::Design, scenarios::*, simulation::Simulation};
    let rate: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    for design in Design::ALL { 
        let o = Simulation::run(festival(design, rate, 60, Preparation::AsAdvised, 1));
        println!("{o:#?}");
    }
}
