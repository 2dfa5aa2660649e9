/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See oci_root.h. Foreign tars are read by agentnode-unpack alone; what it
 * makes of them is put on the disk by oci_apply.c, in a directory whose
 * name nobody looks for until it is whole. Called before a start; must
 * never open a root that has no seal.
 */
#include "supervisor/engine/oci_root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "supervisor/engine/image_layout.h"
#include "supervisor/engine/oci_apply.h"
#include "supervisor/engine/oci_store.h"
#include "supervisor/engine/run_lock.h"
#include "supervisor/package/unpack_call.h"
#include "supervisor/policy/state_dir.h"

#define OCI_ROOT_FOLDER "roots"
#define OCI_ROOT_PART "part-"
#define OCI_ROOT_SEAL "seal.json"
#define OCI_ROOT_SEAL_MAX 4096U
/* Raised when unpacking changes: what is there is not taken then. */
#define OCI_ROOT_RULES 1
#define OCI_ROOT_BYTES_MAX (32ULL << 30)
#define OCI_ROOT_FILES_MAX 1000000
#define OCI_ROOT_TIMEOUT_S 600U
/* How long another start may unpack: ten minutes. */
#define OCI_ROOT_PAUSE_NS 20000000L
#define OCI_ROOT_ROUNDS 30000U

struct oci_root {
	const struct config *config;
	const struct engine_host *host;
	const char *image, *hex;
	struct state_dir roots, part;
	char name[sizeof(OCI_ROOT_PART) + RUN_LOCK_ID_MAX];
	int fd; /* of the root that is filled */
	char *detail;
	size_t detail_size;
};

static enum result
oci_root_fail(struct oci_root *root, enum result result, const char *what)
{
	if (root->detail[0] == '\0')
		(void)snprintf(root->detail, root->detail_size,
		    "the root of image sha256:%.12s %s: %s", root->hex, what,
		    strerror(errno));
	return result;
}

/* ---- the seal: what the top was when all was done ---- */

static json_t *
oci_root_facts(int fd)
{
	struct stat info;

	if (fstat(fd, &info) != 0 || info.st_uid != geteuid() ||
	    (info.st_mode & 022) != 0)
		return NULL;
	return json_pack("{s:i, s:I, s:I, s:I}", "rules", OCI_ROOT_RULES,
	    "inode", (json_int_t)info.st_ino, "changed",
	    (json_int_t)info.st_ctim.tv_sec, "changed_ns",
	    (json_int_t)info.st_ctim.tv_nsec);
}

static enum result
oci_root_seal(struct oci_root *root)
{
	struct json_fault fault = {""};
	json_t *facts = oci_root_facts(root->fd);
	char *text = facts == NULL ? NULL : json_dumps(facts, JSON_SORT_KEYS);
	enum result result = RESULT_SYSTEM;
	int lock FD_CLEANUP = -1;

	if (text != NULL)
		result = state_dir_lock(&root->part, &lock, &fault);
	if (result == RESULT_OK)
		result = state_dir_write(&root->part, OCI_ROOT_SEAL, 0600, text,
		    strlen(text), &fault);
	json_decref(facts);
	free(text);
	return result == RESULT_OK
		   ? RESULT_OK
		   : oci_root_fail(root, result, "cannot be sealed");
}

static bool
oci_root_is_sealed(const struct state_dir *dir, int fd)
{
	struct json_fault fault = {""};
	json_t *facts = oci_root_facts(fd), *seal = NULL;
	char *bytes = NULL;
	size_t len = 0;
	bool same = false;

	if (facts != NULL &&
	    state_dir_read(dir, OCI_ROOT_SEAL, STATE_DIR_OURS,
		OCI_ROOT_SEAL_MAX, &bytes, &len, &fault) == RESULT_OK)
		same =
		    json_field_parse(bytes, len, &seal, &fault) == RESULT_OK &&
		    json_equal(seal, facts) == 1;
	free(bytes);
	json_decref(seal);
	json_decref(facts);
	return same;
}

/* RESULT_NOT_FOUND: it is to be unpacked. */
static enum result
oci_root_find(struct oci_root *root, int *root_fd_r)
{
	struct json_fault fault = {""};
	char path[STATE_DIR_PATH_MAX + OCI_IMAGE_HEX + 8];
	struct state_dir dir;
	enum result result;

	(void)snprintf(
	    path, sizeof(path), "%s/%s", root->roots.path, root->hex);
	result = state_dir_open(path, STATE_DIR_OURS, &dir, &fault);
	if (result != RESULT_OK) {
		if (fault.text[0] != '\0')
			(void)snprintf(
			    root->detail, root->detail_size, "%s", fault.text);
		return result;
	}
	*root_fd_r = openat(
	    dir.fd, "root", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*root_fd_r < 0 || !oci_root_is_sealed(&dir, *root_fd_r)) {
		fd_close(root_fd_r);
		(void)snprintf(root->detail, root->detail_size,
		    "the unpacked image %s/%.12s... was changed after it was "
		    "unpacked: remove it, and it is unpacked again",
		    state_dir_shown(root->roots.path), root->hex);
		result = RESULT_MISMATCH;
	}
	state_dir_close(&dir);
	return result;
}

