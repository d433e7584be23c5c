//! Bad input and faults: what is wrong is said in a sentence, and nothing is left behind.

use std::process::{Command, Output};
use std::time::Duration;

use softib_tests::{Lab, can_run, example, has, softib, stderr, wait_until};

/// Runs `softib` with these words and gives its exit status and what it said.
fn refused(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(softib()).args(arguments).output().unwrap();
    (output.status.code().unwrap_or(-1), stderr(&output))
}

#[test]
fn a_malformed_lab_names_file_line_and_key() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("broken.toml");
    let two_hosts = std::fs::read_to_string(example("two-hosts.toml")).unwrap();
    for (text, wanted) in [
        (
            format!("mtu = 2000\n{two_hosts}"),
            vec!["broken.toml:1", "mtu", "2048"],
        ),
        (
            format!("colour = 1\n{two_hosts}"),
            vec!["broken.toml:1", "colour"],
        ),
        (
            format!("{two_hosts}\n[[link]]\nends = [\"h1\", \"h9\"]\n"),
            vec!["broken.toml", "h9"],
        ),
        (
            format!("{two_hosts}\n[[link]]\nends = [\"h1[7]\", \"s1\"]\n"),
            vec!["broken.toml", "7"],
        ),
        (
            format!("{two_hosts}\n[[partition]]\npkey = 0x8000\nmembers = []\n"),
            vec!["broken.toml", "0x8000"],
        ),
        ("[[host]\n".to_owned(), vec!["broken.toml:1"]),
    ] {
        std::fs::write(&file, &text).unwrap();
        let (status, said) = refused(&["up", "--name", "never", &file.display().to_string()]);
        assert_eq!(status, 2, "{said}");
        for word in wanted {
            assert!(said.contains(word), "no {word:?} in: {said}");
        }
    }
    let (status, said) = refused(&["show", "--name", "never", "hosts"]);
    assert_eq!(status, 1, "a refused lab must not run: {said}");
}

#[test]
fn unknown_names_and_values_out_of_range_are_refused() {
    if !can_run() {
        return;
    }
    let lab = Lab::up(&example("two-hosts.toml"));
    let refused = |subcommand: &str, arguments: &[&str]| -> (Output, String) {
        let output = lab.softib(subcommand).args(arguments).output().unwrap();
        let said = stderr(&output);
        assert!(
            !output.status.success(),
            "{subcommand} {arguments:?} was accepted"
        );
        (output, said)
    };
    for (subcommand, arguments, wanted) in [
        ("exec", &["h9", "--", "true"][..], "h9"),
        ("link", &["down", "h1[9]"], "9"),
        ("link", &["down", "nobody"], "nobody"),
        ("set", &["h1", "mtu", "9000"], "9000"),
        ("set", &["h1:ib7", "mtu", "2044"], "ib7"),
        ("show", &["host", "h9"], "h9"),
    ] {
        let (_, said) = refused(subcommand, arguments);
        assert!(said.contains(wanted), "{subcommand} {arguments:?}: {said}");
    }
    // And the program's own exit status comes through.
    assert_eq!(
        lab.try_run("h1", &["sh", "-c", "exit 7"]).status.code(),
        Some(7)
    );
}

#[test]
fn a_killed_daemon_leaves_nothing_that_stops_the_next_up() {
    if !can_run() {
        return;
    }
    let lab = Lab::up(&example("two-hosts.toml"));
    let pid = daemon_pid(&lab);
    assert!(
        Command::new("kill")
            .args(["-9", &pid])
            .status()
            .unwrap()
            .success()
    );
    wait_until("the daemon is gone", Duration::from_secs(10), || {
        !std::path::Path::new(&format!("/proc/{pid}/ns")).exists()
            || std::fs::read_to_string(format!("/proc/{pid}/stat"))
                .is_ok_and(|stat| stat.contains(") Z "))
    });
    let output = lab
        .softib("up")
        .arg(example("two-hosts.toml"))
        .output()
        .unwrap();
    softib_tests::assert_ok("softib up after kill -9", &output);
    assert_eq!(
        lab.ping("h1", &["-c", "3", "-i", "0.05", "10.0.0.2"]),
        (3, 3)
    );
}

#[test]
fn down_leaves_no_process_of_the_lab() {
    if !can_run() {
        return;
    }
    let lab = Lab::up(&example("two-hosts.toml"));
    let pid = daemon_pid(&lab);
    let sleeper = lab.spawn("h1", &["sleep", "1000"]);
    wait_until("the sleeper runs", Duration::from_secs(5), || {
        lab.run("h1", &["ps", "-eo", "args"]).contains("sleep 1000")
    });
    let output = lab.softib("down").output().unwrap();
    softib_tests::assert_ok("softib down", &output);
    assert!(
        !std::path::Path::new(&format!("/proc/{pid}/fd/0")).exists(),
        "the daemon is still there"
    );
    let ended = sleeper.wait();
    assert!(
        !ended.status.success(),
        "a program of a lab must end with it"
    );
    let (status, said) = refused(&["exec", "--name", lab.name(), "h1", "--", "true"]);
    assert_eq!(status, 1, "{said}");
}

