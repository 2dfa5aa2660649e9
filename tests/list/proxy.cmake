# SPDX-License-Identifier: Apache-2.0
# The egress proxy as a process, and the tool that drives it.
add_executable(drive_proxy ${CMAKE_SOURCE_DIR}/tests/bench/drive_proxy.c
    ${CMAKE_SOURCE_DIR}/tests/bench/drive_options.c
    ${CMAKE_SOURCE_DIR}/tests/bench/drive_child.c)
target_include_directories(drive_proxy PRIVATE ${CMAKE_SOURCE_DIR})
target_compile_definitions(drive_proxy PRIVATE
    AGENTNODE_BUILD_DIR="${CMAKE_BINARY_DIR}")
target_link_libraries(drive_proxy PRIVATE common_io)
add_dependencies(drive_proxy agentnode-egress-proxy)
foreach(tool load_proxy load_upstream hop)
	add_executable(${tool} ${CMAKE_SOURCE_DIR}/tests/bench/${tool}.c)
endforeach()
add_confine_test(proxy_confine LIBRARIES egress_io)
foreach(part session session_limits)
	add_machine_test(${part} LIBRARIES egress_session
	    SOURCES ${CMAKE_SOURCE_DIR}/tests/machine/session_script.c)
endforeach()
add_machine_test(parent_dial LIBRARIES egress_io)
foreach(part deadline_wheel egress_quota http_body decision_table)
	add_unit_test(${part} LIBRARIES egress_session)
endforeach()
add_fuzz_target(http_body LIBRARIES egress_session)
add_unit_test(proxy_config LIBRARIES egress_io)
foreach(part tunnel exchange)
	add_unit_test(${part} LIBRARIES egress_io
	    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/tcp_pair.c)
endforeach()
add_scenario(proxy_live TIMEOUT 180)
add_scenario(proxy_load TIMEOUT 240 ALONE)
# For the scenario under valgrind; never installed.
add_executable(proxy_confine_none ${CMAKE_SOURCE_DIR}/egress-proxy/main.c
    ${CMAKE_SOURCE_DIR}/tests/support/proxy_confine_none.c)
target_include_directories(proxy_confine_none PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(proxy_confine_none PRIVATE egress_io)
add_scenario(proxy_valgrind TIMEOUT 240)
