/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packages with a manifest (tool packs and agents) from a folder or an
 * archive: read, judged, shown, their dependencies built, sealed. Used by
 * `agentnode install` and by the installation from a registry.
 */
#ifndef SUPERVISOR_PACKAGE_INSTALL_PACK_H
#define SUPERVISOR_PACKAGE_INSTALL_PACK_H

#include "supervisor/package/install.h"
#include "supervisor/package/pack_read.h"
#include "supervisor/package/volume.h"

/* Where it comes from and what the caller says to it. Borrowed. */
struct install_pack_source {
	const char *folder;   /* NULL: archive_fd */
	int archive_fd;       /* tar, tar.gz or zip; read from its offset on */
	const char *wheels;   /* --wheels: a folder; NULL */
	const char *expected; /* "sha256:..." the artifact must have; NULL */
	/* What the registry says of it; NULL: nothing. trust_level is the
	 * claim that the entry keeps; NULL: unverified. */
	const json_t *attestation, *signatures;
	const char *trust_level;
	const char *source; /* "local", "registry"; the entry keeps it */
	bool sandbox; /* --sandbox: build for it, whatever the policy says */
	/* Show it and ask: RESULT_OK goes on. NULL: nobody is asked. The
	 * fault is set by the callee otherwise. */
	enum result (*ask)(struct install *install, void *context);
	/* The finished entry, before anything is recorded (trust). NULL:
	 * nothing to add. The fault is set by the callee otherwise. */
	enum result (*judge)(
	    struct install *install, const json_t *entry, void *context);
	void *context;
};

/* While it is being installed: install->request->pack. */
struct install_pack {
	const struct install_pack_source *source;
	struct pack_read read;
	char artifact[72];    /* "sha256:..." of the archive's bytes, or of the
			       * clean tar that a folder makes */
	json_t *dependencies; /* owned: [{"name","version","integrity"}] */
	bool on_host;         /* built for the host: it may, and can */
	const char *policy;   /* sandbox.host_trust_policy then */
};

/* As install_run; slug_r says who it is, "" when that did not become known.
 * request->slug and pin.version may be empty; otherwise the
 * manifest must say the same. request->lockfile and allow_scripts count. */
enum result install_pack_run(struct install *install,
    const struct install_request *request,
    const struct install_pack_source *source, char slug_r[SLUG_MAX + 1],
    json_t **entry_r);

/* Where it will run, in words of one line. */
const char *install_pack_place_text(const struct install_pack *pack);

/* Parts that install.c asks for. */
enum result install_pack_fetch(
    struct install *install, struct install_tree *tree_r);
json_t *install_pack_entry(const struct install_request *request,
    const struct install_tree *tree, const struct volume *volume);

#endif
