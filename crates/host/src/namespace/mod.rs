//! Namespaces: one network namespace a host, and for an ordinary user a user namespace around them
//! all.
//!
//! Namespaces have no names here: they live as long as a file descriptor of this process, a process
//! inside or a device of theirs, so nothing is left behind when the daemon dies.

mod processes;
mod user;

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

pub use processes::end_processes;
pub use user::{has_capabilities, is_initial_user_namespace, outer_uid, prepare};

use crate::error::HostError;

/// A network namespace.
#[derive(Debug)]
pub struct NetNamespace {
    fd: OwnedFd,
}

impl NetNamespace {
    /// Makes a new one, with nothing in it but `lo`, which is set up.
    ///
    /// # Errors
    /// When the kernel refuses it, with the limit that is in the way.
    pub fn new() -> Result<Self, HostError> {
        on_own_thread(|| {
            // JUSTIFICATION: there is no safe way to make a namespace.
            // SAFETY: NEWNET moves only this short-lived thread; it shares no file descriptor table
            // or working directory that others rely on being unshared, which is what rustix warns
            // of.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.map_err(|error| match error {
                Errno::NOSPC => HostError::TooManyNamespaces,
                error => HostError::system("make a network namespace", error),
            })?;
            let fd = File::open("/proc/thread-self/ns/net")
                .map_err(|error| HostError::system("open a network namespace", error))?;
            set_loopback_up()?;
            Ok(Self { fd: fd.into() })
        })
    }

    /// Runs `action` on a thread of its own inside the namespace. Sockets and devices that it opens
    /// stay in the namespace wherever they are used later.
    ///
    /// # Errors
    /// When the namespace cannot be entered; and those of `action`.
    pub fn run<T: Send>(
        &self,
        action: impl FnOnce() -> Result<T, HostError> + Send,
    ) -> Result<T, HostError> {
        on_own_thread(|| {
            move_into_link_name_space(self.fd.as_fd(), Some(LinkNameSpaceType::Network))
                .map_err(|error| HostError::system("enter a network namespace", error))?;
            action()
        })
    }

    /// Another handle of the same namespace, to be given away.
    ///
    /// # Errors
    /// When there are too many open files.
    pub fn try_clone_fd(&self) -> Result<OwnedFd, HostError> {
        self.fd
            .try_clone()
            .map_err(|error| HostError::system("duplicate a file descriptor", error))
    }
}

impl AsFd for NetNamespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Runs `action` on a short-lived thread: namespaces belong to threads, and this one's end with it.
fn on_own_thread<T: Send>(
    action: impl FnOnce() -> Result<T, HostError> + Send,
) -> Result<T, HostError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("softib-netns".to_owned())
            .spawn_scoped(scope, action)
            .map_err(|error| HostError::system("start a thread", error))?;
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Sets `lo` of the current network namespace up.
fn set_loopback_up() -> Result<(), HostError> {
    let socket = socket_with(
        AddressFamily::INET,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .map_err(|error| HostError::system("open a socket", error))?;
    crate::tun::ioctl::set_up(socket.as_fd(), "lo").map_err(|error| HostError::Netlink {
        interface: "lo".to_owned(),
        what: "to set it up".to_owned(),
        source: error.into(),
    })
}
