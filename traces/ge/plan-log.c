/* plan-log.c - life times from the log of GE's static planner (log.h): format `ge-plan-log`.
 *
 * Events delivered: for each output and workspace that GE placed, ALLOC at the begin of its life
 * time and FREE after its end, of `realsize` bytes on the effective stream; names are tags, the
 * memory type is the pool (0: HBM).  Time is logical: one step is one node; graphs follow one
 * another, and each starts with a PHASE event.  At equal times frees come first, then allocations
 * in the order of the log.
 * Omitted and noted: aliases (isref=1: they share memory that an earlier line placed), entries of 0
 * bytes, further entries for the same output.
 * Offsets are not delivered, because they are offsets in a plan, not addresses.  The totals that GE
 * logs are kept as provenance.
 *
 * Memory: all life times (at most 2^24), because the format is offline.  Origin: ge-static.md 11.2.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/io/fail.h"
#include "base/io/input.h"
#include "traces/ge/log.h"
#include "traces/trace.h"

#define MAX_LINE ((gsize) 1 << 20)
#define MAX_EVENTS (1u << 25)
#define MAX_BYTES (G_GUINT64_CONSTANT (1) << 60)
#define HBM 2

extern const GememTraceFormat gemem_format_ge_plan_log;

/* The events of one graph of the log; its times start at 0 until put_in_order() adds offsets. */
typedef struct
{
  guint32 tag;
  guint64 steps;  /* no life time ends after this step */
  GArray *events; /* GememTraceEvent; FREE with time G_MAXUINT64: at the end */
} Part;

typedef struct
{
  GememTraceReader reader;
  GememInput *input;
  GPtrArray *parts;    /* Part, in the order of the log */
  GHashTable *by_name; /* graph -> Part */
  GHashTable *seen;    /* "GRAPH:NODE:KIND:INDEX" */
  GArray *events;      /* of all graphs, in order */
  gboolean delivered;
  guint64 aliases, empty, repeated;
} PlanLog;

static void
free_part (gpointer data)
{
  Part *part = data;

  g_array_unref (part->events);
  g_free (part);
}

#define fail(log, error, ...) \
  gemem_fail_line (error, gemem_input_name ((log)->input), \
                   MAX (gemem_input_line_number ((log)->input), 1), __VA_ARGS__)

static char *
piece_text (GememGeLogPiece piece)
{
  g_autofree char *raw = g_strndup (piece.text, piece.length);

  return g_utf8_make_valid (raw, -1);
}

/* ---- lines */

static Part *
find_part (PlanLog *log, const char *graph)
{
  Part *part = g_hash_table_lookup (log->by_name, graph);

  if (part == NULL)
    {
      part = g_new0 (Part, 1);
      part->tag = gemem_trace_info_intern (&log->reader.info, graph);
      part->events = g_array_new (FALSE, FALSE, sizeof (GememTraceEvent));
      g_ptr_array_add (log->parts, part);
      g_hash_table_insert (log->by_name, g_strdup (graph), part);
    }
  return part;
}

static void
add_lifetime (PlanLog *log, Part *part, const GememGeLogEntry *entry, const char *name)
{
  GememTraceEvent event = { .kind = GEMEM_EVENT_ALLOC,
                            .time = entry->begin,
                            .size = entry->real_size };

  event.id = g_hash_table_size (log->seen);
  event.tag = gemem_trace_info_intern (&log->reader.info, name);
  event.stream = (guint64) MAX (entry->stream, 0);
  event.pool = entry->memory_type == HBM ? 0 : (guint32) entry->memory_type;
  g_array_append_val (part->events, event);
  event = (GememTraceEvent){ .kind = GEMEM_EVENT_FREE,
                             .id = event.id,
                             .size = event.size,
                             .stream = event.stream,
                             .pool = event.pool };
  event.time = entry->end == G_MAXUINT64 ? G_MAXUINT64 : entry->end + 1;
  g_array_append_val (part->events, event);
  part->steps = MAX (part->steps,
                     1 + MAX (entry->begin, entry->end == G_MAXUINT64 ? 0 : entry->end));
}

static gboolean
take_entry (PlanLog *log, const GememGeLogEntry *entry, GError **error)
{
  g_autofree char *graph = piece_text (entry->graph), *node = piece_text (entry->node),
                  *kind = piece_text (entry->kind);
  g_autofree char *name = g_strdup_printf ("%s:%s %" G_GUINT64_FORMAT, node, kind, entry->index);

  if (entry->begin > G_MAXUINT32 || entry->real_size >= MAX_BYTES
      || entry->memory_type > G_MAXUINT32)
    return fail (log, error,
                 "a life time begins at %" G_GUINT64_FORMAT " or %" G_GUINT64_FORMAT
                 " bytes are placed; no graph has so many",
                 entry->begin, entry->real_size);
  if (entry->end < entry->begin)
    return fail (log, error,
                 "the life time of '%s' ends at %" G_GUINT64_FORMAT
                 ", before it begins at %" G_GUINT64_FORMAT "; fetch the log again",
                 name, entry->end, entry->begin);
  if (2 * g_hash_table_size (log->seen) >= MAX_EVENTS)
    return fail (log, error, "more than %u life times, which must all be held; split the log",
                 MAX_EVENTS / 2);
  log->aliases += entry->reference;
  if (entry->reference)
    return TRUE;
  log->empty += entry->real_size == 0 || entry->size == 0;
  if (entry->real_size == 0 || entry->size == 0)
    return TRUE;
  if (!g_hash_table_add (log->seen, g_strconcat (graph, ":", name, NULL)))
    log->repeated++;
  else
    add_lifetime (log, find_part (log, graph), entry, name);
  return TRUE;
}

