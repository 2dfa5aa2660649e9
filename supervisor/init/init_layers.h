/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layers init puts between itself and the workload, as one constant
 * table (init_layers.c). Nothing at run time changes it. A test that must
 * show what happens without a layer links a table of its own and is never
 * installed.
 */
#ifndef SUPERVISOR_INIT_LAYERS_H
#define SUPERVISOR_INIT_LAYERS_H

#include <linux/filter.h>
#include <stdint.h>

#define INIT_LAYERS_FILTERS_MAX 2U

struct init_layers {
	unsigned long dumpable; /* for PR_SET_DUMPABLE of init; 0 */
	/* Filters of the workload, in this order. */
	const struct sock_fprog *filters[INIT_LAYERS_FILTERS_MAX];
	/* On top, where the workload writes a file system of the host. */
	const struct sock_fprog *owner;
	/* Landlock rights that are governed at all, and scopes; reduced to
	 * what the kernel knows. */
	uint64_t landlock_fs;
	uint64_t landlock_scopes;
	/* SO_PASSRIGHTS of the relay's sockets, where the kernel has it: 0,
	 * nobody can send a descriptor there. */
	int pass_rights;
};

extern const struct init_layers init_layers;

#endif
