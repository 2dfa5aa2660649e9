/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read and write engine.json. Called by engine_host.c; must never take an
 * answer that belongs to another boot, engine or runtime.
 */
#include "supervisor/engine/engine_memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/engine/engine_call.h"
#include "supervisor/policy/state_dir.h"

#define ENGINE_MEMORY_FILE "engine.json"
#define ENGINE_MEMORY_MAX (1U << 20)

/* One program's identity: path, size and time of change. */
static size_t
engine_memory_program(const char *name, char *text_r, size_t size)
{
	char path[ENGINE_MEMORY_PATH_MAX];
	struct stat info;
	int len;

	if (engine_call_find(name, path, sizeof(path)) != RESULT_OK ||
	    stat(path, &info) != 0)
		return 0;
	len = snprintf(text_r, size, "%s:%" PRIdMAX ":%" PRIdMAX ";", path,
	    (intmax_t)info.st_size, (intmax_t)info.st_mtime);
	return len > 0 && (size_t)len < size ? (size_t)len : 0;
}

/* The hybrid mount decides how crun can be started: 1 when it is there in
 * this mount namespace. */
static int
engine_memory_hybrid(void)
{
	struct stat above, mount;

	return stat("/sys/fs/cgroup", &above) == 0 &&
	       stat("/sys/fs/cgroup/unified", &mount) == 0 &&
	       above.st_dev != mount.st_dev;
}

/* What an answer depends on. */
static void
engine_memory_key(const char *choice, char *key_r, size_t size)
{
	static const char *const programs[] = {
	    "podman", "conmon", "crun", "runc", "docker"};
	char *boot = NULL;
	size_t used = 0, len = 0;
	int fd FD_CLEANUP =
	    open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	int count;

	if (fd < 0 || fd_read_all(fd, 128, &boot, &len) != RESULT_OK)
		boot = NULL;
	count = snprintf(key_r, size, "%d;%lu;%.36s;%d;%.200s;",
	    ENGINE_MEMORY_RULES, (unsigned long)geteuid(),
	    boot != NULL ? boot : "", engine_memory_hybrid(), choice);
	free(boot);
	used = count > 0 ? (size_t)count : 0;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		used += engine_memory_program(
		    programs[i], key_r + used, size - used);
}

bool
engine_memory_by_group(const struct engine_memory *memory)
{
	return memory->kind == ENGINE_MEMORY_DOCKER && geteuid() != 0;
}

static void
engine_memory_text(const json_t *object, const char *key, char *text_r,
    size_t size, struct json_fault *fault)
{
	const char *text = NULL;

	json_field_string(
	    object, ENGINE_MEMORY_FILE, key, size - 1, &text, fault);
	if (text != NULL)
		(void)snprintf(text_r, size, "%s", text);
}

/* The number a key begins with. Images outlive a boot and an engine, but
 * not the rules they were checked by. */
static bool
engine_memory_same_rules(const char *key)
{
	char rules[16];
	int len = snprintf(rules, sizeof(rules), "%d;", ENGINE_MEMORY_RULES);

	return len > 0 && strncmp(key, rules, (size_t)len) == 0;
}

#define ENGINE_MEMORY_TEXT(field) \
	engine_memory_text(       \
	    object, #field, memory->field, sizeof(memory->field), fault)

static void
engine_memory_take(struct engine_memory *memory, const json_t *object,
    struct json_fault *fault)
{
	const json_t *images = NULL;
	char key[ENGINE_MEMORY_KEY_MAX] = "";
	bool docker = false;

	engine_memory_text(object, "key", key, sizeof(key), fault);
	json_field_object(object, ENGINE_MEMORY_FILE, "images", &images, fault);
	if (fault->text[0] != '\0' || !engine_memory_same_rules(key))
		return;
	json_decref(memory->images);
	memory->images = json_deep_copy(images);
	ENGINE_MEMORY_TEXT(store);
	if (strcmp(key, memory->key) != 0)
		return;
#define ENGINE_MEMORY_BOOL(field) \
	json_field_bool(          \
	    object, ENGINE_MEMORY_FILE, #field, &memory->field, fault)
	ENGINE_MEMORY_TEXT(client);
	ENGINE_MEMORY_TEXT(version);
	ENGINE_MEMORY_TEXT(runtime);
	ENGINE_MEMORY_TEXT(cgroup_manager);
	ENGINE_MEMORY_TEXT(graph_root);
	ENGINE_MEMORY_TEXT(graph_driver);
	ENGINE_MEMORY_TEXT(volume_path);
	ENGINE_MEMORY_BOOL(rootless);
	ENGINE_MEMORY_BOOL(cgroup_v2);
	ENGINE_MEMORY_BOOL(limits);
	ENGINE_MEMORY_BOOL(hide_unified);
	json_field_bool(object, ENGINE_MEMORY_FILE, "docker", &docker, fault);
	memory->kind = docker ? ENGINE_MEMORY_DOCKER : ENGINE_MEMORY_PODMAN;
	memory->known = fault->text[0] == '\0';
}

static json_t *
engine_memory_read(void)
{
	struct json_fault fault = {""};
	struct state_dir home;
	json_t *object = NULL;
	char *bytes = NULL;
	size_t len = 0;

	if (state_dir_home(false, &home, &fault) != RESULT_OK)
		return NULL;
	if (state_dir_read(&home, ENGINE_MEMORY_FILE, STATE_DIR_OURS,
		ENGINE_MEMORY_MAX, &bytes, &len, &fault) == RESULT_OK)
		(void)json_field_parse(bytes, len, &object, &fault);
	free(bytes);
	state_dir_close(&home);
	return object;
}

void
engine_memory_load(struct engine_memory *memory_r, const char *choice)
{
	struct json_fault fault = {""};
	json_t *object;

	memset(memory_r, 0, sizeof(*memory_r));
	memory_r->images = json_object();
	engine_memory_key(choice, memory_r->key, sizeof(memory_r->key));
	object = engine_memory_read();
	if (json_is_object(object))
		engine_memory_take(memory_r, object, &fault);
	json_decref(object);
}

static json_t *
engine_memory_object(const struct engine_memory *memory)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, "
			 "s:b, s:b, s:b, s:b, s:O}",
	    "key", memory->key, "store", memory->store, "client",
	    memory->client, "version", memory->version, "runtime",
	    memory->runtime, "cgroup_manager", memory->cgroup_manager,
	    "graph_root", memory->graph_root, "graph_driver",
	    memory->graph_driver, "volume_path", memory->volume_path,
	    "rootless", memory->rootless, "cgroup_v2", memory->cgroup_v2,
	    "limits", memory->limits, "hide_unified", memory->hide_unified,
	    "docker", memory->kind == ENGINE_MEMORY_DOCKER, "images",
	    memory->images);
}

