//! The configuration of reconciliations, from the environment.

use super::ConfigError;

pub(super) const BUCKET: &str = "RECONCILIATION_BUCKET";
const BUS: &str = "EVENT_BUS";
const UNITS: &str = "RECONCILIATION_READ_UNITS";
const UNITS_DEFAULT: u64 = 500;

/// Where reports and breaks are sent, and how fast the table may be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReconcileAccess {
    /// The bucket of the reports.
    pub bucket: Option<String>,
    /// The event bus that breaks are sent to.
    pub bus: Option<String>,
    /// Read capacity units per second, from 1 to 100,000.
    pub units_per_second: u64,
}

impl Default for ReconcileAccess {
    fn default() -> Self {
        Self { bucket: None, bus: None, units_per_second: UNITS_DEFAULT }
    }
}

impl ReconcileAccess {
    /// Reads the configuration from variables by name.
    ///
    /// # Errors
    /// [`ConfigError`] if the rate is not a whole number from 1 to 100,000.
    pub fn from_vars(set: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let wrong = ConfigError::Wrong { name: UNITS, why: "is not a whole number from 1 to 100000", example: "500" };
        let units = match set(UNITS) {
            None => UNITS_DEFAULT,
            Some(text) => text.parse().ok().filter(|units| (1..=100_000).contains(units)).ok_or(wrong)?,
        };
        Ok(Self { bucket: set(BUCKET), bus: set(BUS), units_per_second: units })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_rate_is_a_whole_number_from_1_to_100_000() {
        let of = |units: &str| ReconcileAccess::from_vars(|name| (name == UNITS).then(|| units.to_owned()));
        assert_eq!(of("20").unwrap().units_per_second, 20);
        for wrong in ["0", "x", "1.5", "100001"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
        assert_eq!(ReconcileAccess::from_vars(|_| None).unwrap(), ReconcileAccess::default());
    }
}
