//! The buckets of table exports and of their reconciliation reports, from the environment.

use super::{ConfigError, ReconcileAccess};

const EXPORTS: &str = "EXPORT_BUCKET";

/// The buckets of exports and of their reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportAccess {
    /// The bucket of the exports and of the intermediate files made from them.
    pub exports: String,
    /// The bucket of the reports.
    pub reports: String,
}

impl ExportAccess {
    /// Reads the buckets from the process's environment.
    ///
    /// # Errors
    /// [`ConfigError`] says which variable to set to what.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::from_vars(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()))
    }

    /// Reads the buckets from variables by name.
    ///
    /// # Errors
    /// [`ConfigError`] says which variable to set to what.
    pub fn from_vars(set: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let missing = |name, what, example| ConfigError::Missing { name, what, example };
        let exports = set(EXPORTS).ok_or(missing(EXPORTS, "the name of the bucket of exports", "ecopay-exports"))?;
        let reports = ReconcileAccess::from_vars(&set)?.bucket;
        let reports = reports.ok_or(missing(super::reconcile::BUCKET, "the bucket of reports", "ecopay-reports"))?;
        Ok(Self { exports, reports })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_missing_bucket_is_named_in_the_error() {
        let of = |set: &[&str]| ExportAccess::from_vars(|name| set.contains(&name).then(|| name.to_lowercase()));
        let both = ExportAccess { exports: "export_bucket".to_owned(), reports: "reconciliation_bucket".to_owned() };
        assert_eq!(of(&["EXPORT_BUCKET", "RECONCILIATION_BUCKET"]), Ok(both));
        for (set, lacks) in [("EXPORT_BUCKET", "RECONCILIATION_BUCKET"), ("RECONCILIATION_BUCKET", "EXPORT_BUCKET")] {
            assert!(of(&[set]).unwrap_err().to_string().contains(&format!("{lacks}=")), "{lacks}");
        }
    }
}
