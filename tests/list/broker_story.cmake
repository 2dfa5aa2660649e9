# SPDX-License-Identifier: Apache-2.0
# The broker's process, the story of a call, the response side.
add_executable(drive_broker ${CMAKE_SOURCE_DIR}/tests/bench/drive_broker.c
    ${CMAKE_SOURCE_DIR}/tests/bench/drive_broker_options.c
    ${CMAKE_SOURCE_DIR}/tests/bench/drive_child.c
    ${CMAKE_SOURCE_DIR}/tests/bench/drive_names.c)
target_include_directories(drive_broker PRIVATE ${CMAKE_SOURCE_DIR})
target_compile_definitions(drive_broker PRIVATE
    AGENTNODE_BUILD_DIR="${CMAKE_BINARY_DIR}")
target_link_libraries(drive_broker PRIVATE common_io)
add_dependencies(drive_broker agentnode-llm-broker agentnode-llm-key
    agentnode-ledger)
add_scenario(broker_drive TIMEOUT 240)
set(REDACT_KEY ${CMAKE_SOURCE_DIR}/tests/support/redact_key.c)
add_unit_test(redact SOURCES ${REDACT_KEY} LIBRARIES broker_redact)
add_fuzz_target(redact SOURCES ${REDACT_KEY} LIBRARIES broker_redact)
add_unit_test(usage_scan LIBRARIES broker_relay)
add_fuzz_target(usage_scan LIBRARIES broker_relay)
foreach(part call call_ends)
	add_machine_test(${part} LIBRARIES broker_story
	    SOURCES ${CMAKE_SOURCE_DIR}/tests/machine/call_script.c
	    ${REDACT_KEY})
	target_compile_definitions(machine_${part} PRIVATE
	    AGENTNODE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
endforeach()
add_unit_test(response_filter LIBRARIES broker_relay)
add_unit_test(call_charge LIBRARIES broker_story)
add_unit_test(broker_config LIBRARIES broker_io)
add_confine_test(broker_confine LIBRARIES broker_io)
# A broker whose redactor does nothing, so that the search can find a key.
add_executable(broker_redact_none ${CMAKE_SOURCE_DIR}/llm-broker/main.c
    ${CMAKE_SOURCE_DIR}/tests/support/redact_none.c)
target_include_directories(broker_redact_none PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(broker_redact_none PRIVATE broker_io)
add_scenario(broker_process TIMEOUT 300)
add_scenario(broker_budget TIMEOUT 240)
add_fuzz_target(call_relay SOURCES ${REDACT_KEY} LIBRARIES broker_relay)
add_unit_test(key_table LIBRARIES broker_story)
add_unit_test(error_word LIBRARIES broker_relay)
add_unit_test(broker_usage LIBRARIES broker_io)
