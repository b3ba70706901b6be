/* batch-page.c - see batch-page.h.
 *
 * Rows that are looked at: of each trace and device what the program has now, and those that need least
 * and served everything.  Others are in the table alone: a history is a large part of a page.
 */
#include "config.h"

#include "base/compare.h"
#include "sim/cli/batch-known.h"
#include "sim/cli/batch-page.h"
#include "sim/cli/progress.h"
#include "sim/cli/source.h"

#define HISTORIES 4      /* of a page; of long traces (GEMEM_ADVICE_MANY_EVENTS) half as many */
#define RECTANGLES 40000 /* of a history: more cannot be told apart on a screen */
#define PARTS 1000       /* of the series of lines */
#define LINES 10         /* that have one */

/* What a page is made of, while it is. */
typedef struct
{
  const GPtrArray *files;
  GPtrArray *advices; /* GememAdvice or NULL, by file */
  GPtrArray *errors;  /* text or NULL, by file */
  GArray *rows;       /* GememPageRow */
  GArray *row_jobs;   /* gint: index of the job of a row; -1: it is not known */
  GPtrArray *lines;   /* GPtrArray of text, by row that is looked at */
} Making;

/* ---- the answers */

static GememAdvice *
advise (GememSourceFile *file, const char *device, const GememBatchKnown *known, GError **error)
{
  g_autoptr (GArray) ordinals = gemem_source_devices (file, error);
  const GememAdviceQuestion question = {
    .name = file->path,
    .held = file->held,
    .graph = file->graph,
    .device_spec = device,
    .ordinals = ordinals,
    .allow_partial = gemem_source_allow_partial (),
    .interrupted = &gemem_interrupted,
    .runner = gemem_batch_known_runner (known),
  };

  return ordinals != NULL ? gemem_advise (&question, error) : NULL;
}

/* Of the settings in the table the advice knows what they came to. */
static void
take_answers (Making *making, const GArray *jobs, const gboolean *left_out, const char *device)
{
  g_autofree GememResult **kept = g_new0 (GememResult *, jobs->len);
  const GememBatchKnown known = { (const GememJob *) jobs->data, jobs->len, kept, left_out };

  for (guint r = 0; r < making->rows->len; r++)
    {
      const gint job = g_array_index (making->row_jobs, gint, r);

      if (job >= 0)
        kept[job] = g_array_index (making->rows, GememPageRow, r).result;
    }
  for (guint i = 0; i < making->files->len; i++)
    {
      GError *refused = NULL;

      g_ptr_array_add (making->advices, advise (making->files->pdata[i], device, &known, &refused));
      g_ptr_array_add (making->errors, refused != NULL ? g_strdup (refused->message) : NULL);
      g_clear_error (&refused);
    }
  gemem_progress_end ();
}

/* ---- the rows */

static guint
file_of (const Making *making, const GememJob *job)
{
  guint i = 0;

  while (i + 1 < making->files->len && making->files->pdata[i] != job->source_data)
    i++;
  return i;
}

static void
take_rows (Making *making, const GememBatchResults *batch, const GArray *jobs,
           GememResult *const *results)
{
  for (guint r = 0; r < batch->rows->len; r++)
    {
      GememPageRow row = { .result = batch->rows->pdata[r] };
      gint job = (gint) jobs->len - 1;

      while (job >= 0 && results[job] != row.result)
        job--;
      if (job >= 0)
        row.answer = file_of (making, &g_array_index (jobs, GememJob, job));
      g_array_append_val (making->rows, row);
      g_array_append_val (making->row_jobs, job);
    }
}

/* The better row to look at: what the program has now, then what served everything with least. */
static gboolean
is_better (const GememResult *a, const GememResult *b)
{
  const gboolean complete = gemem_result_is_complete (a);

  if (a->as_now != b->as_now)
    return a->as_now;
  if (complete != gemem_result_is_complete (b))
    return complete;
  return a->peak_reserved < b->peak_reserved;
}

static gboolean
can_be_looked_at (const Making *making, const GArray *jobs, guint row, const GArray *chosen)
{
  const gint job = g_array_index (making->row_jobs, gint, row);

  for (guint i = 0; i < chosen->len; i++)
    if (g_array_index (chosen, guint, i) == row)
      return FALSE;
  return job >= 0 && g_array_index (jobs, GememJob, job).n_others == 0;
}

