/* runtime-fields.h - reads the fields of a line of GE's run time, for runtime-line.c and
 * runtime-prefix.c.
 *
 * A field is searched by its name from the read position on, so that other fields may come between.
 * A field that is missing or not a number makes the line damaged, and its name is kept.  Private.
 */
#pragma once

#include <string.h>

#include "base/io/scan.h"
#include "traces/ge/runtime-line.h"

#define GE_MAX_SIZE (G_GUINT64_CONSTANT (1) << 60)

typedef struct
{
  const char *start, *p, *end; /* start of the line; read position; end of the line */
  GeLine *line;
} Scan;

static inline gboolean
begins (const Scan *scan, const char *word)
{
  return (gsize) (scan->end - scan->p) >= strlen (word)
         && memcmp (scan->p, word, strlen (word)) == 0;
}

/* ---- fields: each function searches its field by name; a missing field makes the line damaged */

static inline void
damaged (Scan *scan, const char *field)
{
  scan->line->kind = GE_LINE_DAMAGED;
  scan->line->text = field;
  scan->line->length = strlen (field);
}

/* Moves behind @field; FALSE if @field is missing. */
static inline gboolean
seek (Scan *scan, const char *field)
{
  const char *at = scan_find (scan->p, scan->end, field);

  if (at != NULL)
    scan->p = at + strlen (field);
  else
    damaged (scan, field);
  return at != NULL;
}

static inline gboolean
take_number (Scan *scan, const char *field, guint64 *value)
{
  if (!seek (scan, field))
    return FALSE;
  scan_blanks (&scan->p, scan->end);
  if (scan_uint (&scan->p, scan->end, value)
      && (scan->p == scan->end || !g_ascii_isalnum (*scan->p)))
    return TRUE;
  damaged (scan, field);
  return FALSE;
}

static inline gboolean
take_size (Scan *scan, const char *field, guint64 *value)
{
  if (!take_number (scan, field, value))
    return FALSE;
  if (*value >= GE_MAX_SIZE)
    damaged (scan, field);
  return *value < GE_MAX_SIZE;
}

/* A number of 32 bits. */
static inline gboolean
take_small (Scan *scan, const char *field, guint64 *value)
{
  if (!take_number (scan, field, value))
    return FALSE;
  if (*value > G_MAXUINT32)
    damaged (scan, field);
  return *value <= G_MAXUINT32;
}

/* 0x..., or (nil). */
static inline gboolean
take_pointer (Scan *scan, const char *field, guint64 *value)
{
  if (!seek (scan, field))
    return FALSE;
  if (begins (scan, "(nil)"))
    {
      scan->p += 5;
      *value = 0;
      return TRUE;
    }
  if (begins (scan, "0x") && scan_hex (&scan->p, scan->end, value))
    return TRUE;
  damaged (scan, field);
  return FALSE;
}

static inline gboolean
take_signed (Scan *scan, const char *field, gint64 *value)
{
  guint64 magnitude = 0;
  gboolean negative;

  if (!seek (scan, field))
    return FALSE;
  scan_blanks (&scan->p, scan->end);
  negative = scan->p < scan->end && *scan->p == '-';
  scan->p += negative;
  if (!scan_uint (&scan->p, scan->end, &magnitude) || magnitude >= GE_MAX_SIZE)
    {
      damaged (scan, field);
      return FALSE;
    }
  *value = negative ? -(gint64) magnitude : (gint64) magnitude;
  return TRUE;
}

static inline gboolean
take_stream (Scan *scan, const char *field)
{
  gint64 *stream = &scan->line->stream;

  if (!take_signed (scan, field, stream))
    return FALSE;
  if (*stream < GE_NO_STREAM || *stream > (gint64) G_MAXUINT32)
    damaged (scan, field);
  return scan->line->kind != GE_LINE_DAMAGED;
}

static inline gboolean
take_device (Scan *scan, const char *field)
{
  guint64 device;

  if (!take_number (scan, field, &device))
    return FALSE;
  if (device != GE_DEVICE_UNKNOWN && device >= G_MAXUINT16)
    damaged (scan, field);
  scan->line->device = (guint32) device;
  return scan->line->kind != GE_LINE_DAMAGED;
}

/* Reads the process and the time before @mark. */
void gemem_ge_runtime_prefix (Scan *scan, const char *mark);
