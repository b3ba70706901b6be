/* log.c - the log of PaddlePaddle's allocators (GLOG_v=10) as a trace: format `paddle-log`.
 *
 * Events delivered:
 *  - auto growth: "Alloc S bytes, ptr = P" and "Free S bytes, ptr = P", with the size that the
 *    thread requested in an earlier line.  If the stream-safe allocator above auto growth logs too,
 *    its lines are the requests, since they name the stream: "Try free" is FREE_REQUESTED, and the
 *    Free of auto growth is FREE_COMPLETED (in a log without Free lines, "Try free" is FREE).
 *  - buddy: after "Allocate N bytes from chunk size S" the thread's next "Left block (P, S)" or
 *    "Allocated P from system allocator" is the block; "Free from address P" frees it.  The address
 *    of the event is the one returned to the caller, P + 64.
 *  - places: "Allocate N bytes on PLACE" tells the device of the thread's next buddy block; in a
 *    log without buddy lines, this line and "pointer=U" are the request.  The lines of buddy and
 *    auto growth name no device: their device is 0, except that buddy blocks belong to the host
 *    where auto growth serves the GPU and a buddy the CPU.
 *  - none, with the reason, where auto growth logs chunks alone (1.8): an error if nothing else
 *    logs, else a note.
 *  - a request without a block: ALLOC and FREE flagged FAILED, unless the thread's next request has
 *    the same size (a retry).
 *  - TRIM for "Release K chunks".  SEGMENT_ALLOC for chunks of auto growth, if all lines name their
 *    address, no chunk is freed (frees do not say which one), and no other allocator logs.
 *
 * Skipped: the lines of the temporary allocator of 1.3-1.5, which caches blocks between the program
 * and the allocator below (the lower allocator logs the blocks it obtains and frees; a reused block
 * never reaches the lower allocator); [cudaMalloc] and [cudaFree], which name no address.
 *
 * Two passes, because the failed requests and the set of logging allocators are known only at the
 * end.  Memory: live blocks, threads with a pending request, and the lines of failed requests.
 * Origin: paddle.md 9.
 */
#include "config.h"

#include "base/error.h"
#include "traces/log-reader.h"
#include "traces/paddle/survey.h"

#define DESCRIPTOR 64 /* bytes of a buddy block before the address returned to the caller */

extern const GememTraceFormat gemem_format_paddle_log;

typedef struct
{
  GememLogReader base;
  PaddleSurvey survey;
  GememIdMap *threads; /* thread -> PaddleThread */
  GememIdMap *blocks;  /* address -> GememLogBlock */
  guint failed;        /* entries of survey.failed consumed so far */
  guint64 damaged;     /* lines skipped as damaged */
} PaddleLog;

static void
forget_idle (GememIdMap *threads, guint64 id, const PaddleThread *thread)
{
  if (thread->asks == PADDLE_ASKS_NOTHING && thread->place == 0 && thread->got == 0)
    gemem_idmap_remove (threads, id, NULL);
}

/* ---- requests */

static gboolean
skip (PaddleLog *log)
{
  return gemem_log_reader_skip (&log->base);
}

static guint16
device_of (const PaddleLog *log, const PaddleThread *thread, gboolean buddy)
{
  if (thread->place > 0)
    return (guint16) (thread->place - 1);
  return buddy && log->survey.growth > 0 ? GEMEM_DEVICE_HOST : 0;
}

static gboolean
take_request (PaddleLog *log, PaddleThread *thread, const PaddleLine *line)
{
  const guint64 number = gemem_input_line_number (log->base.lines.input);
  const gboolean buddy = line->kind == PADDLE_LINE_BUDDY_REQUEST;
  GememLogBlock block = { .size = line->size, .device = device_of (log, thread, buddy) };

  thread->asks = buddy ? PADDLE_ASKS_BUDDY : PADDLE_ASKS_GROWTH;
  thread->size = line->size;
  thread->block = line->block;
  if (log->failed == log->survey.failed->len
      || g_array_index (log->survey.failed, guint64, log->failed) != number)
    return skip (log);
  log->failed++;
  gemem_log_reader_refuse (&log->base, &block, line->time);
  return TRUE;
}

