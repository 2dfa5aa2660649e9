/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A package's or an image's plan, read back as words. Called by
 * command_argv; must never start anything, and prints no secret.
 */
#include "supervisor/command/argv_plan.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "supervisor/command/command.h"
#include "supervisor/engine/run_argv.h"
#include "supervisor/init/init_go.h"
#include "supervisor/mcp/mcp_run_plan.h"
#include "supervisor/pack/pack_run_plan.h"
#include "supervisor/sandbox_plan.h"

/* Of the plan: the engine's line and what the program would be told. */
static int
argv_plan_words(const struct argv_plan_options *options,
    const struct sandbox_plan *plan, bool has_program, struct argv_port *port_r)
{
	static char *program[INIT_GO_WORDS_MAX + 1];
	static char *env[INIT_GO_WORDS_MAX + 1];
	const struct init_go *go = init_go_map(plan->go_fd, INIT_GO_WORKLOAD);
	struct argv_port_input input;
	const char *word = "";
	enum result result;

	if (go == NULL || go->argc > INIT_GO_WORDS_MAX ||
	    go->envc > INIT_GO_WORDS_MAX)
		return command_error(
		    COMMAND_INTERNAL, "the plan of the sandbox is not whole");
	init_go_words(go, go->argv_offset, go->argc, program);
	init_go_words(go, go->env_offset, go->envc, env);
	program[go->argc] = env[go->envc] = NULL;
	input = (struct argv_port_input){.engine = options->engine,
	    .words = plan->argv->words,
	    .env = (const char *const *)env,
	    .cwd = init_go_cwd_borrow(go),
	    .program = has_program ? (const char *const *)program : NULL,
	    .interactive = options->slug != NULL,
	    .uid = plan->uid.uid};
	result = argv_port_make(&input, port_r, &word);
	init_go_unmap(go);
	if (result == RESULT_OK)
		return COMMAND_DONE;
	return command_error(COMMAND_INTERNAL,
	    "the command line cannot be written for this engine: %s %s",
	    result_text(result), word);
}

/* As a run's story does it, and back again. */
static int
argv_plan_sandbox(const struct argv_plan_options *options,
    const struct config *config, struct sandbox_spec *spec,
    struct argv_port *port_r)
{
	struct sandbox_plan_fault fault;
	struct sandbox_plan *plan = calloc(1, sizeof(*plan));
	int null_fd FD_CLEANUP = open("/dev/null", O_RDWR | O_CLOEXEC);
	bool has_program = options->slug != NULL || options->word_count > 0;
	enum result result;
	int code;

	if (plan == NULL || null_fd < 0) {
		free(plan);
		return command_error(COMMAND_INTERNAL, "out of memory");
	}
	spec->stdin_fd = spec->stdout_fd = spec->stderr_fd = null_fd;
	spec->secret = NULL;
	result = sandbox_plan_make(config, spec, plan, &fault);
	if (result != RESULT_OK) {
		free(plan);
		return command_error(result == RESULT_MISMATCH
					 ? COMMAND_INTEGRITY
					 : COMMAND_UNAVAILABLE,
		    "%s: %s", fault.code, fault.detail);
	}
	code = argv_plan_words(options, plan, has_program, port_r);
	run_lock_end(&plan->host.files, &plan->lock);
	sandbox_plan_clear(plan);
	free(plan);
	return code;
}

static int
argv_plan_image(
    const struct argv_plan_options *options, struct argv_port *port_r)
{
	static const char *const nothing[] = {"/", NULL};
	struct json_fault fault = {""};
	struct config *config = NULL;
	struct sandbox_spec spec = {.kind = "argv",
	    .package = "image",
	    .version = "0",
	    .image = options->image,
	    .argv = options->word_count > 0 ? options->words : nothing,
	    .cwd = "/"};
	enum result result;
	int code;

	if (!run_argv_is_pinned(options->image))
		return command_error(COMMAND_USAGE,
		    "--image %.200s must be NAME@sha256:<64 hex digits>",
		    options->image);
	result = config_load(&config, &fault);
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	code = argv_plan_sandbox(options, config, &spec, port_r);
	config_free(&config);
	return code;
}

