# SPDX-License-Identifier: Apache-2.0
# The broker's pure request side and the providers' files.
foreach(part provider_file provider_load field_rule
    grant call_reply)
	add_unit_test(${part} LIBRARIES broker_request)
endforeach()
foreach(part call_sdk call_vectors call_malformed call_closed
    call_coding call_llm call_amounts)
	add_unit_test(${part} LIBRARIES broker_request
	    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/call_case.c)
endforeach()
add_scenario(provider_fields TIMEOUT 300)
add_fuzz_target(call_request LIBRARIES broker_request PkgConfig::CMOCKA
    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/call_case.c)
target_compile_definitions(fuzz_call_request PRIVATE
    AGENTNODE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
foreach(part provider_load field_rule body_decode)
	add_fuzz_target(${part} LIBRARIES broker_request)
endforeach()