static gboolean
take_block (PaddleLog *log, guint64 key, GememLogBlock *block, guint64 rounded, guint64 time)
{
  GememTraceEvent *event;

  if (key == 0)
    return skip (log);
  event = gemem_log_reader_alloc (&log->base, log->blocks, key, block, time);
  if (event != NULL)
    event->aux = rounded;
  return event != NULL;
}

static gboolean
take_growth_alloc (PaddleLog *log, PaddleThread *thread, const PaddleLine *line)
{
  const gboolean asked = thread->asks == PADDLE_ASKS_GROWTH;
  GememLogBlock block = { .size = asked ? thread->size : line->block, .address = line->address };

  thread->asks = PADDLE_ASKS_NOTHING;
  if (log->survey.streams == 0)
    return take_block (log, line->address, &block, line->block, line->time);
  thread->got = line->address;
  thread->got_size = block.size;
  thread->got_block = line->block;
  return skip (log);
}

static gboolean
take_stream_alloc (PaddleLog *log, PaddleThread *thread, const PaddleLine *line)
{
  const gboolean below = thread->got == line->address;
  GememLogBlock block = { .size = below ? thread->got_size : line->size,
                          .address = line->address,
                          .stream = line->stream };

  thread->got = 0;
  return take_block (log, line->address, &block, below ? thread->got_block : line->size,
                     line->time);
}

static gboolean
take_stream_free (PaddleLog *log, const PaddleLine *line)
{
  GememLogBlock *live = gemem_idmap_lookup (log->blocks, line->address);

  if (log->survey.growth_frees == 0 || live == NULL)
    gemem_log_reader_end (&log->base, log->blocks, line->address, GEMEM_EVENT_FREE, TRUE,
                          line->time);
  else if (live->requested)
    return skip (log);
  else
    {
      live->requested = TRUE;
      gemem_log_reader_add_block (&log->base, GEMEM_EVENT_FREE_REQUESTED, live, line->time);
    }
  return TRUE;
}

static gboolean
take_growth_free (PaddleLog *log, const PaddleLine *line)
{
  const GememLogBlock *live = gemem_idmap_lookup (log->blocks, line->address);
  const GememEventKind kind = live != NULL && live->requested ? GEMEM_EVENT_FREE_COMPLETED
                                                              : GEMEM_EVENT_FREE;

  gemem_log_reader_end (&log->base, log->blocks, line->address, kind, log->survey.streams == 0,
                        line->time);
  return TRUE;
}

static gboolean
take_buddy_alloc (PaddleLog *log, PaddleThread *thread, const PaddleLine *line)
{
  GememLogBlock block = { .size = thread->size,
                          .address = line->address + DESCRIPTOR,
                          .device = device_of (log, thread, TRUE) };
  const guint64 rounded = line->kind == PADDLE_LINE_BUDDY_HUGE ? thread->block : line->block;

  if (thread->asks != PADDLE_ASKS_BUDDY)
    return skip (log); /* the log begins within the lines of a request */
  thread->asks = PADDLE_ASKS_NOTHING;
  thread->place = 0;
  return take_block (log, line->address, &block, rounded, line->time);
}

/* ---- places */

static gboolean
take_place_request (PaddleLog *log, PaddleThread *thread, const PaddleLine *line)
{
  thread->place = 1u + line->device;
  thread->place_size = line->size;
  return skip (log);
}

static gboolean
take_place_alloc (PaddleLog *log, PaddleThread *thread, const PaddleLine *line)
{
  GememLogBlock block = { .size = thread->place_size,
                          .address = line->address,
                          .device = device_of (log, thread, FALSE) };
  const gboolean served = thread->place == 0;

  thread->place = 0;
  return served ? skip (log) : take_block (log, line->address, &block, 0, line->time);
}

