/* csv.c - the log of RMM's logging_resource_adaptor: format `rmm-csv`.
 *
 *   Thread,Time,Action,Pointer,Size,Stream
 *   2342727,15:47:02.841961,allocate,0x10012400000,1048576,0
 *
 * Variants: a colon before the fraction of a second, streams in decimal or hexadecimal, `allocate
 * failure` with a null pointer, and the log of RMM before 0.15 (Event Type,Device ID,Address,...).
 * The time is a clock without a date.  A step back by more than half a day is taken for midnight; a
 * step back by up to a second is a race of two threads for the log, and the order of the file is
 * the order of the calls.
 *
 * Events delivered: ALLOC and FREE with the stream; OOM for a failure.  The thread is dropped.  The
 * device is taken from the part `.dev<k>` that RMM's Python package puts into the file name.
 *
 * Memory: the live pointers.  Cost: rows are scanned in the input's window, without a copy.
 * Origin: peers.md 2.3.
 */
#include "config.h"

#include <string.h>

#include "base/idmap.h"
#include "base/io/decimal.h"
#include "base/io/fail.h"
#include "base/io/input.h"
#include "traces/trace.h"

#define BATCH 1024u
#define MAX_LINE ((gsize) 64 << 10)
#define MAX_SIZE (G_GUINT64_CONSTANT (1) << 60)
#define MAX_DEVICES 256u
#define SECOND G_GUINT64_CONSTANT (1000000000)
#define DAY (86400 * SECOND)

static const char header[] = "Thread,Time,Action,Pointer,Size,Stream";
static const char old_header[] = "Event Type,Device ID,Address,Stream,Size (bytes),Free "
                                 "Memory,Total Memory,Current Allocs,Start,End,Elapsed,Location";

extern const GememTraceFormat gemem_format_rmm_csv;

typedef enum
{
  ACTION_ALLOCATE,
  ACTION_FREE,
  ACTION_FAILURE,
  ACTION_REALLOCATE,
} Action;

typedef struct
{
  Action action;
  guint64 time, pointer, size, stream, device;
} Row;

typedef struct
{
  GememTraceReader reader;
  GememInput *input;
  GememReadOptions options;
  gboolean old;
  guint64 line;
  guint64 clock, days, origin, last; /* ns; clock: the last time of day read */
  gboolean started, ended;
  guint64 device, late, unknown, nothing;
  GememIdMap *live[MAX_DEVICES]; /* pointer -> id */
  guint64 last_id;
  GememTraceEvent batch[BATCH + 1]; /* a row makes two events at most */
} Rmm;

#define fail(rmm, error, ...) \
  gemem_fail_line (error, gemem_input_name ((rmm)->input), (rmm)->line, __VA_ARGS__)

/* ---- fields: each scanner stops at the end of the line and returns NULL if the field is
 * missing */

static inline const char *
scan_decimal (const char *at, guint64 *value)
{
  guint64 number = 0;
  const char *start = at;
  for (; *at >= '0' && *at <= '9'; at++)
    {
      guint64 digit = (guint64) (*at - '0');
      if (G_UNLIKELY (number > (G_MAXUINT64 - digit) / 10))
        return NULL;
      number = number * 10 + digit;
    }
  *value = number;
  return at > start ? at : NULL;
}

static inline const char *
scan_hexadecimal (const char *at, guint64 *value)
{
  guint64 number = 0;
  const char *start = at;
  int digit;
  for (; (digit = g_ascii_xdigit_value (*at)) >= 0; at++)
    {
      if (G_UNLIKELY (number >> 60 != 0))
        return NULL;
      number = number << 4 | (guint64) digit;
    }
  *value = number;
  return at > start ? at : NULL;
}

static inline const char *
scan_pointer (const char *at, guint64 *value)
{
  if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
    return scan_hexadecimal (at + 2, value);
  if (*at != '(')
    return scan_hexadecimal (at, value);
  *value = 0;
  return strncmp (at, "(nil)", 5) == 0 ? at + 5 : NULL;
}

