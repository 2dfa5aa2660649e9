# SPDX-License-Identifier: Apache-2.0
# The whole program: main, the command files (one per group, found by
# their place), and the parts as libraries. It takes the place of the one in
# bin (entry/entry.cmake), whose name it has.
file(GLOB AGENTNODE_COMMANDS CONFIGURE_DEPENDS
    ${CMAKE_CURRENT_SOURCE_DIR}/command/*.c)
set(AGENTNODE_PARTS supervisor_package supervisor_audit audit_records
    supervisor_policy supervisor_keyring)
# The story of a sandbox writes audit records, and audit starts a child.
if(TARGET supervisor_engine)
	target_link_libraries(supervisor_engine PUBLIC supervisor_audit)
endif()
# These may be configured after this file.
foreach(part supervisor_logs supervisor_exec supervisor_host supervisor_mcp supervisor_pack supervisor_agent supervisor_install supervisor_engine
    supervisor_argv_inspect init_parts
    egress_policy policy_suffix)
	list(APPEND AGENTNODE_PARTS $<TARGET_NAME_IF_EXISTS:${part}>)
endforeach()
add_process(agentnode BELOW command
    SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/main.c ${AGENTNODE_COMMANDS}
    LIBRARIES ${AGENTNODE_PARTS} common_io)
target_compile_definitions(agentnode PRIVATE
    AGENTNODE_VERSION="${PROJECT_VERSION}")
include(${CMAKE_CURRENT_SOURCE_DIR}/entry/entry.cmake)

# What the program says about itself: completion beside it and installed;
# `ninja manual` brings docs/man up to date (a test holds it to that).
set(AGENTNODE_COMPLETION ${CMAKE_BINARY_DIR}/share)
add_custom_command(TARGET agentnode POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E make_directory ${AGENTNODE_COMPLETION}
    COMMAND agentnode-entry completion bash > ${AGENTNODE_COMPLETION}/agentnode.bash
    COMMAND agentnode-entry completion zsh > ${AGENTNODE_COMPLETION}/_agentnode
    VERBATIM)
add_custom_target(manual
    COMMAND agentnode-entry manual agentnode
        > ${CMAKE_SOURCE_DIR}/docs/man/agentnode.1
    COMMAND agentnode-entry manual config
        > ${CMAKE_SOURCE_DIR}/docs/man/agentnode-config.5
    COMMAND agentnode-entry manual schema
        > ${CMAKE_SOURCE_DIR}/config/schema/config.json
    VERBATIM)
install(FILES ${AGENTNODE_COMPLETION}/agentnode.bash
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    RENAME agentnode)
install(FILES ${AGENTNODE_COMPLETION}/_agentnode
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${CMAKE_SOURCE_DIR}/docs/man/agentnode.1
    DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_SOURCE_DIR}/docs/man/agentnode-config.5
    DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
