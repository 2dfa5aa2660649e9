# SPDX-License-Identifier: Apache-2.0
# Records between a broker and the ledger, and batches of them.
add_unit_test(budget_batch LIBRARIES ledger_budget
    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/budget_case.c)
add_unit_test(budget_ahead LIBRARIES ledger_budget
    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/budget_case.c)
add_unit_test(budget_lock LIBRARIES ledger_budget common_net
    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/budget_case.c)
add_unit_test(budget_pair LIBRARIES budget_pair
    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/no_memory.c)
add_unit_test(ledger_share LIBRARIES broker_io)
add_unit_test(budget_wire LIBRARIES budget_pair)
add_fuzz_target(budget_wire LIBRARIES budget_pair)
