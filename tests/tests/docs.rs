//! The manual is tried by running it: what README.md and docs/ tell people to type works, and
//! prints what they say it prints.
//!
//! - A `console` block is a session. What stands behind `$ ` is typed; the other lines are lines that
//!   the command prints, in this order, among others; `…` in them stands for anything.
//! - A `sh` block is typed as it stands.
//! - A `toml` block is a lab file, and has to come up.
//! - A block under `<!-- not tried: why -->` is left alone, and so are blocks of other languages.
//!
//! A page is one session from top to bottom, in a folder that has `examples/`, and has to leave no
//! lab behind. As root it has a `/run` and processes of its own, as an ordinary user a runtime
//! directory: it does not see the labs of this machine, nor they its.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use softib_tests::{can_run, example, has, root, softib};

/// Programs that the manual runs.
const PROGRAMS: &[&str] = &["bash", "curl", "ip", "jq", "ping", "python3", "unshare"];

/// How long a command may take, on a slow machine too; one that hangs is told by it.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long it may take until what goes on in the background shows.
const SOON: Duration = Duration::from_secs(20);

#[test]
fn readme() {
    try_page("README.md");
}

#[test]
fn api() {
    try_page("docs/api.md");
}

#[test]
fn commands() {
    try_page("docs/cli.md");
}

#[test]
fn lab_files() {
    try_page("docs/lab-file.md");
}

#[test]
fn pages_without_a_test_here_have_nothing_to_try() {
    let tried = ["README.md", "api.md", "cli.md", "lab-file.md"];
    for folder in ["", "docs", "docs/decisions"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy();
            if name.ends_with(".md") && !tried.contains(&&*name) {
                let steps = steps(&std::fs::read_to_string(&path).unwrap());
                assert_eq!(steps, [], "{} needs a test here", path.display());
            }
        }
    }
}

fn try_page(page: &str) {
    if !can_run() || !PROGRAMS.iter().all(|program| has(program)) {
        return;
    }
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let steps = steps(&text);
    assert!(!steps.is_empty(), "{page} has nothing to try");
    let mut session = Session::start(page);
    let mut behind_background = false;
    for step in &steps {
        // What was started in the background, or changed, shows a moment later.
        let repeats = behind_background || step.command.contains("softib show");
        let start = Instant::now();
        loop {
            let (status, printed) = session.run(&step.command);
            let missing = missing(&step.prints, &printed);
            if status == 0 && missing.is_none() {
                break;
            }
            assert!(
                repeats && start.elapsed() < SOON,
                "{page}:{}: `{}` ended with {status}{}; it printed:\n{printed}",
                step.line,
                step.command,
                missing.map_or_else(String::new, |line| format!(" and lacks the line {line:?}")),
            );
            std::thread::sleep(Duration::from_millis(200));
        }
        behind_background = step.command.ends_with('&');
    }
    // Going down takes a moment.
    let start = Instant::now();
    while session.run("softib ps --json").1.trim() != "[]" {
        let (_, left) = session.run("softib ps");
        assert!(start.elapsed() < SOON, "{page} leaves labs behind:\n{left}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// What a page has people do.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    /// Line of the page.
    line: usize,
    /// What is typed.
    command: String,
    /// What it prints, among other things.
    prints: Vec<String>,
}

/// The steps of a page.
fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = page.lines().zip(1..).peekable();
    let mut before = "";
    while let Some((fence, line)) = lines.next() {
        let Some(language) = fence.strip_prefix("```") else {
            before = fence;
            continue;
        };
        let first = line + 1;
        let block: Vec<&str> = lines
            .by_ref()
            .map(|(text, _)| text)
            .take_while(|text| !text.starts_with("```"))
            .collect();
        let whole = |command: String| Step {
            line: first,
            command,
            prints: Vec::new(),
        };
        match language {
            _ if before.starts_with("<!-- not tried: ") => {}
            "console" => {
                for (text, line) in block.iter().zip(first..) {
                    if let Some(command) = text.strip_prefix("$ ") {
                        steps.push(Step {
                            line,
                            ..whole(command.to_owned())
                        });
                    } else {
                        let step = steps.last_mut().expect("a session begins with `$ `");
                        step.prints.push((*text).to_owned());
                    }
                }
            }
            "sh" => steps.push(whole(block.join("\n"))),
            "toml" => steps.push(whole(format!(
                "softib run - -- true <<'END OF LAB'\n{}\nEND OF LAB",
                block.join("\n")
            ))),
            _ => {}
        }
        before = "";
    }
    steps
}

/// The first of `wanted` that no line of `printed`, behind those of the ones before, is like.
fn missing<'a>(wanted: &'a [String], printed: &str) -> Option<&'a str> {
    let mut lines = printed.lines();
    wanted
        .iter()
        .map(String::as_str)
        .find(|wanted| !lines.any(|line| is_like(line, wanted)))
}

