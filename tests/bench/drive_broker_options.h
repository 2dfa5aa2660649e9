/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of drive_broker, turned into what a supervisor would
 * send: options of broker and llm-key, the grant, the key. Used by
 * drive_broker.c.
 */
#ifndef TESTS_BENCH_DRIVE_BROKER_OPTIONS_H
#define TESTS_BENCH_DRIVE_BROKER_OPTIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/bench/drive_names.h"

#define DRIVE_BROKER_OPTIONS_SANDBOX "drive"

struct drive_broker_options {
	char address[64]; /* of the listener */
	uint16_t port;
	json_t *broker, *key; /* options of their config */
	json_t *grant, *budget;
	struct drive_names names;
	const char *resolver; /* NULL: names */
	const char *ca_path, *ledger_path, *log_path, *program;
	int key_fd; /* -1: no provider takes one */
	bool stats, decisions;
};

/* Exits with a message on bad usage, and with 0 after --help. */
void drive_broker_options_read(
    int argc, char **argv, struct drive_broker_options *options_r);
void drive_broker_options_free(struct drive_broker_options *options);

#endif
