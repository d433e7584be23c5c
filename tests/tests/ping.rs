//! Two hosts, one switch: `ping` in all its sizes, and what `ip` and `ifconfig` say of `ib0`.

use softib_tests::{Lab, can_run, example, stderr};

const COUNT: [&str; 6] = ["-c", "20", "-i", "0.05", "-W", "2"];

fn ping(lab: &Lab, more: &[&str]) -> (u32, u32) {
    let mut arguments = COUNT.to_vec();
    arguments.extend(more);
    lab.ping("h1", &arguments)
}

#[test]
fn ipv4_and_ipv6_answer_every_time() {
    if !can_run() {
        return;
    }
    let lab = Lab::up(&example("two-hosts.toml"));
    assert_eq!(ping(&lab, &["10.0.0.2"]), (20, 20));
    assert_eq!(ping(&lab, &["fd00:1b::2"]), (20, 20));

    // The link-local address is made of the port GUID: ask the other host for it.
    let addresses = lab.run(
        "h2",
        &[
            "ip", "-6", "-o", "address", "show", "dev", "ib0", "scope", "link",
        ],
    );
    let link_local = addresses
        .split_whitespace()
        .find(|word| word.starts_with("fe80::"))
        .and_then(|word| word.split('/').next())
        .unwrap_or_else(|| panic!("h2 has no link-local address:\n{addresses}"));
    assert_eq!(ping(&lab, &[&format!("{link_local}%ib0")]), (20, 20));

    // By name: every host has the names of all hosts.
    assert_eq!(ping(&lab, &["h2"]), (20, 20));
}

#[test]
fn mtu_is_2044_to_the_octet() {
    if !can_run() {
        return;
    }
    let lab = Lab::up(&example("two-hosts.toml"));
    // 2,016 + 8 (ICMP) + 20 (IPv4) = 2,044.
    assert_eq!(
        ping(&lab, &["-s", "2016", "-M", "do", "10.0.0.2"]),
        (20, 20)
    );
    let refused = lab.try_run(
        "h1",
        &["ping", "-c", "1", "-s", "2017", "-M", "do", "10.0.0.2"],
    );
    assert!(!refused.status.success());
    assert!(
        stderr(&refused).to_lowercase().contains("message too long"),
        "{}",
        stderr(&refused)
    );
    // 60,000 octets travel in 30 fragments.
    assert_eq!(ping(&lab, &["-s", "60000", "10.0.0.2"]), (20, 20));
    assert_eq!(ping(&lab, &["-s", "60000", "fd00:1b::2"]), (20, 20));
}

#[test]
fn stock_tools_see_an_infiniband_interface() {
    if !can_run() {
        return;
    }
    let lab = Lab::up(&example("two-hosts.toml"));
    let link = lab.run("h1", &["ip", "-d", "link", "show", "ib0"]);
    for wanted in ["link/infiniband", "mtu 2044", "LOWER_UP"] {
        assert!(link.contains(wanted), "no {wanted:?} in:\n{link}");
    }
    let interfaces = lab.run("h1", &["ifconfig", "-a"]);
    assert!(
        interfaces.contains("ib0") && interfaces.contains("mtu 2044"),
        "{interfaces}"
    );
}

#[test]
fn mtu_is_4092_on_a_subnet_of_4096() {
    if !can_run() {
        return;
    }
    let text = std::fs::read_to_string(example("two-hosts.toml")).unwrap();
    let lab = Lab::from_text(&format!("mtu = 4096\n{text}"));
    let link = lab.run("h1", &["ip", "-d", "link", "show", "ib0"]);
    assert!(link.contains("mtu 4092"), "{link}");
    let interfaces = lab.run("h1", &["ifconfig", "-a"]);
    assert!(interfaces.contains("mtu 4092"), "{interfaces}");
    assert_eq!(
        ping(&lab, &["-s", "4064", "-M", "do", "10.0.0.2"]),
        (20, 20)
    );
}
