# SPDX-License-Identifier: Apache-2.0
# The mux wiring: frames, the link's state machine, both ends joined.
add_unit_test(mux_frame LIBRARIES mux_pure)
add_machine_test(mux_link LIBRARIES mux_pure)
add_machine_test(mux_bridge SOURCES support/mux_pair.c LIBRARIES mux_parts)
add_machine_test(mux_splice SOURCES support/mux_pair.c LIBRARIES mux_parts)
add_machine_test(mux_crowd LIBRARIES mux_parts)
add_fuzz_target(mux_link LIBRARIES mux_pure)
add_scenario(engine_mux TIMEOUT 180)
add_scenario(mux_streams TIMEOUT 120)
add_fuzz_target(mux_bridge LIBRARIES mux_parts)
