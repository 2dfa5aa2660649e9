/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode sandbox status|doctor|selftest|gc`: is a sandbox possible
 * here, and is nothing left behind? Called by command_dispatch; prints
 * facts, decides nothing.
 */
#include <stdio.h>
#include <string.h>

#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/engine/engine.h"
#include "supervisor/engine/doctor.h"
#include "supervisor/engine/engine_gc.h"
#include "supervisor/engine/engine_host.h"
#include "supervisor/engine/run_argv.h"
#include "supervisor/engine/selftest.h"
#include "supervisor/native/native_place.h"
#include "supervisor/package/image_scratch.h"
#include "supervisor/policy/config.h"

struct command_sandbox_options {
	bool json, quick;
	bool may_slug; /* the command takes the name of a package */
	bool may_boundary;
	enum selftest_boundary boundary;
};

static bool
command_sandbox_boundary(
    const char *word, struct command_sandbox_options *options_r)
{
	bool native = strcmp(word, "native") == 0;

	options_r->boundary = native ? SELFTEST_NATIVE : SELFTEST_CONTAINER;
	return native || strcmp(word, "container") == 0;
}

static bool
command_sandbox_parse(
    int argc, char **argv, struct command_sandbox_options *options_r)
{
	static const struct option known[] = {{"json", no_argument, NULL, 'j'},
	    {"quick", no_argument, NULL, 'q'},
	    {"boundary", required_argument, NULL, 'b'}, {NULL, 0, NULL, 0}};
	int option;

	options_r->json = false;
	options_r->quick = false;
	options_r->boundary = SELFTEST_CONTAINER;
	while ((option = command_option_next(argc, argv, "", known)) != -1) {
		if (option == 'j')
			options_r->json = true;
		else if (option == 'q')
			options_r->quick = true;
		else if (option == 'b' && options_r->may_boundary &&
			 command_sandbox_boundary(optarg, options_r))
			continue;
		else
			return false;
	}
	return argc - optind <= (options_r->may_slug ? 1 : 0);
}

static const char *
command_sandbox_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

/* One line per item of a list of checks or probes. */
static void
command_sandbox_lines(const json_t *list, const char *name_key)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		bool ok = json_is_true(json_object_get(one, "ok"));
		const char *fix = command_sandbox_text(one, "fix");

		printf("%-6s %-20s %s\n", ok ? "ok" : "FAILED",
		    command_sandbox_text(one, name_key),
		    command_sandbox_text(one, "detail"));
		if (!ok && fix[0] != '\0')
			printf("       %-20s fix: %s\n", "", fix);
	}
}

/* Print the report (taken) and give the exit code it means. */
static int
command_sandbox_report(const struct command_sandbox_options *options,
    json_t *report, const char *list, const char *name_key)
{
	bool ok = json_is_true(json_object_get(report, "ok"));
	int code = COMMAND_DONE;

	if (options->json)
		code = command_print_json(report);
	else
		command_sandbox_lines(json_object_get(report, list), name_key);
	json_decref(report);
	if (code != COMMAND_DONE)
		return code;
	return ok ? COMMAND_DONE : COMMAND_NO;
}

/* What is known without asking the engine anything. */
static json_t *
command_sandbox_facts(const struct config *config)
{
	const char *image = config_text(config, "sandbox.image");
	struct engine_host_fault fault = {"", ""};
	struct engine_host host;
	json_t *report;
	bool found = engine_host_find(config, &host, &fault) == RESULT_OK;
	bool checked =
	    found && image != NULL &&
	    (run_argv_is_pinned(image) || run_argv_is_image_id(image)) &&
	    engine_memory_has_image(&host.memory, image);
	bool ok = checked && host.memory.known;

	if (found && !ok)
		(void)snprintf(fault.detail, sizeof(fault.detail), "%s",
		    image == NULL ? "no image is pinned: run `agentnode "
				    "sandbox build`"
				  : "not tried yet: run `agentnode sandbox "
				    "doctor`");
	report = json_pack("{s:b, s:s, s:s, s:s, s:s, s:s}", "ok", ok, "engine",
	    !found                                     ? ""
	    : host.memory.kind == ENGINE_MEMORY_DOCKER ? "docker"
						       : "podman",
	    "version", found ? host.memory.version : "", "runtime",
	    ok ? host.memory.runtime : "", "image", image != NULL ? image : "",
	    "detail", fault.detail);
	if (report != NULL && engine_is_guest(config))
		(void)json_object_set_new(
		    report, "boundary", json_string("gvisor"));
	if (report != NULL && found && engine_memory_by_group(&host.memory))
		(void)json_object_set_new(
		    report, "checked_by", json_string("docker"));
	if (found)
		engine_host_close(&host);
	return report;
}

