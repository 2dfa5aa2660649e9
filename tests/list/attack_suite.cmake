# SPDX-License-Identifier: Apache-2.0
# The bypass suite, a release gate: never run a second time after a failure.
# Proxy, broker, gate once, what comes before the start once; from inside on every engine.
add_unit_test(egress_lint LIBRARIES supervisor_policy)
set(ATTACK_ENVIRONMENT "AGENTNODE_SOURCE_DIR=${CMAKE_SOURCE_DIR}"
    "AGENTNODE_BUILD_DIR=${CMAKE_BINARY_DIR}"
    "PYTHONPATH=${CMAKE_SOURCE_DIR}/tests/support"
    "PYTHONDONTWRITEBYTECODE=1")
function(add_attack name timeout script)
	add_test(NAME attack/${name}
	    COMMAND python3 ${CMAKE_SOURCE_DIR}/tests/attack/${script}.py
	    ${ARGN})
	set_tests_properties(attack/${name} PROPERTIES LABELS attack
	    TIMEOUT ${timeout} RUN_SERIAL TRUE
	    ENVIRONMENT "${ATTACK_ENVIRONMENT}")
endfunction()
add_attack(registry 30 suite_check)
add_attack(wire 150 run --engine wire)
add_attack(launch 500 run --engine launch)
foreach(engine podman podman-mux oci-crun oci-runc native)
	add_attack(${engine} 400 run --engine ${engine})
endforeach()
# One daemon for both; a kernel in a process takes its time.
add_attack(docker 500 run --engine docker --engine docker-mux)
add_attack(oci-runsc 400 run --engine oci-runsc)
add_attack(rootless 300 run --engine podman-rootless
    --engine oci-crun-rootless --engine oci-runc-rootless)
add_attack(weak 900 weak_check)
