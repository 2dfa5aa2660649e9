# SPDX-License-Identifier: Apache-2.0
# Load on the LLM broker: a provider and callers fast enough for benches.
add_executable(upstream_llm ${CMAKE_SOURCE_DIR}/tests/bench/upstream_llm.c)
add_executable(load_llm ${CMAKE_SOURCE_DIR}/tests/bench/load_llm.c
    ${CMAKE_SOURCE_DIR}/tests/bench/load_samples.c)
foreach(tool upstream_llm load_llm)
	target_include_directories(${tool} PRIVATE ${CMAKE_SOURCE_DIR})
	target_link_libraries(${tool} PRIVATE PkgConfig::SSL PkgConfig::CRYPTO)
endforeach()
add_scenario(broker_load TIMEOUT 300 ALONE)
