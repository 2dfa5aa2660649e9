# SPDX-License-Identifier: Apache-2.0
# The container engine and the story of a sandbox.
add_executable(run_sandbox support/run_sandbox.c)
target_include_directories(run_sandbox PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(run_sandbox PRIVATE supervisor_engine)
add_dependencies(run_sandbox agentnode-init agentnode-ledger agentnode-unpack
    agentnode-egress-proxy seccomp_profile)
add_scenario(kill_parts TIMEOUT 600 ALONE)
add_scenario(kill_start TIMEOUT 300)
add_unit_test(run_argv LIBRARIES supervisor_engine)
add_unit_test(image_check LIBRARIES supervisor_engine)
add_unit_test(egress_plan LIBRARIES supervisor_engine)
add_unit_test(engine_leaves LIBRARIES supervisor_engine)
add_scenario(engine_run TIMEOUT 300)
add_scenario(engine_hostile TIMEOUT 300)
add_scenario(engine_rootless TIMEOUT 400)
# The selftest with one word of the command line changed.
add_executable(selftest_weak support/selftest_weak.c)
target_include_directories(selftest_weak PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(selftest_weak PRIVATE supervisor_engine)
target_link_options(selftest_weak PRIVATE -Wl,--wrap=run_argv_build
    -Wl,--wrap=child_program_path)
add_dependencies(selftest_weak run_sandbox agentnode-probe init_open
    init_dumpable init_bare init_unguarded)
add_scenario(engine_selftest TIMEOUT 600)
add_scenario(engine_matrix TIMEOUT 600)
add_scenario(engine_doctor TIMEOUT 200 ALONE)
add_machine_test(holder_kill LIBRARIES supervisor_engine)
add_machine_test(wiring LIBRARIES supervisor_engine)
add_machine_test(wiring_crowd LIBRARIES supervisor_engine)
add_dependencies(machine_wiring agentnode-init)