/* ---- lines */

static gboolean
take_chunk (PaddleLog *log, const PaddleLine *line)
{
  if (log->survey.hidden > 0)
    return skip (log);
  GememTraceEvent *event = gemem_log_reader_add (&log->base, GEMEM_EVENT_SEGMENT_ALLOC, 0,
                                                 line->time);
  event->address = line->address;
  event->size = line->size;
  return TRUE;
}

static gboolean
take_line (PaddleLog *log, PaddleThread *thread, const PaddleLine *line)
{
  switch (line->kind)
    {
    case PADDLE_LINE_GROWTH_REQUEST:
    case PADDLE_LINE_BUDDY_REQUEST:
      return take_request (log, thread, line);
    case PADDLE_LINE_GROWTH_ALLOC:
      return take_growth_alloc (log, thread, line);
    case PADDLE_LINE_GROWTH_FREE:
      return take_growth_free (log, line);
    case PADDLE_LINE_STREAM_ALLOC:
      return take_stream_alloc (log, thread, line);
    case PADDLE_LINE_STREAM_FREE:
      return take_stream_free (log, line);
    case PADDLE_LINE_BUDDY_ALLOC:
    case PADDLE_LINE_BUDDY_HUGE:
      return take_buddy_alloc (log, thread, line);
    case PADDLE_LINE_BUDDY_FREE:
      gemem_log_reader_end (&log->base, log->blocks, line->address, GEMEM_EVENT_FREE, TRUE,
                            line->time);
      return TRUE;
    case PADDLE_LINE_PLACE_REQUEST:
      return take_place_request (log, thread, line);
    case PADDLE_LINE_PLACE_ALLOC:
      return take_place_alloc (log, thread, line);
    case PADDLE_LINE_PLACE_FREE:
      gemem_log_reader_end (&log->base, log->blocks, line->address, GEMEM_EVENT_FREE,
                            log->survey.buddy == 0, line->time);
      return TRUE;
    case PADDLE_LINE_CHUNK:
      return take_chunk (log, line);
    case PADDLE_LINE_RELEASE:
      gemem_log_reader_add (&log->base, GEMEM_EVENT_TRIM, device_of (log, thread, TRUE),
                            line->time);
      return TRUE;
    case PADDLE_LINE_CHUNK_FREE:
    case PADDLE_LINE_OTHER:
    case PADDLE_LINE_DAMAGED:
    default:
      return skip (log);
    }
}

/* Counts and skips a damaged line, perhaps written by two threads; the next line is unaffected. */
static gboolean
take_damaged (PaddleLog *log, const PaddleLine *line)
{
  GememLineReader *reader = &log->base.lines;

  if (!reader->options.allow_partial)
    return gemem_line_reader_fail (
        reader,
        "the line of Paddle's allocators has no good '%s'; it is cut, or mixed with another; "
        "use --allow-partial to leave such lines out",
        line->field);
  log->damaged++;
  reader->base.info.flags |= GEMEM_TRACE_TRUNCATED;
  return skip (log);
}

static gboolean
log_line (GememLineReader *reader, const char *p, const char *end)
{
  PaddleLog *log = (PaddleLog *) reader;
  PaddleLine line;
  PaddleThread *thread;
  gboolean ok;

  gemem_paddle_line (p, end, &line);
  if (line.kind == PADDLE_LINE_OTHER)
    return TRUE;
  if (line.kind == PADDLE_LINE_DAMAGED)
    return take_damaged (log, &line);
  thread = gemem_idmap_insert (log->threads, line.thread, NULL);
  ok = take_line (log, thread, &line);
  forget_idle (log->threads, line.thread, thread);
  return ok;
}

/* ---- reader */

static gboolean
log_end (GememLineReader *reader)
{
  PaddleLog *log = (PaddleLog *) reader;

  gemem_log_reader_note (&log->base, log->damaged,
                         "lines are cut or mixed with others and left out");
  return gemem_log_reader_finish (reader);
}

