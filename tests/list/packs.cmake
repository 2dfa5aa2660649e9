# SPDX-License-Identifier: Apache-2.0
# Tool packs: manifests, requirements, installation.
add_unit_test(requirement LIBRARIES manifest_pure)
add_unit_test(manifest_pack LIBRARIES manifest_pure)
add_fuzz_target(requirement LIBRARIES manifest_pure)
add_scenario(pack_install TIMEOUT 600)
add_scenario(pack_registry TIMEOUT 400)
add_scenario(pack_validate TIMEOUT 120)
add_scenario(install_asks TIMEOUT 200)
add_scenario(pack_death TIMEOUT 400)
