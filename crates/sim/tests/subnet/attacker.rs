//! Whatever a broken or malicious device may send, from the port of the last host of a subnet.

use softib_sim::Simulation;
use softib_subnet::spec::PortRef;
use softib_wire::addr::{Lid, PKey, Psn, QKey, Qpn, Sl, Vl};
use softib_wire::crc;
use softib_wire::packet::UdHeaders;

/// Q_Key of QP1 (IBA 3.5.3).
pub(crate) const GSI_QKEY: QKey = QKey::new(0x8001_0000);
/// Q_Key of the default partition's IPoIB interfaces.
pub(crate) const IPOIB_QKEY: QKey = QKey::new(0x0B1B);

/// The LID of a port, 0 of a switch.
pub(crate) fn lid(sim: &Simulation, node: &str, port: u8) -> Lid {
    let view = sim.subnet.view(sim.now());
    let node = view.nodes.into_iter().find(|row| row.name == node);
    let mut ports = node.expect("the node is there").ports.into_iter();
    let port = ports.find(|row| row.port == port);
    Lid::new(port.expect("the port is there").lid)
}

/// The queue pair of a host's first interface.
pub(crate) fn qpn(sim: &Simulation, host: &str) -> Qpn {
    let view = sim.subnet.view(sim.now());
    let row = view.interfaces.into_iter().find(|row| row.host == host);
    let qpn = row.expect("the host is there").qpn;
    Qpn::from_bits_truncate(
        u32::from_str_radix(qpn.trim_start_matches("0x"), 16).expect("a number"),
    )
}

/// Where it sits, and its LID.
#[derive(Debug)]
pub(crate) struct Attacker {
    port: PortRef,
    pub(crate) lid: Lid,
    pub(crate) rng: fastrand::Rng,
}

impl Attacker {
    pub(crate) fn at_last_host(sim: &Simulation, seed: u64) -> Self {
        let host = sim.hosts();
        Self {
            port: sim.port(host - 1),
            lid: lid(sim, &format!("h{host}"), 1),
            rng: fastrand::Rng::with_seed(seed),
        }
    }

    /// Headers of a right datagram.
    pub(crate) fn datagram(&self, dlid: Lid, dest_qpn: Qpn, qkey: QKey) -> UdHeaders {
        UdHeaders {
            vl: if dest_qpn == Qpn::SMI {
                Vl::MANAGEMENT
            } else {
                Vl::default()
            },
            sl: Sl::default(),
            dlid,
            slid: self.lid,
            grh: None,
            solicited: false,
            pkey: PKey::DEFAULT_FULL,
            dest_qpn,
            psn: Psn::from_bits_truncate(7),
            qkey,
            src_qpn: if dest_qpn == Qpn::SMI {
                Qpn::SMI
            } else {
                Qpn::GSI
            },
            immediate: None,
        }
    }

    /// Sends octets as they are, CRCs included.
    pub(crate) fn send_raw(&self, sim: &mut Simulation, bytes: &[u8]) {
        let mut frame = sim.subnet.pool().frame_from(bytes);
        frame.mark_present();
        let now = sim.now();
        sim.subnet.inject(now, self.port, frame).unwrap();
        sim.collect();
    }

    /// Sends octets with the CRCs that are right for them.
    pub(crate) fn send(&self, sim: &mut Simulation, bytes: &[u8]) {
        self.send_raw(sim, &with_crcs(bytes));
    }

    /// Sends a datagram.
    pub(crate) fn send_datagram(&self, sim: &mut Simulation, headers: &UdHeaders, data: &[u8]) {
        self.send(sim, &packet(headers, data));
    }

    /// Sends a MAD of the general services to a port.
    pub(crate) fn send_gmp(&self, sim: &mut Simulation, dlid: Lid, mad: &[u8]) {
        self.send_datagram(sim, &self.datagram(dlid, Qpn::GSI, GSI_QKEY), mad);
    }

    /// Sends an SMP to a port.
    pub(crate) fn send_smp(&self, sim: &mut Simulation, dlid: Lid, mad: &[u8]) {
        self.send_datagram(sim, &self.datagram(dlid, Qpn::SMI, QKey::default()), mad);
    }

    /// Octets without any sense.
    pub(crate) fn noise(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.rng.fill(&mut bytes);
        bytes
    }
}

/// A packet without its CRCs.
pub(crate) fn packet(headers: &UdHeaders, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; headers.len()];
    let pad = headers.emit(&mut bytes, data.len());
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len() + usize::from(pad), 0);
    bytes
}

/// The same with the CRCs that are right for it, if it is long enough to have any.
pub(crate) fn with_crcs(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    // Only packets with a transport header have an ICRC, and one shorter than that is none.
    if bytes.len() >= 20 && bytes[1] & 3 >= 2 {
        bytes.extend_from_slice(&crc::trailer(&bytes));
    } else {
        bytes.extend_from_slice(&crc::vcrc(&bytes).to_le_bytes());
    }
    bytes
}
