//! The agent in front of a node that keeps what it is told.

mod keys;
mod port_info;
mod traps;

use proptest::prelude::*;
use softib_wire::addr::{Guid, Lid, MKey, PKey, Vl};
use softib_wire::mad::attribute::{self, Attribute};
use softib_wire::mad::description::NodeDescription;
use softib_wire::mad::node::{NodeInfo, SwitchInfo};
use softib_wire::mad::port_info::PortInfo;
use softib_wire::mad::smp::HopPath;
use softib_wire::mad::tables::{
    self, GuidBlock, LinearBlock, MulticastBlock, NO_PORT, PKeyBlock, SlToVl, VlArbBlock, VlWeight,
};
use softib_wire::time::Duration;

use super::*;
use crate::agents::fake::FakeNode;

const MANAGER: Lid = Lid::new(1);

fn ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// A node and its agent, asked through one of its ports.
struct Bench {
    node: FakeNode,
    sma: Sma,
    arrival: Arrival,
    now: Instant,
    m_key: MKey,
}

impl Bench {
    fn adapter() -> Self {
        let sma = Sma::new(NodeType::ChannelAdapter, 2, 0x5A5A);
        Self::new(FakeNode::adapter(), sma, 1)
    }

    fn switch() -> Self {
        let sma = Sma::new(NodeType::Switch, 4, 0x5A5A);
        Self::new(FakeNode::switch(), sma, 3)
    }

    fn new(node: FakeNode, sma: Sma, port: u8) -> Self {
        let arrival = Arrival {
            port,
            slid: MANAGER,
        };
        Self {
            node,
            sma,
            arrival,
            now: ms(0),
            m_key: MKey::NONE,
        }
    }

    fn hand(&mut self, mad: &Mad) -> Option<Mad> {
        self.sma
            .handle_smp(self.now, &mut self.node, self.arrival, mad)
    }

    fn try_get<A: Attribute>(&mut self, modifier: u32) -> Result<A, MadStatus> {
        let smp = LidSmp::request(method::GET, A::ID, modifier, 99, self.m_key);
        self.perform(&smp)
    }

    fn get<A: Attribute>(&mut self, modifier: u32) -> A {
        self.try_get(modifier).expect("an attribute")
    }

    fn try_set<A: Attribute>(&mut self, modifier: u32, value: &A) -> Result<A, MadStatus> {
        let smp = LidSmp::request(method::SET, A::ID, modifier, 99, self.m_key).with(value);
        self.perform(&smp)
    }

    fn set<A: Attribute>(&mut self, modifier: u32, value: &A) -> A {
        self.try_set(modifier, value).expect("an attribute")
    }

    fn perform<A: Attribute>(&mut self, smp: &LidSmp) -> Result<A, MadStatus> {
        let answer = self.hand(&smp.to_bytes()).expect("an answer");
        let answer = LidSmp::parse(&answer).expect("whole");
        assert_eq!(answer.header.method, method::GET_RESP);
        assert_eq!(answer.header.transaction_id, 99);
        assert_eq!(answer.header.attribute_id, A::ID);
        match answer.header.status {
            MadStatus::OK => Ok(answer.attribute().expect("sound")),
            status => Err(status),
        }
    }

    /// Tells the port its LID and its manager's, and makes it active.
    fn bring_up(&mut self, port: u8) {
        let info = self.node.ports.get_mut(&port).expect("a port");
        info.lid = Lid::new(50 + u16::from(port));
        info.master_sm_lid = MANAGER;
        info.port_state = softib_wire::units::PortState::Active;
    }
}

