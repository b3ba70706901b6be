/* intervals.c - see intervals.h.
 *
 * The intervals of each thread are kept in one list for each kind, because the profiler writes these
 * in order of time; a list out of order is sorted.  The lists are merged while time advances, and the
 * open intervals are a stack.
 * Origin: peers.md 2.2.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "traces/kineto/intervals.h"

#define MAX_INTERVALS ((guint64) 1 << 26)
#define MAX_FRAMES 1024 /* of a stack, the innermost */
#define STEP "ProfilerStep#"
#define GRADIENTS "autograd::engine::evaluate_function"
#define WAITS_FOR_GRADIENTS "run_backward"

typedef struct
{
  gint64 begin, end;
  guint32 name, call; /* index of a name; of the place of the call, 0: unknown */
} Interval;

G_STATIC_ASSERT (sizeof (Interval) == 24);

/* A name of intervals, or a place; strings of `info` are made when the name is first used. */
typedef struct
{
  const char *text;
  guint32 name, file, line; /* of the frame */
  guint32 frame;            /* of a call stack; 0: not made yet */
  gboolean made, gradients, waits;
} Name;

typedef struct
{
  gint64 end;
  guint32 name, call;
  GememKinetoKind kind;
} Open;

typedef struct
{
  GArray *lists[GEMEM_KINETO_KINDS]; /* Interval */
  guint next[GEMEM_KINETO_KINDS];
  GArray *open;   /* Open, outermost first */
  gboolean known; /* `stack` is that of the open intervals */
  guint32 stack;
} Thread;

struct _GememKinetoIntervals
{
  GememTraceInfo *info;
  GememIdMap *numbers; /* mixed pid and tid -> number of the thread */
  GArray *threads;     /* Thread */
  GHashTable *index;   /* text -> index of `names` */
  GArray *names;       /* Name; [0] stands for none */
  GArray *phases;      /* GememKinetoPhase */
  GArray *frames;      /* guint32: of the stack being made */
  guint64 count, left_out;
};

GememKinetoIntervals *
gemem_kineto_intervals_new (GememTraceInfo *info)
{
  GememKinetoIntervals *intervals = g_new0 (GememKinetoIntervals, 1);

  intervals->info = info;
  intervals->numbers = gemem_idmap_new (sizeof (guint64));
  intervals->threads = g_array_new (FALSE, TRUE, sizeof (Thread));
  intervals->index = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  intervals->names = g_array_new (FALSE, TRUE, sizeof (Name));
  g_array_set_size (intervals->names, 1);
  intervals->phases = g_array_new (FALSE, FALSE, sizeof (GememKinetoPhase));
  intervals->frames = g_array_new (FALSE, FALSE, sizeof (guint32));
  return intervals;
}

void
gemem_kineto_intervals_free (GememKinetoIntervals *intervals)
{
  if (intervals == NULL)
    return;
  for (guint i = 0; i < intervals->threads->len; i++)
    {
      Thread *thread = &g_array_index (intervals->threads, Thread, i);
      for (guint kind = 1; kind < GEMEM_KINETO_KINDS; kind++)
        g_array_unref (thread->lists[kind]);
      g_array_unref (thread->open);
    }
  g_array_unref (intervals->threads);
  gemem_idmap_free (intervals->numbers);
  g_hash_table_unref (intervals->index);
  g_array_unref (intervals->names);
  g_array_unref (intervals->phases);
  g_array_unref (intervals->frames);
  g_free (intervals);
}

/* ---- adding */

GememKinetoKind
gemem_kineto_kind (const char *cat)
{
  return strcmp (cat, "cpu_op") == 0            ? GEMEM_KINETO_OPERATOR
         : strcmp (cat, "python_function") == 0 ? GEMEM_KINETO_PYTHON
         : strcmp (cat, "user_annotation") == 0 ? GEMEM_KINETO_ANNOTATION
                                                : GEMEM_KINETO_OTHER;
}

