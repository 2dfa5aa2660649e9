# SPDX-License-Identifier: Apache-2.0
# The broker's pure request side and the providers' files.
foreach(part provider_file provider_load field_rule
    grant call_reply)
	add_unit_test(${part} LIBRARIES broker_request)
endforeach()
foreach(part call_sdk call_malformed call_closed
    call_coding call_llm call_amounts)
	add_unit_test(${part} LIBRARIES broker_request
	    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/call_case.c)
endforeach()
set(VECTORS ${CMAKE_SOURCE_DIR}/tests/support/call_case.c
    ${CMAKE_SOURCE_DIR}/tests/support/call_vectors.c)
add_unit_test(call_vectors LIBRARIES broker_request SOURCES ${VECTORS})
# The same table, printed for tests/attack.
add_executable(call_vectors_print support/call_vectors_print.c ${VECTORS})
target_include_directories(call_vectors_print PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(call_vectors_print PRIVATE broker_request
    PkgConfig::CMOCKA)
add_scenario(provider_fields TIMEOUT 300)
add_fuzz_target(call_request LIBRARIES broker_request PkgConfig::CMOCKA
    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/call_case.c)
target_compile_definitions(fuzz_call_request PRIVATE
    AGENTNODE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
foreach(part provider_load field_rule body_decode)
	add_fuzz_target(${part} LIBRARIES broker_request)
endforeach()
