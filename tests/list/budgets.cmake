# SPDX-License-Identifier: Apache-2.0
# Budgets of LLM calls: usage.db, the ledger's pairs, run records.
add_unit_test(budget LIBRARIES ledger_budget
    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/budget_case.c)
add_unit_test(budget_lives LIBRARIES ledger_budget
    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/budget_case.c)
add_unit_test(budget_wal LIBRARIES ledger_budget)
add_unit_test(llm_narrow LIBRARIES supervisor_policy broker_request)
add_unit_test(llm_ceiling LIBRARIES supervisor_policy broker_request
    ledger_budget)
add_unit_test(run_record LIBRARIES supervisor_audit broker_request)
add_scenario(ledger_budget TIMEOUT 240)
add_executable(load_ledger ${CMAKE_SOURCE_DIR}/tests/bench/load_ledger.c)
target_include_directories(load_ledger PRIVATE ${CMAKE_SOURCE_DIR})
target_compile_definitions(load_ledger PRIVATE
    AGENTNODE_BUILD_DIR="${CMAKE_BINARY_DIR}")
target_link_libraries(load_ledger PRIVATE ledger_chain)
add_dependencies(load_ledger agentnode-ledger)
add_scenario(llm_usage TIMEOUT 180)
