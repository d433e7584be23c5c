//! Lab files that are right, and what is said of those that are not.

use proptest::prelude::*;
use softib_subnet::spec::{ManagerSpec, NodeKind, PortRef, SubnetSpec};
use softib_subnet::topology::FatTree;
use softib_wire::addr::{Guid, PKey};
use softib_wire::units::Mtu;

use super::*;

const FAT_TREE: &str = include_str!("../../../../examples/fat-tree.toml");

const LISTING: &str = r#"#
# Topology file: generated on a Tuesday
#
vendid=0x2c9
devid=0xb924
sysimgguid=0x200000
switchguid=0x200001(200001)
Switch	8 "S-0000000000200001"		# "Switch1" enhanced port 0 lid 3 lmc 0
[1]	"H-0000000000100001"[1](100002) 		# "node01 HCA-1" lid 1 4xQDR
[2]	"H-0000000000100011"[2](100013) 		# "node02 HCA-1" lid 4 4xQDR

vendid=0x2c9
caguid=0x100001
Ca	2 "H-0000000000100001"		# "node01 HCA-1"
[1](100002) 	"S-0000000000200001"[1]		# lid 1 lmc 0 "Switch1" lid 3 4xQDR

caguid=0x100011
Ca	2 "H-0000000000100011"		# "node02 HCA-1"
[2](100013) 	"S-0000000000200001"[2]		# lid 4 lmc 0 "Switch1" lid 3 4xQDR
"#;

fn parse(text: &str) -> Lab {
    match Lab::parse("lab.toml", text) {
        Ok(lab) => lab,
        Err(error) => panic!("{error}\n{text}"),
    }
}

fn refused(text: &str) -> LabError {
    Lab::parse("lab.toml", text)
        .map(|_| panic!("accepted:\n{text}"))
        .unwrap_err()
}

fn port(lab: &SubnetSpec, name: &str, port: u8) -> PortRef {
    PortRef {
        node: lab.node(name).unwrap(),
        port,
    }
}

#[test]
fn two_hosts() {
    let lab = parse(TWO_HOSTS);
    assert_eq!(lab.name.as_deref(), Some("two-hosts"));
    let spec = &lab.subnet;
    assert_eq!(spec.mtu, Mtu::B2048);
    let names: Vec<_> = spec.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["h1", "h2", "s1"]);
    let ends: Vec<_> = spec.links.iter().map(|link| (link.a, link.b)).collect();
    assert_eq!(
        ends,
        [
            (port(spec, "h1", 1), port(spec, "s1", 1)),
            (port(spec, "h2", 1), port(spec, "s1", 2))
        ]
    );
    assert_eq!(lab.hosts[1].interfaces[0][0], ([10, 0, 0, 2].into(), 24));
    assert_eq!(
        lab.hosts[1].interfaces[0][1],
        ("fd00:1b::2".parse().unwrap(), 64)
    );
}

#[test]
fn the_fat_tree_example_is_what_gen_makes() {
    let lab = parse(FAT_TREE);
    let tree = FatTree::TwoLevels {
        leaves: 2,
        spines: 2,
        hosts_per_leaf: 4,
        parallel: 1,
    };
    same(&lab.subnet, &tree.build(Mtu::B2048).unwrap());
}

#[test]
fn every_key() {
    let lab = parse(
        r#"
        name = "all"
        mtu = 4096
        prefix = "fec0:0:0:1::"
        sm = { node = "s1", priority = 7, sweep = "2s" }

        [[host]]
        name = "h1"
        guid = "0x0002c90300000010"
        ports = 2
        switch = ["s1[5]", "s2"]
        [[host.interface]]
        addresses = ["10.0.0.1/24"]
        [[host.interface]]
        name = "storage"
        port = 2
        pkey = 0x8001
        mtu = 2044
        addresses = ["10.1.0.1/16", "fd00::1/64"]

        [[host]]
        name = "h2"

        [[switch]]
        name = "s1"
        guid = "0002:c902:0000:0001"
        ports = 36
        [[switch]]
        name = "s2"

        [[link]]
        ends = ["s1[1]", "s2[4]"]
        loss = "0.5%"
        delay = "2ms"
        rate = "10G"
        up = false
        [[link]]
        ends = ["h2", "s1"]

        [[partition]]
        pkey = "0x7fff"
        [[partition]]
        pkey = "0x8001"
        members = ["h1"]
        limited = ["h2"]
        ipoib = false
        "#,
    );
    let spec = &lab.subnet;
    assert_eq!(spec.mtu, Mtu::B4096);
    assert_eq!(spec.prefix, 0xfec0_0000_0000_0001);
    assert!(matches!(spec.manager, ManagerSpec::Own { node, priority: 7, .. } if node.0 == 2));
    assert_eq!(spec.nodes[0].guid, Guid::new(0x0002_c903_0000_0010));
    let NodeKind::Host { ports, interfaces } = &spec.nodes[0].kind else {
        panic!()
    };
    assert_eq!((*ports, interfaces.len()), (2, 2));
    assert_eq!(interfaces[1].name, "storage");
    assert_eq!(interfaces[1].pkey, Some(PKey::new(0x8001)));
    assert_eq!(interfaces[1].mtu, Some(2044));
    let ends: Vec<_> = spec.links.iter().map(|link| (link.a, link.b)).collect();
    assert_eq!(
        ends,
        [
            (port(spec, "h1", 1), port(spec, "s1", 5)),
            (port(spec, "h1", 2), port(spec, "s2", 1)),
            (port(spec, "s1", 1), port(spec, "s2", 4)),
            (port(spec, "h2", 1), port(spec, "s1", 2)),
        ]
    );
    assert!(!spec.links[2].up);
    assert_eq!(spec.links[2].impairment.rate, Some(10_000_000_000));
    assert_eq!(spec.partitions.len(), 2);
    assert_eq!(spec.partitions[1].members.len(), 2);
}

