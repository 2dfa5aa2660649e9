# SPDX-License-Identifier: Apache-2.0
# Agents: manifests, installation, runs.
add_unit_test(yaml_json LIBRARIES unpack_pure)
add_unit_test(manifest LIBRARIES manifest_pure)
add_fuzz_target(manifest LIBRARIES unpack_pure)
add_scenario(agent_run TIMEOUT 400)
add_scenario(agent_sdks TIMEOUT 300)
add_scenario(agent_key TIMEOUT 300)
add_scenario(agent_install TIMEOUT 200)
