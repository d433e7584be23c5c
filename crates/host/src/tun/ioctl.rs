//! The ioctls of the TUN driver and of network interfaces, in the kernel's layouts.
//!
//! By hand: crates for TUN devices know neither `TUNSETLINK` nor `TUNSETCARRIER`, and cut
//! super-frames.

use std::os::fd::BorrowedFd;

use rustix::io::{Errno, Result};
use rustix::ioctl::{IntegerSetter, Opcode, Setter, Updater, ioctl, opcode};

/// `struct ifreq` with a short in its union: name, then flags (if.h).
#[repr(C)]
#[derive(Clone, Copy)]
struct IfReqFlags {
    name: [u8; libc::IFNAMSIZ],
    flags: u16,
    rest: [u8; 22],
}

const _: () = assert!(size_of::<IfReqFlags>() == size_of::<libc::ifreq>());

impl IfReqFlags {
    /// `None`: the name is too long for an interface.
    fn new(name: &str, flags: u16) -> Option<Self> {
        let mut bytes = [0; libc::IFNAMSIZ];
        if name.is_empty() || name.len() >= bytes.len() || name.bytes().any(|byte| byte == 0) {
            return None;
        }
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        Some(Self {
            name: bytes,
            flags,
            rest: [0; 22],
        })
    }
}

// linux/if_tun.h
const TUNSETIFF: Opcode = opcode::write::<libc::c_int>(b'T', 202);
const TUNSETLINK: Opcode = opcode::write::<libc::c_int>(b'T', 205);
const TUNSETOFFLOAD: Opcode = opcode::write::<libc::c_uint>(b'T', 208);
const TUNSETVNETHDRSZ: Opcode = opcode::write::<libc::c_int>(b'T', 216);
const TUNSETCARRIER: Opcode = opcode::write::<libc::c_int>(b'T', 226);

/// Attaches an open `/dev/net/tun` to a new interface.
pub(super) fn set_iff(tun: BorrowedFd<'_>, name: &str, flags: u16) -> Result<()> {
    let mut request = IfReqFlags::new(name, flags).ok_or(Errno::INVAL)?;
    // JUSTIFICATION: ioctls have no safe form.
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq`, whose size `IfReqFlags` has.
    unsafe { ioctl(tun, Updater::<TUNSETIFF, _>::new(&mut request)) }
}

/// Sets the hardware type (`ARPHRD_*`) of the interface, which must be down.
pub(super) fn set_link(tun: BorrowedFd<'_>, hardware_type: u16) -> Result<()> {
    // JUSTIFICATION: ioctls have no safe form.
    // SAFETY: TUNSETLINK takes its argument by value and touches no memory of ours.
    unsafe {
        ioctl(
            tun,
            IntegerSetter::<TUNSETLINK>::new_usize(usize::from(hardware_type)),
        )
    }
}

/// Says which offloads the reader of the device can take (`TUN_F_*`).
pub(super) fn set_offload(tun: BorrowedFd<'_>, offloads: u32) -> Result<()> {
    // JUSTIFICATION: ioctls have no safe form.
    // SAFETY: TUNSETOFFLOAD takes its argument by value and touches no memory of ours.
    unsafe {
        ioctl(
            tun,
            IntegerSetter::<TUNSETOFFLOAD>::new_usize(offloads as usize),
        )
    }
}

/// Sets the size of the `virtio_net_hdr` in front of each packet.
pub(super) fn set_vnet_header_size(tun: BorrowedFd<'_>, size: i32) -> Result<()> {
    // JUSTIFICATION: ioctls have no safe form.
    // SAFETY: TUNSETVNETHDRSZ reads one int.
    unsafe { ioctl(tun, Setter::<TUNSETVNETHDRSZ, libc::c_int>::new(size)) }
}

/// Says whether there is a signal on the wire.
pub(super) fn set_carrier(tun: BorrowedFd<'_>, on: bool) -> Result<()> {
    // JUSTIFICATION: ioctls have no safe form.
    // SAFETY: TUNSETCARRIER reads one int.
    unsafe {
        ioctl(
            tun,
            Setter::<TUNSETCARRIER, libc::c_int>::new(i32::from(on)),
        )
    }
}

/// Sets an interface of the current network namespace up, through any socket in it.
pub(crate) fn set_up(socket: BorrowedFd<'_>, name: &str) -> Result<()> {
    // SIOCGIFFLAGS and SIOCSIFFLAGS (linux/sockios.h) carry no size or direction, unlike later
    // ioctls.
    const GET: Opcode = 0x8913;
    const SET: Opcode = 0x8914;
    let mut request = IfReqFlags::new(name, 0).ok_or(Errno::INVAL)?;
    // JUSTIFICATION: ioctls have no safe form.
    // SAFETY: SIOCGIFFLAGS reads and writes one `struct ifreq`, whose size `IfReqFlags` has.
    unsafe { ioctl(socket, Updater::<GET, _>::new(&mut request)) }?;
    // IFF_UP is 1.
    request.flags |= 1;
    // JUSTIFICATION: ioctls have no safe form.
    // SAFETY: SIOCSIFFLAGS reads one `struct ifreq`, whose size `IfReqFlags` has.
    unsafe { ioctl(socket, Setter::<SET, _>::new(request)) }
}
