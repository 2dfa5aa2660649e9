# SPDX-License-Identifier: Apache-2.0
# The broker's pure request side and the providers' files.
add_unit_test(provider_file LIBRARIES broker_request)
foreach(part call_sdk call_vectors call_malformed call_closed call_coding)
	add_unit_test(${part} LIBRARIES broker_request
	    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/call_case.c)
endforeach()
