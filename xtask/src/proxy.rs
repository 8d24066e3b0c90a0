//! A proxy that nobody may ask: the host makes its own connections, whatever the variables of a proxy say. The tests
//! run with all of them set to a listener here, which counts.

use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::shell::{Failed, Result};

/// The variables that programs look at, in both cases.
const VARIABLES: [&str; 4] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY"];

/// For the clients of the tests, which speak to servers on this machine and do believe these variables. No host that
/// a capability reaches is called so.
const EXCEPT: &str = "127.0.0.1,localhost";

/// A listener that counts.
pub(crate) struct Proxy {
    url: String,
    asked: Arc<AtomicUsize>,
}

impl Proxy {
    /// Listens for as long as this program runs.
    pub(crate) fn open() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        std::thread::spawn(move || {
            // Whoever connects is counted and turned away.
            for _connection in listener.incoming() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        Ok(Self { url, asked })
    }

    /// Offers it to a program.
    pub(crate) fn offer(&self, command: &mut Command) {
        for variable in VARIABLES {
            command.env(variable, &self.url).env(variable.to_ascii_lowercase(), &self.url);
        }
        command.env("NO_PROXY", EXCEPT).env("no_proxy", EXCEPT);
    }

    /// Fails when anybody asked it.
    pub(crate) fn nobody_asked(&self) -> Result<()> {
        match self.asked.load(Ordering::SeqCst) {
            0 => Ok(()),
            times => Err(Failed(format!("the tests connected to the proxy of the environment {times} times"))),
        }
    }
}
