/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds dependencies; see install_pack_build.h. What pip reads is written
 * here from the parsed list; npm gets the package's two JSON files. It must
 * never put anything into the package that the list does not name.
 */
#include "supervisor/package/install_pack_build.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/package/install_build.h"
#include "supervisor/package/install_ca.h"
#include "supervisor/package/install_facts.h"
#include "supervisor/package/install_registry.h"
#include "supervisor/package/requirement.h"
#include "supervisor/package/unpack_call.h"
#include "supervisor/unpack/describe.h"

#define INSTALL_PACK_TIMEOUT_S 1800U
#define INSTALL_PACK_FILES_MAX 500000
#define INSTALL_PACK_INPUT "/input"
#define INSTALL_PACK_WHEELS "/wheels"
#define INSTALL_PACK_SITE "site" /* below INSTALL_BUILD_FOLDER */

/* What goes into the build: descriptors owned until its end. */
struct install_pack_input {
	int list_fd;   /* requirements.txt, or npm's two files */
	int wheels_fd; /* -1: none */
};

enum result
install_pack_build_ask(struct install *install, const char *job,
    json_t *options, const int *fds, size_t fd_count, json_t **total_r)
{
	struct unpack_call_spec spec = {.job = job,
	    .options = options,
	    .fds = fds,
	    .fd_count = fd_count,
	    .timeout_s = INSTALL_PACK_TIMEOUT_S};
	char detail[512] = "", code[64] = "";
	enum result result;

	(void)json_object_set_new(options, "max_bytes",
	    json_integer(config_int(install->config, "build.size")));
	if (strcmp(job, UNPACK_JOB_HASH_FILE) != 0)
		(void)json_object_set_new(
		    options, "max_files", json_integer(INSTALL_PACK_FILES_MAX));
	result = unpack_call_wait_code(install->config, &spec, total_r, code,
	    sizeof(code), detail, sizeof(detail));
	if (result == RESULT_OK)
		return RESULT_OK;
	if (result == RESULT_REFUSED)
		return install_fault_unpack(&install->fault, code, detail);
	return install_fault_set(
	    &install->fault, result, "unpack_failed", "%s", detail);
}

static enum result
install_pack_build_rewind(struct install *install, int fd)
{
	if (lseek(fd, 0, SEEK_SET) == 0)
		return RESULT_OK;
	return install_fault_set(&install->fault, RESULT_SYSTEM,
	    "home_unusable", "a temporary file cannot be read again: %m");
}

/* Some paths of the package's tar as a tree stream. */
static enum result
install_pack_build_part(struct install *install,
    const struct install_tree *tree, json_t *only, int *fd_r)
{
	int fds[2] = {tree->tar_fd, -1};
	json_t *total = NULL;
	enum result result = install_pack_build_rewind(install, tree->tar_fd);

	if (result == RESULT_OK)
		result = install_build_spool(install, &fds[1]);
	if (result == RESULT_OK)
		result =
		    install_pack_build_ask(install, UNPACK_JOB_ARCHIVE_TO_TREE,
			json_pack("{s:O}", "only", only), fds, 2, &total);
	if (result == RESULT_OK)
		result = install_pack_build_rewind(install, fds[1]);
	json_decref(total);
	json_decref(only);
	*fd_r = fds[1];
	return result;
}

