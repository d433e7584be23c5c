//! Two adapters and a switch between them, on real links: what the parts do together.

use proptest::prelude::*;
use softib_wire::addr::{Gid, Guid, Lid, QKey, Qpn, Sl};
use softib_wire::mad::node::SwitchInfo;
use softib_wire::time::{Duration, Instant};
use softib_wire::units::PortState;

use crate::frame::{Frame, Gso, GsoKind, Offload, Pool};
use crate::hca::{
    AddressVector, CompletionKind, CqId, GlobalRoute, Hca, HcaConfig, QpCaps, QpId, QpKind,
    Received, UdSend,
};
use crate::link::{End, Impairment, Link, LinkConfig, LinkNotice};
use crate::port::PortConfig;
use crate::switch::{Switch, SwitchConfig};
use crate::testing::{GROUP, NOW, bring};

const QKEY: QKey = QKey::new(0x0b1b);
const MLID: Lid = Lid::new(0xC000);

/// Adapter i has LID i + 1 and is on port i + 1 of the switch. Ends A of links are adapters.
struct Bench {
    now: Instant,
    hcas: [Hca; 2],
    qps: [QpId; 2],
    cqs: [CqId; 2],
    links: [Link; 2],
    switch: Switch,
    received: [Vec<Received>; 2],
}

impl Bench {
    fn new(impairments: [Impairment; 2]) -> Self {
        let mut hcas = [0, 1].map(|index| {
            Hca::new(HcaConfig {
                node_guid: Guid::new(0x10 + index),
                system_image_guid: Guid::new(0x10 + index),
                ports: vec![PortConfig::new(Guid::new(0x20 + index))],
                description: String::new(),
            })
        });
        let cqs = [0, 1].map(|index: usize| hcas[index].create_cq(100_000));
        let caps = QpCaps {
            send: 10_000,
            recv: 100_000,
            block_multicast_loopback: true,
        };
        let qps = [0, 1].map(|index: usize| {
            let hca = &mut hcas[index];
            let id = hca
                .create_qp(1, QpKind::Ud, cqs[index], cqs[index], caps)
                .unwrap();
            hca.activate_ud_qp(id, QKEY, 0).unwrap();
            hca.post_recv(id, 100_000).unwrap();
            hca.attach_multicast(id, GROUP, MLID).unwrap();
            id
        });
        let mut switch = Switch::new(SwitchConfig {
            node_guid: Guid::new(0x99),
            system_image_guid: Guid::new(0x99),
            ports: 2,
            description: String::new(),
            port: PortConfig::new(Guid::default()),
        });
        let mut linear = [0xFF; 64];
        linear[1..3].copy_from_slice(&[1, 2]);
        switch.linear_fdb_mut().set_block(0, &linear).unwrap();
        switch
            .multicast_fdb_mut()
            .set_block(0, 0, &[0b110; 32])
            .unwrap();
        let info = SwitchInfo {
            linear_fdb_top: Lid::new(2),
            ..switch.switch_info()
        };
        switch.set_switch_info(&info).unwrap();
        let mut seed = 0;
        let links = impairments.map(|impairment| {
            seed += 1;
            Link::new(LinkConfig {
                up: true,
                impairment,
                seed,
                pool: Pool::new(),
            })
        });
        let mut bench = Self {
            now: NOW,
            hcas,
            qps,
            cqs,
            links,
            switch,
            received: [vec![], vec![]],
        };
        bench.settle();
        for port in 1..=2_u8 {
            bring(bench.switch.port_mut(port).unwrap(), 0, PortState::Active);
            let hca = &mut bench.hcas[usize::from(port - 1)];
            bring(hca.port_mut(1).unwrap(), port.into(), PortState::Active);
        }
        bench.settle();
        bench
    }

