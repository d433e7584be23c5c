//! The command line as a person meets it, as far as it needs no running lab.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use clap::{CommandFactory, Parser};
use softib::args::Cli;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs softib where no lab is up.
fn softib(words: &[&str]) -> Output {
    let runtime = tempfile::tempdir().unwrap();
    Command::new(env!("CARGO_BIN_EXE_softib"))
        .args(words)
        .env_remove("SOFTIB_LAB")
        .env_remove("SOFTIB_LOG")
        .env("XDG_RUNTIME_DIR", runtime.path())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn refused(words: &[&str], status: i32, wanted: &[&str]) {
    let output = softib(words);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(status), "{words:?}: {said}");
    for word in wanted {
        assert!(said.contains(word), "{words:?}: no {word:?} in: {said}");
    }
    assert!(!said.contains("panicked"), "{said}");
}

#[test]
fn wrong_words_are_wrong_usage() {
    refused(&["dance"], 2, &["dance", "--help"]);
    refused(&["up"], 2, &["<LAB>"]);
    refused(&["link", "set", "h1", "--loss", "150%"], 2, &["150%", "1%"]);
    refused(
        &["link", "set", "h1", "--delay", "fast"],
        2,
        &["fast", "2ms"],
    );
    refused(&["link", "down", "h1[x]"], 2, &["h1[x]", "s1[3]"]);
    refused(&["set", "h1", "mtu", "big"], 2, &["big", "2044"]);
    refused(&["demo", "--log", "a=b=c"], 2, &["a=b=c", "debug"]);
    refused(
        &["gen", "fat-tree", "--radix", "5", "--pods", "2"],
        2,
        &["5", "even"],
    );
    refused(&["gen", "fat-tree", "--leaves", "0"], 2, &["at least 1"]);
}

#[test]
fn a_lab_file_with_a_mistake_is_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lab.toml");
    std::fs::write(&file, "[[host]]\nname = \"h1\"\nswitch = \"s1\"\n").unwrap();
    let path = file.to_str().unwrap();
    let place = format!("{path}:3:10: host.switch");
    refused(&["up", path], 2, &[&place, "no node \"s1\"", "it has h1"]);
    refused(&["run", path, "--", "true"], 2, &[&place]);
    refused(
        &["up", "nowhere.toml"],
        2,
        &["nowhere.toml", "No such file"],
    );
}

#[test]
fn without_a_lab_there_is_a_way_out() {
    // Nobody calls a lab like this; the labs of root are where no variable leads away from.
    let name = format!("no-lab-of-{}", std::process::id());
    for words in [
        &["show"][..],
        &["down"],
        &["link", "down", "h1"],
        &["capture", "h1", "-w", "x"],
        &["exec", "h1", "--", "true"],
    ] {
        refused(
            &[&["--name", name.as_str()][..], words].concat(),
            1,
            &[name.as_str(), "softib ps"],
        );
    }
    refused(&["show", "--name", "../x"], 2, &["../x"]);
}

#[test]
fn gen_prints_what_up_reads() {
    for words in [
        &["--leaves", "3", "--hosts-per-leaf", "2"][..],
        &["--radix", "4", "--pods", "2", "--mtu", "4096"],
    ] {
        let output = softib(&[&["gen", "fat-tree"][..], words].concat());
        assert!(output.status.success());
        softib::lab::Lab::parse("generated", &stdout(&output)).unwrap();
    }
}

