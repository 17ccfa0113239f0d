//! Commands within walls, and what they try to get out of them. Tried for real: without bubblewrap
//! (`apt-get install bubblewrap`) and Landlock (Linux 6.2, with namespaces for users) these tests fail.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::time::Duration;

use serde_json::{Value, json};
use yabby_domain::seam::tool::Company;

use crate::desk::{Desk, text_of};
use crate::exec::{living, odd_seconds};

const WALLS: [&str; 2] = ["bubblewrap", "landlock"];

fn config(walls: &str, more: Value) -> Value {
    let mut sandbox = json!({"mode": "all"});
    sandbox.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"agents": {"defaults": {"sandbox": sandbox}}, "tools": {"exec": {"confine": walls}}})
}

/// A desk whose commands are confined, with things around it that are worth having.
fn walled(walls: &str, more: Value) -> Desk {
    let mut desk = Desk::new();
    desk.configure(config(walls, more));
    let state = desk.state();
    fs::create_dir_all(state.join("agents/main/sessions")).unwrap();
    for (name, text) in [
        ("openclaw.json", "{\"key\": \"config-secret\"}"),
        ("agents/main/sessions/sessions.json", "{\"x\": \"session-secret\"}"),
        ("exec-approvals.json", "{\"version\": 1, \"x\": \"approval-secret\"}"),
        ("../.netrc", "home-secret"),
    ] {
        fs::write(state.join(name), text).unwrap();
    }
    desk.put("data.txt", "data");
    desk
}

async fn output(desk: &Desk, command: &str) -> String {
    text_of(&desk.call("exec", json!({"command": command, "timeout": 60, "yieldMs": 100_000})).await)
}

#[tokio::test]
async fn the_workspace_is_there_and_what_a_command_needs() {
    for walls in WALLS {
        let desk = walled(walls, json!({}));
        let told = output(
            &desk,
            "cat data.txt && echo more > new.txt && ls /usr/bin > /dev/null && mktemp > /dev/null && pwd",
        )
        .await;
        assert_eq!(told.trim(), format!("data{}", desk.context.workspace.display()), "{walls}");
        assert_eq!(desk.text("new.txt"), "more\n", "{walls}");
        let in_folder = desk.told("exec", json!({"command": "pwd", "workdir": "."})).await;
        assert_eq!(in_folder.trim(), desk.context.workspace.display().to_string());
        // Nobody was asked: the walls are the answer.
        assert_eq!(desk.office.questions(), []);
    }
}

