/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode sandbox build|pull|load`: getting the image that sandboxes run
 * on, and pinning it by digest. Called by command_dispatch. pull is the
 * only command that fetches an image.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_ledger.h"
#include "supervisor/command/command_option.h"
#include "supervisor/package/image_build.h"
#include "supervisor/package/image_recipe.h"
#include "supervisor/policy/config.h"

struct command_image_options {
	struct image_build_options build;
	bool json, no_pin;
	const char *digest; /* load: the digest it must have */
};

/* What every command of this group opens first. */
struct command_image {
	struct config *config;
	struct engine_host host;
	bool has_host;
};

static void
command_image_progress(const char *line)
{
	fprintf(stderr, "%s\n", line);
}

static int
command_image_open(struct command_image *image)
{
	struct json_fault fault = {""};
	struct engine_host_fault engine = {"", ""};
	enum result result = config_load(&image->config, &fault);

	if (result != RESULT_OK)
		return command_fault(result, &fault);
	if (engine_host_find(image->config, &image->host, &engine) != RESULT_OK)
		return command_error(COMMAND_UNAVAILABLE, "%s", engine.detail);
	image->has_host = true;
	return COMMAND_DONE;
}

static int
command_image_close(struct command_image *image, int code)
{
	if (image->has_host)
		engine_host_close(&image->host);
	config_free(&image->config);
	return code;
}

static int
command_image_fail(enum result result, const char *detail)
{
	if (result == RESULT_NOT_FOUND || result == RESULT_SYSTEM ||
	    result == RESULT_CLOSED)
		return command_error(COMMAND_UNAVAILABLE, "%s", detail);
	if (result == RESULT_BAD)
		return command_error(COMMAND_USAGE, "%s", detail);
	return command_error(command_exit_of(result), "%s", detail);
}

/* The options of all three; false after a wrong one. */
static bool
command_image_parse(
    int argc, char **argv, struct command_image_options *options_r)
{
	static const struct option known[] = {{"json", no_argument, NULL, 'j'},
	    {"force", no_argument, NULL, 'f'},
	    {"no-pin", no_argument, NULL, 'n'},
	    {"output", required_argument, NULL, 'o'},
	    {"sources", required_argument, NULL, 's'},
	    {"package", required_argument, NULL, 'p'},
	    {"digest", required_argument, NULL, 'd'}, {NULL, 0, NULL, 0}};
	struct image_build_options *build = &options_r->build;
	int option;

	*options_r = (struct command_image_options){.json = false};
	while ((option = command_option_next(argc, argv, "", known)) != -1) {
		if (option == 'j')
			options_r->json = true;
		else if (option == 'f')
			build->force = true;
		else if (option == 'n')
			options_r->no_pin = true;
		else if (option == 'o')
			build->output = optarg;
		else if (option == 's')
			build->sources = optarg;
		else if (option == 'd')
			options_r->digest = optarg;
		else if (option == 'p' &&
			 build->package_count < IMAGE_BUILD_PACKAGES_MAX)
			build->packages[build->package_count++] = optarg;
		else
			return false;
	}
	return true;
}

/* What runs from now on is a decision: its record comes first. */
static int
command_image_pin(const char *reference)
{
	struct command_ledger ledger;
	char detail[512];
	int code = command_ledger_open(&ledger);

	if (code == COMMAND_DONE)
		code = command_ledger_write(&ledger, "image_pin",
		    json_pack("{s:s}", "image", reference));
	if (code == COMMAND_DONE &&
	    image_engine_pin(reference, detail, sizeof(detail)) != RESULT_OK)
		code = command_error(COMMAND_CONFIG, "%s", detail);
	command_ledger_close(&ledger);
	return code;
}

/* Pin unless asked not to, and say what there is now. */
static int
command_image_finish(const struct command_image_options *options,
    const char *reference, bool reused)
{
	json_t *object;
	int code = COMMAND_DONE;

	if (!options->no_pin)
		code = command_image_pin(reference);
	if (code != COMMAND_DONE)
		return code;
	if (!options->json) {
		printf("%s\n", reference);
		return COMMAND_DONE;
	}
	object = json_pack("{s:s,s:b,s:b}", "image", reference, "pinned",
	    !options->no_pin, "reused", reused);
	code = command_print_json(object);
	json_decref(object);
	return code;
}

static int
command_image_build_run(
    struct command_image *image, const struct command_image_options *options)
{
	struct image_build_result built;
	struct image_work work;
	enum result result;
	int code;

	result = image_work_open(&work, image->config, command_image_progress);
	if (result == RESULT_OK)
		result =
		    image_build(&work, &image->host, &options->build, &built);
	code = result == RESULT_OK ? command_image_finish(
					 options, built.reference, built.reused)
				   : command_image_fail(result, work.detail);
	image_work_close(&work);
	return code;
}

static int
command_image_build(int argc, char **argv)
{
	struct command_image image = {.has_host = false};
	struct command_image_options options;
	int code;

	if (!command_image_parse(argc, argv, &options) || optind != argc ||
	    options.digest != NULL)
		return command_option_fault("sandbox build");
	/* Nobody may read what it tells any more: it cleans up all the same. */
	(void)signal(SIGPIPE, SIG_IGN);
	code = command_image_open(&image);
	if (code == COMMAND_DONE)
		code = command_image_build_run(&image, &options);
	return command_image_close(&image, code);
}

static int
command_image_pull_run(struct command_image *image,
    const struct command_image_options *options, const char *reference)
{
	char detail[512] = "";
	enum result result =
	    image_engine_reference(reference, detail, sizeof(detail));

	if (result == RESULT_OK)
		result = image_engine_pull(&image->host, reference,
		    config_text(image->config, "build.ca_bundle"),
		    command_image_progress, detail, sizeof(detail));
	if (result == RESULT_OK)
		result = image_engine_check(
		    &image->host, reference, detail, sizeof(detail));
	if (result != RESULT_OK)
		return command_image_fail(result, detail);
	return command_image_finish(options, reference, false);
}

static int
command_image_pull(int argc, char **argv)
{
	struct command_image image = {.has_host = false};
	struct command_image_options options;
	const char *reference;
	int code;

	if (!command_image_parse(argc, argv, &options) || argc - optind > 1 ||
	    options.build.package_count > 0 || options.build.force)
		return command_option_fault("sandbox pull");
	reference = argc > optind ? argv[optind] : NULL;
	code = command_image_open(&image);
	if (code == COMMAND_DONE && reference == NULL)
		reference = config_text(image.config, "sandbox.image");
	if (code == COMMAND_DONE && reference == NULL)
		code = command_error(COMMAND_CONFIG,
		    "sandbox.image is not set: name what to pull as "
		    "NAME@sha256:<64 hex digits>");
	if (code == COMMAND_DONE)
		code = command_image_pull_run(&image, &options, reference);
	return command_image_close(&image, code);
}

static int
command_image_load_run(struct command_image *image,
    const struct command_image_options *options, const char *path)
{
	char detail[512] = "", digest[72], tag[128];
	char reference[IMAGE_ENGINE_REF_MAX];
	enum result result = image_engine_load(&image->host, path, digest, tag,
	    sizeof(tag), detail, sizeof(detail));

	if (result != RESULT_OK)
		return command_error(COMMAND_UNAVAILABLE, "%s", detail);
	image_engine_pinned(&image->host, digest, reference, sizeof(reference));
	if (options->digest != NULL && strcmp(options->digest, digest) != 0) {
		image_engine_forget(&image->host, tag);
		return command_error(COMMAND_INTEGRITY,
		    "%s holds %s, not %s: nothing is pinned", path, digest,
		    options->digest);
	}
	result =
	    image_engine_check(&image->host, reference, detail, sizeof(detail));
	if (result != RESULT_OK) {
		image_engine_forget(&image->host, tag);
		return command_image_fail(result, detail);
	}
	return command_image_finish(options, reference, false);
}

/* The engine's client works in a folder of ours: it gets the whole path, of
 * what can be read. */
static int
command_image_archive(const char *path, char whole_r[PATH_MAX])
{
	struct stat status;
	int fd FD_CLEANUP = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &status) != 0 ||
	    realpath(path, whole_r) == NULL)
		return command_error(COMMAND_CONFIG, "%s cannot be read: %s",
		    path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return command_error(COMMAND_CONFIG,
		    "%s is not a file: name an OCI archive", path);
	return COMMAND_DONE;
}

static int
command_image_load(int argc, char **argv)
{
	char path[PATH_MAX];
	struct command_image image = {.has_host = false};
	struct command_image_options options;
	int code;

	if (!command_image_parse(argc, argv, &options) || argc - optind != 1 ||
	    options.build.package_count > 0 || options.build.force)
		return command_option_fault("sandbox load");
	code = command_image_archive(argv[optind], path);
	if (code == COMMAND_DONE)
		code = command_image_open(&image);
	if (code == COMMAND_DONE)
		code = command_image_load_run(&image, &options, path);
	return command_image_close(&image, code);
}

extern const struct command command_image_rows[];
const struct command command_image_rows[] = {
    {"sandbox build", "build the sandbox image and pin its digest",
	"Usage: agentnode sandbox build [--package NAME]... [--sources FILE]\n"
	"         [--output FILE] [--no-pin] [--force] [--json]\n\n"
	"Debian packages by mmdebstrap from this host's apt sources, Node and\n"
	"npm from the registry by pinned integrity. Two builds of the same\n"
	"inputs give one digest; a remembered result is reused.\n\n"
	"  --package NAME  one more Debian package\n"
	"  --sources FILE  apt sources instead of the host's\n"
	"  --output FILE   keep the image as an OCI archive (sandbox load)\n"
	"  --no-pin        leave sandbox.image as it is\n"
	"  --force         build although a result is remembered\n\n"
	"Example: agentnode sandbox build\n",
	command_image_build},
    {"sandbox pull", "fetch an image by digest and pin it",
	"Usage: agentnode sandbox pull [NAME@sha256:DIGEST] [--no-pin] "
	"[--json]\n\n"
	"The only command that fetches an image. A tag is refused: it can\n"
	"change what it names. Without a name: sandbox.image.\n\n"
	"Example: agentnode sandbox pull registry.example.com/sandbox@sha256:"
	"...\n",
	command_image_pull},
    {"sandbox load", "take an image from an OCI archive and pin it",
	"Usage: agentnode sandbox load FILE [--digest sha256:DIGEST] "
	"[--no-pin] [--json]\n\n"
	"The archive's own manifest digest is pinned; with --digest it must\n"
	"be that one.\n\n"
	"Example: agentnode sandbox load sandbox.oci.tar\n",
	command_image_load},
    {NULL, NULL, NULL, NULL},
};
