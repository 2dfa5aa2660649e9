/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of drive_proxy, turned into the messages a supervisor
 * would send: config options, policy, listeners. Used by drive_proxy.c.
 */
#ifndef TESTS_BENCH_DRIVE_OPTIONS_H
#define TESTS_BENCH_DRIVE_OPTIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define DRIVE_OPTIONS_LISTENERS_MAX 65U
#define DRIVE_OPTIONS_SANDBOX "drive"

struct drive_listener {
	char address[64]; /* text of the loopback address */
	uint16_t port;
	char name[256]; /* direct: the name served; "" for connect */
	uint16_t name_port;
};

struct drive_options {
	struct drive_listener listeners[DRIVE_OPTIONS_LISTENERS_MAX];
	size_t listener_count;
	json_t *config; /* options of the config message */
	json_t *policy; /* of sandbox_open */
	const char *program, *log_path, *congestion;
	bool stats, commands, decisions;
};

/* Exits with a message on bad usage, and with 0 after --help. */
void drive_options_read(int argc, char **argv, struct drive_options *options_r);
void drive_options_free(struct drive_options *options);

#endif
