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

# musl, the C library of what is started with every sandbox: an eighth of the
# pages to copy and map, and a start that asks the processor nothing, which
# costs as much as the rest of a start where a hypervisor answers. Only the
# kernel's own headers come from the system's.
set(MUSL_ARCH ${CMAKE_SYSTEM_PROCESSOR}-linux-musl)
find_path(MUSL_INCLUDE stdio.h PATHS /usr/include/${MUSL_ARCH}
    NO_DEFAULT_PATH REQUIRED)
find_path(MUSL_LIBRARIES rcrt1.o PATHS /usr/lib/${MUSL_ARCH}
    NO_DEFAULT_PATH REQUIRED)
set(MUSL_KERNEL ${CMAKE_BINARY_DIR}/musl)
file(MAKE_DIRECTORY ${MUSL_KERNEL})
foreach(folder linux asm asm-generic)
	find_path(MUSL_KERNEL_${folder} ${folder}/ioctl.h REQUIRED)
	mark_as_advanced(MUSL_KERNEL_${folder})
	file(CREATE_LINK ${MUSL_KERNEL_${folder}}/${folder}
	    ${MUSL_KERNEL}/${folder} SYMBOLIC)
endforeach()
foreach(file include crtbeginS.o crtendS.o libgcc.a)
	execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=${file}
	    OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE
	    COMMAND_ERROR_IS_FATAL ANY)
	set(MUSL_COMPILER_${file} ${path})
endforeach()
function(link_musl name)
	target_compile_options(${name} PRIVATE -nostdinc
	    "SHELL:-isystem ${MUSL_INCLUDE}"
	    "SHELL:-isystem ${MUSL_COMPILER_include}"
	    "SHELL:-isystem ${MUSL_KERNEL}"
	    -ffunction-sections -fdata-sections
	    # of its CMSG_NXTHDR
	    $<$<C_COMPILER_ID:Clang>:-Wno-sign-compare>)
	target_link_options(${name} PRIVATE -nostdlib -nostartfiles
	    -Wl,--gc-sections ${MUSL_LIBRARIES}/rcrt1.o
	    ${MUSL_LIBRARIES}/crti.o ${MUSL_COMPILER_crtbeginS.o})
	target_link_libraries(${name} PRIVATE ${MUSL_LIBRARIES}/libc.a
	    ${MUSL_COMPILER_libgcc.a} ${MUSL_COMPILER_crtendS.o}
	    ${MUSL_LIBRARIES}/crtn.o)
endfunction()

# add_static_program(NAME [MUSL] SOURCES ...): runs inside containers: static,
# linked with nothing but libc (MUSL: that one), never instrumented.
function(add_static_program name)
	cmake_parse_arguments(P "MUSL" "" "SOURCES" ${ARGN})
	add_executable(${name} ${P_SOURCES})
	target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}
	    ${CMAKE_CURRENT_SOURCE_DIR})
	target_compile_options(${name} PRIVATE -fno-sanitize=all
	    $<$<STREQUAL:${AGENTNODE_MODE},coverage>:-fno-profile-arcs
	    -fno-test-coverage>)
	if(P_MUSL)
		link_musl(${name})
	endif()
	# init is copied into memory at each start.
	target_link_options(${name} PRIVATE -static-pie -fno-sanitize=all
	    $<$<STREQUAL:${AGENTNODE_MODE},release>:-Wl,--strip-debug>)
	set_target_properties(${name} PROPERTIES
	    RUNTIME_OUTPUT_DIRECTORY
	    ${CMAKE_BINARY_DIR}/libexec/agentnode)
	install(TARGETS ${name} RUNTIME DESTINATION libexec/agentnode)
endfunction()