/* ---- unpacking ---- */

/* One layer through agentnode-unpack; its stream is a file without name. */
static enum result
oci_root_stream(struct oci_root *root, int layer, const char *hex, int stream)
{
	const int fds[] = {layer, stream};
	struct unpack_call_spec spec = {.job = UNPACK_JOB_LAYER,
	    .fds = fds,
	    .fd_count = 2,
	    .timeout_s = OCI_ROOT_TIMEOUT_S};
	json_t *answer = NULL;
	const char *diff_id;
	enum result result;

	spec.options = json_pack("{s:I, s:i}", "max_bytes",
	    (json_int_t)OCI_ROOT_BYTES_MAX, "max_files", OCI_ROOT_FILES_MAX);
	if (spec.options == NULL)
		return RESULT_NO_MEMORY;
	result = unpack_call_wait(
	    root->config, &spec, &answer, root->detail, root->detail_size);
	diff_id = json_string_value(json_object_get(answer, "diff_id"));
	if (result == RESULT_OK &&
	    (diff_id == NULL || strlen(diff_id) != OCI_IMAGE_HEX + 7 ||
		strcmp(diff_id + 7, hex) != 0)) {
		(void)snprintf(root->detail, root->detail_size,
		    "a layer of the image has digest %s, not sha256:%s",
		    diff_id != NULL ? diff_id : "none", hex);
		result = RESULT_MISMATCH;
	}
	json_decref(answer);
	return result;
}

