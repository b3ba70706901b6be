/* runtime-log.c - the log of GE's run time as a trace: format `ge-runtime-log`.
 *
 * Events delivered:
 *  - requests, from a single kind of line, the most informative in the log (GeSource), and from the
 *    uppermost pools only (runtime-survey.h), because the same block is logged at every level.
 *    GE has one pool per stream, so the number of the pool on its device is the stream of the
 *    request.  With the kernel trace the stream is that of the log plus 2^32 for each earlier
 *    process on the device; with other sources it is the number of the process on its device.
 *  - in the kernel trace a block lives until its own stream recycles it, or a borrowing stream
 *    keeps it: Free is STREAM_FREE, wandering is USE_ON_STREAM, events sent and waited for are
 *    EVENT_RECORD and EVENT_WAIT.  In a log without a Recycle line, Free ends a block.
 *  - a request that failed after all retries: ALLOC flagged FAILED where the ladder began, and its
 *    FREE.
 *  - SEGMENT_ALLOC, SEGMENT_FREE: driver calls of the bottom pool; SEGMENT_MAP: pages mapped.
 *  - GRAPH_LOAD with its segments, if the log lists the memory of a static graph; GRAPH_UNLOAD
 *    before another load of the same graph.
 * Everything else is counted in `skipped`: lines of other sources and of lower pools, static
 * memory, transfers between pools.
 *
 * A line without a device belongs to the first device that its process names, else 0.  Two passes.
 * Memory: the live blocks and the survey.  Cost: tests/bench/bench-readers.c.  Origin:
 * ge-runtime.md 10.
 */
#include "config.h"

#include "traces/ge/runtime-private.h"

extern const GememTraceFormat gemem_format_ge_runtime_log;

/* ---- events */

static gboolean
skip (GeLog *log)
{
  return gemem_log_reader_skip (&log->base);
}

/* Returns the map of the live blocks of the process on the device. */
static GememIdMap *
space_of (GeLog *log, const GePlace *place)
{
  gboolean existed;
  guint64 *index = gemem_idmap_insert (log->space_index,
                                       (guint64) place->index << 16 | place->device, &existed);

  if (!existed)
    {
      *index = log->spaces->len;
      g_ptr_array_add (log->spaces, gemem_log_blocks_new ());
    }
  return g_ptr_array_index (log->spaces, *index);
}

static guint64
stream_of (const GePlace *place, gint64 stream)
{
  return (guint64) place->process->number << 32 | (guint64) MAX (stream, 0);
}

static guint32
kernel_tag (GeLog *log, const GeLine *line)
{
  if (line->length == 0)
    return GEMEM_NO_TAG;
  g_string_truncate (log->scratch, 0);
  g_string_append_len (log->scratch, line->text, (gssize) line->length);
  if (g_utf8_validate (log->scratch->str, (gssize) log->scratch->len, NULL))
    return gemem_trace_info_intern (&log->base.lines.base.info, log->scratch->str);
  g_autofree char *valid = g_utf8_make_valid (log->scratch->str, (gssize) log->scratch->len);
  return gemem_trace_info_intern (&log->base.lines.base.info, valid);
}

static gboolean
take_alloc (GeLog *log, const GePlace *place)
{
  const GeLine *line = place->line;
  GememLogBlock block = {
    .size = line->size, .stream = place->stream, .address = line->address, .device = place->device
  };
  GememTraceEvent *event;

  if (line->address == 0)
    return skip (log); /* a request of 0 bytes returns a null block */
  if (line->source == GE_SOURCE_CALLER)
    block.address = 0; /* the line names a host object, no device address */
  event = gemem_log_reader_alloc (&log->base, space_of (log, place), line->address, &block,
                                  line->time);
  if (event == NULL)
    return FALSE;
  event->aux = line->block;
  event->tag = line->source == GE_SOURCE_KERNEL ? kernel_tag (log, line) : GEMEM_NO_TAG;
  return TRUE;
}

/* @expected: the line ends a block; otherwise a missing block is not counted. */
static gboolean
take_end (GeLog *log, const GePlace *place, gboolean expected)
{
  const guint64 address = place->line->address;

  gemem_log_reader_end (&log->base, space_of (log, place), address, GEMEM_EVENT_FREE,
                        expected && address != 0, place->line->time);
  return TRUE;
}

