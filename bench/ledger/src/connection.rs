//! A client's connection: HTTP/1.1 over TCP, one request after the other. It does little, because it shares the
//! machine's cores with what it measures.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than API Gateway waits.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(35);
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// A kept connection.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    host: SocketAddr,
    received: Vec<u8>,
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The status line and the headers, names in lower case.
    pub head: String,
    /// The body.
    pub body: String,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// As the system reports them.
    pub fn open(host: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(host)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        Ok(Self { stream, host, received: Vec::with_capacity(8 * 1024) })
    }

    /// Sends a POST, and returns the whole response.
    ///
    /// # Errors
    /// As the system reports them; `InvalidData` if the response has no status or length.
    pub fn post(&mut self, path: &str, headers: &[(&str, &str)], body: &str) -> io::Result<Response> {
        let mut request = format!("POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n", self.host, body.len());
        for (name, value) in headers {
            let _ = write!(request, "{name}: {value}\r\n");
        }
        request.push_str("\r\n");
        request.push_str(body);
        self.stream.write_all(request.as_bytes())?;
        self.response()
    }

    fn response(&mut self) -> io::Result<Response> {
        self.received.clear();
        let mut chunk = [0; 8 * 1024];
        loop {
            let read = self.stream.read(&mut chunk)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.received.extend_from_slice(&chunk[..read]);
            if let Some(response) = parse(&self.received)? {
                return Ok(response);
            }
        }
    }
}

/// The response in these bytes; `None` if it is not complete.
fn parse(received: &[u8]) -> io::Result<Option<Response>> {
    let Some(end) = received.windows(END_OF_HEAD.len()).position(|bytes| bytes == END_OF_HEAD) else { return Ok(None) };
    let head = String::from_utf8_lossy(&received[..end]).to_ascii_lowercase();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
    let (Some(status), Some(length)) = (status, length) else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("no status or content-length: {head}")));
    };
    let body = &received[end + END_OF_HEAD.len()..];
    let whole = || Response { status, head, body: String::from_utf8_lossy(&body[..length]).into_owned() };
    Ok((body.len() >= length).then(whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn response_in_parts_is_read_whole_and_the_connection_is_kept() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut requests = Vec::new();
            let answers = [
                ["HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r", "\nokok"],
                ["HTTP/1.1 200 OK\r\n", "content-length: 0\r\n\r\n"],
            ];
            for parts in answers {
                let mut request = vec![0; 1024];
                let read = stream.read(&mut request).unwrap();
                requests.push(String::from_utf8_lossy(&request[..read]).into_owned());
                for part in parts {
                    stream.write_all(part.as_bytes()).unwrap();
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
            requests
        });
        let mut connection = Connection::open(host).unwrap();
        let first = connection.post("/a", &[("x", "y")], "{}").unwrap();
        assert_eq!((first.status, first.body.as_str()), (201, "okok"));
        assert_eq!(connection.post("/b", &[], "").unwrap().status, 200);
        let requests = server.join().unwrap();
        assert_eq!(requests[0], format!("POST /a HTTP/1.1\r\nhost: {host}\r\ncontent-length: 2\r\nx: y\r\n\r\n{{}}"));
    }

    #[test]
    fn response_without_a_length_is_an_error() {
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\n").unwrap(), None);
        assert!(parse(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
