# SPDX-License-Identifier: Apache-2.0
# exec: any command with nothing but what it is handed.
add_unit_test(exec_request LIBRARIES exec_pure)
add_unit_test(exec_result LIBRARIES exec_pure)
add_unit_test(result_reader LIBRARIES unpack_pure)
add_unit_test(init_below LIBRARIES init_parts)
add_unit_test(end_signals LIBRARIES supervisor_signals)
add_unit_test(exec_scratch LIBRARIES supervisor_exec)
add_unit_test(absent_user
    SOURCES ${CMAKE_SOURCE_DIR}/supervisor/entry/absent_user.c
    LIBRARIES common_pure)
add_fuzz_target(exec_request LIBRARIES exec_pure)
add_fuzz_target(result_reader LIBRARIES unpack_pure)
add_scenario(exec_run TIMEOUT 200)
add_scenario(exec_demo TIMEOUT 120)
add_scenario(exec_hostile TIMEOUT 240)
add_scenario(exec_limits TIMEOUT 240)
add_scenario(exec_native TIMEOUT 180)
add_scenario(exec_recorded TIMEOUT 120)
add_scenario(exec_load TIMEOUT 900 ALONE)
add_machine_test(exec_run SOURCES
    ${CMAKE_SOURCE_DIR}/tests/machine/exec_script.c
    ${CMAKE_SOURCE_DIR}/supervisor/command/exec_run.c
    LIBRARIES exec_pure supervisor_signals)
target_link_options(machine_exec_run PRIVATE
    -Wl,--wrap=event_loop_now_ms,--wrap=event_loop_timeval)
