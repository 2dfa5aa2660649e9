# SPDX-License-Identifier: Apache-2.0
# The view of the native boundary: plan, placeholders, denials, questions.
add_unit_test(native_view LIBRARIES supervisor_native_view
    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/native_view_folder.c)
add_unit_test(native_repository LIBRARIES supervisor_native_view
    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/native_view_folder.c)
add_unit_test(native_found LIBRARIES supervisor_native_view
    SOURCES ${CMAKE_SOURCE_DIR}/tests/support/native_view_folder.c)
add_unit_test(native_homes LIBRARIES supervisor_native_view)
add_unit_test(native_cover LIBRARIES supervisor_native_view)
add_unit_test(native_place LIBRARIES supervisor_native_view)
add_unit_test(native_denied LIBRARIES supervisor_native_approval unpack_pure)
add_machine_test(native_approval LIBRARIES supervisor_native_approval)
add_fuzz_target(native_hint LIBRARIES supervisor_native_view unpack_pure)
add_fuzz_target(native_gitconfig LIBRARIES supervisor_native_view)
add_fuzz_target(native_lines LIBRARIES supervisor_native_view)
add_scenario(native_workspace TIMEOUT 240 ALONE)
add_scenario(native_approval TIMEOUT 180)