#[test]
fn no_manager() {
    assert_eq!(
        parse("sm = \"none\"\n[[host]]\nname = \"h1\"")
            .subnet
            .manager,
        ManagerSpec::None
    );
}

#[test]
fn mistakes_have_a_place_a_key_and_a_way_out() {
    let host = "[[host]]\nname = \"h1\"\n";
    let hosts = "[[host]]\nname = \"h1\"\n[[host]]\nname = \"h2\"\n";
    // Text, line, column, key, words of the message.
    #[rustfmt::skip]
    let cases: Vec<(String, usize, usize, &str, &[&str])> = vec![
        (format!("mtu = 2000\n{host}"), 1, 7, "mtu", &["2000", "2048 or 4096"]),
        (format!("mtu = \"big\"\n{host}"), 1, 7, "mtu", &["big"]),
        (format!("colour = 1\n{host}"), 1, 1, "colour", &["colour", "expected one of"]),
        (format!("{host}adresses = []"), 3, 1, "host.adresses", &["adresses", "addresses"]),
        (format!("{host}addresses = [\"10.0.0.300/24\"]"), 3, 14, "host.addresses", &["10.0.0.300/24", "10.0.0.1/24"]),
        (format!("{host}addresses = [\"10.0.0.1\"]"), 3, 14, "host.addresses", &["prefix length"]),
        (format!("{host}switch = \"s9\""), 3, 10, "host.switch", &["no node \"s9\"", "it has h1"]),
        (format!("{hosts}switch = \"h1\""), 5, 10, "host.switch", &["h1", "is a host"]),
        (format!("{hosts}[[link]]\nends = [\"h1\", \"h9\"]"), 6, 15, "link.ends", &["h9", "h1, h2"]),
        (format!("{hosts}[[link]]\nends = [\"h1\"]"), 6, 8, "link.ends", &["two ends, not 1"]),
        (format!("{hosts}[[link]]\nends = [\"h1[0]\", \"h2\"]"), 6, 9, "link.ends", &["h1 has port 1, not 0"]),
        (format!("{hosts}ports = 2\n[[link]]\nends = [\"h1\", \"h2[3]\"]"), 7, 15, "link.ends", &["ports 1 to 2, not 3", "`ports` of h2"]),
        (format!("{hosts}[[link]]\nends = [\"h1[1]\", \"h2\"]\n[[link]]\nends = [\"h1[1]\", \"h2\"]"), 8, 9, "link.ends", &["port 1 of h1 has a cable"]),
        (format!("{hosts}ports = 1\n[[link]]\nends = [\"h1\", \"h2\"]\n[[link]]\nends = [\"h1\", \"h2\"]"), 9, 9, "link.ends", &["h1 has port 1, and no free one", "set `ports` of h1"]),
        (format!("{hosts}[[link]]\nends = [\"h1\", \"h2\"]\nloss = 1"), 7, 8, "link.loss", &["1%"]),
        (format!("{hosts}[[link]]\nends = [\"h1\", \"h2\"]\ndelay = \"2 weeks\""), 7, 9, "link.delay", &["2ms"]),
        (format!("{host}[[host]]\nname = \"h1\""), 4, 8, "host.name", &["another node", "h1"]),
        (format!("{host}[[host]]\nname = \"a b\""), 4, 8, "host.name", &["a b", "letters"]),
        (format!("name = \"a/b\"\n{host}"), 1, 8, "name", &["a/b"]),
        (format!("sm = \"h7\"\n{host}"), 1, 6, "sm", &["h7", "h1"]),
        (format!("sm = 5\n{host}"), 1, 6, "sm", &["invalid type"]),
        (format!("sm = {{ node = \"h1\", priority = 16 }}\n{host}"), 1, 32, "sm.priority", &["0 to 15"]),
        (format!("prefix = \"fe80\"\n{host}"), 1, 10, "prefix", &["fe80::"]),
        (format!("{host}guid = 0"), 3, 8, "host.guid", &["hexadecimal"]),
        (format!("{host}guid = 5\n[[host]]\nname = \"h2\"\nguid = 6"), 6, 8, "host.guid", &["0x0000000000000006 is taken"]),
        (format!("{host}ports = 0"), 3, 9, "host.ports", &["1 to 15"]),
        (format!("{host}[[host.interface]]\nport = 2\nmtu = 9000"), 5, 7, "host.interface.mtu", &["68 to 2044"]),
        (format!("{host}ports = 1\n[[host.interface]]\nport = 2"), 5, 8, "host.interface.port", &["port 1, not 2"]),
        (format!("{host}[[host.interface]]\npkey = 0x8000"), 4, 8, "host.interface.pkey", &["0x0000 and 0x8000"]),
        (format!("{host}addresses = []\n[[host.interface]]"), 3, 13, "host.addresses", &["[[host.interface]]"]),
        (format!("{hosts}addresses = [\"10.0.0.1/24\", \"10.0.0.1/24\"]"), 5, 29, "host.addresses", &["h2:ib0 already"]),
        (format!("{host}[[partition]]\npkey = 0\n"), 4, 8, "partition.pkey", &["0x0000 and 0x8000"]),
        (format!("{host}[[partition]]\npkey = 1\n[[partition]]\npkey = 0x8001\n"), 6, 8, "partition.pkey", &["0x8001 is there"]),
        (format!("{host}[[partition]]\npkey = 1\nmembers = [\"h1\"]\nlimited = [\"h1\"]"), 6, 12, "partition.limited", &["already"]),
        ("[[host]]\n".to_owned(), 1, 1, "host", &["missing field", "name"]),
        ("[[host]\n".to_owned(), 1, 8, "host", &[]),
        (String::new(), 1, 1, "host", &["no host"]),
        ("hello\n".to_owned(), 1, 6, "", &[]),
    ];
    for (text, line, column, key, words) in cases {
        let error = refused(&text);
        let said = error.to_string();
        assert_eq!(
            (error.line(), error.column(), error.key()),
            (line, column, key),
            "{said}\n\n{text}"
        );
        for word in words {
            assert!(said.contains(word), "no {word:?} in:\n{said}");
        }
    }
}

