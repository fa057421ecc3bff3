//! A function as a process, started as Lambda starts it: only its own environment variables, one event at a time, and
//! SIGTERM at the end.

use super::{Reply, RuntimeApi};
use axum::body::Bytes;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command as Blocking, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A binary that takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// The command that runs a function.
#[derive(Clone, Debug)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its working folder; `None` is this process's.
    pub folder: Option<PathBuf>,
    /// How long its start, a reply or its end may take.
    pub patience: Duration,
}

impl Program {
    /// A function that is a binary, as ours are.
    #[must_use]
    pub fn binary(path: &Path) -> Self {
        Self { path: path.to_owned(), arguments: Vec::new(), folder: None, patience: PATIENCE }
    }
}

/// A running function, killed when it is dropped.
#[derive(Debug)]
pub struct Function {
    name: String,
    id: u32,
    patience: Duration,
    began: Instant,
    child: Child,
    api: RuntimeApi,
    out: Lines,
    err: Lines,
    _files: Files,
}

/// The folder for temporary files that a function has to itself, as each has its own `/tmp` in Lambda. It is removed with
/// the function.
#[derive(Debug)]
struct Files(PathBuf);

/// The result of a function's process.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The exit status; it has no code if a signal killed the process.
    pub status: ExitStatus,
    /// The lines of the standard output.
    pub out: Vec<String>,
    /// The lines of the standard error.
    pub err: Vec<String>,
}

impl Function {
    /// Starts a binary with these environment variables and those that Lambda sets.
    ///
    /// # Panics
    /// When the binary cannot be started.
    pub async fn spawn(name: &str, binary: &Path, variables: &[(String, String)]) -> Self {
        Self::start(name, &Program::binary(binary), variables).await
    }

    /// Starts a program with these environment variables and those that Lambda sets.
    ///
    /// # Panics
    /// When it cannot be started.
    pub async fn start(name: &str, program: &Program, variables: &[(String, String)]) -> Self {
        let api = RuntimeApi::start(name).await;
        let mut command = Command::new(&program.path);
        command.args(&program.arguments);
        if let Some(folder) = &program.folder {
            command.current_dir(folder);
        }
        command.env_clear().envs(lambda_variables(name, api.address())).envs(variables.iter().cloned());
        let files = Files::new();
        command.env("TMPDIR", &files.0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let began = Instant::now();
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", program.path.display()));
        let id = child.id().expect("it has not ended");
        let out = Lines::of(child.stdout.take().expect("a pipe"));
        let err = Lines::of(child.stderr.take().expect("a pipe"));
        Self { name: name.to_owned(), id, patience: program.patience, began, child, api, out, err, _files: files }
    }

    /// The process's id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Waits until the function asks for its first event; returns the time since its start.
    ///
    /// # Panics
    /// When the process ends first, or hangs.
    pub async fn ready(&mut self) -> Duration {
        let ready = tokio::select! {
            ready = self.api.ready() => Some(ready),
            _ = self.child.wait() => None,
            () = tokio::time::sleep(self.patience) => None,
        };
        let Some(ready) = ready else { panic!("{} does not start: {:?} {self:?}", self.name, self.api.init_error()) };
        ready.duration_since(self.began)
    }

    /// Hands an event to the function; the receiver gets its reply.
    pub fn begin(&self, payload: impl Into<Bytes>) -> oneshot::Receiver<Reply> {
        self.api.hand_out(payload)
    }

    /// Hands bytes to the function and waits for its reply.
    ///
    /// # Panics
    /// When no reply comes.
    pub async fn invoke_raw(&self, payload: impl Into<Bytes>) -> Reply {
        self.replied(self.begin(payload)).await
    }

    /// Hands an event to the function and waits for its reply.
    ///
    /// # Panics
    /// When no reply comes.
    pub async fn invoke(&self, event: &Value) -> Reply {
        self.invoke_raw(event.to_string()).await
    }

    /// Waits for the reply to an event that was handed to the function.
    ///
    /// # Panics
    /// When no reply comes.
    pub async fn replied(&self, reply: oneshot::Receiver<Reply>) -> Reply {
        match tokio::time::timeout(self.patience, reply).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(_)) | Err(_) => panic!("{} gives no reply: {self:?}", self.name),
        }
    }

    /// Sends SIGTERM, as Lambda does before it removes an environment.
    ///
    /// # Panics
    /// When the process has ended.
    pub fn terminate(&self) {
        let id = self.child.id().expect("it runs").to_string();
        let sent = Blocking::new("kill").args(["-TERM", &id]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the signal is sent");
    }

    /// Whether the process has ended.
    ///
    /// # Panics
    /// When the system cannot tell.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child of this process").is_some()
    }

    /// Waits for the end of the process.
    ///
    /// # Panics
    /// When it does not end.
    pub async fn ended(mut self) -> Ended {
        let Ok(ended) = tokio::time::timeout(self.patience, self.child.wait()).await else {
            panic!("{} does not end: {self:?}", self.name)
        };
        let status = ended.expect("a child of this process");
        Ended { status, out: self.out.all().await, err: self.err.all().await }
    }

    /// The lines of the standard output so far.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.out.so_far()
    }

    /// The resident memory in bytes, if the system states it (Linux).
    #[must_use]
    pub fn resident_bytes(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()?)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kib: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
        Some(kib * 1024)
    }
}

