/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inotify on the folders of the configuration (see the header). Called by
 * egress_live.c; must never take a change for none: an event that was lost,
 * or is not understood, is a change.
 */
#include "supervisor/policy/config_watch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/state_dir.h"

/* Reads per wake-up; what is left wakes us again. */
#define CONFIG_WATCH_READS 16U
#define CONFIG_WATCH_FOLDER                                               \
	(IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | \
	    IN_MOVED_FROM | IN_MOVED_TO | IN_MOVE_SELF | IN_DELETE_SELF | \
	    IN_ONLYDIR | IN_DONT_FOLLOW)
/* Above the team policy's folder: only whether that comes and goes. */
#define CONFIG_WATCH_ABOVE                                                 \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | \
	    IN_ONLYDIR)

enum config_watch_place {
	CONFIG_WATCH_HOME,
	CONFIG_WATCH_POLICY,
	CONFIG_WATCH_PARENT,
	CONFIG_WATCH_PLACES
};

struct config_watch {
	int fd; /* inotify, nonblocking */
	struct {
		char path[STATE_DIR_PATH_MAX];
		const char *name; /* in it; events of others are none;
				   * NULL: the place is not looked at */
		uint32_t mask;
		int wd; /* -1: not there */
	} places[CONFIG_WATCH_PLACES];
	struct event *readable, *settle;
	config_watch_changed *changed;
	void *context;
};

/* Watch what is at the path now, and no longer what was there before. */
static void
config_watch_place_again(struct config_watch *watch, size_t place)
{
	int old = watch->places[place].wd, wd = -1;

	if (watch->places[place].name != NULL)
		wd = inotify_add_watch(watch->fd, watch->places[place].path,
		    watch->places[place].mask);

	watch->places[place].wd = wd;
	if (old >= 0 && old != wd)
		(void)inotify_rm_watch(watch->fd, old);
}

static void
config_watch_on_settle(evutil_socket_t fd, short what, void *context)
{
	struct config_watch *watch = context;

	(void)fd;
	(void)what;
	/* Before the files are read: what happens then is seen. */
	for (size_t i = 0; i < CONFIG_WATCH_PLACES; i++)
		config_watch_place_again(watch, i);
	watch->changed(watch->places[CONFIG_WATCH_HOME].wd < 0, watch->context);
}

void
config_watch_again(struct config_watch *watch, unsigned ms)
{
	struct timeval soon = event_loop_timeval(ms);

	if (event_pending(watch->settle, EV_TIMEOUT, NULL) == 0)
		(void)event_add(watch->settle, &soon);
}

/* True when this event may be a change of what we read. */
static bool
config_watch_counts(
    const struct config_watch *watch, const struct inotify_event *event)
{
	if ((event->mask & IN_Q_OVERFLOW) != 0)
		return true;
	for (size_t i = 0; i < CONFIG_WATCH_PLACES; i++) {
		if (watch->places[i].wd == event->wd)
			return event->len == 0 ||
			       strcmp(event->name, watch->places[i].name) == 0;
	}
	return false; /* of a watch that was given up */
}

/* One read; false when there is no more, or it failed. */
static bool
config_watch_read(struct config_watch *watch, bool *changed)
{
	char bytes[4096]
	    __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t got = read(watch->fd, bytes, sizeof(bytes));

	if (got <= 0) {
		*changed |= got == 0 || (errno != EAGAIN && errno != EINTR);
		return false;
	}
	for (size_t at = 0; at < (size_t)got;) {
		const struct inotify_event *event = (const void *)(bytes + at);

		*changed |= config_watch_counts(watch, event);
		at += sizeof(*event) + event->len;
	}
	return true;
}

static void
config_watch_on_readable(evutil_socket_t fd, short what, void *context)
{
	struct config_watch *watch = context;
	bool changed = false;

	(void)fd;
	(void)what;
	for (size_t i = 0; i < CONFIG_WATCH_READS; i++) {
		if (!config_watch_read(watch, &changed))
			break;
	}
	if (changed)
		config_watch_again(watch, CONFIG_WATCH_SETTLE_MS);
}

