/* growth-steps.c - where the steps of a recording begin, and whether they are steps and not layers. */
#include "config.h"

#include <string.h>

#include "sim/search/growth-private.h"
#include "traces/origin.h"

static guint32
count_steps (const GememGrowthPast *past)
{
  return past->begins->len > 0 ? past->begins->len - 1 : 0;
}

/* ---- marks */

/* Whether a phase of that name is a step: "ProfilerStep", "Optimizer.step#AdamW.step". */
static gboolean
names_step (const char *name)
{
  g_autofree char *lower = g_ascii_strdown (name, -1);

  return strstr (lower, "step") != NULL || strstr (lower, "iteration") != NULL;
}

/* The tag of the marks to use: of steps, else of the commonest phases of that name; -1: there are none. */
static gint64
choose_marks (const GememGrowthPast *past)
{
  g_autofree guint32 *counts = g_new0 (guint32, past->info->strings->len + 1);
  gint64 best = -1;

  for (guint i = 0; i < past->marks->len; i++)
    {
      const guint32 tag = g_array_index (past->marks, GememGrowthMark, i).tag;

      if (tag < past->info->strings->len)
        counts[tag]++;
    }
  if (counts[0] > GEMEM_GROWTH_STEPS)
    return 0;
  for (guint32 tag = 1; tag < past->info->strings->len; tag++)
    if (counts[tag] > GEMEM_GROWTH_STEPS && (best < 0 || counts[tag] > counts[best])
        && names_step (past->info->strings->pdata[tag]))
      best = tag;
  return best;
}

/* @trains: they are of an optimizer. */
static gboolean
use_marks (GememGrowthPast *past, gboolean *trains)
{
  const gint64 tag = choose_marks (past);
  guint64 last = G_MAXUINT64;

  for (guint i = 0; tag >= 0 && i < past->marks->len; i++)
    {
      const GememGrowthMark *mark = &g_array_index (past->marks, GememGrowthMark, i);
      const guint n = past->begins->len;

      if (mark->tag != tag || mark->request >= past->end || (tag == 0 && mark->id == last)
          || (n > 0 && g_array_index (past->begins, guint32, n - 1) == mark->request))
        continue; /* of another device */
      last = mark->id;
      g_array_append_val (past->begins, mark->request);
    }
  *trains = tag > 0 && g_str_has_prefix (past->info->strings->pdata[tag], "Optimizer.step#");
  return count_steps (past) >= GEMEM_GROWTH_STEPS;
}

/* ---- what repeats */

/* The stack that asks stands for the request, as it is the same when the size is not.  Nothing is live: what is kept of
 * each step would make it unlike the last. */
static gboolean
use_period (GememGrowthPast *past)
{
  g_autoptr (GememPast) words = gemem_past_new ();
  GememSteps steps;

  for (guint32 i = 0; i < past->end; i++)
    {
      const GememGrowthRequest *request = gemem_growth_request (past, i);
      const GememPastRequest word = {
        .size = request->stack != 0
                    ? gemem_past_mix (1, request->stack)
                    : gemem_past_mix (2, request->size > 0 ? request->size : ~(guint64) i),
        .stream = request->stream,
      };

      g_array_append_val (words->requests, word);
    }
  if (!gemem_steps_find (words, GEMEM_GROWTH_STEPS, &steps) || steps.kind != GEMEM_STEPS_PERIOD)
    return FALSE;
  g_array_unref (past->begins);
  past->begins = gemem_steps_begins (words, &steps);
  return count_steps (past) >= GEMEM_GROWTH_STEPS;
}

/* Nothing repeats evenly where each step does more than the last. */
static gboolean
use_half (GememGrowthPast *past)
{
  const guint32 begin = past->end / 2;

  g_array_append_val (past->begins, begin);
  g_array_append_val (past->begins, past->end);
  return past->end > 0;
}

/* ---- what a step calls */