    /// Carries everything that can be carried now.
    fn settle(&mut self) {
        let now = self.now;
        loop {
            let mut busy = false;
            for index in 0..2 {
                let port = u8::try_from(index).unwrap() + 1;
                let (hca, link) = (&mut self.hcas[index], &mut self.links[index]);
                while let Some(event) = hca.poll_event() {
                    link.handle_event(now, End::A, &event);
                    busy = true;
                }
                while let Some((end, notice)) = link.poll_event() {
                    match (end, notice) {
                        (End::A, LinkNotice::Trained(up)) => hca.handle_link(now, 1, up),
                        (End::A, LinkNotice::Ready(ready)) => hca.handle_ready(now, 1, ready),
                        (End::B, LinkNotice::Trained(up)) => self.switch.handle_link(now, port, up),
                        (End::B, LinkNotice::Ready(ready)) => {
                            self.switch.handle_ready(now, port, ready);
                        }
                    }
                    busy = true;
                }
                if let Some((_, frame)) = hca.poll_transmit() {
                    link.send(now, End::A, frame);
                    busy = true;
                }
                while let Some((end, frame)) = link.poll_deliver(now) {
                    match end {
                        End::A => hca.handle_frame(now, 1, frame),
                        End::B => self.switch.handle_frame(now, port, frame),
                    }
                    busy = true;
                }
                while let Some(completion) = hca.poll_cq(self.cqs[index]) {
                    if let CompletionKind::Receive(received) = completion.kind {
                        self.received[index].push(received);
                    }
                }
            }
            while let Some(event) = self.switch.poll_event() {
                for (index, link) in self.links.iter_mut().enumerate() {
                    if event.port() == u8::try_from(index + 1).ok() {
                        link.handle_event(now, End::B, &event);
                    }
                }
                busy = true;
            }
            if let Some((port, frame)) = self.switch.poll_transmit() {
                self.links[usize::from(port) - 1].send(now, End::B, frame);
                busy = true;
            }
            if !busy {
                return;
            }
        }
    }

    /// Lets time pass until nothing is under way.
    fn run(&mut self) {
        loop {
            self.settle();
            let deadlines = self.links.iter().map(Link::poll_timeout);
            let Some(next) = deadlines
                .chain([self.switch.poll_timeout()])
                .flatten()
                .min()
            else {
                return;
            };
            self.now = self.now.max(next);
            for link in &mut self.links {
                link.handle_timeout(self.now);
            }
            self.switch.handle_timeout(self.now);
        }
    }

    fn send(&mut self, from: usize, payload: Frame, multicast: bool) {
        let to = 1 - from;
        let global = multicast.then_some(GlobalRoute {
            dgid: GROUP,
            sgid_index: 0,
            flow_label: 0,
            hop_limit: 0,
            traffic_class: 0,
        });
        let request = UdSend {
            wr_id: 0,
            address: AddressVector {
                dlid: if multicast {
                    MLID
                } else {
                    Lid::new(u16::try_from(to + 1).unwrap())
                },
                sl: Sl::default(),
                path_bits: 0,
                rate: None,
                global,
            },
            dest_qpn: if multicast {
                Qpn::MULTICAST
            } else {
                self.qps[to].qpn()
            },
            qkey: QKEY,
            pkey_index: None,
            payload,
            signaled: false,
        };
        self.hcas[from]
            .post_ud_send(self.qps[from], request)
            .unwrap();
    }
}

#[test]
fn unicast_and_multicast_both_ways() {
    let mut bench = Bench::new([Impairment::default(); 2]);
    let pool = Pool::new();
    for from in 0..2 {
        for multicast in [false, true] {
            let payload = pool.frame_from(b"over the switch");
            let place = payload.bytes().as_ptr();
            bench.send(from, payload, multicast);
            bench.settle();
            let received = bench.received[1 - from].pop().unwrap();
            assert_eq!(received.payload.bytes(), b"over the switch");
            assert_eq!(
                received.payload.bytes().as_ptr(),
                place,
                "the octets never moved"
            );
            assert_eq!(received.src_qpn, bench.qps[from].qpn());
            assert_eq!(received.grh.is_some(), multicast);
            assert!(bench.received[from].is_empty());
        }
    }
    let own = Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, Guid::new(0x20));
    assert_eq!(bench.hcas[0].port(1).unwrap().gid(0), Some(own));
}