enum result
engine_memory_save(const struct engine_memory *memory, struct json_fault *fault)
{
	json_t *object = engine_memory_object(memory);
	char *text = object == NULL ? NULL : json_dumps(object, JSON_INDENT(1));
	struct state_dir home;
	enum result result;
	int lock = -1;

	json_decref(object);
	if (text == NULL)
		return RESULT_NO_MEMORY;
	result = state_dir_home(true, &home, fault);
	if (result == RESULT_OK) {
		result = state_dir_lock(&home, &lock, fault);
		if (result == RESULT_OK)
			result = state_dir_write(&home, ENGINE_MEMORY_FILE,
			    0600, text, strlen(text), fault);
		fd_close(&lock);
		state_dir_close(&home);
	}
	free(text);
	return result;
}

void
engine_memory_clear(struct engine_memory *memory)
{
	json_decref(memory->images);
	memory->images = NULL;
	memory->known = false;
}

/* The file in which the engine lists its images is written anew at every
 * change; "" when it is not where it is expected. Docker's lists names and
 * digests, and a name with a digest is what may come to mean another image;
 * an image's own id never does, and of a store that is root's to see nothing
 * else is remembered. */
static void
engine_memory_store(
    const struct engine_memory *memory, char *text_r, size_t size)
{
	char path[ENGINE_MEMORY_PATH_MAX + 64];
	struct stat info;
	bool docker = memory->kind == ENGINE_MEMORY_DOCKER;
	int len = snprintf(path, sizeof(path), "%s/%s%s%s", memory->graph_root,
	    docker ? "image/" : "", memory->graph_driver,
	    docker ? "/repositories.json" : "-images/images.json");

	text_r[0] = '\0';
	if (engine_memory_by_group(memory)) {
		(void)snprintf(text_r, size, "ids");
		return;
	}
	if (len < 0 || (size_t)len >= sizeof(path) || stat(path, &info) != 0)
		return;
	(void)snprintf(text_r, size,
	    "%" PRIuMAX ":%" PRIuMAX ":%" PRIdMAX ":%" PRIdMAX ".%09ld",
	    (uintmax_t)info.st_dev, (uintmax_t)info.st_ino,
	    (intmax_t)info.st_size, (intmax_t)info.st_mtim.tv_sec,
	    info.st_mtim.tv_nsec);
}

void
engine_memory_look(struct engine_memory *memory)
{
	char store[ENGINE_MEMORY_STORE_MAX];

	engine_memory_store(memory, store, sizeof(store));
	if (store[0] == '\0' || strcmp(store, memory->store) != 0)
		(void)json_object_clear(memory->images);
	(void)snprintf(memory->store, sizeof(memory->store), "%s", store);
}

static const char *
engine_memory_digest(const char *image)
{
	const char *at = strchr(image, '@');

	return at == NULL ? image : at + 1;
}

bool
engine_memory_has_image(const struct engine_memory *memory, const char *image)
{
	if (engine_memory_by_group(memory) && strchr(image, '@') != NULL)
		return false;
	return json_is_true(
	    json_object_get(memory->images, engine_memory_digest(image)));
}

enum result
engine_memory_add_image(struct engine_memory *memory, const char *image)
{
	if (engine_memory_by_group(memory) && strchr(image, '@') != NULL)
		return RESULT_OK;
	if (json_object_size(memory->images) >= ENGINE_MEMORY_IMAGES_MAX &&
	    json_object_clear(memory->images) != 0)
		return RESULT_INTERNAL;
	return json_object_set_new(memory->images, engine_memory_digest(image),
		   json_true()) == 0
		   ? RESULT_OK
		   : RESULT_NO_MEMORY;
}
