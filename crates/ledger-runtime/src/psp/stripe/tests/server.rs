//! A server that answers from a script, byte for byte, and records what came.

use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How the server answers one request.
pub(super) enum Reply {
    /// With these bytes, and keeps the connection.
    Bytes(Vec<u8>),
    /// With these bytes, and closes the connection.
    Cut(Vec<u8>),
    /// Not at all, and resets the connection.
    Reset,
    /// Not at all, and keeps the connection.
    Hang,
}

pub(super) struct Server {
    pub(super) base_url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Answers in this order, over however many connections.
    pub(super) async fn script(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/stripe", listener.local_addr().unwrap());
        let seen = Arc::<Mutex<Vec<String>>>::default();
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
                        Reply::Hang => {
                            std::future::pending::<()>().await;
                        }
                    }
                }
            }
        });
        Self { base_url, seen }
    }

    pub(super) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

/// A request's head and body, or `None` when the connection ends.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8(bytes.clone()).unwrap();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
            if body.len() >= length.parse().unwrap() {
                return Some(text);
            }
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&chunk[..read]),
        }
    }
}
