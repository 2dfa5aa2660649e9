/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one table of configuration keys. Reading, `config`, completion, the
 * team policy and the manual page all come from it: a key is one row.
 */
#ifndef SUPERVISOR_POLICY_CONFIG_TABLE_H
#define SUPERVISOR_POLICY_CONFIG_TABLE_H

#include <stdint.h>

enum config_type {
	CONFIG_TEXT,
	CONFIG_INT,
	CONFIG_BOOL,
	CONFIG_SIZE, /* bytes; "512m" in files and on the command line */
	CONFIG_CHOICE,
	CONFIG_MONEY, /* micro-dollars; "2.50" in files and typed */
	CONFIG_LIST,  /* of texts */
	CONFIG_OBJECT
};

/* What a text, or each text of a list or object, must look like. */
enum config_shape {
	CONFIG_ANY,
	CONFIG_IMAGE,      /* name@sha256:<64 hex> */
	CONFIG_HOST_PORT,  /* host or address, colon, port */
	CONFIG_RESOLVERS,  /* address[:port], comma-separated */
	CONFIG_PATH,       /* absolute, no "." or ".." segment */
	CONFIG_URL,        /* http(s)://host[:port]/... */
	CONFIG_ENTRY,      /* egress entry; stored canonical */
	CONFIG_DENY_ENTRY, /* of a deny list: a missing port is every port */
	CONFIG_NAME,       /* host name; stored canonical */
	CONFIG_RANGES,     /* object: host name -> [CIDR] */
	CONFIG_PROVIDER,   /* name of an LLM provider */
	CONFIG_MODEL,      /* model or provider/model (config_llm.h) */
	CONFIG_PRICES,     /* object: provider/model -> prices */
	CONFIG_UPSTREAM,   /* object: provider -> where it really is */
	CONFIG_KEYS,       /* object: name -> Ed25519 public key (hex) */
	CONFIG_KEY,        /* one such key, stored as hex */
	CONFIG_OVERRIDES,  /* objects of Guard (config_guard.h) */
	CONFIG_RATES,
	CONFIG_AGENTS,
	CONFIG_WORD /* list: each one of choices */
};

/* How the team policy narrows the key; it never widens. */
enum config_narrow {
	CONFIG_FIX,           /* the policy's value is the only one */
	CONFIG_LEAST,         /* the smaller number holds */
	CONFIG_LEAST_NONZERO, /* as LEAST, where 0 means no limit */
	CONFIG_LATER,         /* the later of the choices holds */
	CONFIG_FALSE,         /* false holds */
	CONFIG_TRUE,          /* true holds */
	CONFIG_BOTH,          /* only what the policy lists too */
	CONFIG_WITHIN,        /* as BOTH, where unset means everything */
	CONFIG_EITHER,        /* the policy's items are added */
	CONFIG_HELD           /* whoever reads it holds it to the policy's
			       * (config_ceiling), item by item */
};

struct config_key {
	const char *name; /* "sandbox.memory" */
	enum config_type type;
	enum config_shape shape;
	enum config_narrow narrow;
	int64_t min, max;           /* ints: value; sizes: bytes; texts: bytes;
				     * lists, objects: items */
	const char *const *choices; /* CHOICE, WORD; NULL-terminated */
	const char *default_text; /* as typed on the command line; NULL unset */
	const char *environment;  /* variable that overrides it, or NULL */
	const char *sentence;     /* for the manual */
};

extern const struct config_key config_table[]; /* ends with name NULL */

/* The row of a name, or NULL. */
const struct config_key *config_table_find(const char *name);

/* The name nearest to a misspelt one, or NULL. */
const char *config_table_nearest(const char *name);

/* "text", "integer", ...: for faults and the manual. */
const char *config_table_type_text(enum config_type type);
/* One sentence on what the team policy does to a key. */
const char *config_table_narrow_text(enum config_narrow narrow);

#endif
