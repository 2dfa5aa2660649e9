/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a program of ours as the supervisor would: its control socket as
 * descriptor 3, no arguments, no environment. Used by drive_proxy.c and
 * drive_broker.c; each call exits with a sentence when it fails.
 */
#ifndef TESTS_BENCH_DRIVE_CHILD_H
#define TESTS_BENCH_DRIVE_CHILD_H

#include <stdint.h>
#include <sys/types.h>

/* *control_r: our end of the control socket. */
pid_t drive_child_spawn(const char *program, int *control_r);

/* Its control socket was closed: how did it end? 0: as it should. */
int drive_child_finish(pid_t pid, const char *program);

/* Standard error, or a file that is appended to. */
int drive_child_log_fd(const char *path);

/* A listening TCP socket, as init would make it inside a container. */
int drive_child_listen(const char *address, uint16_t port);

/* As many descriptors as the caller may have. */
void drive_child_raise_files(void);

_Noreturn void drive_child_fail(const char *what);

#endif