guint32
gemem_kineto_intervals_thread (GememKinetoIntervals *intervals, gint64 pid, gint64 tid)
{
  gboolean existed;
  guint64 *number = gemem_idmap_insert (
      intervals->numbers, (guint64) pid * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15) + (guint64) tid,
      &existed);

  if (existed)
    return (guint32) *number;
  g_array_set_size (intervals->threads, intervals->threads->len + 1);
  Thread *thread = &g_array_index (intervals->threads, Thread, intervals->threads->len - 1);
  for (guint kind = 1; kind < GEMEM_KINETO_KINDS; kind++)
    thread->lists[kind] = g_array_new (FALSE, FALSE, sizeof (Interval));
  thread->open = g_array_new (FALSE, FALSE, sizeof (Open));
  *number = intervals->threads->len;
  return (guint32) *number;
}

/* The index of @text among the names; a new one is added. */
static guint32
index_of (GememKinetoIntervals *intervals, const char *text)
{
  gpointer known = g_hash_table_lookup (intervals->index, text);

  if (known != NULL)
    return GPOINTER_TO_UINT (known);
  char *copy = g_strdup (text);
  const Name name = { .text = copy,
                      .gradients = g_str_has_prefix (text, GRADIENTS),
                      .waits = strstr (text, WAITS_FOR_GRADIENTS) != NULL };
  g_array_append_val (intervals->names, name);
  g_hash_table_insert (intervals->index, copy, GUINT_TO_POINTER (intervals->names->len - 1));
  return intervals->names->len - 1;
}

/* Adds the phase or step that the annotation @name is; FALSE: it is a step. */
static gboolean
add_phase (GememKinetoIntervals *intervals, const char *name, gint64 begin, gint64 end)
{
  GememKinetoPhase phase = {
    .time = begin, .other = end, .number = intervals->phases->len, .kind = GEMEM_EVENT_PHASE
  };
  char *stop = NULL;

  if (g_str_has_prefix (name, STEP))
    phase.step = g_ascii_strtoull (name + strlen (STEP), &stop, 10);
  if (stop != NULL && *stop == '\0' && stop > name + strlen (STEP))
    {
      phase.kind = GEMEM_EVENT_STEP;
      g_array_append_val (intervals->phases, phase);
      return FALSE;
    }
  phase.step = 0;
  phase.tag = gemem_trace_info_intern (intervals->info, name);
  g_array_append_val (intervals->phases, phase);
  phase.kind = GEMEM_EVENT_PHASE_END;
  phase.time = end;
  phase.other = begin;
  g_array_append_val (intervals->phases, phase);
  return TRUE;
}

void
gemem_kineto_intervals_add (GememKinetoIntervals *intervals, guint32 thread, GememKinetoKind kind,
                            const char *name, const char *call_from, gint64 begin, gint64 end)
{
  if (intervals->count >= MAX_INTERVALS)
    {
      intervals->left_out++;
      return;
    }
  intervals->count++;
  if (kind == GEMEM_KINETO_ANNOTATION && !add_phase (intervals, name, begin, end))
    return;
  const Interval interval = { begin, end, index_of (intervals, name),
                              call_from != NULL ? index_of (intervals, call_from) : 0 };
  g_array_append_val (g_array_index (intervals->threads, Thread, thread - 1).lists[kind], interval);
}

/* ---- order */

/* Outer intervals precede inner ones. */
static gint
compare_intervals (gconstpointer a, gconstpointer b)
{
  const Interval *x = a, *y = b;
  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return (x->end < y->end) - (x->end > y->end);
}

static void
put_in_order (GArray *list)
{
  for (guint i = 1; i < list->len; i++)
    if (compare_intervals (&g_array_index (list, Interval, i - 1),
                           &g_array_index (list, Interval, i))
        > 0)
      {
        g_array_sort (list, compare_intervals); /* stable */
        return;
      }
}

/* Of one moment: first what ends, inner phases first; then what begins, outer phases first; last
 * the ends of phases that began there. */
