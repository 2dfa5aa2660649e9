# SPDX-License-Identifier: Apache-2.0
# Attacks of image and engine, with and without each defence. A tool below
# is run_sandbox with one part replaced by a file of the tests.
function(add_weak_sandbox name)
	add_executable(${name} support/run_sandbox.c ${ARGN})
	target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
	target_link_libraries(${name} PRIVATE supervisor_engine)
	add_dependencies(${name} run_sandbox)
endfunction()
add_weak_sandbox(run_unchecked support/image_unchecked.c)
add_weak_sandbox(run_yielding support/image_unchecked.c
    support/run_argv_yielding.c)
add_weak_sandbox(run_trusting support/engine_files_trusting.c)
add_library(preload_mark MODULE support/preload_mark.c)
set_target_properties(preload_mark PROPERTIES PREFIX "")
target_compile_options(preload_mark PRIVATE -fno-sanitize=all)
target_link_options(preload_mark PRIVATE -fno-sanitize=all)
add_executable(without_landlock support/without_landlock.c)
target_link_libraries(without_landlock PRIVATE PkgConfig::SECCOMP)
add_unit_test(image_layout LIBRARIES supervisor_engine)
add_unit_test(image_key LIBRARIES supervisor_engine)
add_scenario(attack_image TIMEOUT 240)
# gc there tells of native sandboxes of other runtime directories.
add_scenario(attack_engine TIMEOUT 240 ALONE)
add_scenario(rootless TIMEOUT 280)
