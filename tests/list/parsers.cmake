# SPDX-License-Identifier: Apache-2.0
# The pure parsers and the egress policy.
add_unit_test(domain LIBRARIES common_pure)
add_unit_test(ip_addr LIBRARIES common_pure)
add_unit_test(buffer LIBRARIES common_pure)
add_unit_test(secret LIBRARIES common_pure)
add_unit_test(http_head LIBRARIES common_pure)