static gint
compare_phases (gconstpointer a, gconstpointer b)
{
  const GememKinetoPhase *x = a, *y = b;
  if (x->time != y->time)
    return x->time < y->time ? -1 : 1;
  const int part_x = x->kind != GEMEM_EVENT_PHASE_END ? 1
                     : x->other < x->time             ? 0
                                                      : 2,
            part_y = y->kind != GEMEM_EVENT_PHASE_END ? 1
                     : y->other < y->time             ? 0
                                                      : 2;
  if (part_x != part_y)
    return part_x - part_y;
  if (x->other != y->other)
    return x->other < y->other ? 1 : -1;
  return (part_x == 1) == (x->number > y->number) ? 1 : -1;
}

guint64
gemem_kineto_intervals_settle (GememKinetoIntervals *intervals)
{
  for (guint i = 0; i < intervals->threads->len; i++)
    for (guint kind = 1; kind < GEMEM_KINETO_KINDS; kind++)
      put_in_order (g_array_index (intervals->threads, Thread, i).lists[kind]);
  g_array_sort (intervals->phases, compare_phases);
  return intervals->left_out;
}

gboolean
gemem_kineto_intervals_any (const GememKinetoIntervals *intervals)
{
  return intervals->count > 0;
}

const GArray *
gemem_kineto_intervals_phases (const GememKinetoIntervals *intervals)
{
  return intervals->phases;
}

/* ---- frames */

/* Splits "FILE(LINE): NAME", or (@call) "FILE:LINE". */
static gboolean
split (const char *text, gboolean call, char **file, guint32 *line, const char **name)
{
  const char *number = call ? strrchr (text, ':') : strstr (text, "): ");
  char *end = NULL;

  if (number == NULL)
    return FALSE;
  if (!call)
    {
      *name = number + strlen ("): ");
      while (number > text && *number != '(')
        number--;
    }
  const guint64 value = g_ascii_strtoull (number + 1, &end, 10);
  if (number == text || end == number + 1 || value > G_MAXUINT32 || *end != (call ? '\0' : ')'))
    return FALSE;
  *line = (guint32) value;
  *file = g_strndup (text, (gsize) (number - text));
  return TRUE;
}

/* Returns @text without the address of an object, which differs from run to run. */
static char *
without_address (const char *text)
{
  const char *at = strstr (text, " at 0x");
  const char *end = at != NULL ? at + strlen (" at 0x") : NULL;

  if (at == NULL)
    return g_strdup (text);
  while (g_ascii_isxdigit (*end))
    end++;
  return g_strdup_printf ("%.*s%s", (int) (at - text), text, end);
}

/* Makes the strings of a name; @call: it is a place, FILE:LINE. */
static void
make_name (GememKinetoIntervals *intervals, Name *name, GememKinetoKind kind, gboolean call)
{
  g_autofree char *file = NULL;
  const char *function = NULL;

  name->made = TRUE;
  if ((kind == GEMEM_KINETO_PYTHON || call)
      && split (name->text, call, &file, &name->line, &function))
    {
      name->file = gemem_trace_info_intern (intervals->info, file);
      name->name = call ? 0 : gemem_trace_info_intern (intervals->info, function);
      return;
    }
  g_autofree char *text = without_address (name->text);
  name->name = gemem_trace_info_intern (intervals->info, text);
  if (kind == GEMEM_KINETO_PYTHON && *text == '<')
    name->file = gemem_trace_info_intern (intervals->info, "??");
}

/* Appends the frames of the open intervals of @thread. */
static void
append_frames (GememKinetoIntervals *intervals, const Thread *thread)
{
  GememCallStacks *stacks = gemem_trace_info_stacks (intervals->info);
  guint32 call = 0; /* of the next inner Python function */

  for (guint i = thread->open->len, n = 0; i-- > 0 && n < MAX_FRAMES; n++)
    {
      const Open *open = &g_array_index (thread->open, Open, i);
      Name *name = &g_array_index (intervals->names, Name, open->name);
      Name *place = &g_array_index (intervals->names, Name, call);
      if (!name->made)
        make_name (intervals, name, open->kind, FALSE);
      if (call != 0 && !place->made)
        make_name (intervals, place, GEMEM_KINETO_PYTHON, TRUE);
      const gboolean python = open->kind == GEMEM_KINETO_PYTHON;
      const gboolean placed = python && call != 0 && name->line > 0 && place->file == name->file;
      const GememFrame frame = { .name = name->name,
                                 .file = name->file,
                                 .line = placed ? place->line : name->line };
      if (!placed && name->frame == 0)
        name->frame = gemem_call_stacks_frame (stacks, &frame);
      const guint32 number = placed ? gemem_call_stacks_frame (stacks, &frame) : name->frame;
      g_array_append_val (intervals->frames, number);
      call = python ? open->call : call;
    }
}

