/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What no view shows, wherever it lies: our own state, and (but in danger)
 * homes. A home may lie below /usr, a state may have a second name by a
 * bind mount; such a place is masked in a view that is whole but for it.
 * Used by native_view last.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_COVER_H
#define SUPERVISOR_NATIVE_NATIVE_COVER_H

#include "supervisor/native/native_step.h"

/* A MASK for each of these places that a step shows, by each name that the
 * mounts of the host give it: view->agentnode, ".agentnode" of the home,
 * choice->hidden; and in every mode but danger view->home and the homes of
 * the caller and of others by the user database. RESULT_REFUSED: nothing of
 * the step would be left, a directory handed over lies in our state, or the
 * programs of the system do in the home. RESULT_SYSTEM: it cannot be known.
 */
enum result native_cover_add(
    struct native_step_plan *plan, const struct native_view_choice *choice);

#endif
