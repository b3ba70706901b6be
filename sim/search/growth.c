/* growth.c - see growth.h.
 *
 * One pass collects the requests of the device; the steps are found among them; then each line (a stack, or a size
 * where there is none) is followed through the steps.
 */
#include "config.h"

#include "base/compare.h"
#include "base/idmap.h"
#include "sim/search/growth-private.h"
#include "traces/origin.h"

#define OLDEST 8 /* blocks */
#define YOUNG 2  /* steps that a block may live and be of no concern */
#define AFTER \
  64 /* requests after the last refused one of a program that ends by it, or a sixteenth of all */

/* ---- collecting */

typedef struct
{
  GememGrowthPast *past;
  GememIdMap *live; /* id -> guint64: number of the request */
  int device;
  guint32 refused; /* requests up to the last that was refused, with it */
} Collecting;

static void
add_request (Collecting *collecting, const GememTraceEvent *event, guint64 seq, guint64 size,
             GememAttribution by)
{
  const GememGrowthRequest request = {
    .size = size,
    .block = MAX (size, event->kind == GEMEM_EVENT_ALLOC ? event->aux : 0),
    .stream = event->stream,
    .seq = seq,
    .stack = event->stack,
    .freed = GEMEM_NEVER,
    .initial = (event->flags & GEMEM_EVENT_INITIAL) != 0,
    .by = by,
  };

  g_array_append_val (collecting->past->requests, request);
}

static void
on_alloc (Collecting *collecting, const GememTraceEvent *event, guint64 seq, GememAttribution by)
{
  GememGrowthPast *past = collecting->past;
  guint64 *number;

  if ((event->flags & GEMEM_EVENT_FAILED) != 0)
    {
      add_request (collecting, event, seq, 0, by);
      collecting->refused = past->requests->len;
      return;
    }
  if (event->size == 0)
    return;
  number = gemem_idmap_insert (collecting->live, event->id, NULL);
  *number = past->requests->len;
  add_request (collecting, event, seq, event->size, by);
}

static void
on_event (Collecting *collecting, const GememTraceEvent *event, guint64 seq,
          GememAttributor *attributor)
{
  GememGrowthPast *past = collecting->past;
  const GememGrowthMark mark = { past->requests->len,
                                 event->kind == GEMEM_EVENT_PHASE ? event->tag : 0, event->id };
  GememAttribution by;
  guint64 number;

  if (event->kind == GEMEM_EVENT_STEP)
    g_array_append_val (past->marks, mark);
  if (event->device != collecting->device)
    return;
  by = gemem_attributor_next (attributor, event);
  if (event->kind == GEMEM_EVENT_ALLOC)
    on_alloc (collecting, event, seq, by);
  else if (event->kind == GEMEM_EVENT_OOM)
    {
      add_request (collecting, event, seq, 0, by);
      collecting->refused = past->requests->len;
    }
  else if (event->kind == GEMEM_EVENT_PHASE && event->tag != GEMEM_NO_TAG)
    g_array_append_val (past->marks, mark);
  else if ((event->kind == GEMEM_EVENT_FREE || event->kind == GEMEM_EVENT_FREE_COMPLETED)
           && gemem_idmap_remove (collecting->live, event->id, &number))
    gemem_growth_request (past, (guint32) number)->freed = past->requests->len;
}

/* Whether the oldest blocks that were in use at the last request, the weights, were freed after it. */
static gboolean
gives_oldest_back (const GememGrowthPast *past)
{
  const guint32 n = past->requests->len;
  guint found = 0;

  for (guint32 i = 0; i < n && found < OLDEST; i++)
    {
      const GememGrowthRequest *request = gemem_growth_request (past, i);

      if (request->size > 0 && request->freed == GEMEM_NEVER)
        return FALSE;
      found += request->size > 0 && request->freed == n;
    }
  return found > 0;
}

/* What counts as the end: the refusal by which the program ended, else the last event.  What a program frees as it
 * ends, with what it began with, was in use to the end. */
