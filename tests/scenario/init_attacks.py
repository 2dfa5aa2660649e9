#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks of a workload on its init, in real containers. Each is refused by
the shipped init, and succeeds against an init that lacks the layer."""
import socket

from harness import check, finish
from init_sandbox import Run, make_image, variant

SO_PASSRIGHTS = 83

make_image()

# Memory of pid 1: either layer is enough, without both it is open.
for name, init, opened in (("as shipped", None, False),
                           ("without Landlock", variant("bare"), False),
                           ("dumpable", variant("dumpable"), False),
                           ("dumpable and without Landlock",
                            variant("open"), True)):
    run = Run("attack_init", "memory",
              **({"init": init} if init else {})).finish()
    facts = run.facts()
    check(f"i13_memory_{name.replace(' ', '_')}",
          facts.get("mem") == ("opened" if opened else "EACCES")
          and (facts.get("write") == "success") == opened, run.events)

# Signals: pid 1 outlives every one, with and without the scope.
for name, init, answer in (("as_shipped", None, "EPERM"),
                           ("without_landlock", variant("bare"), "success")):
    run = Run("attack_init", "signal",
              **({"init": init} if init else {})).finish()
    lines = run.output().splitlines()
    check(f"i04_signal_{name}", len(lines) == 6
          and all(line.endswith(answer) for line in lines)
          and run.one("status").get("exit") == 0, run.events)

# Names: the listener's address and the relay's socket stay ours.
RELAY = ("--listen", "127.0.0.1:3128", "--listen", "127.0.0.1:4100",
         "--relay-llm", "4100", "--echo")
run = Run("attack_init", "names", options=RELAY).finish()
facts = run.facts()
check("names_listener_taken", facts.get("bind") == "EADDRINUSE", run.events)
check("names_relay_socket_stays", facts.get("unlink") == "EACCES"
      and facts.get("rename") == "EACCES" and facts.get("echo") == "success",
      run.events)
run = Run("attack_init", "names", options=RELAY,
          init=variant("bare")).finish()
check("names_relay_socket_lost_without_landlock",
      run.facts().get("unlink") == "success", run.events)

# A guest of a kernel of its own has fewer walls: nobody but a supervisor and
# a command line that agree about it make init one.
RIGHTS = [word for right in ("SETPCAP", "SETUID", "SETGID", "KILL")
          for word in ("--podman", "--cap-add=" + right)]
for name, options in (("by_its_word", ("--word", "guest")),
                      ("by_its_word_with_rights",
                       ("--word", "guest", *RIGHTS)),
                      ("by_the_setup", ("--guest-uid", "70001")),
                      ("by_another_word", ("--word", "gues"))):
    run = Run("attack_init", "memory", options=options).finish()
    check(f"i13_no_guest_{name}", not run.all("report")
          and not run.output() and not run.one("status"), run.events)

# A lingering socket sent to the relay.
with socket.socket(socket.AF_UNIX) as probe:
    try:
        probe.setsockopt(socket.SOL_SOCKET, SO_PASSRIGHTS, 0)
        refusable = True
    except OSError:
        refusable = False
LINGERS = 8000  # ms, as attack_init.c asks for


def linger(**more):
    """Its facts; ms of the echo behind it (-1: none), and from before the
    send to its end (the sender's own close waits as well when nothing was
    sent)."""
    run = Run("attack_init", "linger", options=RELAY, **more).finish()
    facts = run.facts()
    return run, facts, *(int(facts.get(name, "-1").split()[0])
                         for name in ("after", "since"))


# A busy machine makes an echo slower, never faster: of three the fastest
# counts, and one that lingers takes as long as it was told to.
run, facts, after, since = linger()
for _ in range(2):
    if refusable and not 0 <= after < LINGERS / 2:
        run, facts, after, since = linger()
if refusable:
    check("linger_cannot_be_sent", facts.get("send") == "EPERM"
          and 0 <= after < LINGERS / 2, run.events)
else:
    check("linger_delays_only_the_relay", after >= 0, run.events)
run, facts, after, since = linger(init=variant("dumpable"))
check("linger_delays_a_relay_that_takes_descriptors",
      facts.get("send") == "success" and (after < 0 or
                                          since >= LINGERS - 500), run.events)
finish()