/* Scans a decimal number, or a hexadecimal one marked by 0x or by containing a letter. */
static inline const char *
scan_stream (const char *at, guint64 *value)
{
  if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
    return scan_hexadecimal (at + 2, value);
  const char *end = scan_decimal (at, value);
  return end != NULL && !g_ascii_isxdigit (*end) ? end : scan_hexadecimal (at, value);
}

static inline const char *
scan_two (const char *at, guint64 limit, char end, guint64 *value)
{
  guint tens = (guint) (at[0] - '0'), ones = tens <= 9 ? (guint) (at[1] - '0') : 10;
  *value = tens * 10 + ones;
  return ones <= 9 && *value < limit && (end == '\0' || at[2] == end) ? at + 2 + (end != '\0')
                                                                      : NULL;
}

/* Scans HH:MM:SS and a fraction after '.' or ':'. */
static const char *
scan_clock (const char *at, guint64 *ns)
{
  guint64 hours, minutes, seconds, unit = SECOND / 10;

  if ((at = scan_two (at, 24, ':', &hours)) == NULL
      || (at = scan_two (at, 60, ':', &minutes)) == NULL
      || (at = scan_two (at, 61, '\0', &seconds)) == NULL)
    return NULL;
  *ns = (hours * 3600 + minutes * 60 + seconds) * SECOND;
  if (*at == '.' || *at == ':')
    {
      const char *fraction = ++at;
      for (; *at >= '0' && *at <= '9'; at++, unit /= 10)
        *ns += (guint64) (*at - '0') * unit;
      if (at == fraction)
        return NULL;
    }
  return at;
}

static inline const char *
scan_comma (const char *at)
{
  return at != NULL && *at == ',' ? at + 1 : NULL;
}

/* ---- rows */

static const char *
scan_action (const char *at, Action *action)
{
  if (strncmp (at, "allocate,", 9) == 0)
    {
      *action = ACTION_ALLOCATE;
      return at + 8;
    }
  if (strncmp (at, "free,", 5) == 0)
    {
      *action = ACTION_FREE;
      return at + 4;
    }
  *action = ACTION_FAILURE;
  return strncmp (at, "allocate failure,", 17) == 0 ? at + 16 : NULL;
}

/* @line ends with a line feed. */
static gboolean
scan_row (const Rmm *rmm, const char *line, Row *row, GError **error)
{
  const char *at = line, *next;

  row->device = rmm->device;
  while (*at != ',' && *at != '\n') /* the thread */
    at++;
  if ((at = scan_comma (at)) == NULL)
    return fail (
        rmm, error,
        "no row of six columns; the log is damaged, cut the line out or use --allow-partial");
  if ((at = scan_comma (scan_clock (at, &row->time))) == NULL)
    return fail (rmm, error, "the time is not HH:MM:SS with a fraction; the log is damaged");
  if ((at = scan_comma (scan_action (at, &row->action))) == NULL)
    return fail (rmm, error,
                 "the action is none of allocate, free and allocate failure; the log is damaged");
  if ((at = scan_comma (scan_pointer (at, &row->pointer))) == NULL)
    return fail (rmm, error, "the pointer is no hexadecimal number; the log is damaged");
  if ((next = scan_comma (scan_decimal (at, &row->size))) == NULL || row->size >= MAX_SIZE)
    return fail (rmm, error, "the size is %s; the log is damaged",
                 *at == '-' ? "negative" : "no number of bytes below 2^60");
  at = scan_stream (next, &row->stream);
  if (at == NULL || (*at != '\n' && (at[0] != '\r' || at[1] != '\n')))
    return fail (rmm, error, "the stream is no number, or more columns follow; the log is damaged");
  return TRUE;
}

