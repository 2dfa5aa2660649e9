/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of the catalogue of messages: who may send which to whom, in
 * which state, with which fields and how many descriptors. Used by ipc.c,
 * peer.c and the test that holds docs/protocol.md to it.
 */
#ifndef COMMON_IPC_CATALOGUE_H
#define COMMON_IPC_CATALOGUE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/ipc.h"

enum ipc_field_kind {
	IPC_TEXT,
	IPC_NUMBER,
	IPC_FLAG,
	IPC_LIST,
	IPC_OBJECT
};

struct ipc_field {
	const char *name;
	enum ipc_field_kind kind;
	unsigned required; /* 0 or 1 */
	int64_t min, max;  /* numbers: range; texts: bytes; lists: items */
	const char *const *words; /* texts: the only values, NULL: any */
};

struct ipc_row {
	const char *name;
	enum ipc_type type;
	unsigned senders, receivers; /* bits (1U << role); one end is the
				      * supervisor, or the two are one of the
				      * pairs of children that may talk */
	unsigned states;             /* enum ipc_state bits */
	unsigned id_min;             /* 1: an id is needed, for the answer */
	unsigned fds_min, fds_max;
	const struct ipc_field *fields; /* ends with name == NULL */
};

/* The row of a type; NULL for a number that is no type. */
const struct ipc_row *ipc_catalogue_row(enum ipc_type type);

/* Do these two have a conversation in which this row may stand? Being in a
 * row's sets alone does not make two children talk. */
bool ipc_catalogue_may_talk(
    const struct ipc_row *row, enum ipc_role sender, enum ipc_role receiver);

#endif
