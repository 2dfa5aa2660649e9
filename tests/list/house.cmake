# SPDX-License-Identifier: Apache-2.0
add_test(NAME layout COMMAND python3
    ${CMAKE_SOURCE_DIR}/tests/layout/layout.py)
set_tests_properties(layout PROPERTIES LABELS layout TIMEOUT 120)
add_unit_test(folder_gone)
add_scenario(inside_network TIMEOUT 600)
add_scenario(documents TIMEOUT 600 ALONE)
add_scenario(kill_gate TIMEOUT 600 ALONE)
