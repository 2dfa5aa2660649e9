# SPDX-License-Identifier: Apache-2.0
# add_process(NAME SOURCES ... LIBRARIES ...): one of our host programs.
# The build tree mirrors the installed tree (bin/, libexec/agentnode/), so
# that agentnode finds the others beside itself by one rule. BELOW names a
# folder of libexec/agentnode. ARCHIVES takes our libraries' archives and
# STATIC the libc too (release builds only): for what starts with a command.
function(add_process name)
	cmake_parse_arguments(P "COMMAND;STATIC;ARCHIVES" "BELOW" "SOURCES;LIBRARIES" ${ARGN})
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
	if(P_ARCHIVES OR P_STATIC)
		set_target_properties(${name} PROPERTIES AGENTNODE_ARCHIVES ON)
	endif()
	if(P_STATIC AND AGENTNODE_MODE STREQUAL "release")
		link_static(${name})
	endif()
	install(TARGETS ${name} RUNTIME DESTINATION ${dir})
endfunction()

# Nothing is looked up or loaded in such a program; what libevent and SQLite
# have for that would bring half of the libc in, and need its shared parts.
# The linker warns of SQLite's dlopen all the same.
include(CheckLinkerFlag)
check_linker_flag(C -Wl,--no-warnings AGENTNODE_LINKER_QUIET)
function(link_static name)
	if(AGENTNODE_LINKER_QUIET)
		target_link_options(${name} PRIVATE -Wl,--no-warnings)
	endif()
	target_link_options(${name} PRIVATE -static-pie -Wl,--gc-sections
	    -Wl,--strip-debug)
	foreach(function getaddrinfo freeaddrinfo gai_strerror getservbyname
	    getprotobynumber dlopen dlsym dlclose dlerror)
		target_link_options(${name} PRIVATE
		    -Wl,--defsym=${function}=abort)
	endforeach()
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
	    $<$<STREQUAL:${AGENTNODE_MODE},release>:-Wl,--strip-all>)
	set_target_properties(${name} PROPERTIES
	    RUNTIME_OUTPUT_DIRECTORY
	    ${CMAKE_BINARY_DIR}/libexec/agentnode)
	install(TARGETS ${name} RUNTIME DESTINATION libexec/agentnode)
endfunction()
