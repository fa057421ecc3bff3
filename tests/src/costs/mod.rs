//! What each operation costs, from its request to the last work on its records: measured on the embedded engine, kept
//! in `tests/costs.txt`, and written into the documents.

#[cfg(feature = "stack")]
pub mod clock;
pub mod floors;
pub mod kept;
#[cfg(feature = "stack")]
pub mod life;
pub mod page;
#[cfg(feature = "stack")]
mod parties;
pub mod prices;
#[cfg(feature = "stack")]
pub mod requests;
#[cfg(feature = "stack")]
pub mod size;
#[cfg(feature = "stack")]
mod subjects;
pub mod units;
#[cfg(feature = "stack")]
mod workers;

pub use kept::Costs;

/// Measures all costs, which takes seconds.
#[cfg(feature = "stack")]
pub async fn measure() -> Costs {
    let requests = requests::measure().await;
    let (lives, storage) = life::measure().await;
    Costs { requests, lives, storage }
}

/// Writes these costs into `tests/costs.txt` and the documents.
///
/// # Panics
/// When a file cannot be written.
pub fn write(costs: &Costs) {
    let put = |path: &str, text: String| {
        let written = std::fs::write(crate::tree::root().join(path), text);
        written.unwrap_or_else(|error| panic!("{path}: {error}"));
    };
    put(kept::PATH, costs.text());
    for path in page::PAGES {
        put(path, page::filled(&page::read(path), costs));
    }
}
