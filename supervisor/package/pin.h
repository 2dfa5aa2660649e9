/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `mcp install` is asked to install: exactly one version of one
 * package, or a local folder. Everything that could mean another thing
 * tomorrow is refused with the form to use. Pure, fuzzed.
 */
#ifndef SUPERVISOR_PACKAGE_PIN_H
#define SUPERVISOR_PACKAGE_PIN_H

#include <stddef.h>

#define PIN_NAME_MAX 214U
#define PIN_VERSION_MAX 128U
#define PIN_PATH_MAX 4095U

enum pin_kind {
	PIN_NPM,  /* npm:NAME@X.Y.Z */
	PIN_PYPI, /* pypi:NAME==VERSION; name normalised as PEP 503 says */
	PIN_DIR,  /* a path that begins with '.' or '/' */
};

struct pin {
	enum pin_kind kind;
	char name[PIN_NAME_MAX + 1];       /* packages */
	char version[PIN_VERSION_MAX + 1]; /* packages */
	char path[PIN_PATH_MAX + 1];       /* folders */
};

enum pin_verdict {
	PIN_OK,
	PIN_FORM,     /* neither npm:, pypi: nor a path */
	PIN_FLOATING, /* no version at all */
	PIN_TAG,      /* latest, current, stable, next, ... */
	PIN_RANGE,    /* an operator or a wildcard, or too few parts */
	PIN_SOURCE,   /* git, URL, file, link or workspace */
	PIN_EXTRAS,   /* pypi extras: NAME[extra] */
	PIN_NAME,     /* no name of that registry */
	PIN_VERSION,  /* no exact version of that registry */
	PIN_LONG,
};

/* text must be NUL-terminated; pin_r is set only on PIN_OK. */
enum pin_verdict pin_parse(const char *text, struct pin *pin_r);

/* Why not, and the form to use, as one sentence about text. */
void pin_explain(
    enum pin_verdict verdict, const char *text, char *sentence_r, size_t size);

#endif
