/* replay.h - what was done to the memory of the GPU in a dry run, kept so that it can be done again
 * on the host.
 *
 * Why: no kernel runs in a dry run, but the next size may follow from what one would have written
 * (x[mask], nonzero, unique). Of each block of memory it is kept what may have written there:
 * copies, fills, launches, functions of libraries. Nothing is computed until the program reads;
 * then what led to those bytes is done again, in its order, on the host (ptx.h).
 *
 * A launch can be done again if its kernel was compiled while the program runs (NVRTC): its source
 * is here, and the installed NVRTC makes PTX of it. Other kernels make the memory unknown that they
 * got.
 *
 * Invariants: nothing is kept before gemem_dry_replay_begin(). Of blocks that the program did not
 * name nothing is known. What is known is what the GPU would hold, or it is said to be assumed. A
 * function may be called by any thread; none calls the driver. At most EVENTS_MAX events and
 * KEPT_MAX bytes are kept (history.c); beyond it all memory is unknown.
 */
#pragma once

#include <glib.h>

#include "dry/ptx/ptx.h"

/* ---- programs that were compiled (sources.c) */

typedef struct _GememReplaySource GememReplaySource;

/* Keeps copies of all. @names: of expressions, and what the program was told they are called, in
 * turn, NULL at the end. Returns what the image has to begin with; free with g_free(). */
char *gemem_replay_source_add (const char *source, int n_options, const char *const *options,
                               const char *const *names);
/* Of an image that begins so; NULL: none. */
GememReplaySource *gemem_replay_source_of (const void *image);
/* A variable of it got an address, so that others may write there: its kernels are not run again.
 */
void gemem_replay_source_lose (GememReplaySource *source);

/* The PTX of @source, with the names of @expressions written to @names, in order; free all. NULL:
 * it cannot be compiled. */
typedef char *(*GememReplayCompiler) (const char *source, guint n_options,
                                      const char *const *options, guint n_expressions,
                                      const char *const *expressions, char **names);
void gemem_replay_set_compiler (GememReplayCompiler compile);
/* Whether this thread runs the compiler, which asks whether there is a driver and needs none; the
 * driver's lock may be held then. */
gboolean gemem_replay_compiles (void);

/* ---- what is done to memory (history.c); for the driver and the libraries */

gboolean gemem_replay_is_on (void);
/* @parameters: as of cuLaunchKernel(). FALSE: it cannot be done again; say what it may have
 * written. */
gboolean gemem_replay_launch (GememReplaySource *source, const char *name, const guint grid[3],
                              const guint block[3], gsize shared, void **parameters);
/* A kernel got @bytes: the addresses in it may have been written. */
void gemem_replay_got (const guint8 *bytes, gsize size);
/* Something wrote there what is not known; @size 0: in the block at @address; all 0: anywhere. */
void gemem_replay_lost (guint64 address, guint64 size);
void gemem_replay_host (guint64 address, gconstpointer bytes, guint64 size);
void gemem_replay_fill (guint64 address, guint64 size, guint32 value, guint unit);
void gemem_replay_carry (guint64 to, guint64 from, guint64 size);

/* ---- for Python: exported by libgemem-dry */

__attribute__ ((visibility ("default"))) void gemem_dry_replay_begin (void);
/* The program's allocator gives out or takes back a block. */
__attribute__ ((visibility ("default"))) void gemem_dry_block_begins (guint64 address,
                                                                      guint64 size);
__attribute__ ((visibility ("default"))) void gemem_dry_block_ends (guint64 address);
/* Adds @change to how deep this thread is in a function that says itself what it writes. */
__attribute__ ((visibility ("default"))) int gemem_dry_in_function (int change);

/* Does function @id again on the bytes of its ranges, whose GememPtxState are in @states; @bytes
 * NULL: it is not needed any more. Returns whether what it wrote is known; the lock is held, so it
 * must not call the driver. */
typedef int (*GememDryFunctionFunc) (guint64 id, guint8 **bytes, guint8 **states);
__attribute__ ((visibility ("default"))) void gemem_dry_on_function (GememDryFunctionFunc func);
/* A function that is @id reads and writes @n ranges, of which the first @n_written are written;
 * @drawn: numbers that are drawn. */
__attribute__ ((visibility ("default"))) void gemem_dry_function (guint64 id, guint n,
                                                                  guint n_written,
                                                                  const guint64 *addresses,
                                                                  const guint64 *sizes, int drawn);

/* gemem_replay_lost() */
__attribute__ ((visibility ("default"))) void gemem_dry_lost (guint64 address, guint64 size);

/* What the @size bytes at @from are, written to @to: a GememPtxState; nothing is written where they
 * are unknown. @little: real numbers or truth values, which are not worth much, and nothing where
 * they are assumed. */
__attribute__ ((visibility ("default"))) int gemem_dry_replay (guint64 from, gsize size,
                                                               gpointer to, int little);

/* ---- kernel.c: a kernel by itself, for Python, too */

/* Kernel @name of the PTX @text, which is kept as long as the process; NULL: it cannot be read. Linear in its length. */
__attribute__ ((visibility ("default"))) const GememPtxFunction *gemem_dry_code (const char *text,
                                                                                 const char *name);
/* Runs @kernel on @memory, which is sorted: its first parameters are @arguments, each in the low bytes, all others 0. Returns a
 * GememPtxEnd; @budget: of ptx.h. */
__attribute__ ((visibility ("default"))) int
gemem_dry_code_run (const GememPtxFunction *kernel, const guint grid[3], const guint block[3],
                    guint64 shared, guint n_arguments, const guint64 *arguments, guint n_memory,
                    GememPtxMemory *memory, guint64 *budget);