#[test]
fn how_a_mistake_looks() {
    let said = refused("mtu = 2000\n[[host]]\nname = \"h1\"").to_string();
    assert_eq!(
        said,
        "lab.toml:1:7: mtu: \"2000\" is not an MTU of a subnet\n 1 | mtu = 2000\n   |       ^^^^\n   = write 2048 or 4096"
    );
}

#[test]
fn a_listing() {
    let lab = parse(LISTING);
    let spec = &lab.subnet;
    let names: Vec<_> = spec.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["node01", "node02", "Switch1"]);
    assert_eq!(spec.nodes[1].guid, Guid::new(0x10_0011));
    let ends: Vec<_> = spec.links.iter().map(|link| (link.a, link.b)).collect();
    assert_eq!(
        ends,
        [
            (port(spec, "node01", 1), port(spec, "Switch1", 1)),
            (port(spec, "node02", 2), port(spec, "Switch1", 2)),
        ]
    );
    let NodeKind::Host { interfaces, .. } = &spec.nodes[1].kind else {
        panic!()
    };
    assert_eq!((interfaces.len(), interfaces[0].port), (1, 2));
    assert_eq!(lab.hosts[1].interfaces, [[([10, 0, 0, 2].into(), 8)]]);
}

#[test]
fn a_listing_written_by_hand() {
    let lab = parse(
        "Switch 8 \"sw\"\n[1] \"a\"\n[2] \"b\"\n\nHca 1 \"a\"\n[1] \"sw\"\n\nHca 1 \"b\"\n[1] \"sw\"[2]\n",
    );
    assert_eq!(lab.subnet.links.len(), 2);
}

