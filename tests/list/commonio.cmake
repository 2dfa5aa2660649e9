# SPDX-License-Identifier: Apache-2.0
# The I/O part of common.
add_unit_test(fd LIBRARIES common_io)
add_unit_test(json_field LIBRARIES common_io)
add_unit_test(log LIBRARIES common_io util)
add_unit_test(event_loop LIBRARIES common_io)
add_unit_test(ipc LIBRARIES common_io)
add_unit_test(peer LIBRARIES common_io)
add_unit_test(peer_crowd LIBRARIES common_io
    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/no_memory.c)
add_confine_test(confine LIBRARIES common_io
    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/confine_run.c)
add_confine_test(confine_layers LIBRARIES common_io
    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/confine_run.c)
add_confine_test(confine_net LIBRARIES common_net
    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/confine_run.c
    ${CMAKE_SOURCE_DIR}/tests/support/dns_responder.c)
add_fuzz_target(ipc LIBRARIES common_io)
add_machine_test(dns LIBRARIES common_net
    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/dns_responder.c)
add_machine_test(dial LIBRARIES common_net)