/* ---- kernel trace */

static gboolean
take_use (GeLog *log, const GePlace *place, GememEventKind kind)
{
  const GememLogBlock *live = gemem_idmap_lookup (space_of (log, place), place->line->address);

  if (live == NULL)
    {
      log->base.unknown += kind == GEMEM_EVENT_STREAM_FREE && place->line->address != 0;
      return skip (log);
    }
  GememTraceEvent *event = gemem_log_reader_add_block (&log->base, kind, live, place->line->time);
  event->size = 0;
  if (place->line->stream != GE_NO_STREAM)
    event->stream = stream_of (place, place->line->stream);
  return TRUE;
}

static gboolean
take_event (GeLog *log, const GePlace *place)
{
  const gboolean sent = place->line->kind == GE_LINE_EVENT_SENT;
  const guint64 key = (guint64) place->index << 32 | place->line->event;

  if (sent)
    gemem_idmap_insert (log->sent, key, NULL);
  else if (gemem_idmap_lookup (log->sent, key) == NULL)
    return skip (log);
  const GememEventKind kind = sent ? GEMEM_EVENT_EVENT_RECORD : GEMEM_EVENT_EVENT_WAIT;
  GememTraceEvent *event = gemem_log_reader_add (&log->base, kind, place->device,
                                                 place->line->time);
  event->id = stream_of (place, (gint64) place->line->event);
  event->stream = stream_of (place, place->line->stream);
  return TRUE;
}

static gboolean
take_kernel_line (GeLog *log, const GePlace *place)
{
  if (log->survey.source != GE_SOURCE_KERNEL)
    return skip (log);
  switch ((int) place->line->kind)
    {
    case GE_LINE_WANDER:
      return take_use (log, place, GEMEM_EVENT_USE_ON_STREAM);
    case GE_LINE_RECYCLE: /* of a borrowed block: it ended at BORROW_RECYCLE */
    case GE_LINE_BORROW_RECYCLE:
      return take_end (log, place, FALSE);
    default:
      return take_event (log, place);
    }
}

/* ---- the rest */

/* Takes a line of a source other than that of the requests. */
static gboolean
take_segment (GeLog *log, const GePlace *place)
{
  const GeLine *line = place->line;
  const GememEventKind kind = line->kind == GE_LINE_ALLOC ? GEMEM_EVENT_SEGMENT_ALLOC
                                                          : GEMEM_EVENT_SEGMENT_FREE;
  GememTraceEvent *event;

  if (line->source != GE_SOURCE_DRIVER || line->address == 0
      || (line->kind == GE_LINE_ALLOC && line->size == place->process->page))
    return skip (log); /* a physical page has no address; its mapping has one */
  event = gemem_log_reader_add (&log->base, kind, place->device, line->time);
  event->address = line->address;
  event->size = line->size;
  return TRUE;
}

static gboolean
take_map (GeLog *log, const GePlace *place)
{
  if (place->process->page == 0 || place->line->address == 0)
    return skip (log);
  GememTraceEvent *event = gemem_log_reader_add (&log->base, GEMEM_EVENT_SEGMENT_MAP, place->device,
                                                 place->line->time);
  event->address = place->line->address;
  event->size = place->process->page;
  return TRUE;
}

static gboolean
take_refusal (GeLog *log, const GePlace *place)
{
  const GeLogPool *pool = gemem_ge_survey_refused (&log->survey, place->line, place->index);
  const gboolean failed = log->survey.refusals->data[log->refusals++] != 0;

  log->sizeless += pool == NULL;
  if (!failed || pool->below || log->survey.source != GE_SOURCE_POOL)
    return skip (log);
  GememLogBlock block = { .size = pool->asked, .stream = pool->number, .device = pool->device };
  gemem_log_reader_refuse (&log->base, &block, place->line->time);
  return TRUE;
}

static gboolean
take_request (GeLog *log, const GePlace *place)
{
  GeLogPool *pool = gemem_ge_survey_pool (&log->survey, place->line, place->index);

  pool->asked = place->line->size;
  g_array_index (log->survey.processes, GeProcess, place->index).asked =
      1 + (guint) (pool - &g_array_index (log->survey.pools, GeLogPool, 0));
  return skip (log);
}

