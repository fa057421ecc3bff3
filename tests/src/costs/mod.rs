//! What each operation costs, from its request to the last work on its records: measured on the embedded engine, kept
//! in `tests/costs.txt`, and written into the documents.

pub mod kept;
#[cfg(feature = "stack")]
pub mod life;
#[cfg(feature = "stack")]
mod parties;
#[cfg(feature = "stack")]
pub mod requests;
mod size;
#[cfg(feature = "stack")]
mod subjects;
pub mod units;
#[cfg(feature = "stack")]
mod workers;

pub use kept::Costs;

/// Measures all costs. It takes seconds.
#[cfg(feature = "stack")]
pub async fn measure() -> Costs {
    let requests = requests::measure().await;
    let (lives, storage) = life::measure().await;
    Costs { requests, lives, storage }
}

