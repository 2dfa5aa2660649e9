#!/usr/bin/env bash
# One check by its name, for people and for continuous integration:
#   run_checks.sh NAME...     run these (stops at the first that fails)
#   run_checks.sh all         run every one, what only computes behind the
#                             scenarios, which mostly wait
#   run_checks.sh             list the names
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top"
self=$top/deploy/ci/run_checks.sh
logs=${TMPDIR:-/tmp}/agentnode-checks
mkdir -p "$logs"

say() { printf '== %s (%ss)\n' "$*" "$SECONDS" >&2; }

# The C files of the product and its tests, as git sees them.
sources() { git ls-files -co --exclude-standard -- "$@"; }

# Once in a run: its own processes do not configure a tree anew while others
# use it.
build() { # preset
	case " ${built:-} " in *" $1 "*) return 0 ;; esac
	deploy/build "$1"
	export built="${built:-} $1"
}

# What the engine has of ours. Others may use it as well, so what is new in it
# after tests is said and fails nothing.
in_engine() {
	{ podman volume ls -q && podman ps -aq --format '{{.Names}}'; } \
	    2> /dev/null | grep '^agentnode-' | sort || true
}
# Tests get a folder for temporary files, and whatever is in it at their end
# fails them: a process that was killed is given a moment to be swept up
# (tests/support/sweep.py). Tests in C see to it themselves (test_folder.h).
run_ctest() { # preset label-regex options
	local place left kept failed=0
	kept=$(in_engine)
	place=$(mktemp -d /tmp/an.XXXXXX) # short: sockets are below it
	chmod 1777 "$place"
	TMPDIR=$place ctest --preset "$1" -L "$2" --output-on-failure "${@:3}" 2>&1 |
	    tee "$logs/ctest-$1-${2//[^a-z]/_}.log" |
	    grep --line-buffered -vE '^ *Start +[0-9]+:|^ok [0-9]' || failed=1
	for _ in {1..50}; do
		left=$(find "$place" -mindepth 1 -maxdepth 3 2> /dev/null) || true
		[ -n "$left" ] || break
		sleep 0.1
	done
	[ -z "$left" ] || {
		printf 'left behind by tests:\n%s\n' "$left" >&2
		failed=2
	}
	rm -rf "$place" || true
	comm -13 <(printf '%s\n' "$kept") <(in_engine) |
	    sed 's/^/new in the engine: /' >&2
	return "$failed"
}

