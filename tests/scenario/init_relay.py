#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The unix sockets inside a container: bytes both ways, half-close kept,
both services, a bound on connections, and no socket when none is asked
for."""
from harness import check, finish
from init_sandbox import Run, make_image

make_image()

run = Run("attack_init", "relay", options=(
    "--listen", "127.0.0.1:4100", "--listen", "127.0.0.1:4101",
    "--relay-llm", "4100", "--relay-tools", "4101", "--echo")).finish()
facts = run.facts()
check("bytes_and_half_close", facts.get("llm") == str(4 << 20), run.events)
check("second_service", facts.get("tools") == "16384", run.events)
check("bound_on_connections", facts.get("opened") == "64"
      and facts.get("full") == "waited", run.events)
check("room_comes_back", facts.get("again") == "success", run.events)

run = Run("attack_init", "relay").finish()
check("no_socket_unasked", run.facts().get("llm") == "-1", run.events)
finish()
