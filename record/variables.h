/* variables.h - names of the environment variables between the launcher of recordings and the recorder: GEMEM_ENV_JOURNALS is
 * "GEMEM_JOURNALS"; variables.def says what they mean.  Nothing but constants, for the recorder has no GLib.
 */
#pragma once

#define GEMEM_VARIABLE(name, standard, setters, readers, means) \
  static const char GEMEM_ENV_##name[] __attribute__ ((unused)) = "GEMEM_" #name;
#include "record/variables.def"
#undef GEMEM_VARIABLE
