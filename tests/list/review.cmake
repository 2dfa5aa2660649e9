# SPDX-License-Identifier: Apache-2.0
# Invariants that no part owns alone, each with the attack that broke it.
add_scenario(i09_mounted_volume TIMEOUT 120)
add_scenario(i12_every_refusal TIMEOUT 120)
add_unit_test(cgroup_kill LIBRARIES supervisor_engine)
add_unit_test(child_layers LIBRARIES supervisor_engine)
add_machine_test(child_log LIBRARIES supervisor_engine)
add_scenario(i11_log_bounded TIMEOUT 120)
add_unit_test(selftest_row LIBRARIES supervisor_engine)