/* A folder of the user's as a tree stream. */
static enum result
install_pack_build_folder(struct install *install, const char *path, int *fd_r)
{
	int root FD_CLEANUP = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct unpack_call_spec spec = {.job = UNPACK_JOB_SEND_TREE,
	    .roots = &root,
	    .root_count = 1,
	    .fds = fd_r,
	    .fd_count = 1,
	    .timeout_s = INSTALL_PACK_TIMEOUT_S,
	    .keep_uid = true};
	char detail[512] = "", code[64] = "";
	json_t *total = NULL;
	enum result result;

	if (root < 0)
		return install_fault_set(&install->fault, RESULT_BAD,
		    "folder_unusable", "--wheels %s: %m", path);
	result = install_build_spool(install, fd_r);
	if (result != RESULT_OK)
		return result;
	spec.options = json_pack("{s:i,s:I,s:i}", "root", 0, "max_bytes",
	    (json_int_t)config_int(install->config, "build.size"), "max_files",
	    INSTALL_PACK_FILES_MAX);
	result = unpack_call_wait_code(install->config, &spec, &total, code,
	    sizeof(code), detail, sizeof(detail));
	json_decref(total);
	if (result == RESULT_REFUSED)
		return install_fault_unpack(&install->fault, code, detail);
	if (result != RESULT_OK)
		return install_fault_set(
		    &install->fault, result, "unpack_failed", "%s", detail);
	return install_pack_build_rewind(install, *fd_r);
}

static enum result
install_pack_build_requirements(
    struct install *install, const struct install_pack *pack, int *fd_r)
{
	char *text = requirement_text(
	    json_object_get(pack->read.dependencies, "requirements"));
	enum result result = text == NULL ? RESULT_NO_MEMORY
					  : install_ca_file(REQUIREMENT_FILE,
						text, strlen(text), fd_r);

	free(text);
	if (result != RESULT_OK)
		return install_fault_set(&install->fault, result, "internal",
		    "the list of requirements cannot be handed over");
	return RESULT_OK;
}

static void
install_pack_build_word(struct install_build_plan *plan, const char *word)
{
	if (plan->argc + 1 < INSTALL_BUILD_ARGV_MAX)
		plan->argv[plan->argc++] = word;
}

static void
install_pack_build_words(
    struct install_build_plan *plan, const char *const *words)
{
	for (; *words != NULL; words++)
		install_pack_build_word(plan, *words);
}

/* Where pip finds files: a folder of wheels and nothing else, or the
 * configured index. */
static enum result
install_pack_build_index(struct install *install, const char *wheels,
    struct install_build_plan *plan)
{
	const char *url = config_text(install->config, "build.pypi_index");
	char host[256];
	bool is_plain = false;
	enum result result;

	if (wheels != NULL) {
		install_pack_build_word(plan, "--no-index");
		(void)snprintf(plan->words[0], sizeof(plan->words[0]),
		    "--find-links=%s", wheels);
		install_pack_build_word(plan, plan->words[0]);
		return RESULT_OK;
	}
	result = install_registry_egress("build.pypi_index", url, &plan->egress,
	    host, sizeof(host), &is_plain, &install->fault);
	if (result != RESULT_OK)
		return result;
	(void)snprintf(
	    plan->words[0], sizeof(plan->words[0]), "--index-url=%s", url);
	install_pack_build_word(plan, plan->words[0]);
	if (is_plain) {
		(void)snprintf(plan->words[1], sizeof(plan->words[1]),
		    "--trusted-host=%s", host);
		install_pack_build_word(plan, plan->words[1]);
	}
	return RESULT_OK;
}

static enum result
install_pack_build_pip(struct install *install, const struct install_pack *pack,
    const struct install_tree *tree, struct install_build_plan *plan,
    struct install_pack_input *input)
{
	static const char *const words[] = {"/usr/bin/python3", "-m", "pip",
	    "install", "--no-input", "--no-cache-dir",
	    "--disable-pip-version-check", "--progress-bar=off", "--no-color",
	    "--retries=1", "--timeout=60",
	    "--target=" INSTALL_BUILD_FOLDER "/" INSTALL_PACK_SITE,
	    "--report=" INSTALL_BUILD_FOLDER "/" DESCRIBE_PIP_REPORT,
	    "--requirement=" INSTALL_PACK_INPUT "/" REQUIREMENT_FILE, NULL};
	bool own =
	    json_is_true(json_object_get(pack->read.dependencies, "wheels"));
	const char *wheels = NULL;
	enum result result =
	    install_pack_build_requirements(install, pack, &input->list_fd);

