# SPDX-License-Identifier: Apache-2.0
# An OCI runtime without an engine.
add_unit_test(oci_parts LIBRARIES supervisor_engine unpack_pure)
add_unit_test(oci_apply LIBRARIES supervisor_engine)
add_fuzz_target(layer_mark LIBRARIES unpack_pure)
add_scenario(oci_selftest TIMEOUT 300)
add_scenario(oci_forged TIMEOUT 300)
add_scenario(oci_death TIMEOUT 300)
add_scenario(oci_guest TIMEOUT 300)
