# SPDX-License-Identifier: Apache-2.0
# add_process(NAME SOURCES ... LIBRARIES ...): one of our host programs.
# The build tree mirrors the installed tree (bin/, libexec/agentnode/), so
# that agentnode finds the others beside itself by one rule. BELOW names a
# folder of libexec/agentnode.
function(add_process name)
	cmake_parse_arguments(P "COMMAND;STATIC" "BELOW" "SOURCES;LIBRARIES" ${ARGN})
	add_executable(${name} ${P_SOURCES})
	target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}
	    ${CMAKE_CURRENT_SOURCE_DIR})
	target_link_libraries(${name} PRIVATE ${P_LIBRARIES})
	if(P_COMMAND)
		set(dir ${CMAKE_INSTALL_BINDIR})
	else()
		set(dir libexec/agentnode/${P_BELOW})
	endif()
	set_target_properties(${name} PROPERTIES
	    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${dir})
	install(TARGETS ${name} RUNTIME DESTINATION ${dir})
endfunction()

# add_static_program(NAME SOURCES ...): runs inside containers: static,
# linked with nothing but libc, never instrumented.
function(add_static_program name)
	cmake_parse_arguments(P "" "" "SOURCES" ${ARGN})
	add_executable(${name} ${P_SOURCES})
	target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}
	    ${CMAKE_CURRENT_SOURCE_DIR})
	target_compile_options(${name} PRIVATE -fno-sanitize=all
	    $<$<STREQUAL:${AGENTNODE_MODE},coverage>:-fno-profile-arcs
	    -fno-test-coverage>)
	# init is copied into memory at each start.
	target_link_options(${name} PRIVATE -static-pie -fno-sanitize=all
	    $<$<STREQUAL:${AGENTNODE_MODE},release>:-Wl,--strip-debug>)
	set_target_properties(${name} PROPERTIES
	    RUNTIME_OUTPUT_DIRECTORY
	    ${CMAKE_BINARY_DIR}/libexec/agentnode)
	install(TARGETS ${name} RUNTIME DESTINATION libexec/agentnode)
endfunction()
