# SPDX-License-Identifier: Apache-2.0
# Budgets of LLM calls: usage.db, the ledger's pairs, run records.
add_unit_test(budget LIBRARIES ledger_budget
    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/budget_case.c)
add_unit_test(budget_lives LIBRARIES ledger_budget
    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/budget_case.c)
add_scenario(ledger_budget TIMEOUT 240)
