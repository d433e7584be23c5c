//! The two messages on the socket: a client's `softib-exec 1 HOST\n`, and the daemon's answer,
//! either `ok` with a host, a path and one or two file descriptors, or `error` with a sentence.

use std::io::{self, BufRead, BufReader, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::{NamespaceFds, Ticket, read_limited};
use crate::error::HostError;

const GREETING: &str = "softib-exec 1 ";
/// Longest message either side accepts.
const MESSAGE_MAX: u64 = 8 * 1024;
/// How long either side waits for the other.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends a client's request.
pub(super) fn send_request(stream: &mut UnixStream, host: &str) -> io::Result<()> {
    if host.contains('\n') {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "a host's name has no line break",
        ));
    }
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{GREETING}{host}\n").as_bytes())
}

/// Reads a client's request: the host's name.
pub(super) fn receive_request(stream: &UnixStream) -> io::Result<String> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(stream)
        .take(MESSAGE_MAX)
        .read_line(&mut line)?;
    line.strip_prefix(GREETING)
        .and_then(|rest| rest.strip_suffix('\n'))
        .map(str::to_owned)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a softib-exec request"))
}

/// Sends the daemon's answer.
pub(super) fn send_answer(
    stream: &mut UnixStream,
    answer: &Result<Ticket, String>,
) -> io::Result<()> {
    let ticket = match answer {
        Ok(ticket) => ticket,
        Err(sentence) => return stream.write_all(format!("error\n{sentence}").as_bytes()),
    };
    let text = format!("ok\n{}\n{}", ticket.host, ticket.hosts_file.display());
    let fds: Vec<_> = std::iter::once(ticket.namespaces.net.as_fd())
        .chain(ticket.namespaces.user.as_ref().map(AsFd::as_fd))
        .collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(io::Error::other("no room for two file descriptors"));
    }
    let sent = sendmsg(
        &*stream,
        &[IoSlice::new(text.as_bytes())],
        &mut control,
        SendFlags::NOSIGNAL,
    )?;
    // The file descriptors went with the first octets.
    stream.write_all(text.as_bytes().get(sent..).unwrap_or_default())
}

/// Reads the daemon's answer. The outer error: it could not be read.
pub(super) fn receive_ticket(
    stream: &mut UnixStream,
) -> Result<Result<Ticket, HostError>, HostError> {
    let mut first = [0; 1024];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let failed = |error: io::Error| HostError::system("read the daemon's answer", error);
    let received = recvmsg(
        &*stream,
        &mut [IoSliceMut::new(&mut first)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )
    .map_err(|error| failed(error.into()))?;
    let mut fds: Vec<OwnedFd> = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(more) = message {
            fds.extend(more);
        }
    }
    let mut bytes = first.get(..received.bytes).unwrap_or_default().to_vec();
    bytes.extend(read_limited(stream, MESSAGE_MAX).map_err(failed)?);
    let text = String::from_utf8(bytes)
        .map_err(|_| HostError::Protocol("text that is not UTF-8".to_owned()))?;
    if let Some(sentence) = text.strip_prefix("error\n") {
        return Ok(Err(HostError::NoSuchHost(sentence.to_owned())));
    }
    let mut fds = fds.into_iter();
    let parts = text
        .strip_prefix("ok\n")
        .and_then(|rest| rest.split_once('\n'));
    match (parts, fds.next()) {
        (Some((host, hosts_file)), Some(net)) => Ok(Ok(Ticket {
            namespaces: NamespaceFds {
                user: fds.next(),
                net,
            },
            host: host.to_owned(),
            hosts_file: PathBuf::from(hosts_file),
        })),
        _ => Err(HostError::Protocol(format!("{text:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_ticket_crosses_the_socket_with_its_file_descriptors() {
        let (mut client, mut daemon) = UnixStream::pair().unwrap();
        send_request(&mut client, "h1").unwrap();
        assert_eq!(receive_request(&daemon).unwrap(), "h1");
        let net: OwnedFd = File::open("/proc/self/ns/net").unwrap().into();
        let ticket = Ticket {
            namespaces: NamespaceFds { user: None, net },
            host: "h1".to_owned(),
            hosts_file: PathBuf::from("/run/hosts"),
        };
        send_answer(&mut daemon, &Ok(ticket)).unwrap();
        drop(daemon);
        let got = receive_ticket(&mut client).unwrap().unwrap();
        assert_eq!(
            (got.host.as_str(), got.hosts_file.to_str()),
            ("h1", Some("/run/hosts"))
        );
        assert!(got.namespaces.user.is_none());
        let inode = File::from(got.namespaces.net).metadata().unwrap().ino();
        assert_eq!(inode, std::fs::metadata("/proc/self/ns/net").unwrap().ino());
    }

    #[test]
    fn a_refusal_is_told_in_the_daemons_words() {
        let (mut client, mut daemon) = UnixStream::pair().unwrap();
        send_answer(&mut daemon, &Err("there is no host \"h9\"".to_owned())).unwrap();
        drop(daemon);
        let error = receive_ticket(&mut client).unwrap().unwrap_err();
        assert_eq!(error.to_string(), "there is no host \"h9\"");
    }

    #[test]
    fn nonsense_is_refused() {
        let (mut client, daemon) = UnixStream::pair().unwrap();
        client.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        assert!(receive_request(&daemon).is_err());
        let (mut client, mut daemon) = UnixStream::pair().unwrap();
        daemon.write_all(b"ok\nh1\n/x").unwrap();
        drop(daemon);
        assert!(matches!(
            receive_ticket(&mut client),
            Err(HostError::Protocol(_))
        ));
    }
}