static gboolean
read_log (PlanLog *log, GError **error)
{
  const char *line;
  gsize length;
  int result;

  while ((result = gemem_input_line (log->input, MAX_LINE, &line, &length, error)) > 0)
    {
      GememGeLogEntry entry;
      GememGeLogPiece what;
      g_autofree char *text = NULL;

      switch (gemem_ge_log_parse (line, line + length, &entry, &what))
        {
        case GEMEM_GE_LOG_ENTRY:
          if (!take_entry (log, &entry, error))
            return FALSE;
          break;
        case GEMEM_GE_LOG_RESULT:
          text = piece_text (what);
          gemem_trace_info_note (&log->reader.info, "plan", "%s", text);
          break;
        case GEMEM_GE_LOG_DAMAGED:
          return fail (
              log, error,
              "the planner's line has no good '%.*s...]'; it may be cut, fetch the log again",
              (int) what.length, what.text);
        case GEMEM_GE_LOG_OTHER:
        default:
          log->reader.info.skipped++;
        }
    }
  if (result == 0 && log->parts->len == 0 && log->aliases + log->empty == 0)
    return fail (log, error,
                 "the log has no line of GE's planner ('[IMAS]Set ...'); set the log level to INFO "
                 "and compile again");
  return result == 0;
}

/* ---- order */

static int
compare_events (const void *a, const void *b)
{
  const GememTraceEvent *x = a, *y = b;

  if (x->time != y->time)
    return x->time < y->time ? -1 : 1;
  if (x->kind != y->kind)
    return x->kind > y->kind ? -1 : 1; /* FREE before ALLOC */
  return (x->id > y->id) - (x->id < y->id);
}

/* Concatenates the graphs, each sorted by time and started by its phase. */
static void
put_in_order (PlanLog *log)
{
  guint64 start = 0;

  for (guint i = 0; i < log->parts->len; i++)
    {
      const Part *part = g_ptr_array_index (log->parts, i);
      GememTraceEvent phase = { .kind = GEMEM_EVENT_PHASE, .time = start, .tag = part->tag };

      g_array_append_val (log->events, phase);
      for (guint k = 0; k < part->events->len; k++)
        {
          GememTraceEvent *event = &g_array_index (part->events, GememTraceEvent, k);
          event->time = start + MIN (event->time, part->steps);
        }
      qsort (part->events->data, part->events->len, sizeof (GememTraceEvent), compare_events);
      g_array_append_vals (log->events, part->events->data, part->events->len);
      start += part->steps;
    }
}

static void
add_note (PlanLog *log, guint64 n, const char *what)
{
  if (n > 0)
    gemem_trace_info_note (&log->reader.info, "note", "%" G_GUINT64_FORMAT " %s", n, what);
}

/* ---- reader */

static gssize
plan_log_next (GememTraceReader *reader, const GememTraceEvent **events, GError **error)
{
  PlanLog *log = (PlanLog *) reader;
  const gssize n = log->delivered ? 0 : (gssize) log->events->len;
  (void) error;

  log->delivered = TRUE;
  *events = (const GememTraceEvent *) (gconstpointer) log->events->data;
  return n;
}

static void
plan_log_close (GememTraceReader *reader)
{
  PlanLog *log = (PlanLog *) reader;

  gemem_trace_info_clear (&reader->info);
  gemem_input_close (log->input);
  g_ptr_array_unref (log->parts);
  g_hash_table_unref (log->by_name);
  g_hash_table_unref (log->seen);
  g_array_unref (log->events);
  g_free (log);
}

static PlanLog *
plan_log_new (GememInput *input)
{
  PlanLog *log = g_new0 (PlanLog, 1);

  log->reader.format = &gemem_format_ge_plan_log;
  log->reader.next = plan_log_next;
  log->reader.close = plan_log_close;
  log->input = input;
  log->parts = g_ptr_array_new_with_free_func (free_part);
  log->by_name = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  log->seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  log->events = g_array_new (FALSE, FALSE, sizeof (GememTraceEvent));
  gemem_trace_info_init (&log->reader.info, "ge-plan-log", gemem_input_name (input));
  return log;
}

static GememTraceReader *
plan_log_open (GememInput *input, const GememReadOptions *options, GError **error)
{
  PlanLog *log = plan_log_new (input);
  GememTraceInfo *info = &log->reader.info;
  g_autoptr (GError) damage = NULL;

  gemem_input_set_single_pass (input);
  if (!read_log (log, &damage))
    {
      if (!options->allow_partial || log->parts->len == 0)
        {
          g_propagate_error (error, g_steal_pointer (&damage));
          plan_log_close (&log->reader);
          return NULL;
        }
      info->flags |= GEMEM_TRACE_TRUNCATED;
      gemem_trace_info_note (info, "partial", "%s", damage->message);
    }
  put_in_order (log);
  gemem_trace_info_note (info, "time",
                         "logical, one step is one node of a graph; graphs follow one another");
  add_note (log, log->aliases, "entries share the memory of others and are left out");
  add_note (log, log->empty, "entries have no bytes and are left out");
  add_note (log, log->repeated, "entries for an output that has one already are left out");
  info->flags |= GEMEM_TRACE_HAS_TIME;
  info->events = log->events->len;
  return &log->reader;
}

static int
probe (const guint8 *head, gsize size)
{
  return gemem_ge_log_probe (head, size) ? 90 : 0;
}

const GememTraceFormat gemem_format_ge_plan_log = {
  .name = "ge-plan-log",
  .assumed = "ge",
  .extensions = "log",
  .summary = "life times in the log of GE's static planner",
  .origin = "ge-static.md 11.2",
  .probe = probe,
  .open = plan_log_open,
};