#[tokio::test]
async fn nothing_outside_is_read_or_written() {
    for walls in WALLS {
        let desk = walled(walls, json!({}));
        let state = desk.state().display().to_string();
        let home = desk.state().parent().unwrap().display().to_string();
        let outside = desk.outside().display().to_string();
        let commands = [
            format!("cat {state}/openclaw.json"),
            format!("cat {state}/agents/main/sessions/sessions.json"),
            format!("cat {state}/exec-approvals.json"),
            format!("ls -la {state}"),
            format!("cat {home}/.netrc; ls -la {home} ~ /root /home"),
            "cat ../home/.netrc ../home/.yabby/openclaw.json".to_owned(),
            format!("cat /proc/self/root{state}/openclaw.json"),
            format!("cat /proc/1/root{state}/openclaw.json"),
            "cat /proc/self/cwd/../home/.netrc".to_owned(),
            format!(
                "for p in /proc/[0-9]*; do cat $p/root{state}/openclaw.json; tr '\\0' '\\n' < $p/environ; done"
            ),
            "cat /proc/$PPID/environ /proc/self/environ; env".to_owned(),
            format!("ln -s {state} way; cat way/openclaw.json; rm -f way"),
            format!("ln {state}/openclaw.json way; cat way; rm -f way"),
            format!("exec 9< {state}/openclaw.json; cat <&9"),
            format!("cp {state}/openclaw.json stolen; cat stolen"),
            "find / -name openclaw.json -exec cat {} + 2>/dev/null".to_owned(),
            "cat /etc/shadow /etc/gshadow; ls ~root/.ssh".to_owned(),
            "dd if=/dev/vda of=/dev/stdout count=1; cat /dev/mem /dev/kmem".to_owned(),
            format!("unshare -Urm sh -c 'umount -l /tmp; mount -o remount,rw /; cat {state}/openclaw.json'"),
            format!("unshare -Ur chroot / cat {state}/openclaw.json"),
            format!("mkdir -p m; mount --bind / m; cat m{state}/openclaw.json"),
            format!("echo evil >> {state}/openclaw.json"),
            format!("echo evil > {state}/agents/main/sessions/sessions.json"),
            format!("echo evil > {state}/exec-approvals.json; rm -f {state}/exec-approvals.json"),
            format!("mv {state}/exec-approvals.json {state}/x; rm -rf {state} {home}"),
            format!("echo evil > {outside}/planted; mkdir {outside}/planted2; echo x > ../planted3"),
            "echo evil > /etc/planted; echo evil > /usr/planted; echo x > /planted".to_owned(),
        ];
        let before = |name: &str| fs::read_to_string(desk.state().join(name)).unwrap();
        for command in commands {
            let told = output(&desk, &command).await;
            assert!(!told.contains("-secret\"") && !told.contains("home-secret"), "{walls} {command} {told}");
            assert!(!told.contains("very-secret") && !told.contains("CARGO_"), "{walls} {command} {told}");
            assert!(!told.contains("root:$") && !told.contains("root:*"), "{walls} {command} {told}");
            // It ran, and failed where it should have.
            assert!(!told.starts_with("exec "), "{walls} {command} {told}");
            let is_reason = |reason: &&str| told.contains(reason);
            let reasons = [
                "No such file",
                "Permission denied",
                "not permitted",
                "Read-only",
                "PATH=",
                "no output",
                "Invalid cross-device link",
                "must be superuser",
                "cannot",
                "failed",
            ];
            assert!(reasons.iter().any(is_reason), "{walls} {command} {told}");
        }
        assert!(
            before("openclaw.json").contains("config-secret") && !before("openclaw.json").contains("evil")
        );
        assert_eq!(before("agents/main/sessions/sessions.json"), "{\"x\": \"session-secret\"}");
        assert!(before("exec-approvals.json").contains("approval-secret"));
        let mut names: Vec<_> =
            fs::read_dir(desk.outside()).unwrap().flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        assert_eq!(names, ["home", "workspace"], "{walls}");
        for planted in ["/etc/planted", "/usr/planted", "/planted"] {
            assert!(!std::path::Path::new(planted).exists(), "{walls} {planted}");
        }
    }
}

/// Archives with names that lead out, unpacked by whoever trusts them.
#[tokio::test]
async fn archives_unpack_nothing_outside() {
    for walls in WALLS {
        let desk = walled(walls, json!({}));
        let outside = desk.outside().join("planted");
        let make = |script: &str| {
            let script = script.replace("OUTSIDE", &outside.display().to_string());
            let mut made = std::process::Command::new("bash");
            let made = made.arg("-ec").arg(script).current_dir(&desk.context.workspace).output().unwrap();
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        };
        // By name, by absolute name, and through a link that comes first.
        make(
            "echo evil > e; tar --transform 's,^e$,../planted,' -cPf up.tar e; tar --transform 's,^e$,OUTSIDE,' -cPf absolute.tar e",
        );
        make(
            "mkdir t; ln -s .. t/d; tar -cf link.tar -C t d; rm t/d; mkdir t/d; echo evil > t/d/planted; tar -rf link.tar -C t d/planted; rm -r t",
        );
        make(
            "mkdir -p t/home/.yabby; echo evil > t/home/.yabby/openclaw.json; tar --transform 's,^t/,../,' -cPf state.tar t/home/.yabby/openclaw.json; rm -r t",
        );
        for archive in ["up.tar", "absolute.tar", "link.tar", "state.tar"] {
            let told = output(&desk, &format!("tar -xPf {archive}; echo unpacked")).await;
            assert!(told.contains("unpacked"), "{walls} {archive} {told}");
            assert!(!outside.exists(), "{walls} {archive} {told}");
        }
        let config = fs::read_to_string(desk.state().join("openclaw.json")).unwrap();
        assert!(config.contains("config-secret"), "{walls} {config}");
    }
}

