# SPDX-License-Identifier: Apache-2.0
# Guard: what a call is, and whether it may be made.
add_unit_test(guard LIBRARIES guard_pure)
add_unit_test(guard_arguments LIBRARIES guard_arguments)
add_fuzz_target(guard_arguments LIBRARIES guard_arguments)
add_unit_test(guard_make LIBRARIES supervisor_policy)
add_unit_test(rate LIBRARIES ledger_budget)
add_scenario(guard_cli TIMEOUT 240)
add_scenario(guard_calls TIMEOUT 600)
add_machine_test(gate_guard SOURCES ${CMAKE_SOURCE_DIR}/tests/support/gate_script.c
    LIBRARIES gate_core)
add_scenario(guard_rate TIMEOUT 240)
add_scenario(guard_run TIMEOUT 400)
add_scenario(guard_agent TIMEOUT 300)
