# SPDX-License-Identifier: Apache-2.0
# The agentnode program: main, the command files (one per group, found by
# their place), and the parts as libraries.
file(GLOB AGENTNODE_COMMANDS CONFIGURE_DEPENDS
    ${CMAKE_CURRENT_SOURCE_DIR}/command/*.c)
set(AGENTNODE_PARTS supervisor_package supervisor_audit audit_records
    supervisor_policy)
# The story of a sandbox writes audit records, and audit starts a child.
if(TARGET supervisor_engine)
	target_link_libraries(supervisor_engine PUBLIC supervisor_audit)
endif()
# These may be configured after this file.
foreach(part supervisor_install supervisor_engine egress_policy policy_suffix)
	list(APPEND AGENTNODE_PARTS $<TARGET_NAME_IF_EXISTS:${part}>)
endforeach()
add_process(agentnode COMMAND
    SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/main.c ${AGENTNODE_COMMANDS}
    LIBRARIES ${AGENTNODE_PARTS} common_io)
target_compile_definitions(agentnode PRIVATE
    AGENTNODE_VERSION="${PROJECT_VERSION}")
