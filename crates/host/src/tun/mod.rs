//! TUN devices: the ends of IPoIB interfaces in the hosts' IP stacks.
//!
//! A device is made with `IFF_VNET_HDR` and all offloads, so that the stack hands over a large send
//! whole, with its checksum not yet computed, and takes one so. What comes out of one device goes
//! into another with the same header in front, and nobody between has touched the payload.
//!
//! To the host the device says that it is InfiniBand (`ARPHRD_INFINIBAND`). It has no hardware
//! address: the kernel's TUN driver has no room for one, so it does no address resolution either,
//! and hands every packet to softib.

pub(crate) mod ioctl;
mod vnet;

use std::fs::OpenOptions;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use rustix::io::{Errno, readv, writev};
use softib_fabric::frame::{Frame, Pool};

use crate::error::HostError;
use crate::namespace::outer_uid;

pub(crate) use vnet::BadHeader;

/// Octets of the largest packet that an IP stack hands over.
const LARGEST: usize = 65_536;
/// Packets up to this length are copied out of the read buffer: that costs less than to tie up, and
/// later warm up, 64 KiB for each.
const COPIED: usize = 4_096;

// linux/if_tun.h
const IFF_TUN: u16 = 0x0001;
const IFF_NO_PI: u16 = 0x1000;
const IFF_VNET_HDR: u16 = 0x4000;
const IFF_TUN_EXCL: u16 = 0x8000;
const TUN_F_CSUM: u32 = 0x01;
const TUN_F_TSO4: u32 = 0x02;
const TUN_F_TSO6: u32 = 0x04;
const TUN_F_TSO_ECN: u32 = 0x08;
const TUN_F_USO4: u32 = 0x20;
const TUN_F_USO6: u32 = 0x40;
// linux/if_arp.h
const ARPHRD_INFINIBAND: u16 = 32;

/// An open TUN device.
#[derive(Debug)]
pub(crate) struct Tun {
    fd: OwnedFd,
}

/// Why the kernel did not take a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The interface is down.
    Down,
    /// The kernel has no memory for it at the moment.
    NoMemory,
    /// The kernel finds the packet malformed.
    Malformed,
    /// The interface was deleted.
    Gone,
}

/// What a read brought.
#[derive(Debug)]
pub(crate) enum Read {
    /// An IP packet.
    Packet(Frame),
    /// A packet whose header contradicts it.
    Bad(BadHeader),
    /// Nothing at the moment.
    Nothing,
    /// The interface was deleted.
    Gone,
}

impl Tun {
    /// Makes interface `name` in the current network namespace, down and without carrier.
    pub(crate) fn create(name: &str) -> Result<Self, HostError> {
        let fd: OwnedFd = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/net/tun")
            .map_err(|error| match (error.kind(), error.raw_os_error()) {
                (io::ErrorKind::NotFound, _) | (_, Some(libc::ENODEV | libc::ENXIO)) => {
                    HostError::TunMissing
                }
                (io::ErrorKind::PermissionDenied, _) => {
                    HostError::TunForbidden { uid: outer_uid() }
                }
                _ => HostError::system("open /dev/net/tun", error),
            })?
            .into();
        let tun = fd.as_fd();
        let refused = |what| {
            move |error: Errno| HostError::TunRefused {
                what,
                source: error.into(),
            }
        };
        ioctl::set_iff(tun, name, IFF_TUN | IFF_NO_PI | IFF_VNET_HDR | IFF_TUN_EXCL)
            .map_err(refused("an interface with IFF_VNET_HDR"))?;
        ioctl::set_vnet_header_size(tun, vnet::SIZE)
            .map_err(refused("a virtio_net_hdr of 12 octets"))?;
        let always = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;
        // Linux 6.2 brought UDP segmentation; before, the stack cuts datagrams itself.
        ioctl::set_offload(tun, always | TUN_F_USO4 | TUN_F_USO6)
            .or_else(|_| ioctl::set_offload(tun, always))
            .map_err(refused("TCP segmentation"))?;
        ioctl::set_link(tun, ARPHRD_INFINIBAND).map_err(refused("the hardware type InfiniBand"))?;
        ioctl::set_carrier(tun, false).map_err(refused("to take its carrier away"))?;
        Ok(Self { fd })
    }

    /// Says whether there is a signal on the wire.
    pub(crate) fn set_carrier(&self, on: bool) -> io::Result<()> {
        Ok(ioctl::set_carrier(self.fd.as_fd(), on)?)
    }

    /// Takes a packet from the stack.
    pub(crate) fn read(&self, buffer: &mut ReadBuffer) -> io::Result<Read> {
        let mut header = [0; vnet::LENGTH];
        let frame = &mut buffer.frame;
        let read = loop {
            match readv(
                &self.fd,
                &mut [
                    IoSliceMut::new(&mut header),
                    IoSliceMut::new(frame.spare_mut()),
                ],
            ) {
                Err(Errno::INTR) => {}
                other => break other,
            }
        };
        let read = match read {
            Ok(read) => read,
            Err(Errno::AGAIN) => return Ok(Read::Nothing),
            Err(Errno::BADFD | Errno::IO) => return Ok(Read::Gone),
            Err(error) => return Err(error.into()),
        };
        let length = read.saturating_sub(vnet::LENGTH);
        let mut packet = if length <= COPIED {
            let bytes = frame.spare_mut();
            buffer
                .pool
                .frame_from(bytes.get(..length).unwrap_or_default())
        } else {
            frame.set_len(length);
            std::mem::replace(frame, buffer.pool.alloc(LARGEST))
        };
        match vnet::offload(&header, packet.bytes()) {
            Ok(offload) => packet.set_offload(offload),
            Err(error) => return Ok(Read::Bad(error)),
        }
        Ok(Read::Packet(packet))
    }

    /// Gives a packet to the stack.
    pub(crate) fn write(&self, packet: &Frame) -> Result<(), Refusal> {
        let header = vnet::header(packet.offload());
        loop {
            return match writev(
                &self.fd,
                &[IoSlice::new(&header), IoSlice::new(packet.bytes())],
            ) {
                Ok(_) => Ok(()),
                Err(Errno::INTR) => continue,
                Err(Errno::IO) => Err(Refusal::Down),
                Err(Errno::BADFD) => Err(Refusal::Gone),
                Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) => Err(Refusal::NoMemory),
                Err(_) => Err(Refusal::Malformed),
            };
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Where packets are read into: one large frame, kept until a large packet takes it away.
#[derive(Debug)]
pub(crate) struct ReadBuffer {
    pool: Pool,
    frame: Frame,
}

impl ReadBuffer {
    /// A buffer whose packets come from `pool`.
    pub(crate) fn new(pool: Pool) -> Self {
        let frame = pool.alloc(LARGEST);
        Self { pool, frame }
    }
}
