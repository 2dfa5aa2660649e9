# SPDX-License-Identifier: Apache-2.0
# Sealed volumes: what is remembered of them, and every change that is seen.
add_unit_test(volume_seal LIBRARIES supervisor_engine)
add_scenario(sealed_unpack TIMEOUT 200)
add_scenario(sealed_volume TIMEOUT 600)
add_unit_test(lockfile_forged LIBRARIES supervisor_package)
add_scenario(lock_forged TIMEOUT 300)
add_unit_test(audit_rotate LIBRARIES ledger_chain
    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/audit_case.c)
target_link_options(unit_audit_rotate PRIVATE -Wl,--wrap=fsync)
add_unit_test(audit_seal LIBRARIES ledger_chain
    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/audit_case.c)
add_scenario(audit_rotation TIMEOUT 400)
