/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of what a guest kernel answers (see the header). Must never
 * accept another answer than the one that is written here.
 */
#include "supervisor/engine/selftest_guest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SELFTEST_GUEST_TEXT 512U

struct selftest_guest_row {
	const char *name, *answer, *reason;
};

#define SELFTEST_GUEST_ROUTE "its network has no routes, and says so otherwise"

static const struct selftest_guest_row selftest_guest_rows[] = {
    {"pid1_environ", "/proc/1/environ: could be opened",
	"init was started without an environment"},
    {"pid1_maps", "/proc/1/maps: could be opened",
	"addresses, and no way to use them"},
    {"pid1_descriptors", "/proc/1/fd: could be opened",
	"numbers alone: what they lead to is refused"},
    {"pid1_network", "/proc/1/ns/net: could be read",
	"a name; the filter refuses to enter it"},
    {"device_nodes", "there: /dev/fuse /dev/net/tun",
	"the guest kernel's own, of use to its root alone"},
    {"kernel_settings", "/proc/self/comm could be opened",
	"there is no Landlock; it is the process's own name"},
    {"make_device", "success",
	"it has no devices but its own null, zero, random"},
    {"raw_address", "1.1.1.1 port 443: EHOSTUNREACH", SELFTEST_GUEST_ROUTE},
    {"raw_address_v6", "2606:4700:4700::1111 port 443: EHOSTUNREACH",
	SELFTEST_GUEST_ROUTE},
    {"metadata", "169.254.169.254 port 80: EHOSTUNREACH", SELFTEST_GUEST_ROUTE},
    {"metadata_v6", "fd00:ec2::254 port 80: EHOSTUNREACH",
	SELFTEST_GUEST_ROUTE},
    {"private_network", "10.0.0.1 port 443: EHOSTUNREACH",
	SELFTEST_GUEST_ROUTE},
    {"engine_gateway", "10.88.0.1 port 22: EHOSTUNREACH", SELFTEST_GUEST_ROUTE},
};

static void
selftest_guest_set(json_t *row, bool ok, const char *detail, const char *why)
{
	char text[SELFTEST_GUEST_TEXT];

	(void)snprintf(text, sizeof(text), "%s (gVisor: %s)", detail, why);
	/* A text that cannot be set leaves no good row behind. */
	if (json_object_set_new(row, "detail", json_string(text)) != 0)
		ok = false;
	(void)json_object_set_new(row, "ok", json_boolean(ok));
}

static void
selftest_guest_one(json_t *row, const struct selftest_guest_row *known)
{
	const char *detail = json_string_value(json_object_get(row, "detail"));
	bool ok = json_is_true(json_object_get(row, "ok"));

	if (detail == NULL)
		return;
	if (!ok && strcmp(detail, known->answer) == 0)
		selftest_guest_set(row, true, detail, known->reason);
	else if (ok)
		selftest_guest_set(
		    row, false, detail, "another answer is expected");
}

void
selftest_guest_judge(json_t *rows)
{
	for (size_t i = 0; i < json_array_size(rows); i++) {
		json_t *row = json_array_get(rows, i);
		const char *name =
		    json_string_value(json_object_get(row, "name"));

		for (size_t k = 0;
		     name != NULL && k < sizeof(selftest_guest_rows) /
					     sizeof(selftest_guest_rows[0]);
		     k++) {
			if (strcmp(name, selftest_guest_rows[k].name) == 0)
				selftest_guest_one(
				    row, &selftest_guest_rows[k]);
		}
	}
}
