/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images in the engine's store: loading an archive, fetching one by digest,
 * judging it, and pinning it in the configuration. Used by the image
 * commands.
 */
#ifndef SUPERVISOR_PACKAGE_IMAGE_ENGINE_H
#define SUPERVISOR_PACKAGE_IMAGE_ENGINE_H

#include <stddef.h>

#include "common/result.h"
#include "supervisor/engine/engine_host.h"

#define IMAGE_ENGINE_REF_MAX 600U

/* "NAME@sha256:<64 hex>" of something that is "NAME@sha256:..." already;
 * RESULT_BAD says what is wrong with a tag or a bare name. */
enum result image_engine_reference(
    const char *text, char *detail_r, size_t detail_size);

/* Load an OCI archive (Docker: or one of its own form): what it is pinned
 * by goes to digest_r ("sha256:..."; the manifest's digest, or Docker's id,
 * which is the configuration's), and the engine gets a name of ours for it,
 * tag_r; "" when it is known by one already, which is then not this archive's
 * to lose. */
enum result image_engine_load(const struct engine_host *host, const char *path,
    char digest_r[72], char *tag_r, size_t tag_size, char *detail_r,
    size_t detail_size);

/* What is written down for a digest of image_engine_load. */
void image_engine_pinned(const struct engine_host *host, const char *digest,
    char *reference_r, size_t size);

/* Fetch by digest; progress is the engine's own lines. ca: the CA bundle
 * of the host configuration, or NULL. */
enum result image_engine_pull(const struct engine_host *host,
    const char *reference, const char *ca, void (*progress)(const char *line),
    char *detail_r, size_t detail_size);

/* Does the engine have it, and is it acceptable (image_check)? */
enum result image_engine_check(const struct engine_host *host,
    const char *reference, char *detail_r, size_t detail_size);

/* Drop a name that was loaded and then refused; "" is none. */
void image_engine_forget(const struct engine_host *host, const char *name);

/* Set sandbox.image. */
enum result image_engine_pin(
    const char *reference, char *detail_r, size_t detail_size);

#endif
