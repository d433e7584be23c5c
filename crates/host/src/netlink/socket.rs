//! A routing netlink socket in one network namespace.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{Timeout, set_socket_recv_buffer_size, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
};

use super::message::{Message, NLM_F_DUMP_INTR, NLMSG_DONE, NLMSG_ERROR, Request, messages};

/// Longest answer of the kernel to one read: it fills pages up to 32 KiB.
const BUFFER: usize = 64 * 1024;
/// The kernel answers a request before `send` returns; this only keeps a fault from stopping the
/// lab.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often a table that changes while it is read is read again.
const ATTEMPTS: usize = 5;

/// A socket for requests and their answers.
#[derive(Debug)]
pub(crate) struct Requests {
    fd: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Requests {
    /// Opens a socket in the current network namespace, where it stays.
    pub(crate) fn open() -> io::Result<Self> {
        let fd = open(SocketFlags::CLOEXEC)?;
        set_socket_timeout(&fd, Timeout::Recv, Some(PATIENCE))?;
        Ok(Self {
            fd,
            sequence: 0,
            buffer: vec![0; BUFFER],
        })
    }

    /// Sends a request and waits for what the kernel says to it. The request must ask for an answer
    /// (`NLM_F_ACK`).
    pub(crate) fn change(&mut self, request: Request) -> io::Result<()> {
        self.exchange(request, |_| {}).map(drop)
    }

    /// Sends a request for a table or an entry and hands all entries to `each`. It may see entries
    /// twice when the table changes meanwhile; `restart` is called before each new round.
    pub(crate) fn read<T: Default>(
        &mut self,
        request: &Request,
        mut each: impl FnMut(&mut T, Message<'_>),
    ) -> io::Result<T> {
        let mut entries = T::default();
        for _ in 0..ATTEMPTS {
            entries = T::default();
            let complete = self.exchange(request.clone(), |message| each(&mut entries, message))?;
            if complete {
                break;
            }
        }
        Ok(entries)
    }

    /// Returns whether the answer was consistent.
    fn exchange(
        &mut self,
        request: Request,
        mut each: impl FnMut(Message<'_>),
    ) -> io::Result<bool> {
        self.sequence = self.sequence.wrapping_add(1);
        send(&self.fd, &request.finish(self.sequence), SendFlags::empty())?;
        let mut consistent = true;
        loop {
            let (received, _) = recv(&self.fd, self.buffer.as_mut_slice(), RecvFlags::empty())?;
            for message in messages(self.buffer.get(..received).unwrap_or_default()) {
                // What answers an earlier request that we gave up.
                if message.sequence != self.sequence {
                    continue;
                }
                consistent &= message.flags & NLM_F_DUMP_INTR == 0;
                match message.kind {
                    NLMSG_ERROR => match message.error() {
                        0 => return Ok(consistent),
                        error => return Err(io::Error::from_raw_os_error(error.saturating_neg())),
                    },
                    NLMSG_DONE => return Ok(consistent),
                    _ => each(message),
                }
            }
        }
    }
}

/// A socket that hears of changes.
#[derive(Debug)]
pub(crate) struct Notices {
    fd: OwnedFd,
    buffer: Vec<u8>,
}

/// What one look at [`Notices`] brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// All that had been said.
    All,
    /// The kernel had more to say than fits, and dropped some: everything must be read anew.
    Overrun,
}

impl Notices {
    /// Opens a socket in the current network namespace that hears of `groups` (`RTNLGRP_…`).
    pub(crate) fn open(groups: &[u32]) -> io::Result<Self> {
        let fd = open(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
        bind(&fd, &SocketAddrNetlink::new(0, 0))?;
        // A burst of changes by a person's script should fit. Refused: then overruns happen
        // earlier.
        let _ = set_socket_recv_buffer_size(&fd, 256 * 1024);
        let notices = Self {
            fd,
            buffer: vec![0; BUFFER],
        };
        for group in groups {
            notices.join(*group)?;
        }
        Ok(notices)
    }

    /// Hears of one more group. An error: this kernel does not have it.
    pub(crate) fn join(&self, group: u32) -> io::Result<()> {
        // JUSTIFICATION: rustix has no NETLINK_ADD_MEMBERSHIP, and a bind mask ends at group 31.
        // SAFETY: the option reads one u32, which lives until the call returns; the descriptor is
        // open.
        let result = unsafe {
            libc::setsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_NETLINK,
                libc::NETLINK_ADD_MEMBERSHIP,
                (&raw const group).cast(),
                4,
            )
        };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Hands everything that waits to `each`.
    pub(crate) fn drain(&mut self, mut each: impl FnMut(Message<'_>)) -> io::Result<Heard> {
        let mut heard = Heard::All;
        loop {
            match recv(&self.fd, self.buffer.as_mut_slice(), RecvFlags::empty()) {
                Ok((received, _)) => {
                    messages(self.buffer.get(..received).unwrap_or_default()).for_each(&mut each);
                }
                Err(Errno::WOULDBLOCK) => return Ok(heard),
                Err(Errno::NOBUFS) => heard = Heard::Overrun,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Notices {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A socket of protocol 0, which is `NETLINK_ROUTE`.
fn open(flags: SocketFlags) -> io::Result<OwnedFd> {
    Ok(socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        flags,
        None,
    )?)
}