/* ALLOC and FREE of the source of requests. */
static gboolean
take_block (GeLog *log, GePlace *place)
{
  const GeLine *line = place->line;
  gboolean below = FALSE;

  if (line->source == GE_SOURCE_POOL)
    {
      const GeLogPool *pool = gemem_ge_survey_pool (&log->survey, line, place->index);
      place->device = pool->device;
      place->stream = pool->number;
      below = pool->below;
    }
  else if (line->source == GE_SOURCE_KERNEL)
    place->stream = stream_of (place, line->stream);
  else
    place->stream = place->process->number;
  if (line->kind == GE_LINE_ALLOC)
    return below ? skip (log) : take_alloc (log, place);
  if (line->source == GE_SOURCE_KERNEL && log->survey.recycles > 0)
    return take_use (log, place, GEMEM_EVENT_STREAM_FREE);
  /* a free in a lower pool ends any block left at that address, uncounted if there is none */
  return take_end (log, place, !below);
}

static gboolean
log_line (GememLineReader *reader, const char *p, const char *end)
{
  GeLog *log = (GeLog *) reader;
  GeLine line;
  GePlace place = { .line = &line };

  gemem_ge_runtime_line (p, end, &line);
  if (line.kind == GE_LINE_OTHER)
    return TRUE;
  if (line.kind == GE_LINE_DAMAGED)
    return gemem_line_reader_fail (
        reader, "the line of GE's memory has no good '%.*s'; it may be cut, fetch the log again",
        (int) line.length, line.text);
  place.process = gemem_ge_survey_process (&log->survey, &line, &place.index);
  place.device = line.device != GE_DEVICE_UNKNOWN ? line.device : place.process->device;
  switch (line.kind)
    {
    case GE_LINE_ALLOC:
    case GE_LINE_FREE:
      return line.source == log->survey.source ? take_block (log, &place)
                                               : take_segment (log, &place);
    case GE_LINE_REQUEST:
      return take_request (log, &place);
    case GE_LINE_REFUSED:
      return take_refusal (log, &place);
    case GE_LINE_RECYCLE:
    case GE_LINE_BORROW_RECYCLE:
    case GE_LINE_WANDER:
    case GE_LINE_EVENT_SENT:
    case GE_LINE_EVENT_WAITED:
      return take_kernel_line (log, &place);
    case GE_LINE_MAP:
      return take_map (log, &place);
    case GE_LINE_LOGICAL:
      return gemem_ge_runtime_logical (log, &place);
    case GE_LINE_GRAPH:
      return gemem_ge_runtime_graph (log, &place);
    case GE_LINE_PHYSICAL:
    case GE_LINE_TOTAL:
    case GE_LINE_POLICY:
    case GE_LINE_UNUSED:
    case GE_LINE_OTHER:
    case GE_LINE_DAMAGED:
    default:
      return skip (log);
    }
}

/* ---- reader */

static gboolean
log_end (GememLineReader *reader)
{
  GeLog *log = (GeLog *) reader;

  gemem_log_reader_note (&log->base, log->sizeless,
                         "refused requests are left out: their size is not told");
  return gemem_log_reader_finish (reader);
}

static void
log_close (GememTraceReader *base)
{
  GeLog *log = (GeLog *) base;

  for (guint i = 0; log->listings != NULL && i < log->survey.processes->len; i++)
    if (log->listings[i].segments != NULL)
      g_array_unref (log->listings[i].segments);
  g_free (log->listings);
  gemem_ge_survey_clear (&log->survey);
  g_clear_pointer (&log->spaces, g_ptr_array_unref);
  gemem_idmap_free (log->space_index);
  gemem_idmap_free (log->graphs);
  gemem_idmap_free (log->sent);
  g_string_free (log->scratch, TRUE);
  gemem_log_reader_clear (&log->base);
  g_free (log);
}

