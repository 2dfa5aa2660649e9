# SPDX-License-Identifier: Apache-2.0
# The pure parsers and the egress policy.
add_unit_test(domain LIBRARIES common_pure)
add_unit_test(ip_addr LIBRARIES common_pure)
add_unit_test(buffer LIBRARIES common_pure)
add_unit_test(secret LIBRARIES common_pure)
add_unit_test(http_head LIBRARIES common_pure)
add_unit_test(deny LIBRARIES egress_policy)
add_unit_test(policy_entry LIBRARIES egress_policy)
add_unit_test(host_policy LIBRARIES egress_policy)
add_unit_test(host_policy_json LIBRARIES egress_policy_json)
add_unit_test(suffix_check LIBRARIES policy_suffix)
