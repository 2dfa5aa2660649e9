# SPDX-License-Identifier: Apache-2.0
# The boundary without an engine: its launcher and its walls.
add_unit_test(native_launch LIBRARIES native_parts)
add_machine_test(native_launcher LIBRARIES native_parts common_io)
add_dependencies(machine_native_launcher agentnode-native)
add_scenario(native_selftest)
add_scenario(native_attacks)
add_scenario(native_death ALONE)