static void
find_end (Collecting *collecting)
{
  const GememTraceEvent end = { 0 };
  GememGrowthPast *past = collecting->past;
  const guint32 n = past->requests->len, after = n - collecting->refused;

  past->end = n;
  if (collecting->refused > 0 && after <= MAX (AFTER, n / 16))
    past->end = collecting->refused;
  else if (!gives_oldest_back (past))
    {
      add_request (collecting, &end, G_MAXUINT64, 0, (GememAttribution){ 0 });
      past->end = n + 1;
    }
}

static gboolean
collect (GememGrowthPast *past, GememTraceReader *reader, int device)
{
  Collecting collecting = { .past = past,
                            .live = gemem_idmap_new (sizeof (guint64)),
                            .device = device };
  GememAttributor attributor;
  const GememTraceEvent *events;
  guint64 seq = 0;
  gssize n;

  gemem_attributor_init (&attributor, past->info);
  while ((n = gemem_trace_next (reader, &events, NULL)) > 0
         && past->requests->len <= GEMEM_MOST_PAST - n)
    for (gssize i = 0; i < n; i++, seq++)
      on_event (&collecting, &events[i], seq, &attributor);
  gemem_attributor_clear (&attributor);
  gemem_idmap_free (collecting.live);
  find_end (&collecting);
  return n == 0;
}

/* ---- the lines */

/* A stack, or a size and stream, through the steps. */
typedef struct
{
  guint32 first; /* the first whole step that asked there; 0: none */
  guint32 next;  /* all before it kept something */
  gboolean not ; /* a step between kept nothing, or what was old was freed */
  guint32 spare;
} Line;

static guint64
line_of (const GememGrowthRequest *request, gboolean together)
{
  if (together)
    return 0;
  return request->stack != 0 ? gemem_past_mix (1, request->stack)
                             : gemem_past_mix (gemem_past_mix (2, request->size), request->stream);
}

static gboolean
is_kept (const GememGrowthPast *past, const GememGrowthRequest *request)
{
  return request->size > 0 && request->freed >= past->end;
}

static void
number_steps (GememGrowthPast *past)
{
  const guint32 *begins = (const guint32 *) (gpointer) past->begins->data;
  guint32 step = 0;

  for (guint32 i = 0; i < past->end; i++)
    {
      while (step < past->begins->len && begins[step] <= i)
        step++;
      gemem_growth_request (past, i)->step = step;
    }
}

/* Whether @request was freed when it was older than what a step needs. */
static gboolean
was_old (const GememGrowthPast *past, const GememGrowthRequest *request)
{
  return request->freed < past->end
         && gemem_growth_request (past, request->freed)->step > request->step + YOUNG;
}

static void
follow (const GememGrowthPast *past, Line *line, const GememGrowthRequest *request)
{
  if (was_old (past, request))
    line->not = TRUE;
  if (request->step == 0 || request->initial)
    return;
  if (line->first == 0)
    line->first = line->next = request->step;
  if (!is_kept (past, request))
    return;
  line->not |= request->step > line->next;
  line->next = MAX (line->next, request->step + 1);
}

static gboolean
grows (const GememGrowthPast *past, const Line *line)
{
  const guint32 last = past->begins->len - 1;

  return !line->not &&line->first > 0 && line->next > last && line->first <= last
         && last - line->first + 1 >= past->least;
}

/* ---- what they keep */

typedef struct
{
  GememAttribution by;
  guint64 bytes;
  guint32 stack;
  guint32 spare;
} Row;

static char *
name_of (const GememGrowthPast *past, const Row *row)
{
  GString *name = g_string_new (NULL);

  if (past->info->stacks != NULL)
    gemem_attribution_append (name, past->info, &row->by, FALSE, GEMEM_NO_TAG);
  return g_string_free (name, name->len == 0);
}