/// The environment variables that Lambda sets for every function.
impl Files {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("function-{}", crate::http::world::new_id()));
        std::fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        Self(folder)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // A function that is being killed may still write there. What is left is in the system's temporary folder.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn lambda_variables(name: &str, api: &str) -> [(&'static str, String); 15] {
    let set = |text: &str| text.to_owned();
    [
        ("AWS_LAMBDA_RUNTIME_API", set(api)),
        ("AWS_LAMBDA_FUNCTION_NAME", set(name)),
        ("AWS_LAMBDA_FUNCTION_VERSION", set("$LATEST")),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", set("256")),
        ("AWS_LAMBDA_LOG_GROUP_NAME", format!("/aws/lambda/{name}")),
        ("AWS_LAMBDA_LOG_STREAM_NAME", set("2026/11/21/[$LATEST]4459c970fa6d4c77aca62c95850fce54")),
        ("AWS_LAMBDA_INITIALIZATION_TYPE", set("on-demand")),
        ("AWS_REGION", set("ap-northeast-1")),
        ("AWS_DEFAULT_REGION", set("ap-northeast-1")),
        ("AWS_ACCESS_KEY_ID", set("ASIAEXAMPLE")),
        ("AWS_SECRET_ACCESS_KEY", set("example")),
        ("AWS_SESSION_TOKEN", set("example")),
        ("_HANDLER", set("bootstrap")),
        ("LAMBDA_TASK_ROOT", set("/var/task")),
        ("TZ", set(":UTC")),
    ]
}

/// The lines that a process writes to a pipe. They are read to the end, because a full pipe would block the process.
#[derive(Debug)]
struct Lines {
    lines: Arc<Mutex<Vec<String>>>,
    reading: JoinHandle<()>,
}

impl Lines {
    fn of(pipe: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&lines);
        let reading = tokio::spawn(async move {
            let mut pipe = BufReader::new(pipe).lines();
            while let Ok(Some(line)) = pipe.next_line().await {
                kept.lock().expect("no panic").push(line);
            }
        });
        Self { lines, reading }
    }

    fn so_far(&self) -> Vec<String> {
        self.lines.lock().expect("no panic").clone()
    }

    /// All lines; waits until the pipe is closed.
    async fn all(self) -> Vec<String> {
        let Self { lines, reading } = self;
        reading.await.expect("it only reads");
        lines.lock().expect("no panic").clone()
    }
}
