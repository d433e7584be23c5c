//! TUN devices: the ends of IPoIB interfaces in the hosts' IP stacks.

pub(crate) mod ioctl;
