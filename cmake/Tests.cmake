# SPDX-License-Identifier: Apache-2.0
# One line per test:
#   add_unit_test(NAME LIBRARIES ...)      tests/unit/test_NAME.c
#   add_machine_test(NAME LIBRARIES ...)   tests/machine/test_NAME.c
#   add_confine_test(NAME LIBRARIES ...)   tests/confine/test_NAME.c
#   add_fuzz_target(NAME LIBRARIES ...)    tests/fuzz/fuzz_NAME.c and the
#                                          corpus tests/fuzz/corpus/NAME/
#   add_scenario(NAME TIMEOUT s)           tests/scenario/NAME.py
function(agentnode_cmocka_test kind name)
	cmake_parse_arguments(T "" "" "SOURCES;LIBRARIES" ${ARGN})
	set(target ${kind}_${name})
	add_executable(${target} ${CMAKE_SOURCE_DIR}/tests/${kind}/test_${name}.c
	    ${T_SOURCES})
	target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
	target_compile_definitions(${target} PRIVATE
	    AGENTNODE_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
	    AGENTNODE_BUILD_DIR="${CMAKE_BINARY_DIR}")
	target_link_libraries(${target} PRIVATE ${T_LIBRARIES}
	    PkgConfig::CMOCKA)
	add_test(NAME ${kind}/${name} COMMAND ${target})
	set_tests_properties(${kind}/${name} PROPERTIES LABELS ${kind}
	    TIMEOUT 120)
endfunction()
macro(add_unit_test name)
	agentnode_cmocka_test(unit ${name} ${ARGN})
endmacro()
macro(add_machine_test name)
	agentnode_cmocka_test(machine ${name} ${ARGN})
endmacro()
macro(add_confine_test name)
	agentnode_cmocka_test(confine ${name} ${ARGN})
endmacro()

function(add_fuzz_target name)
	cmake_parse_arguments(T "" "" "SOURCES;LIBRARIES" ${ARGN})
	set(target fuzz_${name})
	add_executable(${target} ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_${name}.c
	    ${T_SOURCES})
	target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
	target_link_libraries(${target} PRIVATE ${T_LIBRARIES})
	if(AGENTNODE_MODE STREQUAL "fuzz")
		target_link_options(${target} PRIVATE -fsanitize=fuzzer)
	else()
		target_sources(${target} PRIVATE
		    ${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.c)
	endif()
	add_test(NAME fuzz/${name} COMMAND ${target}
	    $<$<STREQUAL:${AGENTNODE_MODE},fuzz>:-runs=0>
	    ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name}
	    COMMAND_EXPAND_LISTS)
	set_tests_properties(fuzz/${name} PROPERTIES LABELS fuzz TIMEOUT 300)
endfunction()

function(add_scenario name)
	cmake_parse_arguments(T "" "TIMEOUT" "" ${ARGN})
	if(NOT T_TIMEOUT)
		set(T_TIMEOUT 120)
	endif()
	add_test(NAME scenario/${name}
	    COMMAND python3 ${CMAKE_SOURCE_DIR}/tests/scenario/${name}.py)
	set_tests_properties(scenario/${name} PROPERTIES LABELS scenario
	    TIMEOUT ${T_TIMEOUT} RUN_SERIAL TRUE
	    ENVIRONMENT "AGENTNODE_SOURCE_DIR=${CMAKE_SOURCE_DIR};AGENTNODE_BUILD_DIR=${CMAKE_BINARY_DIR};PYTHONPATH=${CMAKE_SOURCE_DIR}/tests/support;PYTHONDONTWRITEBYTECODE=1")
endfunction()
