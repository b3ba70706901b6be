/* fuzz.h - everything that reads bytes from outside, as targets of a fuzzer.
 *
 * A kind of input (targets.def) has members: the formats of a registry, or readers of its own.  Each
 * member is a target, "KIND-MEMBER"; a new line in a registry is a new target.  Three programs use
 * the list: `fuzz` (libFuzzer, built by long-fuzz.sh), test-fuzz-corpus (`make check`) and, through
 * `fuzz`, run-fuzz.
 *
 * Inputs are whole files as a user would give them, so that every file of the tree that a target
 * accepts is one of its seeds, without a list.
 *
 * Invariants: the same bytes do the same every time; whatever they are, a target only accepts or
 * refuses them.  Anything else (an assertion, a critical message, a leak) is a finding.
 */
#pragma once

#include <gio/gio.h>

#define FUZZ_MOST_BYTES 32768 /* of one input */

typedef struct
{
  const char *name; /* "trace" */
  /* The name of member @i; NULL behind the last. */
  const char *(*member) (guint i);
  /* Reads @data as member @i does.  TRUE: accepted. */
  gboolean (*run) (guint i, const guint8 *data, gsize size);
  /* Adds inputs (GBytes) that our own writers make for member @i; or NULL. */
  void (*seeds) (guint i, GPtrArray *seeds);
  /* Makes what member @i checks first, such as checksums, fit the rest again, as far as @seed says;
   * or NULL. */
  void (*repair) (guint i, guint8 *data, gsize size, guint seed);
} FuzzKind;

typedef struct
{
  const FuzzKind *kind;
  guint member;
  char *name; /* "trace-native" */
} FuzzTarget;

/* All targets, in the order of targets.def; FuzzTarget, built once. */
const GPtrArray *fuzz_targets (void);
/* The target called @name, or NULL. */
const FuzzTarget *fuzz_target_find (const char *name);

/* Reads @data, in a copy of its exact size, so that a sanitizer sees a read behind it. */
gboolean fuzz_run (const FuzzTarget *target, const guint8 *data, gsize size);

/* New inputs for @target: what our writers make, and the files of the tree, unpacked, that it
 * accepts.  GBytes. */
GPtrArray *fuzz_seeds (const FuzzTarget *target);

/* ---- for targets */

/* Fails unless @error is one line of UTF-8 in our domain; frees it.  FALSE, for `return`. */
gboolean fuzz_refused (GError *error);
/* The path of a regular file with these bytes, until the next call. */
const char *fuzz_file (const guint8 *data, gsize size);
/* The bytes as a text that ends with NUL; g_free(). */
char *fuzz_text (const guint8 *data, gsize size);
/* A new text as a seed. */
void fuzz_add_text (GPtrArray *seeds, const char *text);
