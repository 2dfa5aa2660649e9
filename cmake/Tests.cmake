# SPDX-License-Identifier: Apache-2.0
# One line per test:
#   add_unit_test(NAME LIBRARIES ...)      tests/unit/test_NAME.c
#   add_machine_test(NAME LIBRARIES ...)   tests/machine/test_NAME.c
#   add_confine_test(NAME LIBRARIES ...)   tests/confine/test_NAME.c
#   add_fuzz_target(NAME LIBRARIES ...)    tests/fuzz/fuzz_NAME.c and the
#                                          corpus tests/fuzz/corpus/NAME/
#   add_scenario(NAME TIMEOUT s [ALONE] [LOCK NAME ...])
#                                          tests/scenario/NAME.py
# Scenarios run two at a time. ALONE: it measures, is a load, or kills at
# moments, and nothing runs beside it. LOCK: what there is once on a machine,
# so that of those that name it one runs at a time; what a script uses itself
# is found in it (AGENTNODE_ONCE). The longer its time limit, the sooner a
# test starts: no long one is left for the end.
function(agentnode_cmocka_test kind name)
	cmake_parse_arguments(T "" "" "SOURCES;LIBRARIES" ${ARGN})
	set(target ${kind}_${name})
	add_executable(${target} ${CMAKE_SOURCE_DIR}/tests/${kind}/test_${name}.c
	    ${T_SOURCES})
	target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
	target_compile_definitions(${target} PRIVATE
	    AGENTNODE_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
	    AGENTNODE_BUILD_DIR="${CMAKE_BINARY_DIR}")
	target_link_libraries(${target} PRIVATE ${T_LIBRARIES} test_folder
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

set(AGENTNODE_SCRIPT_ENVIRONMENT "AGENTNODE_SOURCE_DIR=${CMAKE_SOURCE_DIR}"
    "AGENTNODE_BUILD_DIR=${CMAKE_BINARY_DIR}"
    "PYTHONPATH=${CMAKE_SOURCE_DIR}/tests/support"
    "PYTHONDONTWRITEBYTECODE=1")
# What there is once: the tests' Docker daemon, /etc/passwd, fixed ports on
# loopback, the directory of runs without an engine, and volumes of packages,
# which are named after their content, so that the same package of two
# scenarios is one volume; and who uses it.
set(AGENTNODE_ONCE docker accounts internet oci packages)
set(AGENTNODE_ONCE_docker "Dockerd")
set(AGENTNODE_ONCE_accounts "[. ](User|Member)\\(")
set(AGENTNODE_ONCE_internet "TestInternet|tunnel_client")
set(AGENTNODE_ONCE_oci "oci_case|\"engine\": \"oci\"")
set(AGENTNODE_ONCE_packages
    "mcp_setup|agent_case|pack_case|pack_runs|tool_pool|engine_row|\"install\"")
# A script of tests/FOLDER: scenarios, attacks, loads.
function(agentnode_script folder name script)
	cmake_parse_arguments(T "ALONE" "TIMEOUT" "LOCK;WORDS" ${ARGN})
	if(NOT T_TIMEOUT)
		set(T_TIMEOUT 120)
	endif()
	set(path ${CMAKE_SOURCE_DIR}/tests/${folder}/${script}.py)
	file(READ ${path} text)
	foreach(once ${AGENTNODE_ONCE})
		if(text MATCHES "${AGENTNODE_ONCE_${once}}")
			list(APPEND T_LOCK ${once})
		endif()
	endforeach()
	add_test(NAME ${folder}/${name} COMMAND python3 ${path} ${T_WORDS})
	set_tests_properties(${folder}/${name} PROPERTIES LABELS ${folder}
	    TIMEOUT ${T_TIMEOUT} COST ${T_TIMEOUT} RUN_SERIAL ${T_ALONE}
	    RESOURCE_LOCK "${T_LOCK}"
	    ENVIRONMENT "${AGENTNODE_SCRIPT_ENVIRONMENT}")
endfunction()
macro(add_scenario name)
	agentnode_script(scenario ${name} ${name} ${ARGN})
endmacro()