#[test]
fn mistakes_in_a_listing() {
    for (text, line, words) in [
        ("Switch 8 \"s\"\n", 1, "no channel adapter"),
        ("Ca 1 \"a\"\n[1] \"b\"[1]\n", 2, "no node \"b\""),
        ("Ca 1 \"a\"\n[2] \"b\"[1]\n", 2, "port 1, not 2"),
        ("Ca x \"a\"\n", 0, ""),
        ("Ca 300 \"a\"\n", 1, "number of ports"),
        (
            "Ca 1 \"a\"\n[1] \"b\"[1]\nCa 2 \"b\"\n[2] \"a\"[1]\n",
            2,
            "other end",
        ),
        ("Ca 1 \"a\"\n[1] \"a\"[1]\n", 2, "another port"),
        ("Ca 1 \"a\"\nCa 1 \"a\"\n", 2, "another node"),
        ("Ca 1 a\n", 1, "quotes"),
        ("caguid=0xg\nCa 1 \"a\"\n", 1, "GUID"),
        ("Ca 1 \"a\"\n\n[1] \"b\"\n", 3, "belongs to no node"),
    ] {
        let error = refused(text);
        if line > 0 {
            assert_eq!(error.line(), line, "{error}\n\n{text}");
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}

#[test]
fn generated_labs_are_read_back() {
    for tree in [
        FatTree::TwoLevels {
            leaves: 3,
            spines: 2,
            hosts_per_leaf: 5,
            parallel: 2,
        },
        FatTree::ThreeLevels { radix: 4, pods: 3 },
    ] {
        let spec = tree.build(Mtu::B4096).unwrap();
        let mut text = String::new();
        write::toml(&spec, &mut text).unwrap();
        same(&parse(&text).subnet, &spec);

        let spec = tree.build(Mtu::B2048).unwrap();
        let mut text = String::new();
        write::ibnetdiscover(&spec, &mut text).unwrap();
        same(&parse(&text).subnet, &spec);
    }
}

/// Whether two subnets are one; cables may come in another order and with swapped ends.
fn same(a: &SubnetSpec, b: &SubnetSpec) {
    let nodes = |spec: &SubnetSpec| format!("{:#?}", spec.nodes);
    assert_eq!(nodes(a), nodes(b));
    let links = |spec: &SubnetSpec| {
        let mut ends: Vec<_> = spec
            .links
            .iter()
            .map(|link| {
                if link.a < link.b {
                    (link.a, link.b)
                } else {
                    (link.b, link.a)
                }
            })
            .collect();
        ends.sort_unstable();
        ends
    };
    assert_eq!(links(a), links(b));
    assert_eq!((a.mtu, a.prefix, &a.manager), (b.mtu, b.prefix, &b.manager));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*") {
        let _ = Lab::parse("lab", &text);
    }

    /// Texts made of what lab files and listings are made of.
    #[test]
    fn almost_labs_are_read_or_refused(lines in prop::collection::vec(prop::sample::select(vec![
        "[[host]]", "[[switch]]", "[[link]]", "[[partition]]", "[[host.interface]]",
        "name = \"a\"", "name = \"b\"", "name = \"\u{e9}\"", "ports = 1", "ports = 255", "guid = 1",
        "guid = \"0xffffffffffffffff\"", "switch = \"b\"", "switch = [\"b[1]\", \"b[255]\"]",
        "switch = [1]", "addresses = [\"10.0.0.1/24\"]", "addresses = [\"::1/129\"]", "ends = [\"a\", \"b\"]",
        "ends = [\"a[1]\", \"a[1]\"]", "ends = []", "loss = \"1%\"", "loss = nan", "delay = \"1e9s\"", "rate = inf",
        "pkey = 0x8001", "pkey = -1", "members = [\"a\"]", "limited = [\"a\"]", "mtu = 4096",
        "sm = \"a\"", "sm = { node = \"b\" }", "sm = { node = \"b\", sweep = \"0\" }", "prefix = \"::\"", "",
        "Switch 8 \"a\"", "Ca 2 \"b\" # \"x y\"", "Hca 15 \"c\"", "[1] \"a\"", "[1](2) \"b\"[2]", "[", "[[", "\"",
        "[1] \"b", "[9] \"\"[", "caguid=0x5", "switchguid=0xffffffffffffffff(1)", "caguid=+3", "@x", "# y", "port = 2",
        "interface = []", "port = 16",
    ]), 0..24)) {
        let _ = Lab::parse("lab", &lines.join("\n"));
    }

    /// A good file with a piece of it cut out.
    #[test]
    fn torn_labs_are_read_or_refused(from in 0_usize..4000, length in 0_usize..400, pick in 0_usize..3) {
        let text = [TWO_HOSTS, FAT_TREE, LISTING][pick];
        let from = from % text.len();
        let to = (from + length).min(text.len());
        let _ = Lab::parse("lab", &format!("{}{}", &text[..from], &text[to..]));
    }
}
