#!/usr/bin/env bash
# One check by its name, for people and for continuous integration:
#   run_checks.sh NAME...     run these (stops at the first that fails)
#   run_checks.sh             list the names
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top"
logs=${TMPDIR:-/tmp}/agentnode-checks
mkdir -p "$logs"

say() { printf '== %s (%ss)\n' "$*" "$SECONDS" >&2; }

# The C files of the product and its tests, as git sees them.
sources() { git ls-files -co --exclude-standard -- "$@"; }

run_ctest() { # preset label-regex options
	ctest --preset "$1" -L "$2" --output-on-failure "${@:3}" 2>&1 |
	    tee "$logs/ctest-$1-${2//[^a-z]/_}.log" |
	    grep --line-buffered -vE '^ *Start +[0-9]+:|^ok [0-9]'
}

check_release() { deploy/build release; run_ctest release 'unit|machine|fuzz|confine|layout'; }
# The scenarios run on an image made here, by the command under test.
check_scenario() {
	deploy/build release
	export AGENTNODE_HOME=$top/build/test-home/.agentnode
	mkdir -p -m 0700 "$AGENTNODE_HOME"
	say "image of the scenarios"
	build/release/bin/agentnode sandbox build > "$logs/image.log" 2>&1 || {
		tail -20 "$logs/image.log" >&2
		return 1
	}
	AGENTNODE_TEST_IMAGE=$(build/release/bin/agentnode config get sandbox.image)
	export AGENTNODE_TEST_IMAGE
	unset AGENTNODE_HOME
	# Kills at random moments and time limits meet whatever else the machine
	# does: one that failed is run once more, and both runs are in the log.
	run_ctest release scenario --repeat until-pass:2
}
check_asan() { deploy/build asan; run_ctest asan 'unit|machine|fuzz|confine'; }
check_fuzz() { deploy/build fuzz; run_ctest fuzz fuzz; }
check_format() {
	sources '*.c' '*.h' | xargs clang-format --dry-run --Werror
}
# A file with a macro that cppcheck does not know is not looked at, so it
# gets the lists of sys/queue.h and what CMake defines.
check_cppcheck() {
	cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr \
	    --enable=warning,portability --suppress=missingIncludeSystem \
	    --suppress=unknownMacro -D_GNU_SOURCE -DAGENTNODE_VERSION='"0"' \
	    --include="/usr/include/$(gcc -print-multiarch)/sys/queue.h" \
	    -I . -j 2 \
	    $(sources 'common/*.c' 'supervisor/*.c' 'egress-proxy/*.c' \
		'llm-broker/*.c')
}
# One file per process: with several, clang-tidy 14 takes every va_list of
# the later ones for uninitialized.
check_tidy() {
	deploy/build release
	sources 'common/*.c' 'supervisor/*.c' 'egress-proxy/*.c' 'llm-broker/*.c' |
	    xargs -P 2 -n 1 clang-tidy --quiet -p build/release \
	    > "$logs/tidy.log" 2>&1 || {
		grep -E 'warning:|error:' "$logs/tidy.log" | sort -u | head -40
		return 1
	}
}
# Unit and machine tests of the release build under valgrind. These are left
# out, by name: they are about system calls that this valgrind does not know
# (pidfd_open, openat2, seccomp, memfd_secret), or about dying by a signal.
no_valgrind=" unit_cgroup_kill unit_engine_leaves unit_image_layout
 unit_init_filter unit_secret machine_audit machine_holder_kill
 machine_key_reader unit_registry unit_native_view
 unit_native_denied unit_native_homes unit_native_place
 unit_native_repository machine_host_run
 machine_host_early "
check_valgrind() {
	deploy/build release
	local test name failed=0
	for test in build/release/tests/unit_* build/release/tests/machine_*; do
		[ -x "$test" ] || continue
		name=$(basename "$test")
		case $no_valgrind in *[[:space:]]"$name"[[:space:]]*)
			printf 'valgrind: %s is left out\n' "$name"
			continue ;;
		esac
		valgrind --quiet --error-exitcode=99 --leak-check=full \
		    --errors-for-leak-kinds=definite --track-fds=no \
		    "$test" > "$logs/valgrind-$name.log" 2>&1 || {
			printf 'valgrind: %s\n' "$test" >&2
			grep -E '^==|FAILED|ERROR' "$logs/valgrind-$name.log" |
			    head -30 >&2
			failed=1
		}
	done
	return "$failed"
}

names=(format release asan fuzz cppcheck tidy valgrind scenario)
if [ $# -eq 0 ]; then
	printf '%s\n' "${names[@]}"
	exit 0
fi
for name; do
	case " ${names[*]} " in
	*" $name "*) ;;
	*) printf 'no check %s; there are: %s\n' "$name" "${names[*]}" >&2
	    exit 2 ;;
	esac
	say "check $name"
	"check_$name"
done
say "passed: $*"
