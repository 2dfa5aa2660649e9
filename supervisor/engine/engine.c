/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which table a sandbox is started by (see the header). Called by
 * sandbox_plan.c; must never choose by what is installed: the spec says.
 */
#include "supervisor/engine/engine.h"

#include "supervisor/sandbox.h"

const struct engine *
engine_of(const struct sandbox_spec *spec)
{
	return spec->view != NULL ? &engine_native : &engine_podman;
}