static void
config_watch_policy(struct config_watch *watch)
{
	char *policy = watch->places[CONFIG_WATCH_POLICY].path;
	char *parent = watch->places[CONFIG_WATCH_PARENT].path;
	char *slash;

	(void)snprintf(policy, STATE_DIR_PATH_MAX, "%s", CONFIG_POLICY_DIR);
	(void)snprintf(parent, STATE_DIR_PATH_MAX, "%s", CONFIG_POLICY_DIR);
	slash = strrchr(parent, '/');
	*slash = '\0';
	watch->places[CONFIG_WATCH_POLICY].name = CONFIG_POLICY_FILE;
	watch->places[CONFIG_WATCH_PARENT].name =
	    &CONFIG_POLICY_DIR[slash - parent + 1];
	watch->places[CONFIG_WATCH_POLICY].mask = CONFIG_WATCH_FOLDER;
	watch->places[CONFIG_WATCH_PARENT].mask = CONFIG_WATCH_ABOVE;
}

/* The file of our home; with it the policy, unless one was named. */
static enum result
config_watch_places(
    struct config_watch *watch, const char *name, struct json_fault *fault)
{
	char *home = watch->places[CONFIG_WATCH_HOME].path;
	enum result result = config_home(home, STATE_DIR_PATH_MAX, fault);

	if (result != RESULT_OK)
		return result;
	watch->places[CONFIG_WATCH_HOME].name =
	    name != NULL ? name : CONFIG_FILE;
	watch->places[CONFIG_WATCH_HOME].mask = CONFIG_WATCH_FOLDER;
	if (name == NULL)
		config_watch_policy(watch);
	for (size_t i = 0; i < CONFIG_WATCH_PLACES; i++)
		watch->places[i].wd = -1;
	return RESULT_OK;
}

static enum result
config_watch_open(struct config_watch *watch, struct event_base *base,
    const char *name, struct json_fault *fault)
{
	enum result result = config_watch_places(watch, name, fault);

	if (result != RESULT_OK)
		return result;
	watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch->fd < 0) {
		json_field_fault(fault,
		    "the configuration cannot be watched: %s", strerror(errno));
		return RESULT_SYSTEM;
	}
	watch->readable = event_new(base, watch->fd, EV_READ | EV_PERSIST,
	    config_watch_on_readable, watch);
	watch->settle = event_new(base, -1, 0, config_watch_on_settle, watch);
	if (watch->readable == NULL || watch->settle == NULL ||
	    event_add(watch->readable, NULL) != 0)
		return RESULT_NO_MEMORY;
	for (size_t i = 0; i < CONFIG_WATCH_PLACES; i++)
		config_watch_place_again(watch, i);
	config_watch_again(watch, 0);
	return RESULT_OK;
}

enum result
config_watch_file_new(struct event_base *base, const char *name,
    config_watch_changed *changed, void *context, struct config_watch **watch_r,
    struct json_fault *fault)
{
	struct config_watch *watch = calloc(1, sizeof(*watch));
	enum result result;

	*watch_r = NULL;
	if (watch == NULL)
		return RESULT_NO_MEMORY;
	watch->fd = -1;
	watch->changed = changed;
	watch->context = context;
	result = config_watch_open(watch, base, name, fault);
	if (result != RESULT_OK) {
		config_watch_free(&watch);
		return result;
	}
	*watch_r = watch;
	return RESULT_OK;
}

enum result
config_watch_new(struct event_base *base, config_watch_changed *changed,
    void *context, struct config_watch **watch_r, struct json_fault *fault)
{
	return config_watch_file_new(
	    base, NULL, changed, context, watch_r, fault);
}

void
config_watch_free(struct config_watch **watch)
{
	struct config_watch *gone = *watch;

	if (gone == NULL)
		return;
	*watch = NULL;
	if (gone->readable != NULL)
		event_free(gone->readable);
	if (gone->settle != NULL)
		event_free(gone->settle);
	fd_close(&gone->fd);
	free(gone);
}
