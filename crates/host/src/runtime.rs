//! A running lab: the namespaces of its hosts, their TUN devices, and the worker that holds the subnet.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use softib_subnet::spec::{IfaceRef, Impairment, NodeId, PortRef, SubnetSpec};
use softib_subnet::view::SubnetView;

use crate::capture::Capture;
use crate::enter::{NamespaceFds, Server};
use crate::error::HostError;
use crate::run_dir::RunDir;

/// What a lab is made of.
#[derive(Debug, Clone)]
pub struct LabSpec {
    /// Name.
    pub name: String,
    /// The subnet, with all its nodes.
    pub subnet: SubnetSpec,
    /// What its hosts have besides.
    pub hosts: Vec<HostSpec>,
    /// Start of all that is random.
    pub seed: u64,
}

/// What a host has besides its place in the subnet.
#[derive(Debug, Clone)]
pub struct HostSpec {
    /// Which node it is.
    pub node: NodeId,
    /// Addresses with prefix lengths of each interface, in the order of the subnet's `InterfaceSpec` list.
    pub interfaces: Vec<Vec<(IpAddr, u8)>>,
}

/// A step of a lab's start.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Rights over own namespaces were got through a user namespace.
    UserNamespace,
    /// A host has its network namespace and devices.
    Host {
        /// Its name.
        name: String,
        /// How many are done, this one included.
        done: usize,
        /// How many there are.
        total: usize,
    },
    /// The subnet runs.
    Subnet,
    /// An interface got carrier.
    Interface {
        /// Its host's name.
        host: String,
        /// Its name.
        name: String,
        /// How many have carrier, this one included.
        done: usize,
        /// How many there are.
        total: usize,
    },
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UserNamespace => f.write_str("user namespace: root inside, nobody outside"),
            Self::Host { name, done, total } => write!(f, "host {name} ({done} of {total})"),
            Self::Subnet => f.write_str("subnet started"),
            Self::Interface {
                host,
                name,
                done,
                total,
            } => write!(f, "{host} {name} has carrier ({done} of {total})"),
        }
    }
}

/// A running lab. Ends with everything in it on [`Runtime::stop`] or drop.
#[derive(Debug)]
pub struct Runtime {
    _private: (),
}

impl Runtime {
    /// Starts a lab. Without root's rights this moves the process into a user namespace, so it must be called before
    /// there are other threads.
    ///
    /// # Errors
    /// What is missing on this machine, with what would help. Nothing is left behind then.
    pub fn start(spec: &LabSpec, mut progress: impl FnMut(Progress)) -> Result<Self, HostError> {
        let _ = spec;
        if crate::namespace::prepare()? {
            progress(Progress::UserNamespace);
        }
        Ok(Self { _private: () })
    }

    /// Everything that the subnet shows of itself.
    ///
    /// # Errors
    /// When the worker is gone.
    pub fn view(&self) -> Result<SubnetView, HostError> {
        Err(HostError::WorkerGone)
    }

    /// Plugs in or pulls out the cable at `end`.
    ///
    /// # Errors
    /// When there is no cable.
    pub fn set_link_up(&self, end: PortRef, up: bool) -> Result<(), HostError> {
        let _ = (end, up);
        Err(HostError::WorkerGone)
    }

    /// Changes what the cable at `end` does to packets.
    ///
    /// # Errors
    /// When there is no cable.
    pub fn set_impairment(&self, end: PortRef, impairment: Impairment) -> Result<(), HostError> {
        let _ = (end, impairment);
        Err(HostError::WorkerGone)
    }

    /// Sets the MTU of an interface; `None`: it follows its broadcast group.
    ///
    /// # Errors
    /// When it is out of range.
    pub fn set_mtu(&self, interface: IfaceRef, mtu: Option<u32>) -> Result<(), HostError> {
        let _ = (interface, mtu);
        Err(HostError::WorkerGone)
    }

    /// Captures all packets that pass a port, both ways, until the capture is dropped.
    ///
    /// # Errors
    /// When there is no such port.
    pub fn capture(&self, port: PortRef) -> Result<Capture, HostError> {
        let _ = port;
        Err(HostError::WorkerGone)
    }

    /// The namespaces of a host, to be given to a program.
    ///
    /// # Errors
    /// When the node is no host.
    pub fn exec_fds(&self, host: NodeId) -> Result<NamespaceFds, HostError> {
        let _ = host;
        Err(HostError::WorkerGone)
    }

    /// Hands out the way into hosts at the run directory's socket, with a hosts file beside it, until the server is dropped.
    ///
    /// # Errors
    /// When socket or file cannot be made.
    pub fn serve_exec(&self, dir: &RunDir) -> Result<Server, HostError> {
        let _ = dir;
        Err(HostError::WorkerGone)
    }

    /// Waits until every interface has carrier. `false`: some have none after `timeout`; the view says why.
    ///
    /// # Errors
    /// When the worker is gone.
    pub fn wait_ready(
        &self,
        timeout: Duration,
        progress: impl FnMut(Progress),
    ) -> Result<bool, HostError> {
        let _ = (timeout, progress);
        Err(HostError::WorkerGone)
    }

    /// Ends the programs that still run on the hosts, then the lab. Returns how many programs there were.
    pub fn stop(self) -> usize {
        0
    }
}