GArray *
gemem_growth_frames (const GememTraceInfo *info, guint32 stack)
{
  GArray *chosen = g_array_new (FALSE, FALSE, sizeof (guint32));
  guint n = 0;
  const guint32 *frames = stack > 0 ? gemem_call_stacks_get (info->stacks, stack, &n) : NULL;

  while (n-- > 0)
    {
      const GememFrame *frame = gemem_call_stacks_get_frame (info->stacks, frames[n]);

      if (gemem_frame_language (info, frame) == GEMEM_FRAME_PYTHON
          && strstr (gemem_frame_file (info, frame), "site-packages/gemem/") == NULL)
        g_array_append_val (chosen, frames[n]);
    }
  return chosen;
}

static gboolean
is_any_in (const char *text, const char *const *parts)
{
  for (; *parts != NULL; parts++)
    if (strstr (text, *parts) != NULL)
      return TRUE;
  return FALSE;
}

/* Whether a loop in that function, or in what it calls, is of layers, weights or gradients. */
static gboolean
is_within (const GememTraceInfo *info, const GememFrame *frame)
{
  static const char *const files[] = { "torch/nn/",
                                       "torch/optim/",
                                       "torch/autograd/",
                                       "torch/_tensor.py",
                                       "torch/utils/checkpoint.py",
                                       "torch/distributed/",
                                       NULL };
  static const char *const names[] = { "forward", "_forward", "__init__",        "load",
                                       "_load",   "backward", "from_pretrained", NULL };
  const char *name = gemem_frame_name (info, frame);

  for (guint i = 0; names[i] != NULL; i++)
    if (g_str_has_prefix (name, names[i]))
      return TRUE;
  return is_any_in (gemem_frame_file (info, frame), files);
}

static const GememFrame *
frame_at (const GememTraceInfo *info, const GArray *frames, guint i)
{
  return gemem_call_stacks_get_frame (info->stacks, g_array_index (frames, guint32, i));
}

/* ---- the stacks of the steps */

typedef struct
{
  guint32 stack, requests;
  GArray *frames; /* guint32: of Python, the outermost first, one at least */
} Path;

static void
path_clear (gpointer data)
{
  g_array_unref (((Path *) data)->frames);
}

static guint32
first_request (const GememGrowthPast *past)
{
  return g_array_index (past->begins, guint32, 0);
}

static guint32
end_of_steps (const GememGrowthPast *past)
{
  return g_array_index (past->begins, guint32, count_steps (past));
}

/* Path, by stack: those of the requests of the steps. */
static GArray *
find_paths (const GememGrowthPast *past)
{
  const guint32 n = past->info->stacks != NULL ? gemem_call_stacks_count (past->info->stacks) : 0;
  GArray *paths = g_array_new (FALSE, FALSE, sizeof (Path));
  g_autofree guint32 *requests = g_new0 (guint32, (gsize) n + 1);

  g_array_set_clear_func (paths, path_clear);
  for (guint32 i = first_request (past); i < end_of_steps (past); i++)
    requests[gemem_growth_request (past, i)->stack]++;
  for (guint32 stack = 1; stack <= n; stack++)
    if (requests[stack] > 0)
      {
        const Path path = { stack, requests[stack], gemem_growth_frames (past->info, stack) };

        if (path.frames->len > 0)
          g_array_append_val (paths, path);
        else
          g_array_unref (path.frames);
      }
  return paths;
}

static gboolean
same_function (const GememFrame *a, const GememFrame *b)
{
  return a->name == b->name && a->file == b->file;
}

/* Leaves of @paths those of one thread, which begins where most requests do. */
static void
choose_thread (const GememGrowthPast *past, GArray *paths)
{
  g_autoptr (GArray) roots = g_array_new (FALSE, FALSE, sizeof (Path)); /* `frames` unused */
  const GememFrame *chosen;
  guint best = 0;

  for (guint i = 0; i < paths->len; i++)
    {
      const Path *path = &g_array_index (paths, Path, i);
      const GememFrame *root = frame_at (past->info, path->frames, 0);
      guint r = 0;

      while (r < roots->len
             && !same_function (
                 root,
                 frame_at (past->info,
                           g_array_index (paths, Path, g_array_index (roots, Path, r).stack).frames,
                           0)))
        r++;
      if (r == roots->len)
        {
          const Path one = { i, 0, NULL };
          g_array_append_val (roots, one);
        }
      g_array_index (roots, Path, r).requests += path->requests;
    }
  for (guint r = 1; r < roots->len; r++)
    if (g_array_index (roots, Path, r).requests > g_array_index (roots, Path, best).requests)
      best = r;
  if (roots->len == 0)
    return;
  chosen = frame_at (
      past->info, g_array_index (paths, Path, g_array_index (roots, Path, best).stack).frames, 0);
  for (guint i = paths->len; i-- > 0;)
    if (!same_function (chosen, frame_at (past->info, g_array_index (paths, Path, i).frames, 0)))
      g_array_remove_index (paths, i);
}

