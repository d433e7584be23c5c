//! A running lab: the namespaces of its hosts, their TUN devices, and the worker that holds the
//! subnet.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::fs::File;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use softib_subnet::Subnet;
use softib_subnet::spec::{
    IfaceRef, Impairment, InterfaceSpec, NodeId, NodeKind, NodeSpec, PortRef, SubnetSpec,
};
use softib_subnet::view::SubnetView;

use crate::capture::{self, Capture};
use crate::enter::{NamespaceFds, Server, Ticket};
use crate::error::HostError;
use crate::interface::{Interface, Setup};
use crate::namespace::{NetNamespace, end_processes, is_initial_user_namespace, prepare};
use crate::run_dir::RunDir;
use crate::worker::{Attached, Worker};

/// How often interfaces are looked at by who waits for them.
const LOOK: Duration = Duration::from_millis(5);

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
    /// Addresses with prefix lengths of each interface, in the order of the subnet's
    /// `InterfaceSpec` list.
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
    /// An interface can be used.
    Interface {
        /// Its host's name.
        host: String,
        /// Its name.
        name: String,
        /// How many can be used, this one included.
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
            } => write!(f, "{host} {name} is ready ({done} of {total})"),
        }
    }
}

/// A running lab. Ends with everything in it on [`Runtime::stop`] or drop.
#[derive(Debug)]
pub struct Runtime {
    spec: LabSpec,
    /// Shared with the thread that hands them out.
    hosts: Arc<BTreeMap<NodeId, HostNamespace>>,
    user: Option<Arc<OwnedFd>>,
    /// Dropped before the namespaces: its devices are in them.
    worker: Option<Worker<Subnet>>,
}

#[derive(Debug)]
struct HostNamespace {
    name: String,
    namespace: NetNamespace,
}

impl Runtime {
    /// Starts a lab. Without root's rights this moves the process into a user namespace, so it must
    /// be called before there are other threads.
    ///
    /// # Errors
    /// What is missing on this machine, with what would help. Nothing is left behind then.
    pub fn start(spec: &LabSpec, mut progress: impl FnMut(Progress)) -> Result<Self, HostError> {
        let subnet = Subnet::new(spec.subnet.clone(), spec.seed)
            .map_err(|error| HostError::Spec(error.to_string()))?;
        if prepare()? {
            progress(Progress::UserNamespace);
        }
        raise_file_limit();
        let user = if is_initial_user_namespace() {
            None
        } else {
            let file = File::open("/proc/self/ns/user");
            Some(Arc::new(
                file.map_err(|error| HostError::system("open the user namespace", error))?
                    .into(),
            ))
        };
        let nodes: Vec<_> = hosts(&spec.subnet).collect();
        let mut namespaces = BTreeMap::new();
        let mut interfaces = Vec::new();
        for (done, (id, node, specs)) in nodes.iter().enumerate() {
            let namespace = NetNamespace::new()?;
            let addresses = spec
                .hosts
                .iter()
                .find(|host| host.node == *id)
                .map_or(&[][..], |host| &host.interfaces);
            for (index, interface) in specs.iter().enumerate() {
                let reference = IfaceRef {
                    node: *id,
                    index: u16::try_from(index).unwrap_or(u16::MAX),
                };
                let own = addresses.get(index).map_or(&[][..], Vec::as_slice);
                interfaces.push(attach(
                    &subnet,
                    reference,
                    &node.name,
                    &interface.name,
                    &namespace,
                    own,
                )?);
            }
            namespaces.insert(
                *id,
                HostNamespace {
                    name: node.name.clone(),
                    namespace,
                },
            );
            progress(Progress::Host {
                name: node.name.clone(),
                done: done + 1,
                total: nodes.len(),
            });
        }
        let worker = Worker::start(subnet, interfaces)?;
        worker.call(Subnet::start)?;
        progress(Progress::Subnet);
        Ok(Self {
            spec: spec.clone(),
            hosts: Arc::new(namespaces),
            user,
            worker: Some(worker),
        })
    }

    /// Everything that the subnet shows of itself.
    ///
    /// # Errors
    /// When the worker is gone.
    pub fn view(&self) -> Result<SubnetView, HostError> {
        let mut view = self.call(|subnet, now| subnet.view(now))?;
        view.drops.extend(self.worker()?.drops()?);
        Ok(view)
    }

