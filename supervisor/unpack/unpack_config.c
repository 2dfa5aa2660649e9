/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the config message of agentnode-unpack; see unpack_config.h. Must
 * never fill in for a field that is wrong.
 */
#include "supervisor/unpack/unpack_config.h"

#include <sys/stat.h>

#define UNPACK_CONFIG_TIMEOUT_S 3600
#define UNPACK_CONFIG_TIMEOUT_MAX 86400
#define UNPACK_CONFIG_UID_MAX 4294967294LL

static void
unpack_config_roots(struct ipc_message *message, struct unpack_config *config_r,
    struct json_fault *fault)
{
	struct stat status;

	for (size_t i = 0; i < UNPACK_ROOTS_MAX; i++)
		config_r->roots[i] = -1;
	if (message->fd_count != config_r->root_count + 1) {
		json_field_fault(fault,
		    "options.roots is %zu and %zu descriptors came",
		    config_r->root_count, message->fd_count);
		return;
	}
	config_r->log_fd = ipc_message_take_fd(message, 0);
	for (size_t i = 0; i < config_r->root_count; i++) {
		config_r->roots[i] = ipc_message_take_fd(message, i + 1);
		if (fstat(config_r->roots[i], &status) != 0 ||
		    !S_ISDIR(status.st_mode))
			json_field_fault(fault, "root %zu is no directory", i);
	}
}

enum result
unpack_config_read(struct ipc_message *message, struct unpack_config *config_r,
    struct json_fault *fault)
{
	static const char *const keys[] = {
	    "roots", "uid", "timeout_s", "no_landlock", NULL};
	const json_t *options = NULL;
	int64_t roots = 0, uid = 0, timeout = UNPACK_CONFIG_TIMEOUT_S;

	*config_r = (struct unpack_config){.log_fd = -1};
	json_field_object(message->body, "config", "options", &options, fault);
	json_field_only(options, "options", keys, fault);
	json_field_int(
	    options, "options", "roots", 0, UNPACK_ROOTS_MAX, &roots, fault);
	json_field_int_opt(
	    options, "options", "uid", 0, UNPACK_CONFIG_UID_MAX, &uid, fault);
	json_field_int_opt(options, "options", "timeout_s", 1,
	    UNPACK_CONFIG_TIMEOUT_MAX, &timeout, fault);
	json_field_bool_opt(
	    options, "options", "no_landlock", &config_r->no_landlock, fault);
	if (fault->text[0] != '\0')
		return RESULT_BAD;
	config_r->root_count = (size_t)roots;
	config_r->uid = (uid_t)uid;
	config_r->timeout_s = (unsigned)timeout;
	unpack_config_roots(message, config_r, fault);
	return fault->text[0] == '\0' ? RESULT_OK : RESULT_BAD;
}
