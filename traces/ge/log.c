/* log.c - see log.h. */
#include "config.h"

#include <string.h>

#include "base/io/scan.h"
#include "traces/ge/log.h"

#define MAX_TIME G_GUINT64_CONSTANT (0xfffffffe) /* "never released"; one more: "to the end" */

typedef struct
{
  const char *p, *end;
  const char *field; /* the field being read */
} Scan;

/* Reads the text between the next @open and @close. */
static gboolean
take_piece (Scan *scan, const char *open, const char *close, GememGeLogPiece *piece)
{
  const char *start = scan_find (scan->p, scan->end, open);
  const char *stop = start != NULL ? scan_find (start + strlen (open), scan->end, close) : NULL;

  scan->field = open;
  if (stop == NULL)
    return FALSE;
  piece->text = start + strlen (open);
  piece->length = (gsize) (stop - piece->text);
  scan->p = stop + strlen (close);
  return TRUE;
}

static gboolean
take_int (const char **p, const char *end, gint64 *value)
{
  const gboolean negative = *p < end && **p == '-';
  const char *s = *p + negative;
  guint64 magnitude;

  if (!scan_uint (&s, end, &magnitude) || magnitude > (guint64) G_MAXINT64)
    return FALSE;
  *value = negative ? -(gint64) magnitude : (gint64) magnitude;
  *p = s;
  return TRUE;
}

/* Reads "--" between two numbers; the second number may have a minus sign. */
static gboolean
take_dashes (const char **p, const char *end)
{
  if (end - *p < 2 || (*p)[0] != '-' || (*p)[1] != '-')
    return FALSE;
  *p += 2;
  return TRUE;
}

static gboolean
take_number (Scan *scan, const char *open, guint64 *value)
{
  GememGeLogPiece piece;
  const char *end;

  if (!take_piece (scan, open, "]", &piece))
    return FALSE;
  end = piece.text + piece.length;
  return scan_uint (&piece.text, end, value) && piece.text == end;
}

/* "EFFECTIVE" or "EFFECTIVE--OWN" */
static gboolean
take_streams (Scan *scan, GememGeLogEntry *entry)
{
  GememGeLogPiece piece;
  const char *p, *end;

  if (!take_piece (scan, "streamid[", "]", &piece))
    return FALSE;
  p = piece.text;
  end = p + piece.length;
  if (!take_int (&p, end, &entry->stream))
    return FALSE;
  entry->own_stream = entry->stream;
  return (!take_dashes (&p, end) || take_int (&p, end, &entry->own_stream)) && p == end;
}

/* "BEGIN" or "BEGIN--ID" */
static gboolean
take_begin (Scan *scan, GememGeLogEntry *entry)
{
  GememGeLogPiece piece;
  const char *p, *end;

  if (!take_piece (scan, "life time begin[", "]", &piece))
    return FALSE;
  p = piece.text;
  end = p + piece.length;
  if (!scan_uint (&p, end, &entry->begin))
    return FALSE;
  entry->id = entry->begin;
  return (!take_dashes (&p, end) || scan_uint (&p, end, &entry->id)) && p == end;
}

/* Reads "END--END...": the last uses by other streams, by the own stream, by references. */
static gboolean
take_end (Scan *scan, GememGeLogEntry *entry)
{
  GememGeLogPiece piece;
  const char *p, *end;
  guint64 value;

  if (!take_piece (scan, "life time end[", "]", &piece))
    return FALSE;
  p = piece.text;
  end = p + piece.length;
  entry->end = 0;
  do
    {
      if (!scan_uint (&p, end, &value))
        return FALSE;
      entry->end = MAX (entry->end, value >= MAX_TIME ? G_MAXUINT64 : value);
    }
  while (take_dashes (&p, end));
  return p == end;
}

/* " output[0]" */
static gboolean
take_kind (Scan *scan, GememGeLogEntry *entry)
{
  const char *bracket = scan_find (scan->p, scan->end, "[");

  scan->field = "output[";
  scan_blanks (&scan->p, scan->end);
  if (bracket == NULL)
    return FALSE;
  entry->kind = (GememGeLogPiece){ scan->p, (gsize) (bracket - scan->p) };
  scan->p = bracket;
  return (scan_equal (entry->kind.text, entry->kind.length, "output")
          || scan_equal (entry->kind.text, entry->kind.length, "workspace")
          || scan_equal (entry->kind.text, entry->kind.length, "output_desc"))
         && take_number (scan, "[", &entry->index);
}

static gboolean
take_offset (Scan *scan, GememGeLogEntry *entry)
{
  GememGeLogPiece piece;
  const char *end;

  if (!take_piece (scan, "offset to [", "]", &piece))
    return FALSE;
  end = piece.text + piece.length;
  return take_int (&piece.text, end, &entry->offset) && piece.text == end;
}

static gboolean
take_entry (Scan *scan, GememGeLogEntry *entry)
{
  guint64 reference;
  const char *space;

  scan->field = "name[";
  scan_blanks (&scan->p, scan->end);
  space = scan_find (scan->p, scan->end, " name[");
  if (space == NULL)
    return FALSE;
  entry->graph = (GememGeLogPiece){ scan->p, (gsize) (space - scan->p) };
  scan->p = space;
  if (!take_piece (scan, " name[", "] optype[", &entry->node)) /* names may hold brackets */
    return FALSE;
  scan->p -= strlen ("optype[");
  if (!take_piece (scan, "optype[", "]", &entry->type) || !take_kind (scan, entry)
      || !take_offset (scan, entry) || !take_streams (scan, entry)
      || !take_number (scan, "memtype[", &entry->memory_type)
      || !take_number (scan, " size[", &entry->size)
      || !take_number (scan, "realsize[", &entry->real_size) || !take_begin (scan, entry)
      || !take_end (scan, entry) || !take_number (scan, "isref[", &reference)
      || !take_piece (scan, "batch[", "]", &entry->batch))
    return FALSE;
  entry->reference = reference != 0;
  return TRUE;
}

GememGeLogLine
gemem_ge_log_parse (const char *p, const char *end, GememGeLogEntry *entry, GememGeLogPiece *what)
{
  static const char mark[] = "[IMAS]Set ", result[] = "AfterAssignMemory : ";
  const char *at = scan_find (p, end, mark);
  Scan scan = { at, end, "" };

  if (at == NULL)
    {
      at = scan_find (p, end, result);
      if (at == NULL)
        return GEMEM_GE_LOG_OTHER;
      *what = (GememGeLogPiece){ at + strlen (result), (gsize) (end - at) - strlen (result) };
      return GEMEM_GE_LOG_RESULT;
    }
  scan.p += strlen (mark);
  if (take_entry (&scan, entry))
    return GEMEM_GE_LOG_ENTRY;
  *what = (GememGeLogPiece){ scan.field, strlen (scan.field) };
  return GEMEM_GE_LOG_DAMAGED;
}

gboolean
gemem_ge_log_probe (const guint8 *head, gsize size)
{
  return scan_find ((const char *) head, (const char *) head + size, "[IMAS]") != NULL;
}
