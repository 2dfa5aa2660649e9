# SPDX-License-Identifier: Apache-2.0
# What runs inside containers in tests: static, and never installed.
function(add_inside_program name)
	add_executable(${name} ${ARGN})
	target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
	target_compile_options(${name} PRIVATE -fno-sanitize=all
	    $<$<STREQUAL:${AGENTNODE_MODE},coverage>:-fno-profile-arcs
	    -fno-test-coverage>)
	target_link_options(${name} PRIVATE -static-pie -fno-sanitize=all)
	set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
	    ${CMAKE_BINARY_DIR}/tests/inside)
endfunction()
add_inside_program(attack_init ${CMAKE_SOURCE_DIR}/tests/support/attack_init.c)
# The generated programs belong to another folder.
set_source_files_properties(${INIT_FILTER_SOURCE} PROPERTIES GENERATED TRUE)
foreach(layer open dumpable bare unguarded)
	add_inside_program(init_${layer} ${INIT_VARIANT_SOURCES}
	    ${INIT_FILTER_SOURCE}
	    ${CMAKE_SOURCE_DIR}/tests/support/layers_${layer}.c)
	add_dependencies(init_${layer} init_parts)
endforeach()

# Plays the supervisor.
foreach(tool init_harness report_print)
	add_executable(${tool} ${CMAKE_SOURCE_DIR}/tests/support/${tool}.c)
	target_link_libraries(${tool} PRIVATE supervisor_wall)
	set_target_properties(${tool} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
	    ${CMAKE_BINARY_DIR}/tests/inside)
endforeach()
target_sources(init_harness PRIVATE
    ${CMAKE_SOURCE_DIR}/tests/support/init_harness_option.c)

add_unit_test(wall_table LIBRARIES supervisor_wall)
add_unit_test(init_go LIBRARIES init_parts)
add_unit_test(init_look LIBRARIES init_parts)
add_unit_test(init_filter LIBRARIES init_parts PkgConfig::SECCOMP)
add_unit_test(seccomp_profile LIBRARIES seccomp_table PkgConfig::JANSSON)
add_dependencies(unit_seccomp_profile seccomp_profile)
add_fuzz_target(init_go LIBRARIES init_parts)
add_scenario(init_story)
add_scenario(init_trees)
add_scenario(init_attacks)
add_scenario(init_death ALONE)
add_scenario(init_probe)
add_scenario(init_relay)
add_scenario(probe_fetch)