/// Whether a line is the one that is wanted, with anything for `…`.
fn is_like(line: &str, wanted: &str) -> bool {
    let mut parts = wanted.split('…');
    let begin = parts.next().unwrap_or("");
    let Some(mut rest) = line.strip_prefix(begin) else {
        return false;
    };
    let mut parts: Vec<_> = parts.collect();
    let Some(end) = parts.pop() else {
        return rest.trim_end().is_empty();
    };
    for part in parts {
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(end)
}

/// A shell that commands are typed into.
struct Session {
    page: String,
    shell: Child,
    stdin: ChildStdin,
    folder: tempfile::TempDir,
    commands: usize,
    /// Octets of the output that have been looked at.
    seen: usize,
}

impl Session {
    fn start(page: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        for name in ["bin", "home", "run", "examples"] {
            std::fs::create_dir(path.join(name)).unwrap();
        }
        std::os::unix::fs::symlink(softib(), path.join("bin/softib")).unwrap();
        for lab in ["two-hosts.toml", "fat-tree.toml"] {
            std::fs::copy(example(lab), path.join("examples").join(lab)).unwrap();
        }
        let mut command = if rustix::process::geteuid().is_root() {
            let mut command = Command::new("unshare");
            command
                .args(["--mount", "--propagation", "private", "--pid", "--fork"])
                .args(["--kill-child", "--mount-proc", "sh", "-c"])
                .arg("mount -t tmpfs -o mode=0755 tmpfs /run && exec bash");
            command
        } else {
            Command::new("bash")
        };
        let path_variable = std::env::var_os("PATH").unwrap_or_default();
        let mut programs = vec![path.join("bin")];
        programs.extend(std::env::split_paths(&path_variable));
        programs.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
        // A file, since a pipe stays open as long as any program of the session lives.
        let output = File::create(path.join("output")).unwrap();
        let mut shell = command
            .current_dir(path)
            .env("PATH", std::env::join_paths(programs).unwrap())
            .env("HOME", path.join("home"))
            .env("XDG_RUNTIME_DIR", path.join("run"))
            .env_remove("SOFTIB_LAB")
            .env_remove("SOFTIB_LOG")
            .stdin(Stdio::piped())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .spawn()
            .expect("a shell starts");
        Self {
            page: page.to_owned(),
            stdin: shell.stdin.take().expect("it is piped"),
            shell,
            folder,
            commands: 0,
            seen: 0,
        }
    }

    /// Types a command and waits for its end: its status, and what the session printed meanwhile.
    fn run(&mut self, command: &str) -> (i32, String) {
        self.commands += 1;
        let quoted = command.replace('\'', r"'\''");
        let number = self.commands;
        let end = format!("\u{1e}{number} ");
        let start = Instant::now();
        writeln!(
            self.stdin,
            "eval '{quoted}' </dev/null; printf '\\n\\036%s %s\\n' {number} $?"
        )
        .expect("the shell lives");
        loop {
            let output = std::fs::read(self.output()).unwrap();
            let new = String::from_utf8_lossy(&output[self.seen..]).into_owned();
            if let Some((printed, behind)) = new.split_once(&end)
                && let Some((status, _)) = behind.split_once('\n')
            {
                self.seen = output.len();
                return (status.parse().unwrap_or(-1), printed.to_owned());
            }
            assert!(
                start.elapsed() < PATIENCE && self.shell.try_wait().unwrap().is_none(),
                "{}: `{command}` does not end within {PATIENCE:?}; it printed:\n{new}",
                self.page
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn output(&self) -> PathBuf {
        self.folder.path().join("output")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Root's processes end with their namespace.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
        if !rustix::process::geteuid().is_root() {
            let run: &Path = &self.folder.path().join("run");
            let mut down = Command::new(softib());
            let _ = down
                .args(["down", "--all"])
                .env("XDG_RUNTIME_DIR", run)
                .output();
        }
    }
}

#[test]
fn blocks_become_steps() {
    let page = "Text\n\n```console\n$ softib up a\nlab …\n$ softib down\n```\n\n\
                <!-- not tried: long -->\n```sh\ncargo build\n```\n\n```sh\nls\npwd\n```\n\
                ```json\n{}\n```\n";
    let step = |line, command: &str, prints: &[&str]| Step {
        line,
        command: command.to_owned(),
        prints: prints.iter().map(|&line| line.to_owned()).collect(),
    };
    assert_eq!(
        steps(page),
        [
            step(4, "softib up a", &["lab …"]),
            step(6, "softib down", &[]),
            step(15, "ls\npwd", &[]),
        ]
    );
    let wanted = ["a … c".to_owned(), "d".to_owned()];
    assert_eq!(missing(&wanted, "x\na b c\nd\n"), None);
    assert_eq!(missing(&wanted, "d\na b c\n"), Some("d"));
    assert_eq!(missing(&wanted, "a b c d\nd\n"), Some("a … c"));
    assert!(is_like("1 packet, 0%", "1 packet, …") && is_like("xyz", "…y…"));
}