/* What a run says when it refuses. */
static int
argv_plan_refused(enum result result, const struct run_entry *run)
{
	return command_error(command_exit_of(result), "%s: %s",
	    run->code[0] != '\0' ? run->code : "refused",
	    run->fault.text[0] != '\0' ? run->fault.text : result_text(result));
}

static int
argv_plan_server(
    const struct argv_plan_options *options, struct argv_port *port_r)
{
	static struct mcp_run_options run;
	static struct mcp_run_plan plan;
	enum result result;
	int code;

	run = (struct mcp_run_options){.slug = options->slug,
	    .lockfile = options->lockfile,
	    .args = (char **)(uintptr_t)options->words,
	    .arg_count = options->word_count};
	result = mcp_run_plan_make(&run, &plan);
	code = result == RESULT_OK ? argv_plan_sandbox(options, plan.run.config,
					 &plan.spec, port_r)
				   : argv_plan_refused(result, &plan.run);
	mcp_run_plan_clear(&plan);
	return code;
}

static enum result
argv_plan_pack_parts(
    const struct argv_plan_options *options, struct pack_run_plan *plan)
{
	struct run_entry *run = &plan->run;
	size_t count = 0;
	enum result result = pack_package_read(
	    options->slug, run->entry, &plan->package, &run->fault);

	if (result != RESULT_OK)
		return run_entry_fail(run, result, "not_runnable");
	result = pack_run_plan_allowed(run, &plan->package);
	if (result == RESULT_OK)
		result = pack_run_plan_egress(
		    run, &plan->package, &plan->egress, &plan->network_denied);
	if (result == RESULT_OK)
		result = pack_run_plan_words(
		    run, &plan->package, plan->argv, &count, &plan->shim);
	if (result != RESULT_OK)
		return result;
	pack_run_plan_spec(&plan->package, &plan->spec);
	plan->spec.tier = tier_name(run->trust.tier);
	plan->spec.image = run->image;
	plan->spec.argv = plan->argv;
	plan->spec.egress = plan->egress;
	return RESULT_OK;
}

/* plan->run is open. */
static int
argv_plan_pack(const struct argv_plan_options *options,
    struct pack_run_plan *plan, struct argv_port *port_r)
{
	enum result result;

	if (options->word_count > 0)
		return command_error(COMMAND_USAGE,
		    "words behind \"--\" are for servers and images: a tool "
		    "pack reads its call from standard input");
	result = argv_plan_pack_parts(options, plan);
	return result == RESULT_OK ? argv_plan_sandbox(options,
					 plan->run.config, &plan->spec, port_r)
				   : argv_plan_refused(result, &plan->run);
}

int
argv_plan_make(
    const struct argv_plan_options *options, struct argv_port *port_r)
{
	static struct pack_run_plan plan;
	enum result result;
	int code;

	if (options->image != NULL)
		return argv_plan_image(options, port_r);
	memset(&plan, 0, sizeof(plan));
	plan.request_fd = -1;
	result = run_entry_open(options->slug, options->lockfile, &plan.run);
	if (result != RESULT_OK)
		code = argv_plan_refused(result, &plan.run);
	else if (mcp_package_is_server(plan.run.entry))
		code = argv_plan_server(options, port_r);
	else if (pack_package_is_pack(plan.run.entry))
		code = argv_plan_pack(options, &plan, port_r);
	else
		code = command_error(COMMAND_REFUSED,
		    "%.60s is neither an MCP server nor a tool pack: there is "
		    "no command line for it alone",
		    options->slug);
	pack_run_plan_clear(&plan);
	return code;
}
