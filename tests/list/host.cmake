# SPDX-License-Identifier: Apache-2.0
# Runs on the host.
foreach(name host_run host_early)
	add_machine_test(${name} SOURCES
	    ${CMAKE_SOURCE_DIR}/tests/support/host_world.c
	    LIBRARIES supervisor_host)
	add_dependencies(machine_${name} agentnode-host agentnode-ledger
	    agentnode-unpack)
endforeach()
add_unit_test(host_group SOURCES
    ${CMAKE_SOURCE_DIR}/supervisor/host/host_group.c)
add_scenario(host_packs TIMEOUT 600)