/* The frames by which all of @paths are reached. */
static void
find_common (GememGrowthPast *past, const GArray *paths)
{
  g_array_set_size (past->common, 0);
  for (guint i = 0; i < paths->len; i++)
    {
      const GArray *frames = g_array_index (paths, Path, i).frames;
      guint n = 0;

      if (i == 0)
        g_array_append_vals (past->common, frames->data, frames->len);
      while (n < past->common->len && n < frames->len
             && g_array_index (past->common, guint32, n) == g_array_index (frames, guint32, n))
        n++;
      g_array_set_size (past->common, n);
    }
}

/* Whether the function in which @paths part, and all that call it, may have the loop of the steps.  Sets `loop`. */
static gboolean
may_loop (GememGrowthPast *past, const GArray *paths)
{
  const guint depth = past->common->len;
  const GememFrame *first = NULL;

  past->loop = depth;
  for (guint i = 0; i < depth; i++)
    if (is_within (past->info, frame_at (past->info, past->common, i)))
      return FALSE;
  for (guint i = 0; i < paths->len; i++)
    {
      const GArray *frames = g_array_index (paths, Path, i).frames;
      const GememFrame *frame = frames->len > depth ? frame_at (past->info, frames, depth) : NULL;

      if (frame == NULL || (first != NULL && !same_function (frame, first)))
        return TRUE; /* a line that calls several functions is in the loop itself */
      first = frame;
    }
  past->loop = depth + 1;
  return first != NULL && !is_within (past->info, first);
}

/* What a path passes through, below what is common. */
typedef enum
{
  CALLS_NOTHING,
  CALLS_MODULE, /* that calls modules itself: a model, and not a layer */
  CALLS_END,    /* what ends a step that trains */
} Calls;

static Calls
calls_of (const GememGrowthPast *past, const Path *path)
{
  guint modules = 0;

  for (guint i = past->common->len; i < path->frames->len; i++)
    {
      const GememFrame *frame = frame_at (past->info, path->frames, i);
      const char *file = gemem_frame_file (past->info, frame);

      if (strstr (file, "torch/_tensor.py") != NULL || strstr (file, "torch/optim/") != NULL)
        return CALLS_END;
      modules += strcmp (gemem_frame_name (past->info, frame), "_call_impl") == 0
                 && strstr (file, "torch/nn/modules/module.py") != NULL;
    }
  return modules > 1 ? CALLS_MODULE : CALLS_NOTHING;
}

/* What nearly every step calls: some may be left out. */
static Calls
each_calls (const GememGrowthPast *past, const GArray *paths)
{
  const guint32 n = past->info->stacks != NULL ? gemem_call_stacks_count (past->info->stacks) : 0,
                steps = count_steps (past), enough = steps - steps / 8;
  g_autofree guint8 *calls = g_new0 (guint8, (gsize) n + 1);
  guint32 modules = 0, ends = 0;

  for (guint i = 0; i < paths->len; i++)
    calls[g_array_index (paths, Path, i).stack] = (guint8) calls_of (
        past, &g_array_index (paths, Path, i));
  for (guint32 s = 0; s < steps; s++)
    {
      guint most = CALLS_NOTHING;

      for (guint32 i = g_array_index (past->begins, guint32, s);
           i < g_array_index (past->begins, guint32, s + 1); i++)
        most = MAX (most, calls[gemem_growth_request (past, i)->stack]);
      modules += most >= CALLS_MODULE;
      ends += most == CALLS_END;
    }
  return ends >= enough ? CALLS_END : modules >= enough ? CALLS_MODULE : CALLS_NOTHING;
}

