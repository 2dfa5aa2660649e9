# SPDX-License-Identifier: Apache-2.0
# Runs on the host.
add_machine_test(host_run LIBRARIES supervisor_host)
add_dependencies(machine_host_run agentnode-host agentnode-ledger
    agentnode-unpack)
add_unit_test(host_group SOURCES
    ${CMAKE_SOURCE_DIR}/supervisor/host/host_group.c)
add_scenario(host_packs TIMEOUT 600)
