//! What `softib demo` runs on hosts when nothing may be assumed to be installed: a ping, and the two
//! ends of a TCP connection.

use std::io::{ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketType, ipproto, recv, sendto, socket, sockopt,
};
use softib_wire::ipoib::checksum::checksum;

use crate::args::{Probe, ProbeKind};
use crate::failure::{Failure, Outcome};
use crate::text::say;

pub(crate) fn probe(args: &Probe) -> Outcome {
    match args.kind {
        ProbeKind::Ping { address, count } => ping(address, count),
        ProbeKind::Sink { address } => sink(address),
        ProbeKind::Source { address, seconds } => source(address, Duration::from_secs(seconds)),
    }
}

/// Prints what a stock `ping` does.
fn ping(address: Ipv4Addr, count: u16) -> Outcome {
    const PATIENCE: Duration = Duration::from_secs(1);
    const PAUSE: Duration = Duration::from_millis(100);

    let id = u16::try_from(std::process::id() & 0xFFFF).unwrap_or(0);
    let socket = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP))
        .map_err(std::io::Error::from)
        .context("a ping needs a raw socket")?;
    let mut received = 0;
    for sequence in 1..=count {
        let request = echo_request(id, sequence);
        let start = Instant::now();
        sendto(
            &socket,
            &request,
            SendFlags::empty(),
            &SocketAddrV4::new(address, 0),
        )
        .map_err(std::io::Error::from)?;
        while let Some(left) = PATIENCE
            .checked_sub(start.elapsed())
            .filter(|left| !left.is_zero())
        {
            sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(left))
                .map_err(std::io::Error::from)?;
            let mut buffer = [MaybeUninit::uninit(); 2048];
            let Ok(((octets, _), _)) = recv(&socket, &mut buffer, RecvFlags::empty()) else {
                break;
            };
            if is_reply(octets, id, sequence) {
                received += 1;
                let time = start.elapsed().as_secs_f64() * 1e3;
                say(format_args!(
                    "64 bytes from {address}: icmp_seq={sequence} time={time:.3} ms"
                ))?;
                break;
            }
        }
        if sequence < count {
            std::thread::sleep(PAUSE);
        }
    }
    say(format_args!(
        "{count} packets transmitted, {received} received"
    ))?;
    if received == count {
        Ok(())
    } else {
        Err(Failure::Failed(anyhow!(
            "{} of {count} requests had no answer",
            count - received
        )))
    }
}

fn echo_request(id: u16, sequence: u16) -> [u8; 64] {
    let mut request = [0; 64];
    request[0] = 8;
    request[4..6].copy_from_slice(&id.to_be_bytes());
    request[6..8].copy_from_slice(&sequence.to_be_bytes());
    let sum = checksum(&request);
    request[2..4].copy_from_slice(&sum.to_be_bytes());
    request
}

/// Whether an IPv4 packet is the answer to that request.
fn is_reply(packet: &[u8], id: u16, sequence: u16) -> bool {
    let header = packet
        .first()
        .map_or(0, |first| usize::from(first & 15) * 4);
    let [id1, id2] = id.to_be_bytes();
    let [s1, s2] = sequence.to_be_bytes();
    packet
        .get(header..header + 8)
        .is_some_and(|icmp| icmp[0] == 0 && icmp[4..8] == [id1, id2, s1, s2])
}

/// Takes a connection and prints how many octets came and how long that took.
fn sink(address: SocketAddr) -> Outcome {
    let listener =
        TcpListener::bind(address).with_context(|| format!("{address} can't be listened on"))?;
    // Whoever starts the other end waits for this.
    say("listening")?;
    let (mut stream, _) = listener.accept()?;
    let mut buffer = vec![0; 256 * 1024];
    let mut octets = 0_u64;
    let start = Instant::now();
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => octets += n as u64,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    say(format_args!("{octets} {}", start.elapsed().as_secs_f64()))?;
    Ok(())
}

/// Sends as much as it can.
fn source(address: SocketAddr, time: Duration) -> Outcome {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))
        .with_context(|| format!("{address} can't be reached"))?;
    let buffer = vec![0x5A; 256 * 1024];
    let start = Instant::now();
    while start.elapsed() < time {
        stream.write_all(&buffer)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_their_checksum() {
        assert_eq!(checksum(&echo_request(0x1234, 7)), 0);
    }

    #[test]
    fn only_the_answer_counts() {
        let mut packet = vec![0x45; 20];
        packet.extend([0, 0, 0, 0, 0x12, 0x34, 0, 7]);
        assert!(is_reply(&packet, 0x1234, 7));
        assert!(!is_reply(&packet, 0x1234, 8));
        packet[20] = 8;
        assert!(!is_reply(&packet, 0x1234, 7));
        assert!(!is_reply(&[], 0, 0));
        assert!(!is_reply(&[0x4F; 21], 0, 0));
    }
}