static enum result
oci_root_layer(struct oci_root *root, int source, const char *hex)
{
	struct stat info;
	enum result result;
	int layer FD_CLEANUP =
	    openat(source, hex, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int stream FD_CLEANUP =
	    openat(root->part.fd, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	if (layer < 0 || fstat(layer, &info) != 0 || !S_ISREG(info.st_mode)) {
		(void)snprintf(root->detail, root->detail_size,
		    "the engine did not hand out the layer sha256:%s", hex);
		return RESULT_NOT_FOUND;
	}
	if (stream < 0)
		return oci_root_fail(
		    root, RESULT_SYSTEM, "has no place for a layer");
	result = oci_root_stream(root, layer, hex, stream);
	if (result == RESULT_OK)
		result = oci_apply(
		    root->fd, stream, root->detail, root->detail_size);
	return result;
}

/* The places that a runtime writes to are what they must be. */
static enum result
oci_root_judge(struct oci_root *root)
{
	char path[STATE_DIR_PATH_MAX + 8];
	const char *layers[] = {path};

	(void)snprintf(path, sizeof(path), "%s/root", root->part.path);
	return image_layout_judge(
	    layers, 1, root->image, root->detail, root->detail_size);
}

static enum result
oci_root_fill(struct oci_root *root)
{
	struct oci_image_layers layers;
	char path[STATE_DIR_PATH_MAX + 8];
	enum result result = oci_store_layers(
	    root->host, root->image, &layers, root->detail, root->detail_size);
	int source FD_CLEANUP = -1;

	(void)snprintf(path, sizeof(path), "%s/source", root->part.path);
	if (result == RESULT_OK)
		result = oci_store_save(root->host, root->image, path,
		    root->detail, root->detail_size);
	if (result != RESULT_OK)
		return result;
	source = openat(root->part.fd, "source",
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (source < 0 || mkdirat(root->part.fd, "root", 0755) != 0)
		return oci_root_fail(root, RESULT_SYSTEM, "has no place");
	root->fd = openat(root->part.fd, "root",
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (root->fd < 0 || fchmod(root->fd, 0755) != 0)
		return oci_root_fail(root, RESULT_SYSTEM, "has no place");
	for (size_t i = 0; i < layers.count && result == RESULT_OK; i++) {
		result = oci_root_layer(root, source, layers.layers[i].hex);
		if (!oci_image_comes_again(&layers, i)) /* needed no more */
			(void)unlinkat(source, layers.layers[i].hex, 0);
	}
	if (result == RESULT_OK)
		result = oci_root_judge(root);
	return result;
}

/* All on the disk, sealed, and only then under its name. */
static enum result
oci_root_publish(struct oci_root *root)
{
	enum result result;

	if (oci_apply_remove(root->part.fd, "source") != RESULT_OK)
		return oci_root_fail(root, RESULT_SYSTEM, "is not clean");
	result = oci_root_seal(root);
	if (result != RESULT_OK)
		return result;
	if (syncfs(root->fd) != 0 ||
	    renameat2(root->roots.fd, root->name, root->roots.fd, root->hex,
		RENAME_NOREPLACE) != 0 ||
	    fsync(root->roots.fd) != 0)
		return oci_root_fail(root, RESULT_SYSTEM, "cannot be kept");
	return RESULT_OK;
}

/* The lock of the folder is held: nobody else unpacks. */
static enum result
oci_root_unpack(struct oci_root *root)
{
	struct json_fault fault = {""};
	char id[RUN_LOCK_ID_MAX];
	enum result result = run_lock_id(id);

	if (result == RESULT_OK) {
		(void)snprintf(
		    root->name, sizeof(root->name), OCI_ROOT_PART "%s", id);
		result = state_dir_sub(
		    &root->roots, root->name, &root->part, &fault);
	}
	if (result != RESULT_OK)
		return oci_root_fail(root, result, "has no place");
	result = oci_root_fill(root);
	if (result == RESULT_OK)
		result = oci_root_publish(root);
	if (result != RESULT_OK)
		(void)oci_apply_remove(root->roots.fd, root->name);
	fd_close(&root->fd);
	state_dir_close(&root->part);
	log_event(LOG_INFO_LEVEL, "root_unpacked",
	    LOG_TEXT("image", root->image),
	    LOG_TEXT("result", result_text(result)));
	return result;
}

static enum result
oci_root_folder(struct state_dir *roots_r, struct json_fault *fault)
{
	struct state_dir home;
	enum result result = state_dir_home(true, &home, fault);

	if (result != RESULT_OK)
		return result;
	result = state_dir_sub(&home, OCI_ROOT_FOLDER, roots_r, fault);
	state_dir_close(&home);
	return result;
}

/* RESULT_TIMEOUT: somebody else had it all the time. */
static enum result
oci_root_lock(const struct state_dir *roots, unsigned rounds, int *lock_r)
{
	const struct timespec pause = {.tv_nsec = OCI_ROOT_PAUSE_NS};

	*lock_r = openat(roots->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*lock_r < 0)
		return RESULT_SYSTEM;
	while (flock(*lock_r, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return RESULT_SYSTEM;
		if (rounds-- == 0)
			return RESULT_TIMEOUT;
		(void)nanosleep(&pause, NULL);
	}
	return RESULT_OK;
}

enum result
oci_root_open(const struct config *config, const struct engine_host *host,
    const char *image, int *root_fd_r, char *detail_r, size_t detail_size)
{
	const char *at = strstr(image, "@sha256:");
	struct oci_root root = {.config = config,
	    .host = host,
	    .image = image,
	    .hex = at == NULL ? "" : at + strlen("@sha256:"),
	    .fd = -1,
	    .detail = detail_r,
	    .detail_size = detail_size};
	struct json_fault fault = {""};
	enum result result = oci_root_folder(&root.roots, &fault);
	int lock FD_CLEANUP = -1;

	*root_fd_r = -1;
	detail_r[0] = '\0';
	if (result != RESULT_OK) {
		(void)snprintf(detail_r, detail_size, "%s", fault.text);
		return result;
	}
	result = oci_root_find(&root, root_fd_r);
	if (result == RESULT_NOT_FOUND) {
		result = oci_root_lock(&root.roots, OCI_ROOT_ROUNDS, &lock);
		if (result == RESULT_TIMEOUT)
			(void)snprintf(detail_r, detail_size,
			    "another start has been unpacking the image for "
			    "ten minutes: end it, and try again");
		if (result == RESULT_OK) /* somebody may have been first */
			result = oci_root_find(&root, root_fd_r);
		if (result == RESULT_NOT_FOUND) {
			result = oci_root_unpack(&root);
			if (result == RESULT_OK)
				result = oci_root_find(&root, root_fd_r);
		}
	}
	state_dir_close(&root.roots);
	if (result != RESULT_OK)
		(void)oci_root_fail(&root, result, "cannot be used");
	return result;
}

void
oci_root_gc(json_t *report)
{
	struct json_fault fault = {""};
	struct state_dir roots;
	struct dirent *entry;
	int lock = -1;
	DIR *list = NULL;

	if (oci_root_folder(&roots, &fault) != RESULT_OK)
		return;
	/* Somebody unpacks: what is half there is his. */
	if (oci_root_lock(&roots, 0, &lock) == RESULT_OK)
		list = fdopendir(fcntl(roots.fd, F_DUPFD_CLOEXEC, 3));
	while (list != NULL && (entry = readdir(list)) != NULL) {
		bool gone;

		if (strncmp(entry->d_name, OCI_ROOT_PART,
			strlen(OCI_ROOT_PART)) != 0)
			continue;
		gone = oci_apply_remove(roots.fd, entry->d_name) == RESULT_OK;
		(void)json_array_append_new(
		    json_object_get(report, gone ? "removed" : "left"),
		    json_pack("{s:s, s:s, s:s*}", "kind", "half unpacked root",
			"name", entry->d_name, "detail",
			gone ? NULL : strerror(errno)));
	}
	if (list != NULL)
		(void)closedir(list);
	fd_close(&lock);
	state_dir_close(&roots);
}
