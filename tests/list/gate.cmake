# SPDX-License-Identifier: Apache-2.0
# The gate and the mcp commands.
add_unit_test(mcp_json LIBRARIES gate_pure)
add_unit_test(mcp_line LIBRARIES gate_pure)
add_unit_test(mcp_message LIBRARIES gate_pure)
add_unit_test(gate_text LIBRARIES gate_pure)
add_unit_test(gate_build LIBRARIES gate_core)
set(GATE_SCRIPT ${CMAKE_SOURCE_DIR}/tests/support/gate_script.c)
add_machine_test(gate SOURCES ${GATE_SCRIPT} LIBRARIES gate_core)
add_machine_test(gate_claim SOURCES ${GATE_SCRIPT} LIBRARIES gate_core)
add_machine_test(gate_ends SOURCES ${GATE_SCRIPT} LIBRARIES gate_core)
add_confine_test(gate_confine LIBRARIES gate_process)
add_fuzz_target(mcp_line LIBRARIES gate_pure)
add_fuzz_target(mcp_session LIBRARIES gate_core)
add_fuzz_target(gate_build LIBRARIES gate_core)
add_scenario(mcp_gate TIMEOUT 180)
set(MCP_CLIENT_SOURCES ${CMAKE_SOURCE_DIR}/supervisor/command/mcp_import.c
    ${CMAKE_SOURCE_DIR}/supervisor/command/mcp_toml.c)
add_unit_test(mcp_import SOURCES ${MCP_CLIENT_SOURCES}
    ${CMAKE_SOURCE_DIR}/supervisor/mcp/mcp_package.c
    LIBRARIES supervisor_package supervisor_pin common_io)
add_fuzz_target(mcp_toml SOURCES ${MCP_CLIENT_SOURCES}
    LIBRARIES supervisor_package supervisor_pin common_io)
add_scenario(mcp_servers TIMEOUT 900)
add_scenario(mcp_run TIMEOUT 600)
add_scenario(mcp_client_files TIMEOUT 180)
add_scenario(mcp_rootless TIMEOUT 240)
add_scenario(mcp_python TIMEOUT 300)
add_scenario(mcp_env TIMEOUT 400)
