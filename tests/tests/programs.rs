//! Stock programs over IPoIB: iperf3, nginx and curl, redis, sshd and rsync.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use softib_tests::{Lab, assert_ok, can_run, example, has};

fn iperf3(lab: &Lab, arguments: &[&str]) -> Value {
    let server = lab.spawn("h2", &["iperf3", "--server", "--one-off"]);
    lab.wait_for_port("h2", 5201);
    let mut program = vec!["iperf3", "--json", "--time", "2", "--client", "10.0.0.2"];
    program.extend(arguments);
    let report: Value = serde_json::from_str(&lab.run("h1", &program)).unwrap();
    drop(server);
    report
}

#[test]
fn iperf3_tcp_both_ways() {
    if !can_run() || !has("iperf3") {
        return;
    }
    let lab = Lab::up(&example("two-hosts.toml"));
    for arguments in [&[][..], &["--reverse"], &["--bidir"], &["--parallel", "4"]] {
        let report = iperf3(&lab, arguments);
        let received = report["end"]["sum_received"]["bytes"].as_u64().unwrap();
        assert!(
            received > 1_000_000,
            "{arguments:?}: {received} octets arrived"
        );
    }
}

#[test]
fn iperf3_udp_both_ways() {
    if !can_run() || !has("iperf3") {
        return;
    }
    let lab = Lab::up(&example("two-hosts.toml"));
    for arguments in [&[][..], &["--reverse"]] {
        let mut all = vec!["--udp", "--bitrate", "50M"];
        all.extend(arguments);
        let report = iperf3(&lab, &all);
        let lost = report["end"]["sum"]["lost_percent"].as_f64().unwrap();
        assert!(lost < 5.0, "{arguments:?}: {lost} % lost");
    }
}

#[test]
fn nginx_serves_100_megabytes_to_curl() {
    if !can_run() || !has("nginx") || !has("curl") {
        return;
    }
    let lab = Lab::up(&example("two-hosts.toml"));
    let folder = lab.folder.path();
    let data = pseudo_random(100_000_000);
    fs::create_dir(folder.join("www")).unwrap();
    fs::write(folder.join("www/file"), &data).unwrap();
    let configuration = format!(
        "daemon off; master_process off; pid {0}/nginx.pid; error_log {0}/error.log;\n\
         events {{}}\n\
         http {{ access_log off; client_body_temp_path {0}/b; proxy_temp_path {0}/p;\n\
         fastcgi_temp_path {0}/f; uwsgi_temp_path {0}/u; scgi_temp_path {0}/s;\n\
         server {{ listen 10.0.0.2:8080; listen [fd00:1b::2]:8080; root {0}/www; }} }}\n",
        folder.display()
    );
    fs::write(folder.join("nginx.conf"), configuration).unwrap();
    let conf = folder.join("nginx.conf").display().to_string();
    let _nginx = lab.spawn("h2", &["nginx", "-e", "stderr", "-c", &conf]);
    lab.wait_for_port("h2", 8080);
    for address in ["10.0.0.2", "[fd00:1b::2]"] {
        let fetched = folder.join("fetched");
        let _ = lab.run(
            "h1",
            &[
                "curl",
                "--silent",
                "--fail",
                "--max-time",
                "60",
                "--output",
                &fetched.display().to_string(),
                &format!("http://{address}:8080/file"),
            ],
        );
        assert!(
            fs::read(&fetched).unwrap() == data,
            "the file arrived changed over {address}"
        );
    }
}

#[test]
fn redis_benchmark_runs() {
    if !can_run() || !has("redis-server") || !has("redis-benchmark") {
        return;
    }
    let lab = Lab::up(&example("two-hosts.toml"));
    let folder = lab.folder.path().display().to_string();
    let _redis = lab.spawn(
        "h2",
        &[
            "redis-server",
            "--bind",
            "10.0.0.2",
            "--port",
            "6379",
            "--protected-mode",
            "no",
            "--save",
            "",
            "--dir",
            &folder,
        ],
    );
    lab.wait_for_port("h2", 6379);
    let report = lab.run(
        "h1",
        &[
            "redis-benchmark",
            "-h",
            "10.0.0.2",
            "-n",
            "5000",
            "-c",
            "20",
            "-d",
            "1000",
            "-t",
            "set,get",
            "--csv",
        ],
    );
    assert!(
        report.contains("\"SET\"") && report.contains("\"GET\""),
        "{report}"
    );
}

#[test]
fn rsync_copies_a_tree_over_ssh() {
    if !can_run() || !has("sshd") || !has("rsync") {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: sshd logs users in only when it runs as root");
        return;
    }
    let lab = Lab::up(&example("two-hosts.toml"));
    let folder = lab.folder.path();
    let key = |name: &str| {
        let path = folder.join(name);
        let output = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(&path)
            .output()
            .unwrap();
        assert_ok("ssh-keygen", &output);
        path.display().to_string()
    };
    let (host_key, user_key) = (key("host_key"), key("user_key"));
    fs::copy(format!("{user_key}.pub"), folder.join("authorized_keys")).unwrap();
    let configuration = folder.join("sshd_config");
    fs::write(
        &configuration,
        format!(
            "Port 2222\nListenAddress 10.0.0.2\nHostKey {host_key}\nStrictModes no\nUsePAM no\n\
             PidFile {0}/sshd.pid\nAuthorizedKeysFile {0}/authorized_keys\nPermitRootLogin yes\n",
            folder.display()
        ),
    )
    .unwrap();
    // sshd's privilege separation folder, which its package's service would make.
    let _ = fs::create_dir_all("/run/sshd");
    let _sshd = lab.spawn(
        "h2",
        &[
            "/usr/sbin/sshd",
            "-D",
            "-e",
            "-f",
            &configuration.display().to_string(),
        ],
    );
    lab.wait_for_port("h2", 2222);

    let source = folder.join("source");
    for (name, size) in [("a", 10), ("deep/b", 100_000), ("deep/er/c", 3_000_000)] {
        let path = source.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, pseudo_random(size)).unwrap();
    }
    let copy = folder.join("copy");
    let shell = format!(
        "ssh -p 2222 -i {user_key} -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
    );
    let _ = lab.run(
        "h1",
        &[
            "rsync",
            "--archive",
            "--rsh",
            &shell,
            &format!("{}/", source.display()),
            &format!("root@10.0.0.2:{}/", copy.display()),
        ],
    );
    let difference = Command::new("diff")
        .arg("--recursive")
        .args([Path::new(&source), &copy])
        .output()
        .unwrap();
    assert_ok("diff", &difference);
}

/// Octets that do not repeat, the same every time.
fn pseudo_random(length: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut octets = Vec::with_capacity(length + 8);
    while octets.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        octets.extend(state.to_le_bytes());
    }
    octets.truncate(length);
    octets
}