/* More often than all layers of an accumulation, and most of what is asked for is freed. */
static gboolean
repeats_enough (const GememGrowthPast *past)
{
  const guint32 begin = first_request (past), end = end_of_steps (past);
  guint32 kept = 0;

  for (guint32 i = begin; i < end; i++)
    kept += gemem_growth_request (past, i)->freed >= past->end;
  return count_steps (past) > GEMEM_GROWTH_LAYERS * GEMEM_GROWTH_MICRO && kept <= (end - begin) / 2;
}

/* ---- the lines of the loop */

/* A line of the function in which the paths part. */
typedef struct
{
  guint32 frame, entries;
} Entry;

/* Steps are where the program comes back to one of the lines that call: to the one to which it comes least often. */
static gboolean
use_lines (GememGrowthPast *past, const GArray *paths)
{
  const guint32 n = gemem_call_stacks_count (past->info->stacks), begin = first_request (past);
  g_autofree guint32 *entry_of = g_new0 (guint32, (gsize) n + 1);
  g_autoptr (GArray) entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  const guint depth = past->common->len;
  guint32 last = 0, best = 0;

  for (guint i = 0; i < paths->len; i++)
    {
      const Path *path = &g_array_index (paths, Path, i);
      Entry entry = { 0, 0 };
      guint e = 0;

      if (path->frames->len <= depth)
        continue;
      entry.frame = g_array_index (path->frames, guint32, depth);
      while (e < entries->len && g_array_index (entries, Entry, e).frame != entry.frame)
        e++;
      if (e == entries->len)
        g_array_append_val (entries, entry);
      entry_of[path->stack] = e + 1;
    }
  for (guint32 i = begin; i < past->end; i++)
    {
      const guint32 entry = entry_of[gemem_growth_request (past, i)->stack];

      if (entry != 0 && entry != last)
        g_array_index (entries, Entry, entry - 1).entries++;
      last = entry != 0 ? entry : last;
    }
  for (guint e = 0; e < entries->len; e++)
    {
      const guint32 times = g_array_index (entries, Entry, e).entries;

      if (times > GEMEM_GROWTH_STEPS
          && (best == 0 || times < g_array_index (entries, Entry, best - 1).entries))
        best = e + 1;
    }
  if (best == 0 || entries->len < 2)
    return FALSE;
  g_array_set_size (past->begins, 0);
  last = 0;
  for (guint32 i = begin; i-- > 0 && last == 0;)
    last = entry_of[gemem_growth_request (past, i)
                        ->stack]; /* a first step that was begun is not whole */
  for (guint32 i = begin; i < past->end; i++)
    {
      const guint32 entry = entry_of[gemem_growth_request (past, i)->stack];

      if (entry == best && entry != last)
        g_array_append_val (past->begins, i);
      last = entry != 0 ? entry : last;
    }
  return TRUE;
}

/* ---- together */

gboolean
gemem_growth_find_steps (GememGrowthPast *past, GememGrowthSteps kind)
{
  g_autoptr (GArray) paths = NULL;
  gboolean trains = FALSE, loops;
  Calls calls;

  g_array_set_size (past->begins, 0);
  if (kind != GEMEM_GROWTH_MARKS && (past->info->stacks == NULL) != (kind == GEMEM_GROWTH_PERIOD))
    return FALSE;
  if (kind == GEMEM_GROWTH_MARKS        ? !use_marks (past, &trains)
      : kind == GEMEM_GROWTH_LATER_HALF ? !use_half (past)
                                        : !use_period (past))
    return FALSE;
  past->least = GEMEM_GROWTH_STEPS;
  if (kind == GEMEM_GROWTH_PERIOD)
    return repeats_enough (past);
  paths = find_paths (past);
  choose_thread (past, paths);
  find_common (past, paths);
  loops = may_loop (past, paths);
  if (kind != GEMEM_GROWTH_MARKS && (!loops || !use_lines (past, paths)))
    return FALSE;
  calls = each_calls (past, paths);
  if (!trains && calls != CALLS_END)
    past->least = GEMEM_GROWTH_MICRO + 1;
  return kind == GEMEM_GROWTH_MARKS || calls != CALLS_NOTHING;
}
