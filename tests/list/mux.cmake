# SPDX-License-Identifier: Apache-2.0
# The mux wiring: frames, the link's state machine, both ends joined.
add_unit_test(mux_frame LIBRARIES mux_pure)
add_unit_test(docker_stream LIBRARIES mux_pure)
add_unit_test(mux_attach LIBRARIES gate_pure)
add_machine_test(mux_link LIBRARIES mux_pure)
add_machine_test(mux_bridge SOURCES support/mux_pair.c LIBRARIES mux_parts)
add_machine_test(mux_splice SOURCES support/mux_pair.c LIBRARIES mux_parts)
add_machine_test(mux_docker LIBRARIES mux_parts)
add_machine_test(mux_crowd LIBRARIES mux_parts)
add_confine_test(mux_confine LIBRARIES gate_process
    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/confine_calls.c)
add_fuzz_target(mux_link LIBRARIES mux_pure)
add_fuzz_target(docker_stream LIBRARIES mux_pure)
add_fuzz_target(mux_attach LIBRARIES gate_pure)
add_scenario(engine_mux TIMEOUT 180)
add_scenario(mux_streams TIMEOUT 120)
add_fuzz_target(mux_bridge LIBRARIES mux_parts)
