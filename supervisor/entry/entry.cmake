# SPDX-License-Identifier: Apache-2.0
# bin/agentnode: what runs a command in the native boundary itself and hands
# all else to the whole program. The same files, but for the functions that
# need libcrypto, libpsl, libidn2 or NSS: absent.c and absent_user.c stand for
# each of them.
set(ENTRY ${CMAKE_SOURCE_DIR}/supervisor/entry)
set(COMMAND ${CMAKE_SOURCE_DIR}/supervisor/command)
add_process(agentnode-entry COMMAND STATIC ARCHIVES
    SOURCES ${ENTRY}/main.c ${ENTRY}/absent.c ${ENTRY}/absent_user.c ${ENTRY}/entry_table.c
    ${COMMAND}/command.c ${COMMAND}/command_option.c ${COMMAND}/command_main.c ${COMMAND}/command_limits.c ${COMMAND}/command_dispatch.c
    ${COMMAND}/command_exec.c ${COMMAND}/exec_run.c ${COMMAND}/exec_ask.c
    ${COMMAND}/run_log.c ${COMMAND}/mcp_run_refused.c
    LIBRARIES ${AGENTNODE_PARTS} common_io)
target_compile_definitions(agentnode-entry PRIVATE
    AGENTNODE_VERSION="${PROJECT_VERSION}")
foreach(name ed25519_verify suffix_check_wildcard config_idn2_ascii getpwuid
    getpwuid_r)
	target_link_options(agentnode-entry PRIVATE
	    -Wl,--defsym=${name}=absent_${name})
endforeach()
target_link_options(agentnode-entry PRIVATE -Wl,--as-needed)
set_target_properties(agentnode-entry PROPERTIES OUTPUT_NAME agentnode)
# Both are built by the name of the program.
add_dependencies(agentnode agentnode-entry)