/* ---- the intervals that are open */

static void
close_until (Thread *thread, gint64 time, gboolean included)
{
  while (thread->open->len > 0)
    {
      const gint64 end = g_array_index (thread->open, Open, thread->open->len - 1).end;
      if (included ? end > time : end >= time)
        return;
      g_array_set_size (thread->open, thread->open->len - 1);
      thread->known = FALSE;
    }
}

/* Advances @thread to @time. */
static void
advance (Thread *thread, gint64 time)
{
  for (;;)
    {
      const Interval *first = NULL;
      guint kind = 0;
      for (guint i = 1; i < GEMEM_KINETO_KINDS; i++)
        {
          const Interval *interval = thread->next[i] < thread->lists[i]->len ? &g_array_index (
                                         thread->lists[i], Interval, thread->next[i])
                                                                             : NULL;
          if (interval != NULL && interval->begin <= time
              && (first == NULL || compare_intervals (interval, first) < 0))
            {
              first = interval;
              kind = i;
            }
        }
      if (first == NULL)
        break;
      thread->next[kind]++;
      if (first->end < time)
        continue; /* nobody asked while it was open */
      close_until (thread, first->begin, TRUE);
      const gint64 around = thread->open->len > 0
                                ? g_array_index (thread->open, Open, thread->open->len - 1).end
                                : G_MAXINT64;
      const Open open = { MIN (first->end, around), first->name, first->call,
                          (GememKinetoKind) kind };
      g_array_append_val (thread->open, open);
      thread->known = FALSE;
    }
  close_until (thread, time, FALSE);
}

/* The only thread whose innermost Python function waits for gradients at @time; NULL: none, or
 * several. */
static Thread *
find_waiting (GememKinetoIntervals *intervals, gint64 time)
{
  Thread *found = NULL;

  for (guint i = 0; i < intervals->threads->len; i++)
    {
      Thread *thread = &g_array_index (intervals->threads, Thread, i);
      const Open *python = NULL;
      if (thread->lists[GEMEM_KINETO_PYTHON]->len == 0)
        continue;
      advance (thread, time);
      for (guint j = 0; j < thread->open->len; j++)
        if (g_array_index (thread->open, Open, j).kind == GEMEM_KINETO_PYTHON)
          python = &g_array_index (thread->open, Open, j);
      if (python == NULL || !g_array_index (intervals->names, Name, python->name).waits)
        continue;
      if (found != NULL)
        return NULL;
      found = thread;
    }
  return found;
}

static gboolean
computes_gradients (const GememKinetoIntervals *intervals, const Thread *thread)
{
  return thread->open->len > 0
         && g_array_index (intervals->names, Name, g_array_index (thread->open, Open, 0).name)
                .gradients;
}

guint32
gemem_kineto_intervals_stack (GememKinetoIntervals *intervals, guint32 thread, gint64 time)
{
  if (thread == 0)
    return 0;
  Thread *own = &g_array_index (intervals->threads, Thread, thread - 1);
  advance (own, time);
  Thread *waiting = computes_gradients (intervals, own) ? find_waiting (intervals, time) : NULL;
  if (own->known && waiting == NULL)
    return own->stack;
  g_array_set_size (intervals->frames, 0);
  append_frames (intervals, own);
  if (waiting != NULL)
    append_frames (intervals, waiting);
  own->stack = gemem_call_stacks_extend (gemem_trace_info_stacks (intervals->info), 0,
                                         (const guint32 *) (gconstpointer) intervals->frames->data,
                                         intervals->frames->len);
  own->known = waiting == NULL;
  return own->stack;
}
