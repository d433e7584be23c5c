//! The daemon's side: a thread that hands out tickets.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread::JoinHandle;

use rustix::net::{Shutdown, shutdown};

use super::{Ticket, message};
use crate::error::HostError;

/// Hands out tickets on a Unix socket until it is dropped.
#[derive(Debug)]
pub struct Server {
    listener: UnixListener,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens at `path`. `ticket` finds the ticket for a host's name, or says in a sentence why
    /// there is none.
    ///
    /// # Errors
    /// When the socket cannot be made.
    pub fn start(
        path: &Path,
        ticket: impl Fn(&str) -> Result<Ticket, String> + Send + 'static,
    ) -> Result<Self, HostError> {
        let failed =
            |error: io::Error| HostError::system(format!("listen at {}", path.display()), error);
        let listener = UnixListener::bind(path).map_err(failed)?;
        let own = listener.try_clone().map_err(failed)?;
        let thread = std::thread::Builder::new()
            .name("softib-exec".to_owned())
            .spawn(move || serve(&own, ticket))
            .map_err(failed)?;
        Ok(Self {
            listener,
            thread: Some(thread),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Wakes the thread: accept fails from here on.
        let woken = shutdown(self.listener.as_fd(), Shutdown::Both);
        if let (Ok(()), Some(thread)) = (woken, self.thread.take()) {
            // A panic of the thread has been printed; there is nothing to add.
            let _ = thread.join();
        }
    }
}

fn serve(listener: &UnixListener, ticket: impl Fn(&str) -> Result<Ticket, String>) {
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                if let Err(error) = answer(stream, &ticket) {
                    tracing::debug!("a client of the exec socket went away: {error}");
                }
            }
            // Shut down.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return,
            Err(error) => {
                tracing::warn!("exec socket: {error}");
                // Such as no free file descriptor: it may pass.
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
        }
    }
}

fn answer(
    mut stream: UnixStream,
    ticket: impl Fn(&str) -> Result<Ticket, String>,
) -> io::Result<()> {
    let host = message::receive_request(&stream)?;
    message::send_answer(&mut stream, &ticket(&host))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::PathBuf;

    use super::*;
    use crate::enter::NamespaceFds;

    #[test]
    fn serves_until_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("exec.sock");
        let server = Server::start(&path, |host| {
            if host != "h1" {
                return Err(format!("there is no host {host:?}"));
            }
            let net = File::open("/proc/self/ns/net").map_err(|error| error.to_string())?;
            Ok(Ticket {
                namespaces: NamespaceFds {
                    user: None,
                    net: net.into(),
                },
                host: host.to_owned(),
                hosts_file: PathBuf::from("/etc/hosts"),
            })
        })
        .unwrap();
        assert_eq!(Ticket::request(&path, "h1").unwrap().host, "h1");
        assert!(matches!(
            Ticket::request(&path, "h2"),
            Err(HostError::NoSuchHost(_))
        ));
        drop(server);
        assert!(Ticket::request(&path, "h1").is_err());
    }
}
