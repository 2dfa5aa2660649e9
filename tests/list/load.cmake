# SPDX-License-Identifier: Apache-2.0
# Load and faults, in their short form (docs/load.md).
add_executable(fail_call ${CMAKE_SOURCE_DIR}/tests/load/fail_call.c)
target_link_libraries(fail_call PRIVATE PkgConfig::SECCOMP)
macro(add_load name)
	agentnode_script(load ${name} ${name} ALONE ${ARGN})
endmacro()
add_load(fault_calls TIMEOUT 400 WORDS --seconds 60)
add_load(crowd TIMEOUT 240)
add_load(faults_machine TIMEOUT 240)
add_load(faults_network TIMEOUT 240)
