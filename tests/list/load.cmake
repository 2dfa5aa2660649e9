# SPDX-License-Identifier: Apache-2.0
# Load and faults, in their short form (docs/load.md).
add_executable(fail_call ${CMAKE_SOURCE_DIR}/tests/load/fail_call.c)
target_link_libraries(fail_call PRIVATE PkgConfig::SECCOMP)
function(add_load name)
	cmake_parse_arguments(T "" "TIMEOUT" "WORDS" ${ARGN})
	add_test(NAME load/${name}
	    COMMAND python3 ${CMAKE_SOURCE_DIR}/tests/load/${name}.py
	    ${T_WORDS})
	set_tests_properties(load/${name} PROPERTIES LABELS load
	    TIMEOUT ${T_TIMEOUT} RUN_SERIAL TRUE
	    ENVIRONMENT "AGENTNODE_SOURCE_DIR=${CMAKE_SOURCE_DIR};AGENTNODE_BUILD_DIR=${CMAKE_BINARY_DIR};PYTHONPATH=${CMAKE_SOURCE_DIR}/tests/support;PYTHONDONTWRITEBYTECODE=1")
endfunction()
add_load(fault_calls TIMEOUT 400 WORDS --seconds 60)
add_load(crowd TIMEOUT 240)
add_load(faults_machine TIMEOUT 240)
add_load(faults_network TIMEOUT 240)