#[test]
fn decode_prints_a_line_a_packet() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.pcap");
    let ack: Vec<u8> = "00020004000700011140ffff0087040800d40a551f000001a80355503081"
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect();
    let mut bytes = softib_host::capture::write::file_header(65536).to_vec();
    for _ in 0..3 {
        let packet = softib_host::capture::CapturedPacket {
            timestamp: std::time::Duration::from_secs(1),
            bytes: ack.clone(),
        };
        softib_host::capture::write::push_record(&mut bytes, &packet, 65536);
    }
    std::fs::write(&file, &bytes).unwrap();
    let output = softib(&["decode", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(
        lines[2].starts_with("3 0.000000 LID 1 > 4 RC Acknowledge"),
        "{text}"
    );

    bytes.truncate(bytes.len() - 5);
    std::fs::write(&file, &bytes).unwrap();
    let output = softib(&["decode", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).starts_with("1 0.000000"),
        "what came before is shown"
    );
    refused(&["decode", "nowhere.pcap"], 1, &["nowhere.pcap"]);
    let lab = root().join("examples/two-hosts.toml");
    refused(
        &["decode", lab.to_str().unwrap()],
        1,
        &["two-hosts.toml", "no capture file"],
    );
}

#[test]
fn a_reader_that_has_enough_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_softib"))
        .args(["gen", "fat-tree", "--radix", "24", "--pods", "24"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
}

#[test]
fn manual_and_completions_come_from_the_same_definitions() {
    let folder = tempfile::tempdir().unwrap();
    assert!(
        softib(&["man", folder.path().to_str().unwrap()])
            .status
            .success()
    );
    let page = std::fs::read_to_string(folder.path().join("softib-capture.1")).unwrap();
    assert!(page.contains("pcap"));
    assert!(
        !folder.path().join("softib-daemon.1").exists(),
        "hidden commands have no page"
    );
    for shell in ["bash", "zsh", "fish"] {
        let output = softib(&["completions", shell]);
        assert!(output.status.success());
        assert!(stdout(&output).contains("fat-tree"), "{shell}");
    }
}

#[test]
fn every_command_has_help() {
    for words in [
        "",
        "demo",
        "run",
        "up",
        "down",
        "ps",
        "exec",
        "show",
        "set",
        "link",
        "link set",
        "capture",
        "decode",
        "gen",
        "gen fat-tree",
        "man",
        "completions",
    ] {
        let mut words: Vec<_> = words.split_whitespace().collect();
        words.push("--help");
        let output = softib(&words);
        assert!(output.status.success(), "{words:?}");
        assert!(stdout(&output).contains("Usage: softib"), "{words:?}");
    }
}

/// docs/lab-file.md has a line for every key, and docs/cli.md names every command.
#[test]
fn the_manual_is_complete() {
    let lab_file = std::fs::read_to_string(root().join("docs/lab-file.md")).unwrap();
    for key in [
        "name",
        "mtu",
        "prefix",
        "sm",
        "node",
        "priority",
        "sweep",
        "guid",
        "ports",
        "switch",
        "addresses",
        "port",
        "pkey",
        "ends",
        "loss",
        "corrupt",
        "duplicate",
        "reorder",
        "jitter",
        "delay",
        "rate",
        "up",
        "members",
        "limited",
        "ipoib",
    ] {
        assert!(
            lab_file.contains(&format!("| `{key}` |")),
            "docs/lab-file.md lacks `{key}`"
        );
    }
    let cli = std::fs::read_to_string(root().join("docs/cli.md")).unwrap();
    // The host stands in the middle of these words.
    let cli = cli.replace("softib set HOST", "softib set");
    told_in(&cli, &Cli::command(), "softib");
}

/// Every command and every option that is not hidden has its place on the page.
#[track_caller]
fn told_in(page: &str, command: &clap::Command, path: &str) {
    assert!(page.contains(path), "docs/cli.md lacks `{path}`");
    for option in command.get_arguments().filter_map(clap::Arg::get_long) {
        let option = format!("--{option}");
        assert!(
            page.contains(&option),
            "docs/cli.md lacks {option} of `{path}`"
        );
    }
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        told_in(page, sub, &format!("{path} {}", sub.get_name()));
    }
}

/// What the manual says to type in passing is something that softib understands. Blocks are tried
/// end to end.
#[test]
fn commands_in_passing_are_commands() {
    let mut pages = vec![root().join("README.md")];
    let docs = std::fs::read_dir(root().join("docs")).unwrap();
    pages.extend(docs.map(|entry| entry.unwrap().path()));
    let mut tried = 0;
    for page in pages.iter().filter(|page| page.is_file()) {
        let text = std::fs::read_to_string(page).unwrap();
        for command in text
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|span| span.starts_with("softib ") && !span.contains('\n'))
        {
            // The first of a pipe, `|` written as tables need it; N is a number.
            let command = command.split(['|', '\\']).next().unwrap_or("");
            let command = command.replace(" mtu N", " mtu 1500");
            let words = command.split_whitespace().filter(|word| *word != "…");
            let refused = Cli::try_parse_from(words).err();
            // `softib run` may be said without what it runs.
            let only_short = refused.as_ref().is_none_or(|error| {
                use clap::error::ErrorKind::{
                    DisplayHelpOnMissingArgumentOrSubcommand, MissingRequiredArgument,
                    MissingSubcommand,
                };
                matches!(
                    error.kind(),
                    MissingRequiredArgument
                        | MissingSubcommand
                        | DisplayHelpOnMissingArgumentOrSubcommand
                )
            });
            assert!(
                only_short,
                "{}: `{command}`: {}",
                page.display(),
                refused.map_or_else(String::new, |error| error.to_string())
            );
            tried += 1;
        }
    }
    assert!(tried > 20, "the manual has commands");
}