check_release() {
	build release
	run_ctest release 'unit|machine|fuzz|confine|layout' -j 2
}
# What a home of the tests' own has as its image.
test_image() {
	AGENTNODE_TEST_IMAGE=$(AGENTNODE_HOME=$top/build/test-home/.agentnode \
	    build/release/bin/agentnode config get sandbox.image)
	export AGENTNODE_TEST_IMAGE
}
# The scenarios run on an image made here, by the command under test.
make_image() {
	mkdir -p -m 0700 "$top/build/test-home/.agentnode"
	say "image of the scenarios"
	AGENTNODE_HOME=$top/build/test-home/.agentnode \
	    build/release/bin/agentnode sandbox build > "$logs/image.log" 2>&1 || {
		tail -20 "$logs/image.log" >&2
		return 1
	}
}
# Two at a time, those that need the machine to themselves alone
# (cmake/Tests.cmake). Kills at random moments and time limits meet whatever
# else the machine does: a scenario that failed is run once more, with nothing
# beside it, and both runs are in the logs. An attack is not: a release gate,
# and what goes through once went through.
check_scenario() {
	local failed=$top/build/release/Testing/Temporary/LastTestsFailed.log
	build release
	make_image
	test_image
	rm -f "$failed"
	run_ctest release 'attack|scenario' -j 2 && return 0
	[ $? = 1 ] && [ -s "$failed" ] || return 1
	! grep -E ':attack/' "$failed" >&2 || return 1
	say "once more: $(sed 's/.*://' "$failed" | tr '\n' ' ')"
	run_ctest release scenario --rerun-failed
}
# Crowds and faults in their short form; deploy/soak is the long one.
check_load() {
	build release
	test_image 2> /dev/null && [ -n "$AGENTNODE_TEST_IMAGE" ] || make_image
	test_image
	run_ctest release load
}
check_asan() { build asan; run_ctest asan 'unit|machine|fuzz|confine' -j 2; }
check_fuzz() { build fuzz; run_ctest fuzz fuzz; }
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
# One file per process and one command per file (some are part of two
# programs): of a second one, clang-tidy 14 takes every va_list for
# uninitialized.
check_tidy() {
	build release
	mkdir -p build/tidy
	python3 -c 'import json, sys
rows = {row["file"]: row for row in json.load(sys.stdin)}
json.dump(list(rows.values()), sys.stdout)' \
	    < build/release/compile_commands.json > build/tidy/compile_commands.json
	sources 'common/*.c' 'supervisor/*.c' 'egress-proxy/*.c' 'llm-broker/*.c' |
	    xargs -P 2 -n 1 clang-tidy --quiet -p build/tidy \
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
 unit_native_cover unit_native_denied unit_native_homes unit_native_place
 unit_native_found unit_native_repository unit_oci_apply unit_peer_crowd
 unit_budget_pair
 machine_host_run machine_host_early machine_mux_crowd
 machine_wiring_crowd "
valgrind_one() { # path of a test
	local name=${1##*/}
	local log=$logs/valgrind-$name.log
	[ -x "$1" ] || return 0
	case $no_valgrind in *[[:space:]]"$name"[[:space:]]*)
		printf 'valgrind: %s is left out\n' "$name"
		return 0 ;;
	esac
	valgrind --quiet --error-exitcode=99 --leak-check=full \
	    --errors-for-leak-kinds=definite --track-fds=no \
	    "$1" > "$log" 2>&1 || {
		printf 'valgrind: %s\n' "$1" >&2
		grep -E '^==|FAILED|ERROR' "$log" | head -30 >&2
		return 1
	}
}
run_valgrind() { # kind of test
	build release
	export -f valgrind_one
	export logs no_valgrind
	printf '%s\0' build/release/tests/"$1"_* |
	    xargs -0 -P 2 -n 1 bash -c 'valgrind_one "$1"' valgrind_one
}
check_valgrind_unit() { run_valgrind unit; }
check_valgrind_machine() { run_valgrind machine; }
check_valgrind() { check_valgrind_unit; check_valgrind_machine; }

# What only computes. It takes what the scenarios leave of the processors: a
# session of its own, so that the lowest priority holds against theirs too
# where the kernel groups by session.
check_behind() {
	renice -n 19 -p "$BASHPID" > /dev/null
	echo 19 2> /dev/null > "/proc/$BASHPID/autogroup" || true
	build asan
	local name
	for name in fuzz cppcheck tidy valgrind_unit; do
		say "check $name"
		"check_$name"
	done
}
# All of them: first what fails fast, then the scenarios with the rest behind
# them, then the tests that keep time themselves.
check_all() {
	local behind failed=0 name
	for name in format release; do
		say "check $name"
		"check_$name"
	done
	setsid "$self" behind > "$logs/behind.log" 2>&1 &
	behind=$!
	trap 'kill -- "-$behind" 2> /dev/null || true' EXIT # it leads a group
	say "check scenario"
	"$self" scenario || failed=1
	say "behind the scenarios"
	wait "$behind" || failed=1
	trap - EXIT
	cat "$logs/behind.log" >&2
	for name in asan valgrind_machine load; do
		[ "$failed" = 0 ] || return 1
		say "check $name"
		"check_$name"
	done
}

names=(format release asan fuzz cppcheck tidy valgrind scenario load)
if [ $# -eq 0 ]; then
	printf '%s\n' "${names[@]}"
	exit 0
fi
for name; do
	case " ${names[*]} all behind " in
	*" $name "*) ;;
	*) printf 'no check %s; there are: %s\n' "$name" "${names[*]}" >&2
	    exit 2 ;;
	esac
	say "check $name"
	"check_$name"
done
say "passed: $*"
