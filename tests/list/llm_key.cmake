# SPDX-License-Identifier: Apache-2.0
# The process that holds keys and speaks TLS to providers.
add_unit_test(key_head LIBRARIES llm_key_pure)
add_unit_test(key_breaker LIBRARIES llm_key_pure)
add_unit_test(key_config LIBRARIES llm_key_config)
add_unit_test(key_pattern LIBRARIES llm_key_store)
add_unit_test(key_inject LIBRARIES llm_key_store)
set(LANE_SCRIPT ${CMAKE_SOURCE_DIR}/tests/machine/lane_script.c)
add_machine_test(key_lane SOURCES ${LANE_SCRIPT} LIBRARIES llm_key_lane)
add_machine_test(upstream_tls LIBRARIES llm_key_upstream)
add_unit_test(upstream_wire LIBRARIES llm_key_upstream)
add_fuzz_target(key_head LIBRARIES llm_key_pure)
add_fuzz_target(key_lane SOURCES ${LANE_SCRIPT} LIBRARIES llm_key_lane)
add_confine_test(key_confine LIBRARIES llm_key_process
    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/confine_calls.c)
add_scenario(llm_key_tls TIMEOUT 120)
add_scenario(llm_key_calls TIMEOUT 180)
add_scenario(llm_key_load TIMEOUT 180)
