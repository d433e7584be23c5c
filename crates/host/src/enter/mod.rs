//! How a program gets into a host of a running lab.
//!
//! The daemon hands out file descriptors of a host's namespaces over a Unix socket ([`Server`]);
//! the client ([`Ticket::request`]) moves itself into them and becomes the program
//! ([`Ticket::exec`]). So the program is a child of the shell that asked for it: terminal, standard
//! streams, signals and exit status are its own, and the daemon takes no part.

mod message;
mod server;

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

pub use server::Server;

use crate::error::HostError;

/// What lets a program into a host.
#[derive(Debug)]
pub struct NamespaceFds {
    /// The user namespace around the lab, if the lab has one of its own.
    pub user: Option<OwnedFd>,
    /// The host's network namespace.
    pub net: OwnedFd,
}

/// What the daemon gives to a client that wants to run a program on a host.
#[derive(Debug)]
pub struct Ticket {
    /// The namespaces.
    pub namespaces: NamespaceFds,
    /// The host's name; becomes the hostname.
    pub host: String,
    /// File with the names of all hosts; becomes `/etc/hosts`.
    pub hosts_file: PathBuf,
}

impl Ticket {
    /// Asks the daemon behind `socket` for the way into `host`.
    ///
    /// # Errors
    /// When there is no such host, in the daemon's words.
    pub fn request(socket: &Path, host: &str) -> Result<Self, HostError> {
        let what = || format!("ask the lab's daemon at {}", socket.display());
        let mut stream =
            UnixStream::connect(socket).map_err(|error| HostError::system(what(), error))?;
        message::send_request(&mut stream, host)
            .map_err(|error| HostError::system(what(), error))?;
        message::receive_ticket(&mut stream)?
    }

    /// Moves this process into the host and becomes `program`. Returns only when that fails.
    ///
    /// The process must have one thread. Where the host's files cannot be laid over the machine's
    /// (`/sys`, `/etc/hosts`), as in some containers, the program runs without them.
    #[must_use = "it returns only on an error"]
    pub fn exec(self, program: &OsStr, args: &[OsString]) -> HostError {
        if let Err(error) = self.enter() {
            return error;
        }
        let error = Command::new(program)
            .args(args)
            .env("SOFTIB_HOST", &self.host)
            .exec();
        HostError::Program {
            program: program.to_string_lossy().into_owned(),
            source: error,
        }
    }

    /// Moves this process into the host.
    ///
    /// # Errors
    /// When the kernel refuses one of the namespaces.
    pub fn enter(&self) -> Result<(), HostError> {
        if let Some(user) = &self.namespaces.user
            && !is_own_user_namespace(user)
        {
            let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
            if threads > 1 {
                return Err(HostError::NotSingleThreaded { threads });
            }
            move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))
                .map_err(|error| HostError::system("enter the lab's user namespace", error))?;
        }
        move_into_link_name_space(
            self.namespaces.net.as_fd(),
            Some(LinkNameSpaceType::Network),
        )
        .map_err(|error| {
            HostError::system(
                format!("enter the network namespace of {:?}", self.host),
                error,
            )
        })?;
        // JUSTIFICATION: there is no safe way to make a namespace.
        // SAFETY: NEWNS and NEWUTS give this thread mounts and a hostname of its own; file
        // descriptors stay shared, which is what rustix warns of.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS | UnshareFlags::NEWUTS) }
            .map_err(|error| HostError::system("make a mount namespace", error))?;
        mount_change(
            "/",
            MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
        )
        .map_err(|error| HostError::system("make mounts private", error))?;
        if let Err(error) = rustix::system::sethostname(self.host.as_bytes()) {
            tracing::debug!("{}: the hostname stays the machine's: {error}", self.host);
        }
        // /sys/class/net shows the interfaces of the network namespace in which it was mounted.
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC | MountFlags::NODEV;
        let sysfs = mount("sysfs", "/sys", "sysfs", flags, None::<&std::ffi::CStr>);
        if let Err(error) = sysfs {
            tracing::debug!("{}: /sys stays the machine's: {error}", self.host);
        }
        let hosts = CString::new(self.hosts_file.as_os_str().as_encoded_bytes())
            .map_err(|_| HostError::Protocol("a path with a NUL".to_owned()))?;
        if let Err(error) = mount_bind(hosts.as_c_str(), "/etc/hosts") {
            tracing::debug!("{}: /etc/hosts stays the machine's: {error}", self.host);
        }
        Ok(())
    }
}

/// Whether this process is in that user namespace already, as a program inside the lab that starts
/// another is.
fn is_own_user_namespace(user: &OwnedFd) -> bool {
    let (Ok(theirs), Ok(own)) = (
        rustix::fs::fstat(user),
        std::fs::metadata("/proc/self/ns/user"),
    ) else {
        return false;
    };
    (theirs.st_dev, theirs.st_ino) == (own.dev(), own.ino())
}

/// Reads the rest of a stream, but no more than `limit` octets.
fn read_limited(stream: &mut impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