/* Scans a row of RMM before 0.15; the columns after Start are ignored. */
static gboolean
scan_old_row (const Rmm *rmm, const char *line, Row *row, GError **error)
{
  static const struct
  {
    const char *word;
    Action action;
  } actions[] = {
    { "Alloc,", ACTION_ALLOCATE },
    { "Free,", ACTION_FREE },
    { "Realloc,", ACTION_REALLOCATE },
  };
  const char *at = NULL;
  guint64 ignored;

  for (guint i = 0; i < G_N_ELEMENTS (actions) && at == NULL; i++)
    if (strncmp (line, actions[i].word, strlen (actions[i].word)) == 0)
      {
        at = line + strlen (actions[i].word);
        row->action = actions[i].action;
      }
  if (at == NULL)
    return fail (rmm, error,
                 "the event type is none of Alloc, Realloc and Free; the log is damaged");
  if ((at = scan_comma (scan_decimal (at, &row->device))) == NULL
      || (at = scan_comma (scan_pointer (at, &row->pointer))) == NULL
      || (at = scan_comma (scan_stream (at, &row->stream))) == NULL
      || (at = scan_comma (scan_decimal (at, &row->size))) == NULL)
    return fail (rmm, error, "device, address, stream or size is no number; the log is damaged");
  if (row->size >= MAX_SIZE || row->device >= MAX_DEVICES)
    return fail (rmm, error, "device or size is out of range; the log is damaged");
  for (guint i = 0; i < 3 && at != NULL; i++) /* Free Memory, Total Memory, Current Allocs */
    at = scan_comma (scan_decimal (at, &ignored));
  if (at == NULL || (at = gemem_decimal_scaled (at, 9, &row->time, NULL)) == NULL || *at != ',')
    return fail (rmm, error, "memory figures or Start are no numbers; the log is damaged");
  return TRUE;
}

/* ---- events */

/* Converts the clock to ns since the first row. */
static gboolean
advance_clock (Rmm *rmm, guint64 clock, GError **error)
{
  if (!rmm->started)
    rmm->origin = rmm->last = rmm->clock = clock;
  rmm->started = TRUE;
  if (clock >= rmm->clock && (rmm->days == 0 || clock - rmm->clock <= DAY - SECOND))
    rmm->clock = clock;
  else if (clock < rmm->clock && !rmm->old && rmm->clock - clock > DAY / 2) /* midnight */
    {
      rmm->days++;
      rmm->clock = clock;
    }
  else if (clock > rmm->clock || rmm->old
           || rmm->clock - clock <= SECOND) /* a race of threads, perhaps around midnight */
    rmm->late++;
  else
    return fail (
        rmm, error,
        "time runs %" G_GUINT64_FORMAT
        ".%03u s backwards; logs were joined or sorted otherwise, split them or sort them by time",
        (rmm->clock - clock) / SECOND, (guint) ((rmm->clock - clock) % SECOND / 1000000));
  rmm->last = rmm->clock + rmm->days * DAY - rmm->origin;
  return TRUE;
}

static GememTraceEvent *
add_event (Rmm *rmm, guint *n, GememEventKind kind, const Row *row, guint64 id)
{
  GememTraceEvent *event = &rmm->batch[(*n)++];
  memset (event, 0, sizeof *event);
  event->time = rmm->last;
  event->id = id;
  event->kind = (guint8) kind;
  event->stream = row->stream;
  event->size = row->size;
  event->address = row->pointer;
  event->device = (guint16) row->device;
  return event;
}

static gboolean
free_row (Rmm *rmm, const Row *row, guint *n, GError **error)
{
  guint64 id;

  if (gemem_idmap_remove (rmm->live[row->device], row->pointer, &id))
    {
      add_event (rmm, n, GEMEM_EVENT_FREE, row, id);
      return TRUE;
    }
  if (!rmm->options.allow_partial)
    return fail (rmm, error,
                 "0x%" G_GINT64_MODIFIER
                 "x is freed, but not live by this log; if the log starts in the middle, use "
                 "--allow-partial to leave such frees out",
                 row->pointer);
  rmm->unknown++;
  rmm->reader.info.skipped++;
  rmm->reader.info.flags |= GEMEM_TRACE_STARTS_IN_MIDDLE;
  return TRUE;
}