    /// Runs `action` on the subnet, between two packets, and waits for what it returns.
    ///
    /// # Errors
    /// When the worker is gone.
    pub fn call<T: Send + 'static>(
        &self,
        action: impl FnOnce(&mut Subnet, softib_wire::time::Instant) -> T + Send + 'static,
    ) -> Result<T, HostError> {
        self.worker()?.call(action)
    }

    /// Plugs in or pulls out the cable at `end`.
    ///
    /// # Errors
    /// When there is no cable.
    pub fn set_link_up(&self, end: PortRef, up: bool) -> Result<(), HostError> {
        self.call(move |subnet, now| subnet.set_link_up(now, end, up))?
            .map_err(|error| self.refused(end, &error))
    }

    /// Changes what the cable at `end` does to packets.
    ///
    /// # Errors
    /// When there is no cable.
    pub fn set_impairment(&self, end: PortRef, impairment: Impairment) -> Result<(), HostError> {
        self.call(move |subnet, now| subnet.set_impairment(now, end, impairment))?
            .map_err(|error| self.refused(end, &error))
    }

    /// Sets the MTU of an interface; `None`: it follows its broadcast group.
    ///
    /// # Errors
    /// When it is out of range.
    pub fn set_mtu(&self, interface: IfaceRef, mtu: Option<u32>) -> Result<(), HostError> {
        self.call(move |subnet, now| subnet.set_mtu(now, interface, mtu))?
            .map_err(|error| HostError::Refused(error.to_string()))
    }

    /// Captures all packets that pass a port, both ways, until the capture is dropped.
    ///
    /// # Errors
    /// When there is no such port.
    pub fn capture(&self, port: PortRef) -> Result<Capture, HostError> {
        let node = self.spec.subnet.nodes.get(port.node.index());
        let node = node.ok_or_else(|| HostError::Refused(format!("there is no {port}")))?;
        if port.port == 0 || port.port > node.ports() {
            let NodeSpec { name, .. } = node;
            return Err(HostError::Refused(format!(
                "{name:?} has ports 1 to {}, not {}",
                node.ports(),
                port.port
            )));
        }
        let (tap, capture) = capture::channel();
        self.worker()?.capture(port, tap)?;
        Ok(capture)
    }

    /// Hands out the way into hosts at the run directory's socket, with a hosts file beside it,
    /// until the server is dropped.
    ///
    /// # Errors
    /// When socket or file cannot be made.
    pub fn serve_exec(&self, dir: &RunDir) -> Result<Server, HostError> {
        let hosts_file = dir.hosts_file();
        std::fs::write(&hosts_file, self.hosts_file())
            .map_err(|error| HostError::system(format!("write {}", hosts_file.display()), error))?;
        let (hosts, user) = (Arc::clone(&self.hosts), self.user.clone());
        Server::start(&dir.exec_socket(), move |name| {
            let entry = hosts
                .values()
                .find(|entry| entry.name == name)
                .ok_or_else(|| {
                    let names: Vec<_> = hosts.values().map(|entry| entry.name.as_str()).collect();
                    format!("the lab has no host {name:?}; it has {}", names.join(", "))
                })?;
            let namespaces =
                namespace_fds(entry, user.as_deref()).map_err(|error| error.to_string())?;
            Ok(Ticket {
                namespaces,
                host: name.to_owned(),
                hosts_file: hosts_file.clone(),
            })
        })
    }

    /// The hosts file of every host: `h1` and `h1-ib0` for its first interface, `h1-ib1` for its
    /// second.
    #[must_use]
    pub fn hosts_file(&self) -> String {
        let mut text = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n".to_owned();
        for (id, node, specs) in hosts(&self.spec.subnet) {
            let addresses = self
                .spec
                .hosts
                .iter()
                .find(|host| host.node == id)
                .map_or(&[][..], |host| &host.interfaces);
            for (index, (spec, own)) in specs.iter().zip(addresses).enumerate() {
                for (address, _) in own {
                    let first = if index == 0 {
                        format!("{} ", node.name)
                    } else {
                        String::new()
                    };
                    // Writing into a string cannot fail.
                    let _ = writeln!(text, "{address} {first}{}-{}", node.name, spec.name);
                }
            }
        }
        text
    }

    /// Waits until every interface has carrier and knows that its addresses are its own. `false`:
    /// some have not after `timeout`; the view says why.
    ///
    /// # Errors
    /// When the worker is gone.
    pub fn wait_ready(
        &self,
        timeout: Duration,
        mut progress: impl FnMut(Progress),
    ) -> Result<bool, HostError> {
        let mut waiting: Vec<_> = hosts(&self.spec.subnet)
            .flat_map(|(node, spec, interfaces)| {
                interfaces.iter().zip(0..).map(move |(interface, index)| {
                    (IfaceRef { node, index }, (&spec.name, &interface.name))
                })
            })
            .collect();
        let total = waiting.len();
        let end = Instant::now() + timeout;
        loop {
            let asked: Vec<_> = waiting.iter().map(|(interface, _)| *interface).collect();
            let ready = self.call(move |subnet, _| {
                let is_ready = |interface: &IfaceRef| subnet.is_ready(*interface);
                asked.iter().map(is_ready).collect::<Vec<_>>()
            })?;
            let mut ready = ready.into_iter();
            let mut done = total - waiting.len();
            waiting.retain(|(_, (host, name))| {
                if ready.next() != Some(true) {
                    return true;
                }
                done += 1;
                let (host, name) = ((*host).clone(), (*name).clone());
                progress(Progress::Interface {
                    host,
                    name,
                    done,
                    total,
                });
                false
            });
            if waiting.is_empty() || Instant::now() >= end {
                return Ok(waiting.is_empty());
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Ends the programs that still run on the hosts, then the lab. Returns how many programs there
    /// were.
    pub fn stop(mut self) -> usize {
        self.end()
    }

    fn end(&mut self) -> usize {
        if self.worker.is_none() {
            return 0;
        }
        let programs = end_processes(self.hosts.values().map(|host| &host.namespace));
        self.worker = None;
        programs
    }

    fn worker(&self) -> Result<&Worker<Subnet>, HostError> {
        self.worker.as_ref().ok_or(HostError::WorkerGone)
    }

    /// There is no cable at `end`, in the names of the lab.
    fn refused(&self, end: PortRef, error: &softib_subnet::NoCable) -> HostError {
        HostError::Refused(match self.spec.subnet.nodes.get(end.node.index()) {
            Some(node) => format!("there is no cable at {}[{}]", node.name, end.port),
            None => error.to_string(),
        })
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.end();
    }
}

/// The hosts of a subnet with their interfaces.
fn hosts(subnet: &SubnetSpec) -> impl Iterator<Item = (NodeId, &NodeSpec, &[InterfaceSpec])> {
    subnet
        .nodes
        .iter()
        .zip(0..)
        .filter_map(|(node, index)| match &node.kind {
            NodeKind::Host { interfaces, .. } => Some((NodeId(index), node, interfaces.as_slice())),
            NodeKind::Switch { .. } => None,
        })
}

/// Makes the device of one interface.
fn attach(
    subnet: &Subnet,
    reference: IfaceRef,
    host: &str,
    name: &str,
    namespace: &NetNamespace,
    addresses: &[(IpAddr, u8)],
) -> Result<Attached, HostError> {
    let missing = || HostError::Spec(format!("{host:?} has no interface {name:?} in the subnet"));
    let mtu = subnet.mtu(reference).ok_or_else(missing)?;
    let link_local = subnet.link_local(reference).ok_or_else(missing)?;
    let interface = Interface::create(
        namespace,
        &Setup {
            host,
            name,
            mtu,
            link_local,
            addresses,
        },
    )?;
    Ok(Attached::new(
        reference,
        format!("{host}/{name}"),
        interface,
        mtu,
    ))
}

fn namespace_fds(host: &HostNamespace, user: Option<&OwnedFd>) -> Result<NamespaceFds, HostError> {
    let user = user.map(OwnedFd::try_clone).transpose();
    Ok(NamespaceFds {
        user: user.map_err(|error| HostError::system("duplicate a file descriptor", error))?,
        net: host.namespace.try_clone_fd()?,
    })
}

/// Raises the limit of open files to what this user may have: a lab needs six for each host.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    // Refused: then the lab starts if the limit is enough for it, and says so if not.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    );
}