#[test]
fn a_node_says_what_it_is() {
    let mut bench = Bench::switch();
    let info: NodeInfo = bench.get(0);
    assert_eq!((info.node_type, info.port_count), (NodeType::Switch, 4));
    assert_eq!(info.local_port, 3, "the port that the SMP came in by");
    assert_eq!(bench.get::<NodeDescription>(0).to_string(), "fake");
    bench.arrival.port = 1;
    assert_eq!(bench.get::<NodeInfo>(0).local_port, 1);

    assert_eq!(
        bench.try_get::<NodeInfo>(1).unwrap_err(),
        MadStatus::BAD_FIELD
    );
    assert_eq!(
        bench.try_get::<NodeDescription>(1).unwrap_err(),
        MadStatus::BAD_FIELD
    );
    let refused = bench.try_set(0, &info).unwrap_err();
    assert_eq!(refused, MadStatus::BAD_METHOD_ATTRIBUTE);
    let refused = bench
        .try_set(0, &NodeDescription::from("mine"))
        .unwrap_err();
    assert_eq!(refused, MadStatus::BAD_METHOD_ATTRIBUTE);
}

#[test]
fn switches_have_tables_that_adapters_do_not() {
    let mut adapter = Bench::adapter();
    let unknown = MadStatus::BAD_METHOD_ATTRIBUTE;
    assert_eq!(adapter.try_get::<SwitchInfo>(0).unwrap_err(), unknown);
    assert_eq!(adapter.try_get::<LinearBlock>(0).unwrap_err(), unknown);
    assert_eq!(adapter.try_get::<MulticastBlock>(0).unwrap_err(), unknown);
    for id in [
        attribute::RANDOM_FDB,
        attribute::SM_INFO,
        attribute::NOTICE,
        0x0031,
        0xFFFF,
    ] {
        let smp = LidSmp::request(method::GET, id, 0, 1, MKey::NONE).to_bytes();
        let answer = LidSmp::parse(&adapter.hand(&smp).expect("an answer")).expect("whole");
        assert_eq!(answer.header.status, unknown, "{id:#x}");
    }
}

#[test]
fn forwarding_tables_are_written_and_read_back() {
    let mut bench = Bench::switch();
    let mut linear = [NO_PORT; 64];
    linear[5] = 2;
    assert_eq!(bench.set(1, &linear), linear);
    assert_eq!(bench.get::<LinearBlock>(1), linear);
    assert_eq!(bench.get::<LinearBlock>(0), [NO_PORT; 64]);
    for modifier in [2, 0x1_0000, u32::MAX] {
        assert_eq!(
            bench.try_get::<LinearBlock>(modifier).unwrap_err(),
            MadStatus::BAD_FIELD
        );
        assert_eq!(
            bench.try_set(modifier, &linear).unwrap_err(),
            MadStatus::BAD_FIELD
        );
    }

    let mut multicast = [0_u16; 32];
    multicast[31] = 0b1_0110;
    let modifier = tables::multicast_modifier(0, 0);
    assert_eq!(bench.set(modifier, &multicast), multicast);
    let other = tables::multicast_modifier(1, 0);
    assert_eq!(
        bench.try_set(other, &multicast).unwrap_err(),
        MadStatus::BAD_FIELD
    );
    assert_eq!(bench.node.multicast[&(0, 0)], multicast);
}

#[test]
fn switch_info_keeps_what_cannot_be_written() {
    let mut bench = Bench::switch();
    let before: SwitchInfo = bench.get(0);
    let asked = SwitchInfo {
        linear_fdb_cap: 9999,
        linear_fdb_top: Lid::new(100),
        multicast_fdb_top: Lid::new(0xC004),
        life_time: 20,
        port_state_change: false,
        enhanced_port_0: true,
        ..before
    };
    let after = bench.set(0, &asked);
    let want = SwitchInfo {
        linear_fdb_top: Lid::new(100),
        multicast_fdb_top: Lid::new(0xC004),
        life_time: 20,
        ..before
    };
    assert_eq!(after, want);
    assert!(after.port_state_change, "writing 0 leaves it");
    let clear = SwitchInfo {
        port_state_change: true,
        ..asked
    };
    assert!(
        !bench.set(0, &clear).port_state_change,
        "writing 1 clears it"
    );

    let beyond = SwitchInfo {
        linear_fdb_top: Lid::new(128),
        ..asked
    };
    assert_eq!(bench.try_set(0, &beyond).unwrap_err(), MadStatus::BAD_FIELD);
    assert_eq!(
        bench.try_get::<SwitchInfo>(1).unwrap_err(),
        MadStatus::BAD_FIELD
    );
}