/* The best row of the group of @start that is not among @chosen, G_MAXUINT: none; *@end: of the group. */
static guint
best_of_group (const Making *making, const GArray *jobs, guint start, const GArray *chosen,
               guint *end)
{
  guint best = G_MAXUINT;

#define RESULT(row) g_array_index (making->rows, GememPageRow, row).result
  for (*end = start;
       *end < making->rows->len && gemem_report_same_group (RESULT (start), RESULT (*end)); ++*end)
    if (can_be_looked_at (making, jobs, *end, chosen)
        && (best == G_MAXUINT || is_better (RESULT (*end), RESULT (best))))
      best = *end;
#undef RESULT
  return best;
}

/* The rows that are looked at (guint): the best of each trace and device, in turn. */
static GArray *
choose_rows (const Making *making, const GArray *jobs)
{
  GArray *chosen = g_array_new (FALSE, FALSE, sizeof (guint));
  guint before, end, most = HISTORIES;

  for (guint i = 0; i < making->files->len; i++)
    if (gemem_held_events (((GememSourceFile *) making->files->pdata[i])->held)
        > GEMEM_ADVICE_MANY_EVENTS)
      most = HISTORIES / 2;
  do
    {
      before = chosen->len;
      for (guint start = 0; start < making->rows->len && chosen->len < most; start = end)
        {
          const guint best = best_of_group (making, jobs, start, chosen, &end);
          if (best != G_MAXUINT)
            g_array_append_val (chosen, best);
        }
    }
  while (chosen->len > before);
  return chosen;
}

/* ---- histories */

static GPtrArray *
name_lines (const GememHolders *holders, int device)
{
  const GememDeviceHolders *all = holders != NULL ? gemem_holders_of (holders, device) : NULL;
  GPtrArray *lines = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; all != NULL && i < all->holders->len && lines->len < LINES; i++)
    if (!((GememHolder *) all->holders->pdata[i])->unknown)
      g_ptr_array_add (lines, g_strdup (((GememHolder *) all->holders->pdata[i])->name));
  return lines;
}

/* The lines that hold most at the peak, which @advice (NULL: there is none) has found, or the categories of
 * a trace without stacks. */
static GPtrArray *
find_lines (GememSourceFile *file, const GememAdvice *advice, int device)
{
  const gboolean stacks = gemem_held_info (file->held)->stacks != NULL;
  const GememHoldersOptions options = { .moment = { GEMEM_MOMENT_PEAK, 0 },
                                        .by = stacks ? GEMEM_HOLD_BY_LINE
                                                     : GEMEM_HOLD_BY_CATEGORY };
  GememHolders *holders;
  GPtrArray *lines;

  if (stacks && advice != NULL && advice->holders != NULL)
    return name_lines (advice->holders, device);
  holders = gemem_holders_new (gemem_held_open, file->held, &options, NULL);
  lines = name_lines (holders, device);
  gemem_holders_free (holders);
  return lines;
}

/* Those of @row: found once for all rows of its trace and device. */
static const GPtrArray *
lines_of (Making *making, const GememPageRow *row)
{
  GPtrArray *lines;

  for (guint i = 0; i < making->rows->len; i++)
    {
      const GememPageRow *other = &g_array_index (making->rows, GememPageRow, i);
      if (other->lines != NULL && other->answer == row->answer
          && other->result->device_ordinal == row->result->device_ordinal)
        return other->lines;
    }
  lines = find_lines (making->files->pdata[row->answer], making->advices->pdata[row->answer],
                      row->result->device_ordinal);
  g_ptr_array_add (making->lines, lines);
  return lines;
}

/* The moments that can be opened whole: both peaks, and the failures that are told of. */
static GArray *
moments_of (const GememResult *result)
{
  GArray *moments = g_array_new (FALSE, FALSE, sizeof (guint64));

  g_array_append_val (moments, result->peak_live_seq);
  g_array_append_val (moments, result->peak_reserved_seq);
  for (guint i = 0; i < result->oom->len; i++)
    g_array_append_val (moments, g_array_index (result->oom, GememOom, i).seq);
  g_array_sort (moments, gemem_compare_uint64);
  return moments;
}

