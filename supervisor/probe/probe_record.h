/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What agentnode-probe --records writes to its standard output: one record
 * of fixed size per probe, nothing else. The reader treats them as foreign:
 * a container wrote them. Count and index tell whether one is missing; a
 * probe that was killed leaves the stream short.
 */
#ifndef SUPERVISOR_PROBE_RECORD_H
#define SUPERVISOR_PROBE_RECORD_H

#include <stdint.h>

#define PROBE_RECORD_MAGIC 0x414e5031U /* "ANP1" */
#define PROBE_RECORD_VERSION 1U
#define PROBE_RECORD_NAME_MAX 32U
#define PROBE_RECORD_DETAIL_MAX 208U

struct probe_record {
	uint32_t magic, version;
	uint32_t index, count; /* 0 .. count-1 */
	uint32_t ok;           /* 1: the wall held */
	uint32_t spare;
	char name[PROBE_RECORD_NAME_MAX];     /* NUL-filled */
	char detail[PROBE_RECORD_DETAIL_MAX]; /* NUL-filled, one line */
};

#endif
