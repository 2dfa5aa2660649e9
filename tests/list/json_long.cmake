# SPDX-License-Identifier: Apache-2.0
# Long texts in the bodies of requests.
add_unit_test(json_long LIBRARIES broker_request)
add_fuzz_target(json_long LIBRARIES broker_request)