#[tokio::test]
async fn there_is_no_network_unless_it_is_wanted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let listening = UdpSocket::bind("127.0.0.1:0").unwrap();
    listening.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let (tcp, udp) = (listener.local_addr().unwrap().port(), listening.local_addr().unwrap().port());
    let commands = [
        format!("echo out > /dev/tcp/127.0.0.1/{tcp}"),
        format!("echo out > /dev/udp/127.0.0.1/{udp}"),
        format!("echo out > /dev/tcp/localhost/{tcp}"),
        format!("unshare -Ur bash -c 'echo out > /dev/tcp/127.0.0.1/{tcp}'"),
        format!("nsenter -t 1 -n bash -c 'echo out > /dev/udp/127.0.0.1/{udp}'"),
    ];
    let got_through = |is_tcp: bool| match is_tcp {
        true => listener.accept().is_ok(),
        false => listening.recv(&mut [0; 9]).is_ok(),
    };
    for walls in WALLS {
        let desk = walled(walls, json!({}));
        for command in &commands {
            output(&desk, command).await;
            assert!(!got_through(command.contains("tcp")), "{walls} {command}");
        }
        // And with one it works, so the tests above are about something.
        let open = walled(walls, json!({"docker": {"network": "bridge"}}));
        for command in &commands[..2] {
            let told = output(&open, command).await;
            assert!(got_through(command.contains("tcp")), "{walls} {command} {told}");
        }
    }
}

#[tokio::test]
async fn nobody_outside_is_seen_or_signalled() {
    for walls in WALLS {
        let desk = walled(walls, json!({}));
        let own = std::process::id();
        let told =
            output(&desk, &format!("kill -0 {own} && echo reached; kill -CONT {own} && echo reached")).await;
        assert!(!told.contains("reached"), "{walls} {told}");
    }
    let desk = walled("bubblewrap", json!({}));
    let told = output(&desk, "ls -d /proc/[0-9]* | wc -l").await;
    assert!(told.trim().parse::<u32>().unwrap() < 10, "{told}");
    // Of its own kind it may end all.
    output(&desk, "kill -9 -1; kill -9 $PPID 1").await;
    assert_eq!(output(&desk, "echo well").await, "well\n");
}

#[tokio::test]
async fn fork_bombs_burn_out() {
    for walls in WALLS {
        let desk = walled(walls, json!({"docker": {"pidsLimit": 64}}));
        let seconds = odd_seconds();
        for bomb in [
            format!("f() {{ sleep {seconds} & f | f & }}; f; wait; sleep {seconds}"),
            format!("while :; do sleep {seconds} & done"),
            format!("setsid bash -c 'while :; do setsid sleep {seconds} & done' & wait"),
        ] {
            let told = output(&desk, &bomb).await;
            let is_contained =
                told.contains("too many processes") || told.contains("Resource temporarily unavailable");
            assert!(is_contained, "{walls} {bomb} {}", &told[..told.len().min(500)]);
            assert_eq!(living(&seconds), [] as [u32; 0], "{walls} {bomb}");
        }
    }
}

#[tokio::test]
async fn memory_and_disk_are_limited() {
    for walls in WALLS {
        let desk = walled(walls, json!({"docker": {"memory": "200m"}}));
        let told = output(&desk, "head -c 3000000000 /dev/zero | tail | wc -c").await;
        assert!(told.contains("too much memory") || told.contains("memory exhausted"), "{walls} {told}");
        let told = output(&desk, "truncate -s 2G big; ls -l big").await;
        assert!(
            told.contains("File too large") || told.contains("File size limit exceeded"),
            "{walls} {told}"
        );
        assert_eq!(
            fs::metadata(desk.context.workspace.join("big")).map_or(0, |found| found.len()),
            0,
            "{walls}"
        );
        let told = output(&desk, "ulimit -Hn; ulimit -n 100000; ulimit -c").await;
        assert!(
            told.starts_with("1024\n") && told.contains("cannot modify limit") && told.contains("\n0\n"),
            "{walls} {told}"
        );
    }
    let desk = walled("bubblewrap", json!({}));
    let told = output(
        &desk,
        "head -c 600000000 /dev/zero > /tmp/x; head -c 600000000 /dev/zero > /dev/shm/x; echo x > /dev/x",
    )
    .await;
    assert_eq!(told.matches("No space left").count(), 2, "{told}");
    assert!(told.contains("Read-only"), "{told}");
}

