# SPDX-License-Identifier: Apache-2.0
# The bypass suite, a release gate: never run a second time after a failure.
# Proxy, broker, gate once, what comes before the start once; from inside on every engine.
add_unit_test(egress_lint LIBRARIES supervisor_policy)
# One at a time: each has the test internet.
function(add_attack name timeout script)
	cmake_parse_arguments(T "" "" "LOCK" ${ARGN})
	agentnode_script(attack ${name} ${script} TIMEOUT ${timeout}
	    LOCK internet ${T_LOCK} WORDS ${T_UNPARSED_ARGUMENTS})
endfunction()
add_attack(registry 30 suite_check)
add_attack(wire 150 run --engine wire)
add_attack(launch 500 run --engine launch LOCK packages)
foreach(engine podman podman-mux oci-crun oci-runc native)
	add_attack(${engine} 400 run --engine ${engine} LOCK oci)
endforeach()
# One daemon for all; a kernel in a process takes its time.
add_attack(docker 560 run --engine docker --engine docker-mux
    --engine docker-group LOCK docker accounts)
add_attack(oci-runsc 400 run --engine oci-runsc LOCK oci)
add_attack(rootless 300 run --engine podman-rootless
    --engine oci-crun-rootless --engine oci-runc-rootless LOCK accounts)
add_attack(weak 900 weak_check LOCK docker oci)