/* The line of the program that is nearest to where the stacks of the steps part. */
static char *
loop_of (const GememGrowthPast *past, const Row *row)
{
  g_autoptr (GArray) frames = gemem_growth_frames (past->info, row->stack);
  const GememFrame *found = NULL;
  GString *name;

  for (guint i = 0; i < MIN (frames->len, past->loop); i++)
    {
      const guint32 number = g_array_index (frames, guint32, i);
      const GememFrame *frame = gemem_call_stacks_get_frame (past->info->stacks, number);

      if (gemem_frame_is_program (past->info, frame))
        found = frame;
    }
  if (found == NULL)
    return NULL;
  name = g_string_new (NULL);
  gemem_frame_append (name, past->info, found);
  return g_string_free (name, FALSE);
}

/* Adds the line that made most of it. */
static void
name_growth (const GememGrowthPast *past, const GememIdMap *rows, GememGrowth *growth)
{
  const Row *best = NULL;
  guint64 best_key = 0, key;
  gsize position = 0;
  gpointer record;

  while (gemem_idmap_next (rows, &position, &key, &record))
    {
      const Row *row = record;

      if (best == NULL || row->bytes > best->bytes || (row->bytes == best->bytes && key < best_key))
        {
          best = row;
          best_key = key;
        }
    }
  growth->by = name_of (past, best);
  growth->by_bytes = best->bytes;
  growth->from = best->stack != 0 ? loop_of (past, best) : NULL;
  if (g_strcmp0 (growth->from, growth->by) == 0)
    g_clear_pointer (&growth->from, g_free);
}

static void
add_kept (GememGrowthStep *step, GememIdMap *rows, const GememGrowthRequest *request)
{
  gboolean known;
  Row *row = gemem_idmap_insert (rows, gemem_attribution_key (&request->by), &known);

  if (!known)
    *row = (Row){ request->by, 0, request->stack, 0 };
  row->bytes += request->block;
  step->bytes += request->block;
  step->blocks++;
}

/* What @steps, which count for themselves alone, keep: each the half that keep more and less would, where what is made
 * once, in the first, is among it. */
static void
level (GArray *steps)
{
  g_autoptr (GArray) bytes = g_array_new (FALSE, FALSE, sizeof (guint64)),
                     blocks = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (guint i = 0; i < steps->len; i++)
    {
      g_array_append_val (bytes, g_array_index (steps, GememGrowthStep, i).bytes);
      g_array_append_val (blocks, g_array_index (steps, GememGrowthStep, i).blocks);
    }
  g_array_sort (bytes, gemem_compare_uint64);
  g_array_sort (blocks, gemem_compare_uint64);
  for (guint i = 0; i < steps->len; i++)
    {
      g_array_index (steps, GememGrowthStep, i).bytes = g_array_index (bytes, guint64,
                                                                       (steps->len - 1) / 2);
      g_array_index (steps, GememGrowthStep, i).blocks = g_array_index (blocks, guint64,
                                                                        (steps->len - 1) / 2);
    }
}

/* The steps that keep something, each for itself; rows gets the lines that made it. */
static GArray *
gather (const GememGrowthPast *past, const GememIdMap *lines, gboolean together, GememIdMap *rows)
{
  const guint32 n = past->begins->len - 1;
  GArray *steps = g_array_new (FALSE, TRUE, sizeof (GememGrowthStep));
  guint first = 0;

  g_array_set_size (steps, n);
  for (guint32 i = 0; i < past->end; i++)
    {
      const GememGrowthRequest *request = gemem_growth_request (past, i);
      const Line *line = gemem_idmap_lookup (lines, line_of (request, together));

      if (request->step == 0 || request->step > n)
        continue;
      g_array_index (steps, GememGrowthStep, request->step - 1).seq = request->seq + 1;
      if (!request->initial && line != NULL && is_kept (past, request) && grows (past, line))
        add_kept (&g_array_index (steps, GememGrowthStep, request->step - 1), rows, request);
    }
  while (first < n && g_array_index (steps, GememGrowthStep, first).blocks == 0)
    first++;
  g_array_remove_range (steps, 0, first);
  return steps;
}