	if (result == RESULT_OK && pack->source->wheels != NULL) {
		wheels = INSTALL_PACK_WHEELS;
		result = install_pack_build_folder(
		    install, pack->source->wheels, &input->wheels_fd);
	} else if (result == RESULT_OK && own) {
		wheels = INSTALL_PACK_WHEELS "/wheels";
		result = install_pack_build_part(install, tree,
		    json_pack("[s]", "wheels"), &input->wheels_fd);
	}
	if (result != RESULT_OK)
		return result;
	install_pack_build_words(plan, words);
	if (!own || pack->source->wheels != NULL)
		install_pack_build_word(plan, "--require-hashes");
	install_pack_build_word(plan, install->request->allow_scripts
					  ? "--prefer-binary"
					  : "--only-binary=:all:");
	plan->label = "pip";
	plan->inputs[0] =
	    (struct install_build_input){INSTALL_PACK_INPUT, input->list_fd};
	plan->inputs[1] =
	    (struct install_build_input){INSTALL_PACK_WHEELS, input->wheels_fd};
	return install_pack_build_index(install, wheels, plan);
}

static enum result
install_pack_build_npm(struct install *install, const struct install_tree *tree,
    struct install_build_plan *plan, struct install_pack_input *input)
{
	static const char *const words[] = {"/usr/local/bin/npm", "ci",
	    "--prefix=" INSTALL_BUILD_FOLDER, "--cache=/cache", "--no-audit",
	    "--no-fund", "--no-update-notifier", "--omit=dev",
	    "--loglevel=http", "--fetch-retries=1", "--fetch-timeout=60000",
	    NULL};
	const char *url = config_text(install->config, "build.npm_registry");
	char host[256];
	bool is_plain;
	enum result result = install_registry_egress("build.npm_registry", url,
	    &plan->egress, host, sizeof(host), &is_plain, &install->fault);

	if (result == RESULT_OK)
		result = install_pack_build_part(install, tree,
		    json_pack("[ss]", "package.json", "package-lock.json"),
		    &input->list_fd);
	if (result != RESULT_OK)
		return result;
	(void)snprintf(
	    plan->words[0], sizeof(plan->words[0]), "--registry=%s", url);
	install_pack_build_words(plan, words);
	install_pack_build_word(plan, plan->words[0]);
	install_pack_build_word(plan, install->request->allow_scripts
					  ? "--foreground-scripts"
					  : "--ignore-scripts");
	plan->label = "npm";
	plan->inputs[0] =
	    (struct install_build_input){INSTALL_BUILD_FOLDER, input->list_fd};
	plan->inputs[1].fd = -1;
	return RESULT_OK;
}

/* Was this asked for, in this version and with this hash? */
static bool
install_pack_build_asked(const json_t *requirements, const json_t *got)
{
	const json_t *integrity = json_object_get(got, "integrity");
	json_t *item, *hash;
	size_t i, k;

	json_array_foreach((json_t *)requirements, i, item)
	{
		const json_t *hashes = json_object_get(item, "hashes");

		if (!json_equal(json_object_get(item, "version"),
			json_object_get(got, "version")))
			continue;
		json_array_foreach((json_t *)hashes, k, hash)
		{
			if (json_equal(hash, integrity))
				return true;
		}
	}
	return false;
}

