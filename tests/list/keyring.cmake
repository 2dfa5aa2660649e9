# SPDX-License-Identifier: Apache-2.0
# Keys of providers: the helper, its backends, the commands.
add_unit_test(key_rule LIBRARIES keyring_pure)
add_unit_test(vault_format LIBRARIES keyring_pure)
add_unit_test(vault_seal LIBRARIES keyring_vault)
add_unit_test(keyring_config LIBRARIES keyring_vault)
add_unit_test(credential LIBRARIES supervisor_credential)
add_fuzz_target(vault_format LIBRARIES keyring_pure)
add_fuzz_target(credential LIBRARIES supervisor_credential)
add_machine_test(key_watch LIBRARIES supervisor_keyring supervisor_engine)
add_machine_test(key_reader LIBRARIES supervisor_keyring supervisor_engine)
add_dependencies(machine_key_reader agentnode-keyring)