/* Sums up what the lines that grow keep; NULL: nothing. */
static GememGrowth *
sum_up (const GememGrowthPast *past, const GememIdMap *lines, gboolean together)
{
  GememIdMap *rows = gemem_idmap_new (sizeof (Row));
  GememGrowth *growth = g_new0 (GememGrowth, 1);

  growth->steps = gather (past, lines, together, rows);
  if (together)
    level (growth->steps);
  for (guint i = 0; i < growth->steps->len; i++)
    {
      GememGrowthStep *step = &g_array_index (growth->steps, GememGrowthStep, i);

      step->bytes = growth->bytes += step->bytes;
      step->blocks = growth->blocks += step->blocks;
    }
  if (growth->bytes >= MAX (growth->steps->len, 1))
    {
      growth->step_bytes = growth->bytes / growth->steps->len;
      name_growth (past, rows, growth);
    }
  gemem_idmap_free (rows);
  if (growth->step_bytes > 0)
    return growth;
  gemem_growth_free (growth);
  return NULL;
}

/* By line; where that tells nothing and there are no stacks, all of a step @together, as sizes may differ. */
static GememGrowth *
find_lines (const GememGrowthPast *past, gboolean together)
{
  GememIdMap *lines = gemem_idmap_new (sizeof (Line));
  GememGrowth *growth;

  for (guint32 i = 0; i < past->end; i++)
    {
      const GememGrowthRequest *request = gemem_growth_request (past, i);

      if (request->size > 0 && !(together && (request->initial || request->step == 0)))
        follow (past, gemem_idmap_insert (lines, line_of (request, together), NULL), request);
    }
  growth = sum_up (past, lines, together);
  gemem_idmap_free (lines);
  return growth;
}

static GememGrowth *
find_in (GememGrowthPast *past, GememGrowthSteps kind)
{
  GememGrowth *growth;

  if (!gemem_growth_find_steps (past, kind))
    return NULL;
  number_steps (past);
  growth = find_lines (past, FALSE);
  return growth == NULL && past->info->stacks == NULL ? find_lines (past, TRUE) : growth;
}

GememGrowth *
gemem_growth_find (GememHeld *held, int device)
{
  GememTraceReader *reader = gemem_held_open (held, NULL);
  GememGrowthPast past = { .requests = g_array_new (FALSE, FALSE, sizeof (GememGrowthRequest)),
                           .marks = g_array_new (FALSE, FALSE, sizeof (GememGrowthMark)),
                           .begins = g_array_new (FALSE, FALSE, sizeof (guint32)),
                           .common = g_array_new (FALSE, FALSE, sizeof (guint32)) };
  GememGrowth *growth = NULL;

  if (reader != NULL)
    {
      past.info = gemem_held_info (held);
      if (collect (&past, reader, device) && past.end > 0)
        for (guint kind = 0; kind < GEMEM_GROWTH_KINDS && growth == NULL; kind++)
          growth = find_in (&past, (GememGrowthSteps) kind);
      gemem_trace_close (reader);
    }
  g_array_unref (past.requests);
  g_array_unref (past.marks);
  g_array_unref (past.begins);
  g_array_unref (past.common);
  return growth;
}

void
gemem_growth_free (GememGrowth *growth)
{
  if (growth == NULL)
    return;
  g_array_unref (growth->steps);
  g_free (growth->by);
  g_free (growth->from);
  g_free (growth);
}

guint64
gemem_growth_until (const GememGrowth *growth, guint64 seq, guint *steps)
{
  guint n = 0;

  while (n < growth->steps->len && g_array_index (growth->steps, GememGrowthStep, n).seq <= seq)
    n++;
  *steps = n;
  return n > 0 ? g_array_index (growth->steps, GememGrowthStep, n - 1).bytes : 0;
}
