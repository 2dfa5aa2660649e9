/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why an installation did not happen: a code of docs/install.md, one
 * sentence with the remedy, and the result that decides the exit code.
 * Used by all install_*.c and by volume.c.
 */
#ifndef SUPERVISOR_PACKAGE_INSTALL_FAULT_H
#define SUPERVISOR_PACKAGE_INSTALL_FAULT_H

#include "common/result.h"

struct install_fault {
	enum result result;
	char code[64];
	char detail[640];
};

/* Record the first fault; returns result. Foreign text in it must have
 * been escaped. */
enum result install_fault_set(struct install_fault *fault, enum result result,
    const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* What a failed unpack job means. */
enum result install_fault_unpack(
    struct install_fault *fault, const char *code, const char *detail);

#endif