#[test]
fn pkeys_lanes_and_weights_go_by_port() {
    let mut pkeys: PKeyBlock = [PKey::default(); 32];
    pkeys[3] = PKey::new(0x8001);
    let lanes: SlToVl = [Vl::from_bits_truncate(1); 16];
    let weights: VlArbBlock = [VlWeight {
        vl: Vl::default(),
        weight: 4,
    }; 32];

    // A switch: the modifier names the port.
    let mut bench = Bench::switch();
    bench.set(tables::pkey_modifier(2, 0), &pkeys);
    assert_eq!(bench.node.pkeys[&(2, 0)], pkeys);
    assert_ne!(bench.node.pkeys[&(3, 0)], pkeys);
    bench.set(tables::sl_to_vl_modifier(1, 4), &lanes);
    assert_eq!(bench.node.lanes[&(1, 4)], lanes);
    bench.set(tables::vl_arb_modifier(2, 3), &weights);
    assert_eq!(bench.node.arbitration[&(2, 3)], weights);
    let beyond = tables::pkey_modifier(5, 0);
    assert_eq!(
        bench.try_get::<PKeyBlock>(beyond).unwrap_err(),
        MadStatus::BAD_FIELD
    );
    let beyond = tables::sl_to_vl_modifier(1, 9);
    assert_eq!(
        bench.try_get::<SlToVl>(beyond).unwrap_err(),
        MadStatus::BAD_FIELD
    );

    // An adapter: it is the port that the SMP came in by.
    let mut bench = Bench::adapter();
    bench.arrival.port = 2;
    bench.set(tables::pkey_modifier(0, 0), &pkeys);
    assert_eq!(bench.node.pkeys[&(2, 0)], pkeys);
    bench.set(0, &lanes);
    assert_eq!(bench.node.lanes[&(2, 2)], lanes);
    bench.set(tables::vl_arb_modifier(0, 1), &weights);
    assert_eq!(bench.node.arbitration[&(2, 1)], weights);
    let beyond = tables::vl_arb_modifier(0, 4);
    assert_eq!(
        bench.try_set(beyond, &weights).unwrap_err(),
        MadStatus::BAD_FIELD
    );
    assert_eq!(
        bench.try_get::<PKeyBlock>(1).unwrap_err(),
        MadStatus::BAD_FIELD
    );
}

#[test]
fn the_first_guid_stays() {
    let mut bench = Bench::adapter();
    let before: GuidBlock = bench.get(0);
    let asked = [Guid::new(77); 8];
    let after = bench.set(0, &asked);
    assert_eq!(after[0], before[0]);
    assert_eq!(after[1..], asked[1..]);
    assert_eq!(
        bench.try_get::<GuidBlock>(1).unwrap_err(),
        MadStatus::BAD_FIELD
    );
    assert_eq!(
        bench.try_get::<GuidBlock>(256).unwrap_err(),
        MadStatus::BAD_FIELD
    );
    // Of a switch there is one, whatever port it is asked through.
    assert!(Bench::switch().try_get::<GuidBlock>(0).is_ok());
}

/// What is wrong with a request, and what it is answered with.
type Wrong = (fn(&mut MadHeader), MadStatus);

