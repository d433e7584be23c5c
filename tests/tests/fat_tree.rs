//! Eight hosts on two leaves and two spines: every pair talks, and a cut spine link costs less
//! than a second.

use std::time::Duration;

use softib_tests::{Lab, assert_ok, can_run, example, ping_statistics};

#[test]
fn all_pairs_answer() {
    if !can_run() {
        return;
    }
    let lab = Lab::up(&example("fat-tree.toml"));
    for host in 1..=8 {
        // One program a host: it asks all others and names those that do not answer.
        let script = "for peer in 1 2 3 4 5 6 7 8; do \
                      ping -q -c 1 -W 5 10.0.0.$peer >/dev/null || echo 10.0.0.$peer; done";
        let silent = lab.run(&format!("h{host}"), &["sh", "-c", script]);
        assert_eq!(silent, "", "h{host} hears nothing from:\n{silent}");
    }
}

#[test]
fn a_cut_spine_link_costs_less_than_a_second() {
    if !can_run() {
        return;
    }
    let lab = Lab::up(&example("fat-tree.toml"));
    assert_eq!(lab.ping("h1", &["-c", "1", "-W", "5", "10.0.0.8"]), (1, 1));
    // Cut whichever spine link the packets take: the second hop of the path h1 has in its cache.
    let paths = lab.show("paths");
    let hops = paths
        .as_array()
        .and_then(|paths| {
            paths
                .iter()
                .find(|path| path["host"] == "h1" && path["to"] == "h8")
        })
        .map(|path| path["hops"].clone())
        .unwrap_or_else(|| panic!("h1 has no path to h8: {paths:#}"));
    let spine_link = hops[1]
        .as_str()
        .unwrap_or_else(|| panic!("no second hop in {hops}"))
        .to_owned();

    for (state, most_lost) in [("down", 99), ("up", 0)] {
        let ping = lab.spawn(
            "h1",
            &[
                "ping", "-q", "-c", "300", "-i", "0.01", "-W", "2", "10.0.0.8",
            ],
        );
        std::thread::sleep(Duration::from_millis(500));
        let output = lab
            .softib("link")
            .args([state, &spine_link])
            .output()
            .unwrap();
        assert_ok(&format!("softib link {state} {spine_link}"), &output);
        let output = ping.wait();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (received, sent) = ping_statistics(&text).unwrap_or_else(|| panic!("{text}"));
        let lost = sent - received;
        assert!(
            lost <= most_lost,
            "link {state}: {lost} of {sent} lost, at 100 a second"
        );
    }
}
