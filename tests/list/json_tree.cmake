# SPDX-License-Identifier: Apache-2.0
# The broker's own reader of bodies.
add_unit_test(json_tree LIBRARIES broker_request)
add_fuzz_target(json_tree LIBRARIES broker_request)
