//! Servers that are no library's: one that answers with any bytes, and TLS in front of somebody else's.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::TcpStream;

use super::{Seen, Upstream};

impl Upstream {
    /// Starts a server that answers each request with these pieces and closes. A piece is flushed before the
    /// next is written, so that a reader meets the borders.
    #[must_use]
    pub fn raw(names: &[&str], answer: impl Fn(&Seen) -> Vec<Vec<u8>> + Send + Sync + 'static) -> Self {
        let answer = Arc::new(answer);
        Self::serving(names, move |mut stream, log| {
            let answer = answer.clone();
            Box::pin(async move {
                let Some(seen) = read(&mut stream).await else { return };
                let pieces = answer(&seen);
                log.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
                for piece in pieces {
                    if stream.write_all(&piece).await.is_err() || stream.flush().await.is_err() {
                        return;
                    }
                }
                let _ = stream.shutdown().await;
            })
        })
    }

    /// Starts TLS for `names` in front of a plain server. What passes is not remembered.
    #[must_use]
    pub fn in_front_of(names: &[&str], server: SocketAddr) -> Self {
        Self::serving(names, move |mut stream, _log| {
            Box::pin(async move {
                #[expect(clippy::disallowed_methods, reason = "a server of the tests is no way out of the host")]
                let plain = TcpStream::connect(server).await;
                if let Ok(mut plain) = plain {
                    let _ = copy_bidirectional(&mut stream, &mut plain).await;
                }
            })
        })
    }
}

/// A request: its head, and as much of a body as it declares.
async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Seen> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        read_more(stream, &mut bytes).await?;
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let mut words = lines.next()?.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let fields = lines.filter_map(|line| line.split_once(": "));
    let headers = fields.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
    let mut seen = Seen { method, path, headers, body: Vec::new() };
    let length = seen.header("content-length").map_or(Some(0), |length| length.parse().ok())?;
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        read_more(stream, &mut body).await?;
    }
    seen.body = body;
    Some(seen)
}

async fn read_more(stream: &mut (impl AsyncRead + Unpin), bytes: &mut Vec<u8>) -> Option<()> {
    let mut chunk = [0; 4096];
    let count = stream.read(&mut chunk).await.ok().filter(|count| *count > 0)?;
    bytes.extend_from_slice(&chunk[..count]);
    Some(())
}