static void
tell (GeLog *log)
{
  static const char *const sources[GE_SOURCE_COUNT] = { "pools", "kernel trace", "profiler",
                                                        "calls of the bottom pool",
                                                        "calls of the driver" };
  const GeSurvey *survey = &log->survey;
  GememTraceInfo *info = &log->base.lines.base.info;
  guint below = 0;

  for (guint i = 0; i < survey->pools->len; i++)
    below += g_array_index (survey->pools, GeLogPool, i).below;
  gemem_trace_info_note (info, "source", "%s of %u process%s", sources[survey->source],
                         survey->processes->len, survey->processes->len == 1 ? "" : "es");
  if (survey->source == GE_SOURCE_POOL)
    gemem_trace_info_note (info, "pools",
                           "%u, and %u below them whose blocks are not counted again",
                           survey->pools->len - below, below);
  if (survey->policy != NULL)
    gemem_trace_info_note (info, "static memory policy", "%s", survey->policy);
  info->flags |= survey->timeless ? 0 : GEMEM_TRACE_HAS_TIME;
  info->flags |= survey->source != GE_SOURCE_CALLER ? GEMEM_TRACE_HAS_ADDRESSES : 0;
  if (survey->source != GE_SOURCE_DRIVER && (survey->lines[GE_SOURCE_DRIVER] > 0 || survey->pages))
    info->flags |= GEMEM_TRACE_HAS_SEGMENTS;
  if (survey->source == GE_SOURCE_POOL)
    info->allocator = g_strdup (survey->pages ? "ge-expandable" : "ge-scalable");
  if (survey->total > 0)
    {
      info->settings = info->allocator != NULL
                           ? g_strdup_printf ("total=%" G_GUINT64_FORMAT, survey->total)
                           : NULL;
      info->device = g_strdup_printf ("capacity=%" G_GUINT64_FORMAT, survey->total);
    }
}

static GememTraceReader *
log_open (GememInput *input, const GememReadOptions *options, GError **error)
{
  GeLog *log = g_new0 (GeLog, 1);
  GememLineReader *reader = &log->base.lines;
  gboolean ok = gemem_ge_survey_read (&log->survey, input, error);

  gemem_log_reader_init (&log->base, "ge-runtime-log", input, options);
  log->base.timeless = log->survey.timeless;
  log->base.first_time = log->survey.first_time;
  reader->base.close = log_close;
  reader->longest = GE_LINE_LONGEST;
  reader->line = log_line;
  reader->end = log_end;
  log->scratch = g_string_new (NULL);
  if (ok && log->survey.known == 0)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s:1: the log has no whole line of GE's run-time memory; set the log level to "
                   "INFO and run again, read what the planner logged with "
                   "--trace-format=ge-plan-log, or error lines with 'gemem-sim explain'",
                   gemem_input_name (input));
      ok = FALSE;
    }
  if (!ok)
    {
      log_close (&reader->base);
      return NULL;
    }
  log->spaces = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_idmap_free);
  log->space_index = gemem_idmap_new (sizeof (guint64));
  log->listings = g_new0 (GeListing, log->survey.processes->len);
  log->graphs = gemem_idmap_new (sizeof (guint64));
  log->sent = gemem_idmap_new (0);
  tell (log);
  return &reader->base;
}

/* TRUE if [p, end) begins with the prefix of slog: "[INFO] GE(123". */
static gboolean
is_slog (const char *p, const char *end)
{
  if (p == end || *p++ != '[')
    return FALSE;
  while (p < end && g_ascii_isupper (*p))
    p++;
  if (end - p < 2 || p[0] != ']' || p[1] != ' ')
    return FALSE;
  for (p += 2; p < end && (g_ascii_isalnum (*p) || *p == '_');)
    p++;
  return end - p > 1 && p[0] == '(' && g_ascii_isdigit (p[1]);
}

/* A log may hold lines of GE's planner too; format `ge-plan-log` takes precedence then, as its
 * lines tell more.  Lines about memory may come after @head. */
static int
probe (const guint8 *head, gsize size)
{
  const char *p = (const char *) head;

  if (g_strstr_len (p, (gssize) size, "[IMAS]Set ") != NULL)
    return 0;
  return gemem_ge_runtime_probe (head, size) ? 95 : is_slog (p, p + size) ? 60 : 0;
}

const GememTraceFormat gemem_format_ge_runtime_log = {
  .name = "ge-runtime-log",
  .assumed = "ge",
  .aliases = "ge-log",
  .extensions = "log",
  .summary = "memory lines in the log of GE's run time: pools, kernel trace, driver",
  .origin = "ge-runtime.md 10",
  .probe = probe,
  .open = log_open,
};