static int
command_sandbox_status(int argc, char **argv)
{
	struct command_sandbox_options options = {.may_slug = false};
	struct json_fault fault = {""};
	struct config *config = NULL;
	enum result result;
	json_t *report;
	int code;

	if (!command_sandbox_parse(argc, argv, &options) || options.quick)
		return command_option_fault("sandbox status");
	result = config_load(&config, &fault);
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	report = command_sandbox_facts(config);
	config_free(&config);
	code = json_is_true(json_object_get(report, "ok")) ? COMMAND_DONE
							   : COMMAND_NO;
	if (options.json)
		(void)command_print_json(report);
	else if (code == COMMAND_DONE)
		printf("ready: %s %s, %s, %s%s%s\n",
		    command_sandbox_text(report, "engine"),
		    command_sandbox_text(report, "version"),
		    command_sandbox_text(report, "runtime"),
		    command_sandbox_text(report, "image"),
		    json_object_get(report, "boundary") != NULL
			? ", boundary gvisor"
			: "",
		    json_object_get(report, "checked_by") != NULL
			? "; namespaces, mounts and volumes by docker's word"
			: "");
	else
		printf(
		    "not ready: %s\n", command_sandbox_text(report, "detail"));
	json_decref(report);
	return code;
}

static int
command_sandbox_doctor(int argc, char **argv)
{
	struct command_sandbox_options options = {.may_slug = true};
	struct json_fault fault = {""};
	struct config *config = NULL;
	enum result result;
	json_t *report;

	if (!command_sandbox_parse(argc, argv, &options))
		return command_option_fault("sandbox doctor");
	result = config_load(&config, &fault);
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	report = doctor_run(
	    config, !options.quick, optind < argc ? argv[optind] : NULL);
	config_free(&config);
	if (report == NULL)
		return command_error(COMMAND_INTERNAL, "out of memory");
	return command_sandbox_report(&options, report, "checks", "check");
}

static int
command_sandbox_selftest(int argc, char **argv)
{
	struct command_sandbox_options options = {.may_boundary = true};
	struct json_fault fault = {""};
	struct config *config = NULL;
	char detail[512] = "";
	json_t *report = NULL;
	enum result result;

	if (!command_sandbox_parse(argc, argv, &options) || options.quick)
		return command_option_fault("sandbox selftest");
	result = config_load(&config, &fault);
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	result = selftest_run(
	    config, options.boundary, true, &report, detail, sizeof(detail));
	config_free(&config);
	if (result != RESULT_OK)
		return command_error(COMMAND_UNAVAILABLE, "%s",
		    detail[0] != '\0' ? detail : result_text(result));
	return command_sandbox_report(&options, report, "probes", "name");
}

static int
command_sandbox_gc_print(
    const struct command_sandbox_options *options, const json_t *report)
{
	const json_t *removed = json_object_get(report, "removed");
	const json_t *left = json_object_get(report, "left");

	if (options->json)
		(void)command_print_json(report);
	for (size_t i = 0; !options->json && i < json_array_size(removed); i++)
		printf("removed %s %s\n",
		    command_sandbox_text(json_array_get(removed, i), "kind"),
		    command_sandbox_text(json_array_get(removed, i), "name"));
	for (size_t i = 0; !options->json && i < json_array_size(left); i++)
		printf("still there: %s %s: %s\n",
		    command_sandbox_text(json_array_get(left, i), "kind"),
		    command_sandbox_text(json_array_get(left, i), "name"),
		    command_sandbox_text(json_array_get(left, i), "detail"));
	return json_array_size(left) == 0 ? COMMAND_DONE : COMMAND_NO;
}

static void
command_sandbox_gc_place(const char *path, void *context)
{
	(void)json_array_append_new(json_object_get(context, "removed"),
	    json_pack("{s:s, s:s}", "kind", "placeholder", "name", path));
}

/* What a build of the image left in /var/tmp. */
static void
command_sandbox_gc_image(json_t *report)
{
	char path[IMAGE_SCRATCH_PATH_MAX];
	struct json_fault fault = {""};
	enum result result = image_scratch_gc(path, &fault);

	if (result == RESULT_OK)
		(void)json_array_append_new(json_object_get(report, "removed"),
		    json_pack(
			"{s:s, s:s}", "kind", "image build", "name", path));
	else if (result != RESULT_NOT_FOUND)
		(void)json_array_append_new(json_object_get(report, "left"),
		    json_pack("{s:s, s:s, s:s}", "kind", "image build", "name",
			path[0] != '\0' ? path : "AGENTNODE_HOME/image",
			"detail",
			fault.text[0] != '\0' ? fault.text
					      : result_text(result)));
}

