# SPDX-License-Identifier: Apache-2.0
# Agents: manifests, installation, runs.
add_unit_test(yaml_json LIBRARIES unpack_pure)
add_unit_test(manifest LIBRARIES manifest_pure)
add_fuzz_target(manifest LIBRARIES unpack_pure)
