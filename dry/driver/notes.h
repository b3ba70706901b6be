/* notes.h - whether this is a dry run, of which GPU, and the notes of what the program met: for all parts of libgemem-dry.
 *
 * Everything here may be called by any thread.
 */
#pragma once

#include <glib.h>

#include "devices/gpus.h"
#include "dry/protocol/protocol.h"

#define DRIVER_DEVICES_MAX 16

/* TRUE in a dry run ($GEMEM_DRY=1): memory is reserved and not backed, work on streams completes at
 * once. Else the library is the strict stand-in of tests/dry. */
gboolean gemem_dry_mode (void);

/* The GPU that the devices pretend to be: $GEMEM_DRY_GPU, without it an H100. Of a name that is unknown stderr says so, and it is
 * the first GPU of devices/gpus.def. */
const GememGpu *gemem_dry_gpu (void);

/* The words of the notes, by GememDryNote. */
extern const char *const gemem_dry_note_words[];

/* Adds the line of @word and @text, its fields, to the notes ($GEMEM_DRY_NOTES). The line appears at
 * once, and once: how often it came is told at the end. */
void gemem_dry_note (GememDryNote word, const char *text);

/* The same; the text is the file of the library that made this call of the driver, "libc10_cuda.so", CUDA's own passed over. */
void gemem_dry_note_caller (GememDryNote word);

/* A library took @bytes of @device for itself (below 0: gave them back), as on @machine, constant or
 * NULL, which the user said if @given; the notes say at the end how much it held at most. */
void gemem_dry_took (guint device, gint64 bytes, const char *machine, gboolean given);

/* Notes which rank of a distributed program this process is, if $RANK says so. */
void gemem_dry_note_rank (void);
/* Notes which GPUs of the machine this process sees, if not all in their order. */
void gemem_dry_note_visible (void);

/* ---- values */

/* What is known of bytes that the program reads from the device (remembered.h). */
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

/* ---- for the driver */

/* The program reads @size bytes at @to that were on the device; the lock is held. */
void gemem_driver_note_value (gpointer to, gsize size, GememDryValue value, guint64 from);
/* Counts of lines, at the end of the process. */
void gemem_driver_notes_end (void);
