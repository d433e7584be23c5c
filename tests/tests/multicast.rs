//! IP multicast between four hosts with a stock tool: members hear it, others do not.

use std::time::Duration;

use softib_tests::{Lab, can_run, has, wait_until};

const FOUR_HOSTS: &str = r#"
[[switch]]
name = "s1"
ports = 8

[[host]]
name = "h1"
switch = "s1"
addresses = ["10.0.0.1/24", "fd00:1b::1/64"]

[[host]]
name = "h2"
switch = "s1"
addresses = ["10.0.0.2/24", "fd00:1b::2/64"]

[[host]]
name = "h3"
switch = "s1"
addresses = ["10.0.0.3/24", "fd00:1b::3/64"]

[[host]]
name = "h4"
switch = "s1"
addresses = ["10.0.0.4/24", "fd00:1b::4/64"]
"#;

#[test]
fn members_hear_ipv4_multicast_and_others_do_not() {
    heard_by_members_only(
        "239.1.2.3",
        |_| "UDP4-RECV:5000,ip-add-membership=239.1.2.3:ib0,reuseaddr".to_owned(),
        "UDP4-DATAGRAM:239.1.2.3:5000,ip-multicast-if=10.0.0.1",
    );
}

#[test]
fn members_hear_ipv6_multicast_and_others_do_not() {
    heard_by_members_only(
        "ff02::1234",
        |_| "UDP6-RECV:5000,ipv6-join-group=[ff02::1234]:ib0,reuseaddr".to_owned(),
        "UDP6-DATAGRAM:[ff02::1234%ib0]:5000",
    );
}

/// h2 and h3 are members, h4 only listens on the port, h1 sends.
fn heard_by_members_only(group: &str, receive: impl Fn(&str) -> String, send: &str) {
    if !can_run() || !has("socat") {
        return;
    }
    let lab = Lab::from_text(FOUR_HOSTS);
    let file = |host: &str| lab.folder.path().join(host).display().to_string();
    let listener = |host: &str, address: &str| {
        lab.spawn(
            host,
            &["socat", "-u", address, &format!("CREATE:{}", file(host))],
        )
    };
    let family = if group.contains(':') {
        "UDP6-RECV"
    } else {
        "UDP4-RECV"
    };
    let _h2 = listener("h2", &receive("h2"));
    let _h3 = listener("h3", &receive("h3"));
    let _h4 = listener("h4", &format!("{family}:5000,reuseaddr"));

    // The subnet administrator knows the members before anybody sends.
    wait_until("h2 and h3 are members", Duration::from_secs(15), || {
        lab.show("groups").as_array().is_some_and(|groups| {
            groups.iter().any(|row| {
                let members = row["members"].to_string();
                row["ip"].as_str() == Some(group)
                    && members.contains("h2")
                    && members.contains("h3")
            })
        })
    });
    let count = |host: &str, line: &str| {
        std::fs::read_to_string(file(host)).map_or(0, |text| text.matches(line).count())
    };
    for number in 0..20 {
        let line = format!("message {number} to the group\n");
        let _ = lab.run(
            "h1",
            &[
                "sh",
                "-c",
                &format!("printf '{line}' | socat -u - '{send}'"),
            ],
        );
    }
    wait_until("both members heard all", Duration::from_secs(10), || {
        count("h2", "to the group") == 20 && count("h3", "to the group") == 20
    });
    assert_eq!(
        count("h4", "to the group"),
        0,
        "h4 is no member but heard the group"
    );
    let h4 = lab.run("h4", &["ip", "-s", "-j", "link", "show", "ib0"]);
    assert!(h4.contains("ib0"));
}
