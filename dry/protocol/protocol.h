/* protocol.h - what a program under a dry run and gemem-dry-run say to each other: the words of its notes (GEMEM_DRY_NOTE_HELD; notes.def)
 * and the names of environment variables (GEMEM_ENV_DRY_GPU; variables.def, record/variables.def).
 *
 * Nothing but constants, for audit.c has no GLib.
 */
#pragma once

#include "record/variables.h"

#define GEMEM_VARIABLE(name, standard, setters, readers, means) \
  static const char GEMEM_ENV_##name[] __attribute__ ((unused)) = "GEMEM_" #name;
#include "dry/protocol/variables.def"
#undef GEMEM_VARIABLE

/* Before the name of a library, in capitals: its version, as in GEMEM_DRY_CUDNN. */
#define GEMEM_ENV_DRY_VERSION_OF "GEMEM_DRY_"
/* The value of GEMEM_DRY_TRUTHS for all places. */
#define GEMEM_DRY_EVERYWHERE "everywhere"
/* The part of the GPU's memory that a JAX takes, where the program does not say another. */
#define GEMEM_DRY_JAX_PART 0.75

typedef enum
{
#define GEMEM_DRY_NOTE(name, word, fields, list, writers, readers, means) GEMEM_DRY_NOTE_##name,
#include "dry/protocol/notes.def"
#undef GEMEM_DRY_NOTE
  GEMEM_DRY_N_NOTES
} GememDryNote;