#[test]
fn without_a_manager_there_is_no_carrier_and_show_says_why() {
    if !can_run() {
        return;
    }
    let text = std::fs::read_to_string(example("two-hosts.toml")).unwrap();
    let lab = Lab::named();
    let file = lab.folder.path().join("lab.toml");
    let text: String = text
        .lines()
        .filter(|line| !line.starts_with("sm "))
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(&file, format!("sm = \"none\"\n{text}")).unwrap();
    let output = lab.softib("up").arg(&file).output().unwrap();
    softib_tests::assert_ok("softib up", &output);
    let link = lab.run("h1", &["ip", "link", "show", "ib0"]);
    assert!(link.contains("NO-CARRIER"), "{link}");
    let hosts = lab.show("hosts").to_string();
    assert!(hosts.contains("subnet manager"), "no reason in {hosts}");
}

#[test]
fn an_ordinary_user_needs_no_root() {
    if !can_run() || !has("setpriv") {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: this user is an ordinary one; the other tests show the same");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::copy(softib(), path("softib")).unwrap();
    std::fs::copy(example("two-hosts.toml"), path("lab.toml")).unwrap();
    std::fs::create_dir(path("tmp")).unwrap();
    // Most machines let every user open /dev/net/tun. Here a mount namespace of the test's own does,
    // whatever the rest of the machine does.
    let script = format!(
        "set -e; chmod 0755 {folder} {folder}/softib {folder}/lab.toml; chmod 0777 {folder}/tmp; \
         mknod -m 0666 {folder}/tun c 10 200; mount --bind {folder}/tun /dev/net/tun; cd {folder}; \
         exec setpriv --reuid 65534 --regid 65534 --clear-groups env -u XDG_RUNTIME_DIR \
         HOME={folder}/tmp TMPDIR={folder}/tmp \"$@\"",
        folder = folder.path().display()
    );
    let as_nobody = |arguments: &[&str]| {
        Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c"])
            .arg(script.replace("mknod", &format!("rm -f {}; mknod", path("tun"))))
            .arg("sh")
            .arg(path("softib"))
            .args(arguments)
            .output()
            .unwrap()
    };
    let ping = format!("{} exec h1 -- ping -c 5 -i 0.2 10.0.0.2", path("softib"));
    let output = as_nobody(&["run", "lab.toml", "--", "sh", "-c", &ping]);
    softib_tests::assert_ok("softib run as an ordinary user", &output);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("5 received"), "{text}");
    let demo = as_nobody(&["demo"]);
    softib_tests::assert_ok("softib demo as an ordinary user", &demo);
}

#[test]
fn interrupting_run_takes_the_lab_down() {
    if !can_run() {
        return;
    }
    let lab = Lab::named();
    let run = lab
        .softib("run")
        .arg(example("two-hosts.toml"))
        .args(["--", "sleep", "1000"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the lab is up", Duration::from_secs(20), || {
        lab.softib("show")
            .args(["hosts", "--json"])
            .output()
            .is_ok_and(|output| output.status.success())
    });
    let pid = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = run.wait_with_output().unwrap();
    assert!(!output.status.success());
    let (status, _) = refused(&["show", "--name", lab.name(), "hosts"]);
    assert_eq!(status, 1, "the lab is still up after Ctrl-C");
}

#[test]
fn run_returns_the_exit_status_of_its_command() {
    if !can_run() {
        return;
    }
    let lab = Lab::named();
    let script = "\"$SOFTIB\" exec h1 -- ping -c 20 -i 0.05 10.0.0.2 && exit 5";
    let output = lab
        .softib("run")
        .arg(example("two-hosts.toml"))
        .args(["--", "sh", "-c", script])
        .env("SOFTIB", softib())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("20 received"));
}

/// The process that keeps a lab up.
fn daemon_pid(lab: &Lab) -> String {
    let output = lab.softib("ps").arg("--json").output().unwrap();
    softib_tests::assert_ok("softib ps --json", &output);
    let labs: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    labs.as_array()
        .and_then(|labs| labs.iter().find(|row| row["name"] == lab.name()))
        .and_then(|row| row["pid"].as_u64())
        .unwrap_or_else(|| panic!("ps does not list {}: {labs:#}", lab.name()))
        .to_string()
}
