/* share.c - see share.h. */
#include "config.h"

#include "base/error.h"
#include "sim/cli/share.h"

#define RUNS_MAX 10000

static gboolean share_device;
static char *share_order;

const GOptionEntry gemem_share_entries[] = {
  { "share-device", 0, 0, G_OPTION_ARG_NONE, &share_device,
    "All traces run at once on one device, each through an allocator of its own, as colocated "
    "training and serving do",
    NULL },
  { "share-order", 0, 0, G_OPTION_ARG_STRING, &share_order,
    "How their events follow one another: by their times (default where all traces have times), "
    "evenly, so that all begin and end together (default elsewhere), or one of each in turn",
    "time|evenly|turns" },
  { NULL }
};

static const char *const orders[] = {
  [GEMEM_SHARE_TIME] = "time", [GEMEM_SHARE_EVENLY] = "evenly", [GEMEM_SHARE_TURNS] = "turns"
};

static GememShareOrder
order (void)
{
  for (guint i = GEMEM_SHARE_TIME; i < G_N_ELEMENTS (orders); i++)
    if (g_strcmp0 (share_order, orders[i]) == 0)
      return (GememShareOrder) i;
  return GEMEM_SHARE_DEFAULT;
}

gboolean
gemem_share_wanted (void)
{
  return share_device;
}

gboolean
gemem_share_check_options (guint n, GError **error)
{
  if (share_order != NULL && order () == GEMEM_SHARE_DEFAULT)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "--share-order=%s: unknown order; choose time, evenly or turns", share_order);
  else if (share_order != NULL && !share_device)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "--share-order=%s: nothing is shared; add --share-device", share_order);
  else if (share_device && n < 2)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "--share-device: one trace has nothing to share its device with; give two or more "
                 "traces");
  else
    return TRUE;
  return FALSE;
}

/* ---- runs */

static void
share_run_free (gpointer data)
{
  GememShareRun *run = data;

  g_free (run->files);
  g_free (run->specs);
  g_free (run->others);
  g_free (run);
}

/* Run @number of those that @lists allow; the last program varies fastest. */
static GememShareRun *
new_run (const GPtrArray *files, const GPtrArray *lists, gboolean alike, const int *ordinals,
         guint64 number)
{
  GememShareRun *run = g_new (GememShareRun, 1);

  run->n = files->len;
  run->files = g_new (GememSourceFile *, run->n);
  run->specs = g_new (GememAllocatorSpec *, run->n);
  run->others = g_new (GememSharer, run->n - 1);
  for (guint i = run->n; i-- > 0;)
    {
      const GPtrArray *list = lists->pdata[i];
      run->files[i] = files->pdata[i];
      run->specs[i] = list->pdata[number % list->len];
      number = alike ? number : number / list->len;
      if (i > 0)
        run->others[i - 1] = (GememSharer){ .allocator = run->specs[i],
                                            .device_ordinal = ordinals[i],
                                            .source = gemem_source_file_open,
                                            .source_data = run->files[i],
                                            .graph = run->files[i]->graph };
    }
  return run;
}

GPtrArray *
gemem_share_runs (const GPtrArray *files, const GPtrArray *lists, gboolean alike,
                  const int *ordinals, GError **error)
{
  guint64 n = 1;
  GPtrArray *runs;

  for (guint i = 0; i < (alike ? 1 : lists->len) && n <= RUNS_MAX; i++)
    n *= ((const GPtrArray *) lists->pdata[i])->len;
  if (n > RUNS_MAX)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "--share-device: the allocators allow more than %d combinations; give fewer -a",
                   RUNS_MAX);
      return NULL;
    }
  runs = g_ptr_array_new_with_free_func (share_run_free);
  for (guint64 number = 0; number < n; number++)
    g_ptr_array_add (runs, new_run (files, lists, alike, ordinals, number));
  return runs;
}

void
gemem_share_set (GememJob *job, const GememShareRun *run)
{
  job->others = run->others;
  job->n_others = run->n - 1;
  job->share_order = order ();
}

/* ---- names */

static void
append_joined (GString *names, const char *name)
{
  g_string_append_printf (names, "%s%s", names->len > 0 ? " + " : "", name);
}

char *
gemem_share_trace_name (const GememJob *job)
{
  GString *names = g_string_new (NULL);

  for (guint i = 0; i <= job->n_others; i++)
    {
      g_autofree char *path = gemem_source_file_name (i == 0 ? job->source_data
                                                             : job->others[i - 1].source_data);
      g_autofree char *name = g_path_get_basename (path);
      append_joined (names, name);
    }
  return g_string_free (names, FALSE);
}

char *
gemem_share_label (const GememJob *job)
{
  GString *labels = g_string_new (job->allocator->label);

  for (guint i = 0; i < job->n_others; i++)
    append_joined (labels, job->others[i].allocator->label);
  return g_string_free (labels, FALSE);
}

GPtrArray *
gemem_share_each (const GPtrArray *results)
{
  GPtrArray *each = g_ptr_array_new ();

  for (guint i = 0; i < results->len; i++)
    {
      const GememResult *result = results->pdata[i];
      for (guint p = 0; result->programs != NULL && p < result->programs->len; p++)
        g_ptr_array_add (each, result->programs->pdata[p]);
      if (result->programs == NULL)
        g_ptr_array_add (each, results->pdata[i]);
    }
  return each;
}
