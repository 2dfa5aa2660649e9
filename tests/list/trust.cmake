# SPDX-License-Identifier: Apache-2.0
# Attestations, registry keys, registries.
set(TRUST_WORLD ${CMAKE_SOURCE_DIR}/tests/support/trust_world.c)
add_unit_test(attestation LIBRARIES supervisor_policy)
add_unit_test(trust SOURCES ${TRUST_WORLD} LIBRARIES supervisor_package)
add_unit_test(registry SOURCES ${TRUST_WORLD} LIBRARIES supervisor_package)
add_unit_test(registry_server LIBRARIES supervisor_package)
add_fuzz_target(attestation LIBRARIES supervisor_policy)
add_fuzz_target(registry_index LIBRARIES supervisor_package)
add_fuzz_target(registry_server LIBRARIES supervisor_package)
add_scenario(trust_keys TIMEOUT 120)
add_scenario(trust_registry TIMEOUT 400)
add_scenario(registry_mcp TIMEOUT 400)
add_scenario(run_terms TIMEOUT 240)
