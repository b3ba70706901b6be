/* dry.h - what the parts of libgemem-dry (a CUDA without a GPU) offer each other, one section per
 * part; images.h has what is known of kernels.
 *
 * The driver is reached by its own functions (api.h), as programs reach it. Everything here
 * may be called by any thread.
 */
#pragma once

#include <glib.h>

#include "devices/gpus.h"
#include "dry/protocol/protocol.h"

/* ---- the driver (notes.c) */

/* TRUE in a dry run ($GEMEM_DRY=1): memory is reserved and not backed, work on streams completes at
 * once. Else the library is the strict stand-in of tests/dry. */
gboolean gemem_dry_mode (void);

/* The GPU that the devices pretend to be: $GEMEM_DRY_GPU, without it an H100. */
const GememGpu *gemem_dry_gpu (void);

/* The words of the notes, by GememDryNote. */
extern const char *const gemem_dry_note_words[];

/* Adds the line of @word and @text, its fields, to the notes ($GEMEM_DRY_NOTES). The line appears at once, and once: how
 * often it came is told at the end. */
void gemem_dry_note (GememDryNote word, const char *text);

/* A library took @bytes of @device for itself (below 0: gave them back), as on @machine, constant or NULL,
 * which the user said if @given; the notes say at the end how much it held at most. */
void gemem_dry_took (guint device, gint64 bytes, const char *machine, gboolean given);

/* Notes which rank of a distributed program this process is, if $RANK says so. */
void gemem_dry_note_rank (void);
/* Notes which GPUs of the machine this process sees, if not all in their order. */
void gemem_dry_note_visible (void);

/* What is known of bytes that the program reads from the device (remembered.c). */
typedef enum
{
  GEMEM_DRY_UNKNOWN, /* they read as zero */
  GEMEM_DRY_KNOWN,   /* the host wrote them */
  GEMEM_DRY_ASSUMED, /* the host wrote them, if all ranks hold what this one holds */
} GememDryValue;

/* Called after a copy of few bytes (at most 1 MiB) from the device address @from to the host, which the
 * program will look at: @to holds them, and may be changed.  No lock of the driver is held; any thread. */
typedef void (*GememDryValueFunc) (gpointer to, gsize size, GememDryValue value, guint64 from);

/* Lets @func note the values that the program looks at, in the place of the notes of sizes alone:
 * Python knows the line that asks.  NULL: ends that. */
__attribute__ ((visibility ("default"))) void gemem_dry_on_value (GememDryValueFunc func);

/* Where the program's block begins that contains the device address @address; 0: not known. */
typedef guint64 (*GememDryBlockFunc) (guint64 address);
/* Lets @func say it; it is called in any thread, and no lock of the driver is held.  NULL: ends that. */
__attribute__ ((visibility ("default"))) void gemem_dry_on_block (GememDryBlockFunc func);

/* The next communicator that NCCL splits off in this thread has @size ranks, of which this is @rank; 0: not known. */
__attribute__ ((visibility ("default"))) void gemem_dry_next_group (int size, int rank);

/* ---- what is known of device memory (remembered.c) */

/* Writes to @to the @size bytes at the device address @from, if all are known. */
gboolean gemem_dry_recall (guint64 from, gsize size, gpointer to, gboolean *assumed);
/* Adds @change to how deep this thread is in a library of NVIDIA's that runs beside its stand-in, which says
 * what the library's functions write; returns whether it is in one.  Kernels that are registered then write
 * nothing of the program's, and it does not matter what their images say. */
gboolean gemem_dry_in_library (int change);
/* A function of a library wrote @bytes there; NULL: what it wrote is not known. @to 0: anywhere. */
__attribute__ ((visibility ("default"))) void
gemem_dry_wrote (guint64 to, gsize size, gconstpointer bytes, gboolean assumed);

/* A function of a library got the device address @address: it may have written where a kernel with this
 * parameter may.  Nothing, for other addresses. */
__attribute__ ((visibility ("default"))) void gemem_dry_reached (gconstpointer address);

/* ---- what is not written (missing.c) */

/* What a generated function keeps (dry/launch/write.c); 16 bytes, zeros at first. */
typedef struct
{
  guint64 calls;
  gint32 result, known;
} GememDryStub;

/* The written function @name was called, which does nothing but launch work, and says itself what that writes (gemem_dry_wrote());
 * @stub is its own. Counted and noted as the harmless ones. */
__attribute__ ((visibility ("default"))) void gemem_dry_launched (const char *name,
                                                                  GememDryStub *stub);

/* How many calls launched work on device memory, so far; without @told, those that did not say what they write. Not in the
 * strict stand-in. */
guint64 gemem_dry_work (gboolean told) __attribute__ ((weak));

/* The result of the function @name of @library (a soname), which is not written: 0 if its success
 * without effect is harmless (harmless.def), else the library's status for what it does not support.
 * The first failing call of a function is named on stderr and in the notes ("missing NAME
 * LIBRARY"). */
int gemem_dry_missing (const char *name, const char *library);

/* The same for a generated function, whose further calls @stub answers. Their number is in the
 * notes at the end: "harmless CALLS NAME", "failed CALLS NAME". */
int gemem_dry_stub (const char *name, const char *library, GememDryStub *stub);
