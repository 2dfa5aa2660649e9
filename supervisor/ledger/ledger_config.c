/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the config message. Called once by the ledger's main, before
 * confinement. An unknown option is refused with its name.
 */
#include <string.h>

#include "supervisor/ledger/ledger_config.h"

#define LEDGER_CONFIG_FILES_MAX 100000
#define LEDGER_CONFIG_UID_MAX INT64_C(4294967294)

static void
ledger_config_level(const json_t *options, struct ledger_config *config_r,
    struct json_fault *fault)
{
	static const char *const names[] = {"debug", "info", "warn", "error"};
	const char *name = "info";
	unsigned level;

	json_field_string_opt(options, "options", "log_level", 8, &name, fault);
	for (level = LOG_DEBUG_LEVEL; level <= LOG_ERROR_LEVEL; level++) {
		if (strcmp(names[level], name) == 0) {
			config_r->log_level = (enum log_level)level;
			return;
		}
	}
	json_field_fault(fault,
	    "options.log_level: '%s' is not debug, info, warn or error", name);
}

void
ledger_config_read(const struct ipc_message *message,
    struct ledger_config *config_r, struct json_fault *fault)
{
	static const char *const known[] = {"uid", "log_level", "no_landlock",
	    "audit_max_size", "audit_max_files", "audit_key_new", NULL};
	const json_t *options = NULL;
	int64_t uid = 0, max_size = 0, max_files = 2;

	memset(config_r, 0, sizeof(*config_r));
	json_field_object(message->body, "config", "options", &options, fault);
	if (fault->text[0] != '\0')
		return;
	json_field_only(options, "options", known, fault);
	json_field_int_opt(
	    options, "options", "uid", 0, LEDGER_CONFIG_UID_MAX, &uid, fault);
	json_field_bool_opt(
	    options, "options", "no_landlock", &config_r->no_landlock, fault);
	json_field_bool_opt(
	    options, "options", "audit_key_new", &config_r->is_key_new, fault);
	json_field_int_opt(options, "options", "audit_max_size", 0, INT64_MAX,
	    &max_size, fault);
	json_field_int_opt(options, "options", "audit_max_files", 2,
	    LEDGER_CONFIG_FILES_MAX, &max_files, fault);
	ledger_config_level(options, config_r, fault);
	config_r->uid = (uid_t)uid;
	config_r->audit_max_size = (uint64_t)max_size;
	config_r->audit_max_files = (unsigned)max_files;
	config_r->has_key = message->fd_count == LEDGER_CONFIG_FDS;
	if (!config_r->has_key && message->fd_count != LEDGER_CONFIG_KEY)
		json_field_fault(fault,
		    "config: %zu descriptors where %d or %d belong",
		    message->fd_count, (int)LEDGER_CONFIG_KEY,
		    (int)LEDGER_CONFIG_FDS);
}
