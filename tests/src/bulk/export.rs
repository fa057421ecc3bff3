//! An export of the table to S3 as files in a directory: DynamoDB's JSON, one item per line, in several data files.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use ledger_core::dynamo::{Item, Value};
use ledger_core::ids::Tenant;
use ledger_core::time::Timestamp;
use serde_json::{Map, Value as Json, json};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The number of items in a data file.
const IN_FILE: u64 = 100_000;

/// An export that is being written.
#[derive(Debug)]
pub struct Export {
    directory: PathBuf,
    /// The tenants that have each item; the first is the one that it was made for.
    tenants: Vec<Tenant>,
    /// Lines are buffered before they are compressed, because each call of the encoder is slow.
    data: Option<BufWriter<GzEncoder<File>>>,
    manifest: BufWriter<File>,
    files: u64,
    in_file: u64,
    items: u64,
}

impl Export {
    /// Creates the directory and an empty export, to which each item of `tenants[0]` is written for all of them.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn new(directory: &Path, tenants: Vec<Tenant>) -> io::Result<Self> {
        fs::create_dir_all(directory.join("data"))?;
        let manifest = BufWriter::new(File::create(directory.join("manifest-files.json"))?);
        Ok(Self { directory: directory.to_owned(), tenants, data: None, manifest, files: 0, in_file: 0, items: 0 })
    }

    /// Writes an item for each tenant.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn write(&mut self, item: &Item) -> io::Result<()> {
        let line = json!({"Item": map(item)}).to_string();
        // A tenant's slug begins each key, and is found nowhere else.
        let begin = |tenant: Option<&Tenant>| tenant.map(|tenant| format!("\"{tenant}#")).unwrap_or_default();
        let made_for = begin(self.tenants.first());
        self.write_line(&line)?;
        for other in 1..self.tenants.len() {
            let line = line.replace(&made_for, &begin(self.tenants.get(other)));
            self.write_line(&line)?;
        }
        Ok(())
    }

    fn write_line(&mut self, line: &str) -> io::Result<()> {
        if self.in_file == IN_FILE {
            self.end_file()?;
        }
        let data = match &mut self.data {
            Some(data) => data,
            none => {
                let file = File::create(self.directory.join("data").join(name(self.files)))?;
                none.insert(BufWriter::new(GzEncoder::new(file, Compression::fast())))
            }
        };
        data.write_all(line.as_bytes())?;
        data.write_all(b"\n")?;
        self.in_file += 1;
        Ok(())
    }

    /// Completes the export as of an instant; returns its number of items.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn finish(mut self, at: Timestamp) -> io::Result<u64> {
        self.end_file()?;
        self.manifest.flush()?;
        let summary = json!({"version": "2020-06-30", "exportTime": at.to_string(), "outputFormat": "DYNAMODB_JSON",
            "itemCount": self.items});
        fs::write(self.directory.join("manifest-summary.json"), summary.to_string())?;
        Ok(self.items)
    }

    fn end_file(&mut self) -> io::Result<()> {
        let Some(data) = self.data.take() else { return Ok(()) };
        data.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
        let key = format!("AWSDynamoDB/01693685827463-2d8752fd/data/{}", name(self.files));
        let line = json!({"itemCount": self.in_file, "md5Checksum": "", "etag": "", "dataFileS3Key": key});
        writeln!(self.manifest, "{line}")?;
        self.items += self.in_file;
        self.files += 1;
        self.in_file = 0;
        Ok(())
    }
}

fn name(number: u64) -> String {
    format!("part{number:05}.json.gz")
}

fn map(item: &Item) -> Map<String, Json> {
    item.iter().map(|(name, value)| (name.clone(), typed(value))).collect()
}

fn typed(value: &Value) -> Json {
    match value {
        Value::S(text) => json!({"S": text}),
        Value::N(number) => json!({"N": number}),
        Value::Bool(truth) => json!({"BOOL": truth}),
        Value::B(bytes) => json!({"B": STANDARD.encode(bytes)}),
        Value::L(list) => json!({"L": list.iter().map(typed).collect::<Vec<_>>()}),
        Value::M(of) => json!({"M": map(of)}),
    }
}
