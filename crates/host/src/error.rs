//! What can go wrong with the operating system, each with a sentence that says what would help.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a lab cannot be set up, or why a program cannot get into it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HostError {
    /// No TUN driver.
    #[error(
        "this machine has no TUN device: /dev/net/tun does not exist. `sudo modprobe tun` loads the driver; \
         a container needs `--device /dev/net/tun`"
    )]
    TunMissing,
    /// The TUN device may not be opened.
    #[error(
        "user {uid} may not open /dev/net/tun. `sudo chmod 0666 /dev/net/tun` allows it, as most \
         distributions do; the device gives no rights outside a user's own namespaces"
    )]
    TunForbidden {
        /// Who tried.
        uid: u32,
    },
    /// The TUN driver refuses something that softib needs.
    #[error(
        "the TUN driver of this kernel refuses {what}: {source}. softib needs Linux 5.4 or later"
    )]
    TunRefused {
        /// What was asked.
        what: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// User namespaces are switched off by a limit.
    #[error(
        "user namespaces are switched off: user.max_user_namespaces is 0. Run softib as root, or allow them with \
         `sudo sysctl user.max_user_namespaces=15000`"
    )]
    UserNamespacesOff,
    /// User namespaces are for root only.
    #[error(
        "this kernel gives user namespaces to root only. Run softib as root, or allow them with \
         `sudo sysctl kernel.unprivileged_userns_clone=1`"
    )]
    UserNamespacesForRoot,
    /// AppArmor takes the rights away inside a user namespace.
    #[error(
        "AppArmor keeps ordinary users from using user namespaces. Run softib as root, or allow them with \
         `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`"
    )]
    UserNamespacesAppArmor,
    /// User namespaces are refused, and nothing known explains why.
    #[error(
        "a user namespace is refused ({source}). Run softib as root; in a container, a seccomp profile \
         often is the reason (`--security-opt seccomp=unconfined`)"
    )]
    UserNamespacesRefused {
        /// What the kernel said.
        source: io::Error,
    },
    /// A user namespace must be made before there are threads.
    #[error(
        "a user namespace can only be made by a process with one thread, and this one has {threads}; \
         start the lab before anything else"
    )]
    NotSingleThreaded {
        /// How many there are.
        threads: usize,
    },
    /// No more network namespaces.
    #[error(
        "no more network namespaces are allowed (user.max_net_namespaces). A lab needs one for each host; \
         `sudo sysctl user.max_net_namespaces=15000` raises the limit"
    )]
    TooManyNamespaces,
    /// No more file descriptors.
    #[error(
        "no more open files are allowed. A lab needs six for each host; \
         `ulimit -n 65536` raises the limit in a shell"
    )]
    TooManyFiles,
    /// Netlink refused a change.
    #[error("{interface}: the kernel refuses {what}: {source}")]
    Netlink {
        /// Which interface.
        interface: String,
        /// What was asked.
        what: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The lab's description does not fit together.
    #[error("{0}")]
    Spec(String),
    /// A change that cannot be made.
    #[error("{0}")]
    Refused(String),
    /// A lab of this name runs already.
    #[error(
        "lab {name:?} is already running (process {pid}). Stop it with `softib down --name {name}`, or choose another name"
    )]
    AlreadyRunning {
        /// Its name.
        name: String,
        /// Its daemon.
        pid: u32,
    },
    /// There is no such lab.
    #[error("no lab {name:?} is running; `softib ps` lists those that are")]
    NotRunning {
        /// The name asked for.
        name: String,
    },
    /// A lab name that cannot be a directory.
    #[error(
        "{0:?} cannot be the name of a lab: use 1 to 48 letters, digits, '-', '_' or '.', the first one a letter or digit"
    )]
    BadLabName(String),
    /// A directory of somebody else's.
    #[error("{path} belongs to user {owner} or is open to others; softib needs a directory that only user {uid} can enter", path = .path.display())]
    DirectoryNotOurs {
        /// Which.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// Who wants it.
        uid: u32,
    },
    /// The path of a Unix socket has a limit of 107 octets.
    #[error("{path} is too long for a Unix socket (107 characters); choose a shorter lab name or set XDG_RUNTIME_DIR to a shorter directory", path = .0.display())]
    PathTooLong(PathBuf),
    /// There is no such host in the lab.
    #[error("{0}")]
    NoSuchHost(String),
    /// The daemon speaks another language.
    #[error(
        "the lab's daemon answered something that this softib does not understand: {0}. Stop the lab with the softib that started it"
    )]
    Protocol(String),
    /// The program cannot be started.
    #[error("cannot start {program:?}: {source}")]
    Program {
        /// Which.
        program: String,
        /// Why not.
        source: io::Error,
    },
    /// A capture file is none.
    #[error("{0}")]
    CaptureFile(String),
    /// The worker thread is gone.
    #[error("the lab's worker has stopped")]
    WorkerGone,
    /// Any other system call.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the kernel said.
        source: io::Error,
    },
}

impl HostError {
    /// Wraps what a system call said; `what` completes "cannot …".
    pub(crate) fn system(what: impl Into<String>, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        match source.raw_os_error() {
            Some(libc::EMFILE | libc::ENFILE) => Self::TooManyFiles,
            _ => Self::System {
                what: what.into(),
                source,
            },
        }
    }
}