/* What pip installed: with hashes in the list, nothing but that. */
static enum result
install_pack_build_report(struct install *install, struct install_pack *pack,
    const struct install_tree *built)
{
	const json_t *asked =
	    json_object_get(pack->read.dependencies, "requirements");
	bool own =
	    json_is_true(json_object_get(pack->read.dependencies, "wheels")) &&
	    pack->source->wheels == NULL;
	int fds[2] = {
	    built->tar_fd, memfd_create("agentnode-dependencies", MFD_CLOEXEC)};
	json_t *total = NULL, *item;
	enum result result;
	size_t i;

	if (fds[1] < 0)
		return install_fault_set(&install->fault, RESULT_SYSTEM,
		    "no_descriptors", "memfd_create: %m");
	result = install_pack_build_ask(
	    install, UNPACK_JOB_PIP_REPORT, json_object(), fds, 2, &total);
	json_decref(total);
	if (result == RESULT_OK)
		result =
		    install_facts_list(install, fds[1], &pack->dependencies);
	fd_close(&fds[1]);
	json_array_foreach(pack->dependencies, i, item)
	{
		if (result == RESULT_OK && !own &&
		    !install_pack_build_asked(asked, item))
			result = install_fault_set(&install->fault,
			    RESULT_MISMATCH, "integrity_dependency",
			    "pip installed %.80s, which is not what the list "
			    "names",
			    json_string_value(json_object_get(item, "name")));
	}
	return result;
}

/* Package and dependencies in one tree. */
static enum result
install_pack_build_merge(struct install *install, bool is_npm,
    const struct install_tree *built, struct install_tree *tree)
{
	int fds[3] = {tree->tar_fd, built->tar_fd, -1};
	json_t *options = is_npm ? json_pack("{s:[s]}", "only", "node_modules")
				 : json_pack("{s:i}", "strip", 1);
	json_t *total = NULL;
	struct install_tree merged = {.tar_fd = -1};
	enum result result = install_pack_build_rewind(install, fds[0]);

	if (result == RESULT_OK)
		result = install_pack_build_rewind(install, fds[1]);
	if (result == RESULT_OK)
		result = install_build_spool(install, &fds[2]);
	if (result == RESULT_OK)
		result = install_pack_build_ask(install, UNPACK_JOB_MERGE,
		    json_incref(options), fds, 3, &total);
	json_decref(options);
	if (result == RESULT_OK)
		result = install_build_take(install, total, fds[2], &merged);
	json_decref(total);
	if (result != RESULT_OK) {
		fd_close(&fds[2]);
		return result;
	}
	fd_close(&tree->tar_fd);
	*tree = merged;
	return RESULT_OK;
}

static enum result
install_pack_build_do(struct install *install, struct install_pack *pack,
    bool is_npm, struct install_tree *tree)
{
	struct install_pack_input input = {.list_fd = -1, .wheels_fd = -1};
	struct install_build_plan plan = {.egress = NULL};
	struct install_tree built = {.tar_fd = -1};
	enum result result =
	    is_npm ? install_pack_build_npm(install, tree, &plan, &input)
		   : install_pack_build_pip(install, pack, tree, &plan, &input);

	if (result == RESULT_OK) {
		install_say(install, "building the dependencies in a sandbox");
		result = install_build_run(install, &plan, &built);
	}
	if (result == RESULT_OK && !is_npm)
		result = install_pack_build_report(install, pack, &built);
	if (result == RESULT_OK)
		result =
		    install_pack_build_merge(install, is_npm, &built, tree);
	install_build_plan_clear(&plan);
	fd_close(&built.tar_fd);
	fd_close(&input.list_fd);
	fd_close(&input.wheels_fd);
	return result;
}

enum result
install_pack_build(struct install *install, struct install_pack *pack,
    struct install_tree *tree)
{
	const json_t *plan = pack->read.dependencies;
	const char *manager =
	    json_string_value(json_object_get(plan, "manager"));

	if (manager != NULL && strcmp(manager, "pip") == 0)
		return install_pack_build_do(install, pack, false, tree);
	pack->dependencies = json_deep_copy(json_object_get(plan, "packages"));
	if (pack->dependencies == NULL)
		pack->dependencies = json_array();
	if (manager != NULL && strcmp(manager, "npm") == 0)
		return install_pack_build_do(install, pack, true, tree);
	return RESULT_OK;
}
