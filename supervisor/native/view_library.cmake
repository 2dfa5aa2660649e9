# SPDX-License-Identifier: Apache-2.0
# What a command in the native boundary sees, planned: linked by agentnode.
set(NATIVE ${CMAKE_CURRENT_SOURCE_DIR}/native)
add_library(supervisor_native_view STATIC
    ${NATIVE}/native_cover.c ${NATIVE}/native_gitconfig.c ${NATIVE}/native_gitplace.c
    ${NATIVE}/native_gitmark.c ${NATIVE}/native_gitwords.c
    ${NATIVE}/native_listing.c ${NATIVE}/native_look.c
    ${NATIVE}/native_given.c ${NATIVE}/native_repository.c
    ${NATIVE}/native_found.c ${NATIVE}/native_hold.c ${NATIVE}/native_homes.c
    ${NATIVE}/native_journal.c ${NATIVE}/native_nested.c ${NATIVE}/native_place.c
    ${NATIVE}/native_protect.c ${NATIVE}/native_step.c
    ${NATIVE}/native_system.c ${NATIVE}/native_view.c
    ${NATIVE}/native_view_judge.c)
target_link_libraries(supervisor_native_view PUBLIC common_io)
# What was refused, and a person who is asked.
add_library(supervisor_native_approval STATIC
    ${NATIVE}/native_approval.c ${NATIVE}/native_denied.c
    ${NATIVE}/native_grant.c)
target_link_libraries(supervisor_native_approval PUBLIC supervisor_native_view
    supervisor_policy supervisor_signals)