#[test]
fn what_is_wrong_is_said() {
    let mut bench = Bench::adapter();
    let cases: [Wrong; 4] = [
        (|header| header.base_version = 2, MadStatus::BAD_VERSION),
        (|header| header.class_version = 2, MadStatus::BAD_VERSION),
        (
            |header| header.method = method::GET_TABLE,
            MadStatus::BAD_METHOD,
        ),
        (
            |header| header.method = method::REPORT,
            MadStatus::BAD_METHOD,
        ),
    ];
    for (change, status) in cases {
        let mut smp = LidSmp::request(method::GET, attribute::NODE_INFO, 0, 1, MKey::NONE);
        change(&mut smp.header);
        let answer = bench.hand(&smp.to_bytes()).expect("an answer");
        assert_eq!(LidSmp::parse(&answer).expect("whole").header.status, status);
    }
}

#[test]
fn what_is_no_question_is_not_answered() {
    let mut bench = Bench::adapter();
    let mad = |method: u8| LidSmp::request(method, attribute::NODE_INFO, 0, 1, MKey::NONE);
    assert!(bench.hand(&mad(method::GET_RESP).to_bytes()).is_none());
    assert!(bench.hand(&mad(method::TRAP).to_bytes()).is_none());
    assert!(bench.hand(&mad(method::TRAP_REPRESS).to_bytes()).is_none());
    let mut other = mad(method::GET);
    other.header.class = class::PERF_MGT;
    assert!(bench.hand(&other.to_bytes()).is_none());
    assert_eq!(bench.sma.drops().count(SmaDrop::NotARequest), 2);
    assert_eq!(bench.sma.drops().count(SmaDrop::UnknownRepress), 1);
    assert_eq!(bench.sma.drops().count(SmaDrop::WrongClass), 1);
}

#[test]
fn the_answer_to_a_directed_smp_turns_round() {
    let mut bench = Bench::adapter();
    let path = HopPath::new(&[3]).expect("short");
    let id = attribute::NODE_INFO;
    let mut smp = DirectedSmp::request(method::GET, id, 0, 5, MKey::NONE, &path);
    smp.hop_pointer = 2;
    smp.return_path[1] = 1;
    let mut mad = bench.hand(&smp.to_bytes()).expect("an answer");
    let answer = DirectedSmp::parse(&mad).expect("whole");
    let mut want = smp.response_to(MadStatus::OK);
    want.data = answer.data;
    assert_eq!(answer, want);
    assert_eq!(answer.attribute::<NodeInfo>().expect("sound").local_port, 1);
    let decision = smi::send(&mut mad, NodeType::ChannelAdapter, 2);
    assert_eq!(decision, smi::Decision::Forward(1));

    // A refusal, too.
    smp.attribute_id = 0x7777;
    let answer = DirectedSmp::parse(&bench.hand(&smp.to_bytes()).expect("an answer"));
    let answer = answer.expect("whole");
    assert!(answer.returning);
    assert_eq!(answer.status, MadStatus::BAD_METHOD_ATTRIBUTE);
}

proptest! {
    #[test]
    fn any_octets_are_survived(
        mads in prop::collection::vec((prop::collection::vec(any::<u8>(), 256), any::<bool>()), 1..8),
        is_switch: bool,
        port: u8,
    ) {
        let mut bench = if is_switch { Bench::switch() } else { Bench::adapter() };
        bench.arrival.port = port;
        bench.bring_up(if is_switch { 0 } else { 1 });
        for (mut octets, plausible) in mads {
            if plausible {
                octets[0] = 1;
                octets[1] = if octets[1] % 2 == 0 { class::SUBN_LID } else { class::SUBN_DIRECTED };
                octets[2] = 1;
                octets[3] = [method::GET, method::SET, method::TRAP_REPRESS][usize::from(octets[3] % 3)];
                octets[16] = 0;
                octets[17] = 0x10 + octets[17] % 0x12;
                octets[20..23].fill(0);
                octets[23] %= 6;
            }
            let mad: Mad = octets.try_into().expect("256");
            bench.hand(&mad);
            while bench.sma.poll_transmit(bench.now, &bench.node).is_some() {}
            while bench.sma.poll_event().is_some() {}
            bench.now += Duration::from_secs(1);
            bench.sma.handle_timeout(bench.now);
        }
    }
}
