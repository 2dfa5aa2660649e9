# SPDX-License-Identifier: Apache-2.0
# Docker as the engine, and the choice between engines.
add_scenario(docker_end TIMEOUT 300)
add_scenario(docker_mux TIMEOUT 300)
add_scenario(docker_attach TIMEOUT 120)
add_scenario(docker_group TIMEOUT 600)
add_scenario(engine_auto TIMEOUT 300)
add_unit_test(docker_list LIBRARIES supervisor_engine)
add_fuzz_target(docker_list LIBRARIES supervisor_engine)
add_unit_test(docker_look LIBRARIES supervisor_engine)
add_fuzz_target(docker_look LIBRARIES supervisor_engine)
add_machine_test(wiring_volume LIBRARIES supervisor_engine)
add_dependencies(machine_wiring_volume agentnode-init)
