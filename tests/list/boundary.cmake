# SPDX-License-Identifier: Apache-2.0
# Who may run where, what a package may do, and its secrets.
add_unit_test(boundary LIBRARIES supervisor_policy)
add_unit_test(secret_need LIBRARIES supervisor_package)
add_scenario(explain TIMEOUT 120)
add_scenario(mcp_secrets TIMEOUT 300)
add_scenario(pack_secrets TIMEOUT 300)
