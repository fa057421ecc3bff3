//! A server that answers from a script, byte for byte, and records the requests: it acts as Stripe, the KYC service and
//! AWS services in tests. `ledger-aws` compiles this file too.

use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// How the server answers one request.
pub(crate) enum Reply {
    /// Sends these bytes and keeps the connection open.
    Bytes(Vec<u8>),
    /// Sends these bytes and closes the connection.
    Cut(Vec<u8>),
    /// Resets the connection without an answer.
    Reset,
}

impl Reply {
    /// A complete response. Each header in `headers` ends with CRLF.
    pub(crate) fn of(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let head = format!("HTTP/1.1 {status} Status\r\n{headers}content-length: {}\r\n\r\n", body.len());
        Self::Bytes([head.as_bytes(), body].concat())
    }
}

pub(crate) struct Server {
    /// The address that the server listens on, as `http://host:port`.
    pub(crate) origin: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// A request as received.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// The request line and headers.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    /// The value of a header; `name` is in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.into_iter().find_map(|(field, value)| (field.to_ascii_lowercase() == name).then_some(value))
    }
}

impl Server {
    /// Starts a server that gives these answers in order, over any number of connections.
    pub(crate) async fn script(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let (requests, mut replies) = (seen.clone(), replies.into_iter().collect::<Vec<_>>().into_iter());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                while let Some(request) = read_request(&mut stream).await {
                    requests.lock().unwrap().push(request);
                    match replies.next().expect("a request that is not in the script") {
                        Reply::Bytes(bytes) => stream.write_all(&bytes).await.unwrap(),
                        Reply::Cut(bytes) => {
                            stream.write_all(&bytes).await.unwrap();
                            break;
                        }
                        Reply::Reset => {
                            stream.set_zero_linger().unwrap();
                            break;
                        }
                    }
                }
            }
        });
        Self { origin, seen }
    }

    /// The requests, in order.
    pub(crate) fn requests(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

/// A request's head and body, or `None` when the connection ends.
async fn read_request(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    loop {
        if let Some(at) = bytes.windows(END_OF_HEAD.len()).position(|window| window == END_OF_HEAD) {
            let (head, rest) = bytes.split_at(at);
            let head = String::from_utf8(head.to_vec()).unwrap();
            let seen = Seen { head, body: rest[END_OF_HEAD.len()..].to_vec() };
            if seen.body.len() >= seen.header("content-length").unwrap_or("0").parse().unwrap() {
                return Some(seen);
            }
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&chunk[..read]),
        }
    }
}
