# SPDX-License-Identifier: Apache-2.0
# The operators' view over the logs.
add_unit_test(logs_line LIBRARIES logs_pure)
add_unit_test(logs_view LIBRARIES supervisor_logs)
add_fuzz_target(logs_line LIBRARIES logs_pure)
add_scenario(logs TIMEOUT 180)
add_scenario(start_timing TIMEOUT 120 ALONE)
