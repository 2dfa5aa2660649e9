/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the words of `agentnode exec`; see exec_request.h. Called by
 * command_exec; must never open anything, nor guess what was meant.
 */
#include "supervisor/exec/exec_request.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"

#define EXEC_REQUEST_SHOWN_MAX 160U

static bool exec_request_fail(struct exec_request_fault *fault_r,
    const char *word, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* 'word' and then the sentence; the word is foreign. */
static bool
exec_request_fail(struct exec_request_fault *fault_r, const char *word,
    const char *format, ...)
{
	char shown[EXEC_REQUEST_SHOWN_MAX];
	size_t used;
	va_list list;

	log_escape(word, strlen(word), shown, sizeof(shown));
	used = (size_t)snprintf(
	    fault_r->text, sizeof(fault_r->text), "'%s' ", shown);
	va_start(list, format);
	(void)vsnprintf(
	    fault_r->text + used, sizeof(fault_r->text) - used, format, list);
	va_end(list);
	return false;
}

static const char *const exec_request_boundaries[EXEC_BOUNDARY_COUNT] = {
    "container", "native", "policy", "vm"};

const char *
exec_request_boundary_name(enum exec_boundary boundary)
{
	return exec_request_boundaries[boundary];
}

bool
exec_request_boundary(struct exec_request *request, const char *word,
    struct exec_request_fault *fault_r)
{
	for (int i = 0; i < EXEC_BOUNDARY_COUNT; i++) {
		if (strcmp(exec_request_boundaries[i], word) == 0) {
			request->boundary = (enum exec_boundary)i;
			return true;
		}
	}
	return exec_request_fail(
	    fault_r, word, "is no boundary: it is container, native or policy");
}

/* --- inputs ------------------------------------------------------------- */

static bool
exec_request_is_utf8(const char *text)
{
	json_t *value = json_string(text);
	bool is = value != NULL;

	json_decref(value);
	return is;
}

/* NULL: a plain file name. */
static const char *
exec_request_name_fault(const char *name)
{
	if (name[0] == '\0')
		return "has no name";
	if (strchr(name, '/') != NULL || strchr(name, '\\') != NULL)
		return "is a path: an input goes in by a plain file name "
		       "(NAME=PATH takes one from elsewhere)";
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return "names a directory: an input is one file";
	if (strlen(name) > EXEC_REQUEST_NAME_MAX)
		return "is longer than a file name of 255 bytes";
	for (const char *at = name; *at != '\0'; at++) {
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			return "has a control byte in its name";
	}
	return exec_request_is_utf8(name) ? NULL
					  : "has a name that is no UTF-8";
}

bool
exec_request_input(struct exec_request *request, const char *word,
    struct exec_request_fault *fault_r)
{
	struct exec_request_input *input =
	    &request->inputs[request->input_count];
	const char *equals = strchr(word, '=');
	size_t len = equals == NULL ? strlen(word) : (size_t)(equals - word);
	const char *why;

	if (request->input_count == EXEC_REQUEST_INPUTS_MAX)
		return exec_request_fail(fault_r, word,
		    "is one input too many: at most %u",
		    EXEC_REQUEST_INPUTS_MAX);
	if (len > EXEC_REQUEST_NAME_MAX)
		return exec_request_fail(
		    fault_r, word, "has a name that is longer than 255 bytes");
	memcpy(input->name, word, len);
	input->name[len] = '\0';
	input->path = equals == NULL ? word : equals + 1;
	why = exec_request_name_fault(input->name);
	if (why != NULL)
		return exec_request_fail(fault_r, input->name, "%s", why);
	for (size_t i = 0; i < request->input_count; i++) {
		if (strcmp(request->inputs[i].name, input->name) == 0)
			return exec_request_fail(
			    fault_r, input->name, "is the name of two inputs");
	}
	request->input_count++;
	return true;
}

/* --- environment and network -------------------------------------------- */

bool
exec_request_allow(struct exec_request *request, const char *entry,
    struct exec_request_fault *fault_r)
{
	char *to;

	for (size_t i = 0; i < request->allow_count; i++) {
		if (strcmp(request->allow[i], entry) == 0)
			return true;
	}
	if (request->allow_count == EXEC_REQUEST_ALLOW_MAX)
		return exec_request_fail(fault_r, entry,
		    "is one --allow too many: at most %u",
		    EXEC_REQUEST_ALLOW_MAX);
	if (strlen(entry) >= EXEC_REQUEST_ENTRY_MAX)
		return exec_request_fail(fault_r, entry, "is too long");
	to = request->allow[request->allow_count++];
	(void)snprintf(to, EXEC_REQUEST_ENTRY_MAX, "%s", entry);
	return true;
}

bool
exec_request_grant(struct exec_request *request, const char *entry,
    struct exec_request_fault *fault_r)
{
	size_t before = request->allow_count;

	if (!exec_request_allow(request, entry, fault_r))
		return false;
	if (request->allow_count > before)
		request->granted[before] = true;
	return true;
}

bool
exec_request_only_granted(const struct exec_request *request)
{
	for (size_t i = 0; i < request->allow_count; i++) {
		if (!request->granted[i])
			return false;
	}
	return true;
}

/* What may be said of an entry: its name, never its value. */
static void
exec_request_env_name(const char *entry, char name_r[EXEC_ENV_NAME_MAX + 1])
{
	size_t len = strcspn(entry, "=");

	(void)snprintf(name_r, EXEC_ENV_NAME_MAX + 1, "%.*s",
	    len > EXEC_ENV_NAME_MAX ? (int)EXEC_ENV_NAME_MAX : (int)len, entry);
}

bool
exec_request_env(struct exec_request *request, const char *entry,
    const char *host_home, struct exec_request_fault *fault_r)
{
	enum exec_env_verdict verdict = exec_env_judge(entry, host_home);
	size_t len = strcspn(entry, "=");
	char name[EXEC_ENV_NAME_MAX + 1];

	exec_request_env_name(entry, name);
	if (verdict != EXEC_ENV_OK && !exec_env_may_be_known(verdict))
		return exec_request_fail(
		    fault_r, name, "%s", exec_env_text(verdict));
	for (size_t i = 0; i < request->env_count; i++) {
		if (strncmp(request->env[i], entry, len + 1) == 0)
			return exec_request_fail(
			    fault_r, name, "is a variable that is set twice");
	}
	if (request->env_count == EXEC_REQUEST_ENV_MAX)
		return exec_request_fail(fault_r, "--env",
		    "can be given %u times at most", EXEC_REQUEST_ENV_MAX);
	request->env_verdicts[request->env_count] = verdict;
	request->env[request->env_count++] = entry;
	return true;
}

/* --- the native boundary ------------------------------------------------- */

bool
exec_request_mode(struct exec_request *request, const char *word,
    struct exec_request_fault *fault_r)
{
	request->native.has_mode = true;
	if (exec_native_mode(word, &request->native.mode))
		return true;
	return exec_request_fail(fault_r, word,
	    "is no mode: it is read-only, workspace-write or "
	    "danger-full-access");
}

bool
exec_request_approval(struct exec_request *request, const char *word,
    struct exec_request_fault *fault_r)
{
	request->has_approval = true;
	if (native_approval_mode_parse(word, &request->approval))
		return true;
	return exec_request_fail(
	    fault_r, word, "is no approval: it is on-request or never");
}

static bool
exec_request_list(const char **list, size_t *count, const char *path,
    struct exec_request_fault *fault_r)
{
	if (path[0] == '\0')
		return exec_request_fail(fault_r, path, "names nothing");
	if (*count == EXEC_NATIVE_LIST_MAX)
		return exec_request_fail(fault_r, path,
		    "is one too many: at most %u", EXEC_NATIVE_LIST_MAX);
	list[(*count)++] = path;
	return true;
}

bool
exec_request_protect(struct exec_request *request, const char *path,
    struct exec_request_fault *fault_r)
{
	return exec_request_list(request->native.protect,
	    &request->native.protect_count, path, fault_r);
}

bool
exec_request_writable(struct exec_request *request, const char *path,
    struct exec_request_fault *fault_r)
{
	return exec_request_list(request->native.writable,
	    &request->native.writable_count, path, fault_r);
}

/* --- numbers ------------------------------------------------------------ */

/* A number and one of the units ("" is the last word), within 1..max. */
struct exec_request_unit {
	const char *word;
	uint64_t factor;
};

static bool
exec_request_number(const char *word, const struct exec_request_unit *units,
    uint64_t max, uint64_t *number_r)
{
	size_t len = strspn(word, "0123456789");
	uint64_t number = 0;

	if (len == 0 || len > 12)
		return false;
	for (size_t i = 0; i < len; i++)
		number = number * 10 + (uint64_t)(word[i] - '0');
	for (; units->word != NULL; units++) {
		if (strcmp(units->word, word + len) == 0)
			break;
	}
	if (units->word == NULL || number == 0 || number > max / units->factor)
		return false;
	*number_r = number * units->factor;
	return true;
}

bool
exec_request_timeout(struct exec_request *request, const char *word,
    struct exec_request_fault *fault_r)
{
	static const struct exec_request_unit units[] = {{"ms", 1}, {"s", 1000},
	    {"", 1000}, {"m", 60000}, {"h", 3600000}, {NULL, 1}};

	if (exec_request_number(
		word, units, EXEC_REQUEST_TIMEOUT_MAX_MS, &request->timeout_ms))
		return true;
	return exec_request_fail(fault_r, word,
	    "is no time limit: write 250ms, 10s, 2m or 1h, at most 12h");
}

bool
exec_request_output(struct exec_request *request, const char *word,
    struct exec_request_fault *fault_r)
{
	static const struct exec_request_unit units[] = {
	    {"", 1}, {"k", 1024}, {"m", 1048576}, {NULL, 1}};

	if (exec_request_number(
		word, units, EXEC_REQUEST_OUTPUT_MAX, &request->max_output))
		return true;
	return exec_request_fail(
	    fault_r, word, "is no size: write 8192, 8k or 1m, at most 1m");
}

/* --- all of it ---------------------------------------------------------- */

static bool
exec_request_known(
    const struct exec_request *request, struct exec_request_fault *fault_r)
{
	for (size_t i = 0; i < request->env_count && !request->i_know; i++) {
		char name[EXEC_ENV_NAME_MAX + 1];

		if (request->env_verdicts[i] == EXEC_ENV_OK)
			continue;
		exec_request_env_name(request->env[i], name);
		return exec_request_fail(fault_r, name,
		    "%s; --i-know hands it over, and the result says so",
		    exec_env_text(request->env_verdicts[i]));
	}
	return true;
}

static const char *
exec_request_native(
    const struct exec_request *request, struct exec_request_fault *fault_r)
{
	const struct exec_native_choice *native = &request->native;
	bool given = native->has_mode || native->workspace != NULL ||
		     native->protect_count > 0 || native->writable_count > 0 ||
		     request->approval != NATIVE_APPROVAL_NEVER;

	if (request->boundary != EXEC_NATIVE && given)
		(void)snprintf(fault_r->text, sizeof(fault_r->text),
		    "--mode, --workspace, --protect, --writable and --approval "
		    "are for --boundary native");
	else if (request->boundary == EXEC_NATIVE && request->image != NULL)
		(void)snprintf(fault_r->text, sizeof(fault_r->text),
		    "--image is for --boundary container: native has none");
	else if (native->mode != NATIVE_WORKSPACE_WRITE &&
		 native->protect_count + native->writable_count > 0)
		(void)snprintf(fault_r->text, sizeof(fault_r->text),
		    "--protect and --writable are for --mode "
		    "workspace-write");
	else if (native->mode == NATIVE_DANGER && !request->i_know) {
		(void)snprintf(fault_r->text, sizeof(fault_r->text),
		    "--mode danger-full-access lets the command change every "
		    "file that you may change: --i-know says that you know, "
		    "and the result says so");
		return "danger_refused";
	} else
		return NULL;
	return "bad_args";
}

const char *
exec_request_check(
    const struct exec_request *request, struct exec_request_fault *fault_r)
{
	if (request->argv == NULL || request->argv[0] == NULL ||
	    request->argv[0][0] == '\0') {
		(void)snprintf(fault_r->text, sizeof(fault_r->text),
		    "there is no command behind '--'");
		return "bad_args";
	}
	if (request->boundary == EXEC_VM) {
		(void)snprintf(fault_r->text, sizeof(fault_r->text),
		    "the boundary vm is not available: container is the "
		    "strongest there is");
		return "boundary_unavailable";
	}
	if (request->boundary == EXEC_POLICY && request->allow_count > 0) {
		(void)snprintf(fault_r->text, sizeof(fault_r->text),
		    "--allow is for container and native: policy closes the "
		    "network by variables alone and cannot open a part of it");
		return "bad_args";
	}
	if (!exec_request_known(request, fault_r))
		return "env_refused";
	return exec_request_native(request, fault_r);
}
