# SPDX-License-Identifier: Apache-2.0
# The audit of a container command line, and the probe.
add_unit_test(argv_cases LIBRARIES supervisor_argv)
add_unit_test(argv_inspect LIBRARIES supervisor_argv_inspect)
add_unit_test(argv_port LIBRARIES supervisor_argv supervisor_engine)
add_fuzz_target(argv LIBRARIES supervisor_argv)
add_fuzz_target(argv_inspect LIBRARIES supervisor_argv_inspect)
add_scenario(audit_argv TIMEOUT 120)
add_scenario(argv_print TIMEOUT 300)
add_scenario(probe_boundaries TIMEOUT 200)
