//! Writes files that only their owner may read: the issuer's key and a terminal's credential. Writes are atomic, so
//! that a killed process leaves no partial key.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Writes `content` to `path`, readable and writable by the owner alone. An existing file is replaced.
///
/// # Errors
/// If the directory cannot be created or the file cannot be written.
pub(crate) fn write(path: &Path, content: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = Path::new(&name);
    let written = write_fresh(temporary, content).and_then(|()| fs::rename(temporary, path));
    if written.is_err() {
        // The error of the write is returned; one of the removal is ignored.
        let _ = fs::remove_file(temporary);
    }
    written
}

fn write_fresh(path: &Path, content: &str) -> io::Result<()> {
    // An earlier process with this id may have left a file with other permissions.
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
    fn file_is_private_and_replaced() {
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
