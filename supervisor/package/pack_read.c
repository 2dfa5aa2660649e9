/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks agentnode-unpack about packages; see pack_read.h. What comes back is
 * judged again here, and the hosts of the manifest with the parser that the
 * egress policy uses.
 */
#include "supervisor/package/pack_read.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fd.h"
#include "egress-proxy/policy_entry.h"
#include "supervisor/package/manifest.h"
#include "supervisor/package/unpack_call.h"
#include "supervisor/policy/config.h"

#define PACK_READ_TIMEOUT_S 600U
#define PACK_READ_FILES_MAX 200000

/* Names only, TLS: what a manifest may ask for without a person's word. */
static void
pack_read_domains(const json_t *list, const char *path, struct pack_read *read)
{
	enum policy_entry_fault fault;
	struct policy_entry entry;
	char place[128];
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const char *text = json_string_value(json_array_get(list, i));

		if (text == NULL)
			continue; /* that has its fault */
		fault = policy_entry_parse(
		    text, strlen(text), POLICY_ENTRY_FROM_MANIFEST, &entry);
		if (fault == POLICY_ENTRY_OK)
			continue;
		(void)snprintf(place, sizeof(place), "%s[%zu]", path, i);
		manifest_report_fault(&read->report, place, "'%.80s' %s", text,
		    policy_entry_fault_text(fault, entry.name_fault));
	}
}

/* A fault that agentnode-unpack did not find is one all the same. */
static void
pack_read_again(struct pack_read *read)
{
	struct manifest_report again;
	struct json_fault fault = {""};

	if (read->manifest == NULL)
		return;
	manifest_report_init(&again);
	manifest_judge(read->manifest, &again);
	manifest_report_first(&again, &fault);
	if (read->report.count == 0 && fault.text[0] != '\0')
		manifest_report_fault(
		    &read->report, MANIFEST_FILE, "%s", fault.text);
	manifest_report_clear(&again);
	pack_read_domains(
	    json_object_get(
		json_object_get(
		    json_object_get(read->manifest, "permissions"), "network"),
		"allowed_domains"),
	    "manifest.permissions.network.allowed_domains", read);
}

static json_t *
pack_read_take(const json_t *answer, const char *key)
{
	json_t *value = json_object_get(answer, key);

	return json_is_object(value) ? json_incref(value) : NULL;
}

/* [{"path","message"}] as the answer has it. */
static void
pack_read_list(const json_t *list,
    void (*add)(struct manifest_report *, const char *, const char *, ...),
    struct manifest_report *report)
{
	json_t *item;
	size_t i;

	json_array_foreach((json_t *)list, i, item)
	{
		const char *path =
		    json_string_value(json_object_get(item, "path"));
		const char *message =
		    json_string_value(json_object_get(item, "message"));

		if (path != NULL && message != NULL)
			add(report, path, "%s", message);
	}
}

static enum result
pack_read_answer(
    int list_fd, struct pack_read *read, struct install_fault *fault)
{
	struct json_fault bad = {""};
	json_t *answer = NULL;
	char *bytes = NULL;
	size_t len = 0;
	enum result result = RESULT_SYSTEM;

	if (lseek(list_fd, 0, SEEK_SET) == 0)
		result = fd_read_all(list_fd, UNPACK_LIST_MAX, &bytes, &len);
	if (result == RESULT_OK)
		result = json_field_parse(bytes, len, &answer, &bad);
	free(bytes);
	if (result != RESULT_OK || !json_is_object(answer)) {
		json_decref(answer);
		return install_fault_set(fault, RESULT_INTERNAL,
		    "unpack_failed", "agentnode-unpack gave no description");
	}
	read->manifest = pack_read_take(answer, "manifest");
	read->dependencies = pack_read_take(answer, "dependencies");
	read->strip =
	    json_integer_value(json_object_get(answer, "strip")) == 1 ? 1 : 0;
	pack_read_list(json_object_get(answer, "faults"), manifest_report_fault,
	    &read->report);
	pack_read_list(json_object_get(answer, "warnings"),
	    manifest_report_warn, &read->report);
	json_decref(answer);
	pack_read_again(read);
	if (read->report.count == 0 &&
	    (read->manifest == NULL || read->dependencies == NULL))
		return install_fault_set(fault, RESULT_INTERNAL,
		    "unpack_failed", "agentnode-unpack gave no manifest");
	return RESULT_OK;
}

static enum result
pack_read_ask(const struct config *config, struct unpack_call_spec *spec,
    int *fds, struct pack_read *read_r, struct install_fault *fault)
{
	int list FD_CLEANUP = memfd_create("agentnode-package", MFD_CLOEXEC);
	char detail[512] = "", code[64] = "";
	json_t *total = NULL;
	enum result result;

	*read_r = (struct pack_read){.manifest = NULL};
	manifest_report_init(&read_r->report);
	if (list < 0) {
		json_decref(spec->options);
		return install_fault_set(
		    fault, RESULT_SYSTEM, "no_descriptors", "memfd_create: %m");
	}
	fds[spec->fd_count++] = list;
	spec->fds = fds;
	spec->timeout_s = PACK_READ_TIMEOUT_S;
	result = unpack_call_wait_code(
	    config, spec, &total, code, sizeof(code), detail, sizeof(detail));
	json_decref(total);
	if (result == RESULT_REFUSED)
		return install_fault_unpack(fault, code, detail);
	if (result != RESULT_OK)
		return install_fault_set(
		    fault, result, "unpack_failed", "%s", detail);
	return pack_read_answer(list, read_r, fault);
}

static json_t *
pack_read_options(const struct config *config)
{
	return json_pack("{s:I,s:I}", "max_bytes",
	    (json_int_t)config_int(config, "build.size"), "max_files",
	    (json_int_t)PACK_READ_FILES_MAX);
}

enum result
pack_read_folder(const struct config *config, const char *path,
    struct pack_read *read_r, struct install_fault *fault)
{
	int root FD_CLEANUP = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct unpack_call_spec spec = {.job = UNPACK_JOB_PACK_FOLDER,
	    .roots = &root,
	    .root_count = 1,
	    .keep_uid = true};
	int fds[2];

	*read_r = (struct pack_read){.manifest = NULL};
	if (root < 0)
		return install_fault_set(
		    fault, RESULT_BAD, "folder_unusable", "%s: %m", path);
	spec.options = pack_read_options(config);
	(void)json_object_set_new(spec.options, "root", json_integer(0));
	return pack_read_ask(config, &spec, fds, read_r, fault);
}

enum result
pack_read_archive(const struct config *config, int fd, struct pack_read *read_r,
    struct install_fault *fault)
{
	struct unpack_call_spec spec = {.job = UNPACK_JOB_PACK_ARCHIVE,
	    .options = pack_read_options(config),
	    .fd_count = 1};
	int fds[2] = {fd};

	return pack_read_ask(config, &spec, fds, read_r, fault);
}

void
pack_read_clear(struct pack_read *read)
{
	json_decref(read->manifest);
	json_decref(read->dependencies);
	manifest_report_clear(&read->report);
	*read = (struct pack_read){.manifest = NULL};
}
