//! Runs the festival.
fn main() {
    use ledger_bench::{designs::Design, scenarios::*, simulation::Simulation};
    let rate: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let p = if std::env::args().nth(2).is_some() { Preparation::None } else { Preparation::AsAdvised };
    for design in [Design::Credited] { 
        let o = Simulation::run(festival(design, rate, 60, p, 1));
        println!("{o:#?}");
    }
}