#[tokio::test]
async fn daemons_do_not_outlive_their_walls() {
    for walls in WALLS {
        let desk = walled(walls, json!({}));
        let seconds = odd_seconds();
        for command in [
            format!("setsid nohup sleep {seconds} > /dev/null 2>&1 & sleep 0.3; echo done"),
            format!(
                "(setsid sh -c '(trap \"\" TERM HUP; sleep {seconds} &) &' > /dev/null 2>&1 &); sleep 0.3; echo done"
            ),
        ] {
            let told = output(&desk, &command).await;
            assert!(told.starts_with("done"), "{walls} {told}");
            assert_eq!(living(&seconds), [] as [u32; 0], "{walls} {command}");
        }
    }
}

#[tokio::test]
async fn the_workspace_is_only_as_open_as_it_should_be() {
    for walls in WALLS {
        let desk = walled(walls, json!({"workspaceAccess": "ro"}));
        let told = output(&desk, "cat data.txt; echo evil > data.txt; rm -f data.txt; touch new").await;
        assert!(
            told.starts_with("data") && (told.contains("Read-only") || told.contains("Permission denied")),
            "{walls} {told}"
        );
        assert_eq!(desk.text("data.txt"), "data");
        let desk = walled(walls, json!({"workspaceAccess": "none"}));
        let workspace = desk.context.workspace.display().to_string();
        let told = output(&desk, &format!("echo kept > note; cat {workspace}/data.txt; pwd")).await;
        assert!(!told.contains("\ndata") && told.contains("sandboxes/agent-main"), "{walls} {told}");
        assert_eq!(output(&desk, "cat note").await, "kept\n", "{walls}");
    }
}

#[tokio::test]
async fn no_call_talks_its_way_out() {
    for walls in WALLS {
        let desk = walled(walls, json!({}));
        let secret = format!("cat {}/openclaw.json", desk.state().display());
        for (more, expected) in [
            (json!({"host": "gateway"}), "exec host not allowed"),
            (json!({"host": "node"}), "exec host not allowed"),
            (json!({"elevated": true}), "elevated is not available"),
            (json!({"workdir": ".."}), "outside of the sandbox"),
            (json!({"workdir": desk.state()}), "outside of the sandbox"),
            (json!({"workdir": "/"}), "outside of the sandbox"),
            (json!({"security": "full", "ask": "off"}), "exited with code"),
            (json!({"env": {"LD_PRELOAD": "x"}}), "env.LD_PRELOAD is refused"),
        ] {
            let mut arguments = json!({"command": secret});
            arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let told = desk.refused("exec", arguments).await;
            assert!(told.contains(expected) && !told.contains("config-secret"), "{walls} {more} {told}");
        }
        let link = desk.context.workspace.join("out");
        std::os::unix::fs::symlink(desk.state(), &link).unwrap();
        let told = desk.refused("exec", json!({"command": "cat openclaw.json", "workdir": "out"})).await;
        assert!(told.contains("outside of the sandbox"), "{walls} {told}");
    }
}

#[tokio::test]
async fn the_owner_may_let_a_command_out_and_is_asked() {
    let mut desk = walled("bubblewrap", json!({}));
    let mut open = config("bubblewrap", json!({}));
    open["tools"]["elevated"] = json!({"enabled": true});
    desk.configure(open);
    let command = format!("cat {}/openclaw.json", desk.state().display());
    let call = json!({"command": command, "elevated": true});
    assert!(desk.refused("exec", call.clone()).await.contains("needs an approval"));
    desk.office.decide(yabby_domain::seam::office::Decision::Once);
    assert!(desk.told("exec", call.clone()).await.contains("config-secret"));
    desk.context.sender_is_owner = false;
    assert!(desk.refused("exec", call).await.contains("elevated is not available"));
}