/// A fast sender, a slow second link: the switch holds the first link back, which holds the adapter
/// back, and every packet arrives.
#[test]
fn backpressure_through_a_switch() {
    let slow = Impairment {
        rate: Some(100_000_000),
        ..Impairment::default()
    };
    for first in [
        Impairment::default(),
        Impairment {
            rate: Some(1_000_000_000),
            ..slow
        },
    ] {
        let mut bench = Bench::new([first, slow]);
        let pool = Pool::new();
        let count = 5000_u32;
        for number in 0..count {
            let mut payload = pool.frame_from(&[0; 1500]);
            payload.bytes_mut()[..4].copy_from_slice(&number.to_be_bytes());
            bench.send(0, payload, false);
        }
        bench.settle();
        // What does not fit waits in the adapter.
        assert!(bench.received[1].len() < 10);
        assert!(bench.hcas[0].port(1).unwrap().counters.transmit_packets < u64::from(count) / 2);
        bench.run();
        let numbers: Vec<_> = bench.received[1]
            .iter()
            .map(|received| u32::from_be_bytes(*received.payload.bytes().first_chunk().unwrap()))
            .collect();
        assert_eq!(numbers, (0..count).collect::<Vec<_>>());
        for port in 1..=2 {
            assert_eq!(bench.switch.port(port).unwrap().counters.drops.total(), 0);
        }
        assert!(bench.hcas[0].port(1).unwrap().counters.transmit_wait > 0);
        let expected = Duration::from_nanos(u64::from(count) * (1500 + 34) * 8 * 10);
        let took = bench.now.saturating_since(NOW);
        assert!(
            took >= expected && took < expected + Duration::from_millis(5),
            "{took:?}"
        );
    }
}

#[test]
fn a_pulled_cable_comes_back() {
    let mut bench = Bench::new([Impairment::default(); 2]);
    bench.links[1].set_up(false);
    bench.settle();
    bench.send(0, Pool::new().frame_from(b"lost"), false);
    bench.settle();
    assert!(bench.received[1].is_empty());
    bench.links[1].set_up(true);
    bench.settle();
    bring(bench.switch.port_mut(2).unwrap(), 0, PortState::Active);
    bring(bench.hcas[1].port_mut(1).unwrap(), 2, PortState::Active);
    bench.send(0, Pool::new().frame_from(b"found"), false);
    bench.settle();
    assert_eq!(bench.received[1].len(), 1);
    assert_eq!(bench.switch.port(2).unwrap().counters.transmit_discards, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    /// A large send cut on its way, at the first link, at the second or nowhere: what is counted
    /// and, cut at the end, what arrives are the same.
    #[test]
    fn cut_anywhere(payload in 1_usize..60_000, size in 500_u16..2004, multicast: bool) {
        let mut ip = Vec::new();
        etherparse::PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
            .tcp(5001, 5002, 1, 1000)
            .write(&mut ip, &vec![0x5A; payload])
            .unwrap();
        let cutting = Impairment { delay: Duration::from_micros(1), ..Impairment::default() };
        let outcomes = [(false, false), (true, false), (false, true), (true, true)].map(|(first, second)| {
            let impairment = |cut| if cut { cutting } else { Impairment::default() };
            let mut bench = Bench::new([impairment(first), impairment(second)]);
            let pool = Pool::new();
            let mut frame = pool.frame_from(&ip);
            frame.set_offload(Some(Offload {
                needs_checksum: true,
                checksum_start: 20,
                checksum_offset: 16,
                gso: Some(Gso { kind: GsoKind::Tcp4, size, header_len: 40, ecn: false }),
            }));
            frame.push_front(4).copy_from_slice(&[8, 0, 0, 0]);
            bench.send(0, frame, multicast);
            bench.run();
            let arrived: Vec<Vec<u8>> = bench.received[1]
                .iter()
                .flat_map(|received| crate::frame::cut(&received.payload, &pool).collect::<Vec<_>>())
                .map(|frame| frame.bytes().to_vec())
                .collect();
            let counters: Vec<_> = [
                &bench.hcas[0].port(1).unwrap().counters,
                &bench.switch.port(1).unwrap().counters,
                &bench.switch.port(2).unwrap().counters,
                &bench.hcas[1].port(1).unwrap().counters,
            ]
            .into_iter()
            .cloned()
            .collect();
            (arrived, counters)
        });
        prop_assert_eq!(outcomes[0].0.len(), payload.div_ceil(size.into()));
        for outcome in &outcomes[1..] {
            prop_assert_eq!(outcome, &outcomes[0]);
        }
    }
}
