# SPDX-License-Identifier: Apache-2.0
# What changes while a sandbox runs; what is installed; the installed tree.
add_unit_test(egress_narrow LIBRARIES supervisor_engine egress_policy_json)
add_machine_test(config_watch LIBRARIES supervisor_audit)
add_machine_test(own_watch LIBRARIES supervisor_engine)
add_scenario(live_policy TIMEOUT 180)
add_scenario(live_address TIMEOUT 120)
add_scenario(log_rotation TIMEOUT 180)
add_scenario(remove_verify TIMEOUT 300)
add_scenario(installed_tree TIMEOUT 300 ALONE)
add_scenario(consent TIMEOUT 300)
