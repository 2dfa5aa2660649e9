# SPDX-License-Identifier: Apache-2.0
# Runs of tools of tool packs.
add_unit_test(pack_package LIBRARIES pack_pure)
add_unit_test(pack_arguments LIBRARIES pack_pure)
add_unit_test(gate_pack LIBRARIES gate_pure gate_core)
add_fuzz_target(gate_pack LIBRARIES gate_core)
add_scenario(pack_run TIMEOUT 900)
add_scenario(pack_hostile TIMEOUT 1200)
add_scenario(pack_agent TIMEOUT 600)
add_scenario(pack_real TIMEOUT 900)