#[tokio::test]
async fn walls_that_nobody_knows_are_no_walls() {
    for config in [
        json!({"tools": {"exec": {"confine": "docker", "security": "full", "ask": "off"}}}),
        json!({"agents": {"defaults": {"sandbox": {"mode": "true"}}}, "tools": {"exec": {"security": "full"}}}),
        json!({"agents": {"defaults": {"sandbox": {"mode": "all", "workspaceAccess": "write"}}}}),
    ] {
        let mut desk = Desk::new();
        desk.configure(config.clone());
        let told = desk.refused("exec", json!({"command": "touch ran"})).await;
        assert!(told.contains("no word for it"), "{config} {told}");
        assert!(!desk.context.workspace.join("ran").exists());
    }
}

#[tokio::test]
async fn only_other_sessions_are_confined_if_the_word_is_non_main() {
    let mut desk = walled("auto", json!({}));
    desk.configure(json!({"agents": {"defaults": {"sandbox": {"mode": "non-main"}}},
        "tools": {"exec": {"security": "full", "ask": "off"}}}));
    let command = format!("cat {}/openclaw.json", desk.state().display());
    assert!(desk.told("exec", json!({"command": command})).await.contains("config-secret"));
    desk.context.session_key = yabby_domain::session::key::SessionKey::new("agent:main:telegram:group:1");
    assert!(!desk.refused("exec", json!({"command": command})).await.contains("config-secret"));
}

/// Where others listen, a command sees of the workspace what the file tools show.
#[tokio::test]
async fn where_others_listen_what_is_the_owners_own_is_not_there() {
    for walls in WALLS {
        for others in [Company::Others, Company::OthersNoted] {
            let mut desk = walled(walls, json!({}));
            desk.put("MEMORY.md", "private-words");
            desk.put("memory/2026-02-03.md", "private-words");
            desk.put("AGENTS.md", "agents");
            desk.put("skills/x/SKILL.md", "skill");
            desk.put(".git/HEAD", "private-words");
            desk.put("sub/a.txt", "a");
            std::os::unix::fs::symlink("MEMORY.md", desk.context.workspace.join("link")).unwrap();
            std::os::unix::fs::symlink(desk.state(), desk.context.workspace.join("state")).unwrap();
            desk.context.company = others;
            for command in [
                "cat MEMORY.md USER.md memory/* .git/HEAD link state/openclaw.json",
                "cat ./MEMORY.md; cat sub/../MEMORY.md; cat /proc/self/cwd/MEMORY.md",
                "cp MEMORY.md sub/x; cat sub/x; ln MEMORY.md sub/y; cat sub/y; rm -f sub/x sub/y",
                "grep -r private . ; find . -type f -exec cat {} +",
                "echo planted > USER.md; echo planted >> AGENTS.md; echo planted > memory.md; mkdir memory",
                "echo planted > SOUL.md; echo planted > skills/x/SKILL.md; rm -rf MEMORY.md memory AGENTS.md",
                "echo planted > .git/HEAD; cp sub/a.txt USER.md",
            ] {
                let told = output(&desk, command).await;
                assert!(!told.contains("private-words"), "{walls} {command} {told}");
                assert!(!told.contains("-secret"), "{walls} {command} {told}");
            }
            assert_eq!(desk.text("MEMORY.md"), "private-words", "{walls}");
            assert_eq!(desk.text("memory/2026-02-03.md"), "private-words", "{walls}");
            assert_eq!(
                (desk.text("AGENTS.md"), desk.text("skills/x/SKILL.md")),
                ("agents".into(), "skill".into())
            );
            for name in ["USER.md", "SOUL.md", "memory.md"] {
                assert!(!desk.context.workspace.join(name).exists(), "{walls} {name}");
            }
            let told = output(&desk, "cat data.txt AGENTS.md sub/a.txt && echo new > sub/b.txt").await;
            assert_eq!(told.trim(), "dataagentsa", "{walls}");
            assert_eq!(desk.text("sub/b.txt"), "new\n", "{walls}");
            let told = desk.refused("exec", json!({"command": "ls", "workdir": "memory"})).await;
            assert!(told.contains("is private"), "{walls} {told}");
        }
    }
}