/* Replays the rows of @chosen and gives them their histories. */
static void
take_histories (Making *making, const GArray *jobs, const GArray *chosen)
{
  GememJob again[HISTORIES];
  GememHistoryWish wishes[HISTORIES];
  GArray *moments[HISTORIES];
  GememResult *found[HISTORIES];
  GError *errors[HISTORIES];

  for (guint i = 0; i < chosen->len; i++)
    {
      const guint r = g_array_index (chosen, guint, i);
      GememPageRow *row = &g_array_index (making->rows, GememPageRow, r);
      GememSourceFile *file = making->files->pdata[row->answer];

      row->lines = lines_of (making, row);
      moments[i] = moments_of (row->result);
      wishes[i] = (GememHistoryWish){ .most = RECTANGLES,
                                      .events = gemem_held_events (file->held),
                                      .parts = PARTS,
                                      .moments = (const guint64 *) (gconstpointer) moments[i]->data,
                                      .n_moments = moments[i]->len,
                                      .lines = (const char *const *) row->lines->pdata,
                                      .n_lines = row->lines->len };
      again[i] = g_array_index (jobs, GememJob, g_array_index (making->row_jobs, gint, r));
      again[i].timeline_points = 0;
      again[i].keep_map = again[i].keep_idle = again[i].keep_report = again[i].keep_origins =
          again[i].measure = again[i].full_checks = again[i].touch = again[i].find_capacity = FALSE;
      again[i].events_path = again[i].calls_path = again[i].record_path = NULL;
      again[i].repeat = again[i].warm_up = 0;
      again[i].history = &wishes[i];
    }
  gemem_progress_run_jobs ("following blocks", again, chosen->len, 0, gemem_source_path_of_job,
                           found, errors);
  for (guint i = 0; i < chosen->len; i++)
    {
      const guint r = g_array_index (chosen, guint, i);
      if (found[i] != NULL)
        g_array_index (making->rows, GememPageRow, r).result->history = g_steal_pointer (
            &found[i]->history);
      gemem_result_free (found[i]);
      g_clear_error (&errors[i]);
      g_array_unref (moments[i]);
    }
}

/* ---- the page */

static gboolean
write_page (const Making *making, GError **error)
{
  g_autofree GememPageAnswer *answers = g_new0 (GememPageAnswer, making->files->len);
  const GememReportPage page = { .answers = answers,
                                 .n_answers = making->files->len,
                                 .rows = (const GememPageRow *) (gconstpointer) making->rows->data,
                                 .n_rows = making->rows->len };

  for (guint i = 0; i < making->files->len; i++)
    {
      const GememSourceFile *file = making->files->pdata[i];
      answers[i] = (GememPageAnswer){ .path = file->path,
                                      .info = gemem_held_info (file->held),
                                      .advice = making->advices->pdata[i],
                                      .error = making->errors->pdata[i] };
    }
  return gemem_page_write (gemem_outputs.page, &page, error);
}

gboolean
gemem_batch_page_write_nothing (const char *path, const char *reason, GError **error)
{
  const GememPageAnswer answer = { .path = path, .error = reason };
  const GememReportPage page = { .answers = &answer, .n_answers = 1 };

  return gemem_page_write (gemem_outputs.page, &page, error);
}

static void
free_advice (gpointer advice)
{
  gemem_advice_free (advice);
}

gboolean
gemem_batch_page_write (const GememBatchResults *batch, const GPtrArray *files, const GArray *jobs,
                        GememResult *const *results, const gboolean *left_out, const char *device,
                        GError **error)
{
  g_autoptr (GPtrArray) advices = g_ptr_array_new_with_free_func (free_advice);
  g_autoptr (GPtrArray) errors = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) lines = g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref);
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (GememPageRow));
  g_autoptr (GArray) row_jobs = g_array_new (FALSE, FALSE, sizeof (gint));
  g_autoptr (GArray) chosen = NULL;
  Making making = { files, advices, errors, rows, row_jobs, lines };

  take_rows (&making, batch, jobs, results);
  chosen = choose_rows (&making, jobs);
  take_answers (&making, jobs, left_out, device);
  take_histories (&making, jobs, chosen);
  gemem_progress_end ();
  return write_page (&making, error);
}