/* Placeholders of native runs that were killed; no engine is needed. */
static json_t *
command_sandbox_gc_places(void)
{
	json_t *report = json_pack("{s:[], s:[]}", "removed", "left");
	struct json_fault fault = {""};
	char home[NATIVE_VIEW_PATH_MAX];
	enum result result = config_home(home, sizeof(home), &fault);

	if (result == RESULT_OK)
		result =
		    native_place_sweep(home, command_sandbox_gc_place, report);
	if (result != RESULT_OK && result != RESULT_NOT_FOUND)
		(void)json_array_append_new(json_object_get(report, "left"),
		    json_pack("{s:s, s:s, s:s}", "kind", "placeholder", "name",
			"AGENTNODE_HOME/native", "detail",
			fault.text[0] != '\0' ? fault.text
					      : result_text(result)));
	command_sandbox_gc_image(report);
	return report;
}

/* The engine's part behind the other. */
static void
command_sandbox_gc_join(json_t *report, const json_t *engine)
{
	static const char *const names[] = {"removed", "left"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		json_t *more = json_object_get(engine, names[i]);

		if (more != NULL)
			(void)json_array_extend(
			    json_object_get(report, names[i]), more);
	}
}

static bool
command_sandbox_gc_did(const json_t *report)
{
	return json_array_size(json_object_get(report, "removed")) +
		   json_array_size(json_object_get(report, "left")) >
	       0;
}

/* The engine's leftovers, added to the report. */
static int
command_sandbox_gc_engine(const struct config *config, json_t *report)
{
	struct engine_host_fault fault;
	struct engine_host host;
	char detail[512] = "";
	json_t *engine = NULL;
	int code = COMMAND_DONE;

	if (engine_host_find(config, &host, &fault) != RESULT_OK)
		return command_error(COMMAND_UNAVAILABLE, "%s", fault.detail);
	if (engine_gc_run(&host, &engine, detail, sizeof(detail)) != RESULT_OK)
		code = command_error(COMMAND_UNAVAILABLE, "%s", detail);
	else
		command_sandbox_gc_join(report, engine);
	json_decref(engine);
	engine_host_close(&host);
	return code;
}

static int
command_sandbox_gc(int argc, char **argv)
{
	struct command_sandbox_options options = {.may_slug = false};
	struct json_fault fault = {""};
	struct config *config = NULL;
	json_t *report;
	enum result result;
	int code, printed;

	if (!command_sandbox_parse(argc, argv, &options) || options.quick)
		return command_option_fault("sandbox gc");
	result = config_load(&config, &fault);
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	report = command_sandbox_gc_places();
	code = command_sandbox_gc_engine(config, report);
	config_free(&config);
	/* What went is told even where there is no engine. */
	if (code == COMMAND_DONE || command_sandbox_gc_did(report)) {
		printed = command_sandbox_gc_print(&options, report);
		code = code == COMMAND_DONE ? printed : code;
	}
	json_decref(report);
	return code;
}

extern const struct command command_sandbox_rows[];
const struct command command_sandbox_rows[] = {
    {"sandbox status", "is a sandbox possible here, in one line",
	"Usage: agentnode sandbox status [--json]\n\n"
	"What is known from the last start; asks the engine nothing. Exit 0\n"
	"when sandboxes can start, 1 when not (or not tried yet).\n\n"
	"Example: agentnode sandbox status\n",
	command_sandbox_status},
    {"sandbox doctor", "check what a sandbox needs, and say what to do",
	"Usage: agentnode sandbox doctor [SLUG] [--quick] [--json]\n\n"
	"Engine, runtime, limits, image, kernel; then starts a sandbox and\n"
	"compares its walls. With SLUG also that package as a run would see\n"
	"it: entry, tier, where it may run and whether it was built for it,\n"
	"consent, secrets, volume, destinations. Exit 0 when all is well, 1\n"
	"when not.\n\n"
	"  --quick   without starting a sandbox\n\n"
	"Example: agentnode sandbox doctor\n",
	command_sandbox_doctor},
    {"sandbox selftest", "try to break out of a sandbox",
	"Usage: agentnode sandbox selftest [--boundary BOUNDARY] [--json]\n\n"
	"Runs agentnode-probe as the workload of a sandbox: it tries what\n"
	"must fail and hits every limit. Exit 0 only if each wall held.\n\n"
	"  --boundary BOUNDARY   container (the default), or native: the\n"
	"                        operating system's own walls, no engine\n\n"
	"Example: agentnode sandbox selftest --json\n",
	command_sandbox_selftest},
    {"sandbox gc", "remove what dead runs left behind",
	"Usage: agentnode sandbox gc [--json]\n\n"
	"Containers and throwaway volumes with our labels whose supervisor\n"
	"is gone, placeholders that killed native runs left in their\n"
	"workspaces, and the root file system of a killed `sandbox build`.\n"
	"Exit 1 when something could not be removed.\n\n"
	"Example: agentnode sandbox gc\n",
	command_sandbox_gc},
    {NULL, NULL, NULL, NULL},
};
