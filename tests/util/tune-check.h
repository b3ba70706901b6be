/* tune-check.h - a search of settings beside the replay of every one of them: the same answer, and each row as
 * it was said to be.
 *
 * Why: what is not replayed is believed on a proof, and a proof can be wrong.  Shared by the quick test and
 * the long one.
 */
#pragma once

#include "sim/search/tune.h"

/* Asserts it for the space @specs ("NAME:key=a|b,...") on the recording in the file @path and the
 * @device ("sim:capacity=4GiB"; NULL: the recorded one); @objective: of bytes.  Returns the number of replays that were made,
 * and that of the rows in *@rows. */
guint gemem_check_tune (const char *path, const char *specs, const char *device,
                        GememTuneObjective objective, guint *rows);