#[tokio::test]
async fn where_others_listen_nothing_runs_unconfined_unless_the_owner_says_so() {
    let mut desk = Desk::new();
    desk.put("MEMORY.md", "private-words");
    desk.context.company = Company::Others;
    let exec = |more: Value| {
        let mut exec = json!({"security": "full", "ask": "off"});
        exec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        exec
    };
    let cat = json!({"command": "cat MEMORY.md"});
    desk.configure(json!({"tools": {"exec": exec(json!({}))}}));
    assert!(desk.refused("exec", cat.clone()).await.contains("others are in this conversation"));
    desk.configure(json!({
        "tools": {"exec": exec(json!({"host": "gateway"}))},
        "agents": {"defaults": {"sandbox": {"mode": "all"}}},
    }));
    assert!(desk.refused("exec", cat.clone()).await.contains("others are in this conversation"));
    desk.configure(json!({"tools": {"exec": exec(json!({"amongOthers": true}))}}));
    assert_eq!(desk.told("exec", cat).await, "private-words");
}

#[tokio::test]
async fn where_others_listen_they_look_after_their_own_commands() {
    let mut desk = Desk::new();
    desk.let_anything_run();
    let arguments = json!({"command": "echo mine; read line", "background": true});
    let output = desk.call("exec", arguments).await;
    let id = output.details.unwrap()["sessionId"].as_str().unwrap().to_owned();
    desk.context.company = Company::Others;
    desk.context.session_key = yabby_domain::session::key::SessionKey::new("agent:main:telegram:group:1");
    assert_eq!(desk.told("process", json!({"action": "list"})).await, "No running or recent sessions.");
    for action in ["poll", "log", "write", "kill", "remove"] {
        let told = desk.refused("process", json!({"action": action, "sessionId": id, "data": "x"})).await;
        assert_eq!(told, format!("No session found for {id}"), "{action}");
    }
    desk.context.company = Company::OwnerAlone;
    desk.told("process", json!({"action": "remove", "sessionId": id})).await;
}

/// To the kernel, root in a namespace of its own is root: what of `/proc` is the machine's must not be written. Says
/// something where the tests run as root.
#[tokio::test]
async fn the_machine_is_not_set_from_inside() {
    let machine = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let (pattern, swap) = ("/proc/sys/kernel/core_pattern", "/proc/sys/vm/swappiness");
    let before = (machine(pattern), machine(swap));
    for walls in WALLS {
        for network in ["none", "bridge"] {
            let desk = walled(walls, json!({"docker": {"network": network}}));
            for command in [
                // What stands there already, so that nothing happens if it is written all the same.
                "v=$(cat /proc/sys/vm/swappiness); echo ${v:-60} > /proc/sys/vm/swappiness && echo written",
                "test -w /proc/sys/kernel/core_pattern && echo written",
                "unshare -Urmpf --mount-proc sh -c 'test -w /proc/sys/kernel/core_pattern && echo written'",
                "unshare -Urm sh -c 'mount -o remount,rw /proc/sys && echo written'",
                "unshare -Urm sh -c 'umount /proc/sys && echo written'",
                "test -w /proc/sysrq-trigger && echo written",
                "for f in /proc/irq/*/smp_affinity; do test -w $f && echo written; done",
                "head -c 1 /proc/kcore /proc/kmsg | grep -q . && test -s /proc/kcore && echo written",
                "ls /sys/kernel /sys/fs/cgroup && echo written",
                "mkdir /sys/fs/cgroup/x && echo written; mkdir /dev/x && echo written",
                "mknod x b 8 0 && echo written; mknod /dev/x c 1 1 && echo written",
                "test -e /dev/mem && echo written; test -e /dev/kmsg && echo written; ls /dev/vd* /dev/sd* && echo written",
            ] {
                let told = output(&desk, command).await;
                let is_landlocks = walls == "landlock" && command.contains("test ");
                assert!(!told.contains("written") || is_landlocks, "{walls} {network} {command} {told}");
            }
            let told = output(&desk, "grep CapEff /proc/self/status; id -u").await;
            if walls == "bubblewrap" {
                assert!(told.contains("CapEff:\t0000000000000000"), "{told}");
                assert!(!told.ends_with("\n0\n"), "{told}");
            }
        }
    }
    assert_eq!((machine(pattern), machine(swap)), before);
}