static gboolean
take_row (Rmm *rmm, const Row *row, guint *n, GError **error)
{
  gboolean existed;

  if (!advance_clock (rmm, row->time, error))
    return FALSE;
  if (rmm->options.device >= 0 && row->device != (guint64) rmm->options.device)
    {
      rmm->reader.info.skipped++;
      return TRUE;
    }
  if (rmm->live[row->device] == NULL)
    rmm->live[row->device] = gemem_idmap_new (sizeof (guint64));
  if (row->action == ACTION_FAILURE
      || (row->pointer == 0 && row->size > 0 && row->action != ACTION_FREE))
    {
      add_event (rmm, n, GEMEM_EVENT_OOM, row, 0)->address = 0;
      return TRUE;
    }
  if (row->pointer == 0) /* requests of 0 bytes allocate and free a null pointer */
    {
      rmm->nothing++;
      rmm->reader.info.skipped++;
      return TRUE;
    }
  if (row->action == ACTION_FREE)
    return free_row (rmm, row, n, error);
  if (row->action == ACTION_REALLOCATE)
    {
      if (gemem_idmap_lookup (rmm->live[row->device], row->pointer) == NULL)
        return fail (rmm, error,
                     "a Realloc to another address does not tell which block it frees; this log "
                     "cannot be replayed");
      if (!free_row (rmm, row, n, error))
        return FALSE;
    }
  guint64 *id = gemem_idmap_insert (rmm->live[row->device], row->pointer, &existed);
  if (existed)
    return fail (rmm, error,
                 "0x%" G_GINT64_MODIFIER "x is allocated while it is live; a free is missing, or "
                 "the logs of several resources were joined",
                 row->pointer);
  *id = ++rmm->last_id;
  add_event (rmm, n, GEMEM_EVENT_ALLOC, row, *id);
  return TRUE;
}

/* ---- reader */

static void
note_end (Rmm *rmm)
{
  GememTraceInfo *info = &rmm->reader.info;
  if (rmm->late > 0)
    gemem_trace_info_note (
        info, "note",
        "%" G_GUINT64_FORMAT
        " rows are a little earlier than the row before, their times were raised",
        rmm->late);
  if (rmm->unknown > 0)
    gemem_trace_info_note (info, "note",
                           "%" G_GUINT64_FORMAT
                           " frees of pointers that this log never allocated are left out",
                           rmm->unknown);
  if (rmm->nothing > 0)
    gemem_trace_info_note (
        info, "note", "%" G_GUINT64_FORMAT " rows with a null pointer are left out", rmm->nothing);
}

/* Checks the end of the log: FALSE with an error if it ends within a row. */
static gboolean
finish (Rmm *rmm, const char *data, gsize size, GError **error)
{
  rmm->ended = TRUE;
  note_end (rmm);
  for (gsize i = 0; i < size; i++)
    if (!g_ascii_isspace (data[i]))
      {
        rmm->line++;
        return fail (
            rmm, error,
            "the last line has no end; the log was cut off, fetch it again or use --allow-partial");
      }
  return TRUE;
}

/* Reads whole lines until the batch is full.  FALSE: error; *@used: the bytes of these lines. */
static gboolean
take_lines (Rmm *rmm, const char *data, gsize size, gsize *used, guint *n, GError **error)
{
  const char *at = data, *end = data + size;
  gboolean ok = TRUE;

  while (*n < BATCH && ok)
    {
      const char *line_end = memchr (at, '\n', (gsize) (end - at));
      Row row;
      if (line_end == NULL)
        break;
      rmm->line++;
      if (line_end - at > 1 || (line_end > at && *at != '\r')) /* not an empty line */
        {
          ok = rmm->old ? scan_old_row (rmm, at, &row, error) : scan_row (rmm, at, &row, error);
          ok = ok && take_row (rmm, &row, n, error);
        }
      at = line_end + 1;
    }
  *used = (gsize) (at - data);
  return ok;
}

/* Delivers @n events or @damage; under --allow-partial damage ends the trace and is noted. */
static gssize
give (Rmm *rmm, guint n, GError *damage, GError **error)
{
  if (damage == NULL)
    return n;
  rmm->ended = TRUE;
  if (!rmm->options.allow_partial)
    {
      g_propagate_error (error, damage);
      return -1;
    }
  rmm->reader.info.flags |= GEMEM_TRACE_TRUNCATED;
  gemem_trace_info_note (&rmm->reader.info, "partial", "%s", damage->message);
  g_error_free (damage);
  return n;
}

