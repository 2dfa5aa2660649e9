/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Anything a command may print: hints are few, printable, each once, and
 * the view's answer to each is one of its codes.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/native/native_hint.h"
#include "supervisor/native/native_view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct native_view *
fuzz_native_hint_view(void)
{
	static struct native_view view = {.mode = NATIVE_WORKSPACE_WRITE,
	    .workspace = "/w",
	    .cwd = "/w/d",
	    .home = "/home/u",
	    .agentnode = "/home/u/.agentnode",
	    .steps = {{.kind = NATIVE_STEP_BIND, .target = "/usr"},
		{.kind = NATIVE_STEP_DIR, .target = "/etc"},
		{.kind = NATIVE_STEP_TMPFS, .target = "/tmp"},
		{.kind = NATIVE_STEP_BIND_RW, .target = "/w"},
		{.kind = NATIVE_STEP_BIND_RW, .target = "/w/.git"},
		{.kind = NATIVE_STEP_BIND, .target = "/w/.git/hooks"}},
	    .count = 6};

	return &view;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const codes[] = {"", "path_protected",
	    "path_read_only", "path_hidden", "path_outside"};
	struct native_hints *hints = calloc(1, sizeof(*hints));

	if (hints == NULL)
		return 0;
	native_hint_read((const char *)data, size, hints);
	if (hints->count > NATIVE_HINT_MAX)
		abort();
	for (size_t i = 0; i < hints->count; i++) {
		const char *path = hints->hints[i].path;
		struct native_denial denial =
		    native_view_judge(fuzz_native_hint_view(), path,
			hints->hints[i].need == NATIVE_HINT_WRITE);
		size_t known = 0;

		for (size_t at = 0; path[at] != '\0'; at++) {
			if (path[at] < 0x20 || path[at] > 0x7e)
				abort();
		}
		for (size_t at = 0; at < sizeof(codes) / sizeof(codes[0]); at++)
			known += strcmp(codes[at], denial.code) == 0 ? 1 : 0;
		if (known != 1)
			abort();
	}
	free(hints);
	return 0;
}