/// With a namespace in the namespace root would have its capabilities again, and the control groups of the machine, where
/// it ends whatever runs. Keys belong to no namespace, and a file with a set-user-ID bit is root's outside, too.
#[tokio::test]
async fn what_namespaces_leave_open_is_refused() {
    let desk = walled("bubblewrap", json!({}));
    for command in [
        "unshare -U true && echo made",
        "unshare -UrmC sh -c 'mkdir /tmp/c; mount -t cgroup2 c /tmp/c' && echo made",
        "unshare -UrmC sh -c 'mkdir /tmp/c; mount -t cgroup -o pids c /tmp/c' && echo made",
        "bwrap --unshare-user --dev-bind / / true && echo made",
        "cp /bin/true mine; chmod u+s mine && echo made; chmod 4755 mine && echo made",
        "perl -e 'use Fcntl; sysopen(F, q(other), O_CREAT | O_WRONLY, 04755) and print q(made)'",
        #[cfg(target_arch = "x86_64")]
        "perl -e 'syscall(250, 0, -3, 0) >= 0 and print q(made)'",
        #[cfg(target_arch = "x86_64")]
        "perl -e 'syscall(425, 1, 0) >= 0 || !$!{ENOSYS} and print q(made)'",
    ] {
        let told = output(&desk, command).await;
        assert!(!told.contains("made"), "{command} {told}");
    }
    for name in ["mine", "other"] {
        use std::os::unix::fs::PermissionsExt as _;
        let found = fs::metadata(desk.context.workspace.join(name));
        assert!(!found.is_ok_and(|found| found.permissions().mode() & 0o4000 != 0), "{name}");
    }
    // What programs do every day.
    let told = output(
        &desk,
        "mkdir d && chmod 2755 d && (sleep 0.1 & wait) && echo a | tee f | cat - f && echo done",
    )
    .await;
    assert!(told.trim_end().ends_with("done"), "{told}");
}

/// The folder of the workspace's own skills may be read, and is in the workspace: a command can put a link in its place.
#[tokio::test]
async fn a_link_in_the_place_of_a_readable_folder_leads_nowhere() {
    for walls in WALLS {
        let mut desk = walled(walls, json!({}));
        let (state, workspace) = (desk.state(), desk.context.workspace.clone());
        let secret = state.join("agents/main/sessions/sessions.json");
        let link = format!("ln -sfn '{}' skills", state.join("agents").display());
        output(&desk, &link).await;
        assert!(workspace.join("skills/main").exists(), "{walls}");
        let told =
            output(&desk, &format!("cat '{}' skills/main/sessions/sessions.json", secret.display())).await;
        assert!(!told.contains("session-secret"), "{walls} {told}");
        for path in [secret.display().to_string(), "skills/main/sessions/sessions.json".to_owned()] {
            let told = text_of(&desk.call("read", json!({"path": path})).await);
            assert!(!told.contains("session-secret"), "{walls} {path} {told}");
        }
        // Nor is it a folder in which programs that are safe run unasked.
        desk.configure(json!({"tools": {"exec": {"ask": "off"}}}));
        let told = desk.refused("exec", json!({"command": "wc -c", "workdir": state.join("agents")})).await;
        assert!(told.contains("not one of the agent's folders"), "{walls} {told}");
    }
}