static gssize
rmm_next (GememTraceReader *reader, const GememTraceEvent **events, GError **error)
{
  Rmm *rmm = (Rmm *) reader;
  GError *damage = NULL;
  guint n = 0;

  *events = rmm->batch;
  while (n == 0 && !rmm->ended && damage == NULL)
    {
      const guint8 *data;
      gsize used;
      gssize size = gemem_input_fill (rmm->input, MAX_LINE, &data, NULL);
      if (size < 0) /* damage lies ahead: the bytes before it are read first */
        size = gemem_input_fill (rmm->input, 0, &data, NULL);
      if (!take_lines (rmm, (const char *) data, (gsize) size, &used, &n, &damage))
        break;
      gemem_input_consume (rmm->input, used);
      if (n > 0 || used > 0)
        continue;
      if ((gsize) size >= MAX_LINE)
        fail (rmm, &damage,
              "the next line is longer than %" G_GSIZE_FORMAT " bytes; this is no log of RMM",
              MAX_LINE);
      else if (gemem_input_fill (rmm->input, (gsize) size + 1, &data, &damage) >= 0)
        finish (rmm, (const char *) data, (gsize) size, &damage);
    }
  return give (rmm, n, damage, error);
}

static void
rmm_close (GememTraceReader *reader)
{
  Rmm *rmm = (Rmm *) reader;
  for (guint i = 0; i < MAX_DEVICES; i++)
    if (rmm->live[i] != NULL)
      gemem_idmap_free (rmm->live[i]);
  gemem_trace_info_clear (&reader->info);
  gemem_input_close (rmm->input);
  g_free (rmm);
}

static gboolean
is_header (const char *line, gsize length, const char *wanted)
{
  return length == strlen (wanted) && memcmp (line, wanted, length) == 0;
}

static gboolean
read_header (Rmm *rmm, GError **error)
{
  const char *line;
  gsize length;
  int result = gemem_input_line (rmm->input, MAX_LINE, &line, &length, error);

  if (result < 0)
    return FALSE;
  rmm->line = 1;
  if (result == 0)
    return fail (rmm, error, "the file is empty; name a log of RMM");
  rmm->old = is_header (line, length, old_header);
  if (!rmm->old && !is_header (line, length, header))
    return fail (rmm, error,
                 "the first line is not \"%s\"; this is no log of RMM, or the line was cut off",
                 header);
  return TRUE;
}

/* The device in a file name: 3 for "rmm_log.dev3.csv", 0 without ".dev<k>". */
static guint64
device_from_name (const char *name)
{
  const char *found = g_strrstr (name, ".dev");
  guint64 device;
  const char *end = found != NULL ? scan_decimal (found + 4, &device) : NULL;
  return end != NULL && (*end == '\0' || *end == '.') && device < MAX_DEVICES ? device : 0;
}

static GememTraceReader *
rmm_open (GememInput *input, const GememReadOptions *options, GError **error)
{
  Rmm *rmm = g_new0 (Rmm, 1);

  gemem_input_set_single_pass (input);
  rmm->reader.format = &gemem_format_rmm_csv;
  rmm->reader.next = rmm_next;
  rmm->reader.close = rmm_close;
  rmm->input = input;
  rmm->options = *options;
  rmm->device = device_from_name (gemem_input_name (input));
  gemem_trace_info_init (&rmm->reader.info, "rmm-csv", gemem_input_name (input));
  rmm->reader.info.flags = GEMEM_TRACE_HAS_TIME | GEMEM_TRACE_HAS_ADDRESSES;
  if (read_header (rmm, error))
    return &rmm->reader;
  rmm_close (&rmm->reader);
  return NULL;
}

static int
probe (const guint8 *head, gsize size)
{
  static const char old_start[] = "Event Type,Device ID,Address,";
  if (size >= sizeof header - 1 && memcmp (head, header, sizeof header - 1) == 0)
    return 100;
  return size >= sizeof old_start - 1 && memcmp (head, old_start, sizeof old_start - 1) == 0 ? 100
                                                                                             : 0;
}

const GememTraceFormat gemem_format_rmm_csv = {
  .name = "rmm-csv",
  .aliases = "rmm",
  .extensions = "csv",
  .summary = "log of RMM's logging_resource_adaptor",
  .origin = "peers.md 2.3",
  .assumed =
      "rmm-pool", /* whose requests a log is mostly of; which resource it is, it does not say */
  .probe = probe,
  .open = rmm_open,
};
