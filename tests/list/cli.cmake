# SPDX-License-Identifier: Apache-2.0
# Command line, configuration, audit chain, lockfile.
add_unit_test(digest LIBRARIES supervisor_state)
add_unit_test(config_value LIBRARIES supervisor_policy)
add_unit_test(config_narrow LIBRARIES supervisor_policy)
add_unit_test(slug LIBRARIES supervisor_package)
add_unit_test(audit_chain LIBRARIES ledger_chain)
add_unit_test(lockfile LIBRARIES supervisor_package)
add_confine_test(ledger_confine LIBRARIES ledger_chain)
add_machine_test(audit LIBRARIES supervisor_audit)
add_dependencies(machine_audit agentnode-ledger)
add_scenario(cli_help TIMEOUT 120)
add_scenario(cli_config TIMEOUT 120)
add_scenario(cli_state TIMEOUT 120)
