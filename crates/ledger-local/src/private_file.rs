//! Files that only their owner may read: the issuer's key and a terminal's credential.
//! Written whole or not at all, so that a killed process leaves no half of a key behind.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Writes `content` to `path`, readable and writable by the owner alone, replacing what is there.
///
/// # Errors
/// When the directory cannot be made or the file cannot be written.
pub(crate) fn write(path: &Path, content: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = Path::new(&name);
    let written = write_fresh(temporary, content).and_then(|()| fs::rename(temporary, path));
    if written.is_err() {
        // The error of the write is the one to report.
        let _ = fs::remove_file(temporary);
    }
    written
}

fn write_fresh(path: &Path, content: &str) -> io::Result<()> {
    // A leftover of an earlier process with this id could have other permissions.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(content.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_privately_and_replaces() {
        let dir = crate::testing::TempDir::make();
        let path = dir.path().join("a").join("key.pem");
        write(&path, "one").unwrap();
        write(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
