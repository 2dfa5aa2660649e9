# SPDX-License-Identifier: Apache-2.0
# Sealed volumes: what is remembered of them, and every change that is seen.
add_unit_test(volume_seal LIBRARIES supervisor_engine)
add_scenario(sealed_unpack TIMEOUT 200)
add_scenario(sealed_volume TIMEOUT 600)
add_unit_test(lockfile_forged LIBRARIES supervisor_package)
add_scenario(lock_forged TIMEOUT 300)
add_unit_test(audit_rotate LIBRARIES ledger_chain)
add_scenario(audit_rotation TIMEOUT 400)
