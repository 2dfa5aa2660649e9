# SPDX-License-Identifier: Apache-2.0
# The JSON of request bodies.
add_unit_test(json_quick LIBRARIES broker_request)
add_fuzz_target(json_quick LIBRARIES broker_request)
