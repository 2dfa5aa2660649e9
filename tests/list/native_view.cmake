# SPDX-License-Identifier: Apache-2.0
# The view of the native boundary: plan, placeholders, denials, questions.
add_unit_test(native_view LIBRARIES supervisor_native_view)
add_unit_test(native_place LIBRARIES supervisor_native_view)