static void
log_close (GememTraceReader *base)
{
  PaddleLog *log = (PaddleLog *) base;

  g_array_unref (log->survey.failed);
  gemem_idmap_free (log->threads);
  gemem_idmap_free (log->blocks);
  gemem_log_reader_clear (&log->base);
  g_free (log);
}

/* TRUE if auto growth logs its chunks and none of its allocations. */
static gboolean
lacks_allocations (const PaddleSurvey *survey)
{
  return survey->chunks > 0 && survey->growth + survey->streams == 0;
}

static void
tell (PaddleLog *log)
{
  const PaddleSurvey *survey = &log->survey;
  GememTraceInfo *info = &log->base.lines.base.info;

  info->flags |= GEMEM_TRACE_HAS_ADDRESSES | (survey->timeless ? 0 : GEMEM_TRACE_HAS_TIME);
  if (survey->streams > 0 && survey->growth_frees > 0)
    info->flags |= GEMEM_TRACE_HAS_COMPLETION;
  if (survey->chunks > 0 && survey->hidden == 0)
    info->flags |= GEMEM_TRACE_HAS_SEGMENTS;
  if (lacks_allocations (survey))
    gemem_log_reader_note (&log->base, survey->chunks,
                           "chunks of auto growth are without its allocations, which PaddlePaddle "
                           "1.8 does not log: what it served is not in this trace");
  if (survey->growth > 0)
    info->allocator = g_strdup ("paddle-auto-growth");
  else if (survey->buddy > 0)
    info->allocator = g_strdup ("paddle-buddy");
}

/* FALSE for a log that cannot become a trace, with the reason. */
static gboolean
check_survey (const PaddleSurvey *survey, const char *name, GError **error)
{
  if (survey->known == 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                 "%s:1: the log has no whole line of Paddle's allocators; run again with GLOG_v=10",
                 name);
  else if (lacks_allocations (survey) && survey->buddy + survey->places == 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                 "%s:1: the log has chunks of auto growth and none of its allocations; %s", name,
                 survey->bare_chunks > 0
                     ? "PaddlePaddle 1.8 logs no more, whatever GLOG_v is, so that it cannot be "
                       "imported: use a log of a later version"
                     : "run again with GLOG_v=10");
  else
    return TRUE;
  return FALSE;
}

static GememTraceReader *
log_open (GememInput *input, const GememReadOptions *options, GError **error)
{
  PaddleLog *log = g_new0 (PaddleLog, 1);
  gboolean ok = gemem_paddle_survey_read (&log->survey, input, error);

  gemem_log_reader_init (&log->base, "paddle-log", input, options);
  log->base.timeless = log->survey.timeless;
  log->base.first_time = log->survey.first_time;
  log->base.lines.base.close = log_close;
  log->base.lines.longest = PADDLE_LINE_LONGEST;
  log->base.lines.line = log_line;
  log->base.lines.end = log_end;
  log->threads = gemem_idmap_new (sizeof (PaddleThread));
  log->blocks = gemem_log_blocks_new ();
  if (ok && check_survey (&log->survey, gemem_input_name (input), error))
    {
      tell (log);
      return &log->base.lines.base;
    }
  log_close (&log->base.lines.base);
  return NULL;
}

/* Lines about memory may come after @head; the prefix of glog then decides. */
static int
probe (const guint8 *head, gsize size)
{
  return gemem_paddle_probe (head, size) ? 90 : gemem_paddle_glog (head, size) ? 40 : 0;
}

const GememTraceFormat gemem_format_paddle_log = {
  .name = "paddle-log",
  .extensions = "log|INFO",
  .summary = "log of PaddlePaddle's allocators (GLOG_v=10): auto growth, stream safe, buddy",
  .origin = "paddle.md 9",
  .probe = probe,
  .open = log_open,
};
