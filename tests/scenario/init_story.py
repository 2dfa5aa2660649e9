#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The story of agentnode-init in a real container: listeners, report, go,
streams, secrets, relay, status, bye, and what it does with wrong records."""
import os
import subprocess

from harness import check, finish
from init_sandbox import (PROFILE, INIT, HARNESS, IMAGE, Run, environment,
                          make_image)

make_image()

# Listeners come first, in order, then a report without any difference.
run = Run("agentnode-probe", "--list", options=(
    "--listen", "127.0.0.1:3128", "--listen", "127.64.0.1:443",
    "--listen", "127.0.0.1:4100", "--relay-llm", "4100", "--echo")).finish()
kinds = [event["event"] for event in run.events]
check("order_of_events", kinds[:6] == ["hello", "listener", "listener",
                                       "listener", "report", "go"], kinds)
check("listener_indexes", [e["index"] for e in run.all("listener")]
      == [0, 1, 2], run.events)
check("report_sealed", run.one("report").get("seals") == 15, run.events)
report = run.report()
check("i13_no_difference", report["differences"] == [],
      report["differences"])
check("i13_landlock_in_force", report["landlock_abi"] > 0, report)
check("i03_only_loopback", report["interfaces"] == 1
      and report["interface"] == "lo" and report["routes"] == 0, report)
check("i01_no_host_in_hosts", "host.containers" not in report["hosts"],
      report["hosts"])
check("status_and_end", run.one("status").get("exit") == 0
      and run.one("engine").get("exit") == 0, run.events)
check("workload_output", "limit_memory" in run.output().split(),
      run.output())

# The report is compared, not trusted: a wrong expectation is seen.
done = subprocess.run(
    [os.path.join(os.path.dirname(HARNESS), "report_print"),
     run.report_path, "70002", run.name], capture_output=True, text=True, check=True)
check("i13_a_difference_is_told", "instead of 70002:70002" in done.stdout,
      done.stdout[:500])

# Environment: exactly what go says; secrets come behind it.
run = Run("agentnode-probe", "--report", options=(
    "--secret", "AWS_SECRET_ACCESS_KEY=x")).finish()
check("secret_reaches_the_workload", '"secret_in_env":true' in run.output(),
      run.output())
run = Run("agentnode-probe", "--report").finish()
check("i01_nothing_without_secret", '"secret_in_env":false' in run.output(),
      run.output())

# Endings: code, signal, and a program that does not exist.
run = Run("attack_init", "nothing").finish()
check("exit_code_kept", run.one("status").get("exit") == 2
      and "usage" in run.output("stderr"), run.events)
run = Run("agentnode-probe", "--spin", options=("--kill-after",
                                                "800")).finish()
check("kill_order", run.one("status").get("signal") == 9
      and run.one("status").get("exit") == -1, run.events)
run = Run("no-such-program").finish()
check("exec_errno_told", run.one("status").get("exec_errno") == 2
      and run.one("status").get("exit") == 127, run.events)
run = Run("/tmp").finish()
check("exec_of_folder", run.one("status").get("exec_errno") == 13,
      run.events)
run = Run("agentnode-probe", "--list", options=("--cwd", "/nowhere")).finish()
check("wrong_folder_told", run.one("status").get("exec_errno") == 2,
      run.events)

# Wrong setups are refused with their step and error, and init is gone.
for name, options, writable, step, error in (
        ("not_loopback", ("--listen", "0.0.0.0:80"), ("/tmp",), 3, 99),
        ("other_address", ("--listen", "10.0.0.1:80"), ("/tmp",), 3, 99),
        ("port_zero", ("--listen", "127.0.0.1:0"), ("/tmp",), 3, 99),
        ("twice", ("--listen", "127.0.0.1:80", "--listen", "127.0.0.1:80"),
         ("/tmp",), 3, 98),
        ("relative_path", (), ("tmp",), 2, 22),
        ("root_writable", (), ("/",), 2, 22),
        ("missing_folder", (), ("/nowhere",), 4, 2)):
    run = Run("agentnode-probe", "--list", options=options,
              writable=writable).finish()
    failed = run.one("failed")
    check(f"setup_{name}_refused", failed.get("step") == step
          and failed.get("error") == error and not run.all("go"), run.events)

# A container whose layers are not as expected says so in its report.
run = Run("agentnode-probe", "--list", options=(
    "--podman", "--tmpfs", "--podman", "/opt:rw,size=1m")).finish()
check("i13_extra_mount_told", any("/opt" in text for text in
                                  run.report()["differences"]),
      run.report()["differences"])
network = subprocess.Popen(
    ["unshare", "--net", "sh", "-c", "ip link set lo up && "
     "ip link add leak type veth peer name far && "
     "ip addr add 10.9.9.1/24 dev leak && ip link set leak up && "
     "ip link set far up && ip route add default via 10.9.9.2 && "
     "echo up && read end"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
network.stdout.readline()
run = Run("agentnode-probe", "--list", options=(
    "--network", f"ns:/proc/{network.pid}/ns/net")).finish()
network.communicate(b"\n")
told = run.report()["differences"]
for word in ("interfaces", "routes", "ROUTE4", "METADATA"):
    check(f"i03_network_told_by_{word}", any(word in text for text in told),
          told)
run = Run("agentnode-probe", "--list", options=(
    "--podman", "--cap-add=CAP_NET_RAW")).finish()
check("i13_capability_told", any("capabilities" in text for text in
                                 run.report()["differences"]),
      run.report()["differences"])
run = Run("agentnode-probe", "--list", options=(
    "--podman", "--env", "--podman", "AWS_SECRET_ACCESS_KEY=x")).finish()
told = run.report()["differences"]
check("i01_engine_variable_told", any("AWS_SECRET_ACCESS_KEY" in text
                                      for text in told), told)

# The supervisor's end closes before go: init ends, nothing was run.
run = Run("agentnode-probe", "--list", options=("--no-go",))
run.wait_for("report")
run.process.kill()
run.process.wait()
namespace_gone = False
for _ in range(200):
    done = subprocess.run(
        ["podman", "--cgroup-manager=cgroupfs", "ps", "-q", "--filter",
         f"name={run.name}"], env=environment(), capture_output=True,
        text=True, check=False)
    if done.returncode == 0 and done.stdout.strip() == "":
        namespace_gone = True
        break
check("i04_ends_before_go", namespace_gone and not run.all("go"), run.events)

# Without a control socket there is no container at all.
done = subprocess.run(
    ["podman", "--cgroup-manager=cgroupfs", "run", "--rm", "--runtime",
     "runc", "--network", "none", "--ulimit", "nofile=4096:4096", "--ulimit",
     "nproc=4096:4096", "--security-opt", f"seccomp={PROFILE}", "-v",
     f"{INIT}:/init:ro", "--entrypoint", "/init", IMAGE],
    env=environment(), capture_output=True, timeout=60, check=False)
check("alone_it_ends", done.returncode in (71, 77), done)
finish()
