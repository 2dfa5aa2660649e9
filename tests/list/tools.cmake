# SPDX-License-Identifier: Apache-2.0
# The tools of an agent: the port, the client of a package, the sessions.
add_executable(drive_tools support/drive_tools.c)
target_include_directories(drive_tools PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(drive_tools PRIVATE supervisor_agent)
add_dependencies(drive_tools agentnode agentnode-init agentnode-ledger
    agentnode-unpack agentnode-gate agentnode-egress-proxy agentnode-probe
    seccomp_profile)
add_scenario(tool_sessions TIMEOUT 600)
