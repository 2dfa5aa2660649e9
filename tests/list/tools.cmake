# SPDX-License-Identifier: Apache-2.0
# The tools of an agent: the port, the client of a package, the sessions.
add_executable(drive_tools support/drive_tools.c)
target_include_directories(drive_tools PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(drive_tools PRIVATE supervisor_agent)
add_dependencies(drive_tools agentnode agentnode-init agentnode-ledger
    agentnode-unpack agentnode-gate agentnode-egress-proxy agentnode-probe
    seccomp_profile)
add_scenario(tool_sessions TIMEOUT 600)
add_unit_test(tools_request LIBRARIES gate_pure)
add_unit_test(tools_body LIBRARIES gate_pure)
set(TOOLS_SCRIPT ${CMAKE_SOURCE_DIR}/tests/support/tools_script.c)
add_machine_test(tools_port SOURCES ${TOOLS_SCRIPT} LIBRARIES gate_core)
add_machine_test(tools_port_gone SOURCES ${TOOLS_SCRIPT} LIBRARIES gate_core)
add_machine_test(tools_port_http SOURCES ${TOOLS_SCRIPT} LIBRARIES gate_core)
add_machine_test(gate_agent SOURCES ${CMAKE_SOURCE_DIR}/tests/support/gate_script.c
    LIBRARIES gate_core)
add_fuzz_target(tools_rpc LIBRARIES gate_core)
add_fuzz_target(gate_caller LIBRARIES gate_core)
add_scenario(tools_port TIMEOUT 300)
add_scenario(tool_everything TIMEOUT 400)
add_scenario(agent_tools TIMEOUT 600)
