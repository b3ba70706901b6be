/* test-growth.c - what is kept of every step is found, and what only looks like it is not. */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "sim/search/advise.h"
#include "tests/util/engine-job.h"

/* ---- a program: what it asks for, and where */

/* stacks, in the order in which describe() makes them */
enum
{
  NOWHERE,
  BUILD,
  DATA,
  LOSS,
  BACKWARD,
  OPTIMIZER,
  KEEP,
  LAYER, /* one for each of LAYERS */
};

#define LAYERS 6

static void
add_stack (GememTraceInfo *info, const char *const *frames)
{
  GememCallStacks *stacks = gemem_trace_info_stacks (info);
  guint32 numbers[8];
  guint n = 0;

  for (; frames[2 * n] != NULL; n++)
    {
      const GememFrame frame = { .name = gemem_trace_info_intern (info, frames[2 * n]),
                                 .file = gemem_trace_info_intern (info, frames[2 * n + 1]),
                                 .line = n + 1 < 8 && frames[2 * n + 2] == NULL
                                             ? 10 + gemem_call_stacks_count (stacks)
                                             : 7 };
      numbers[n] = gemem_call_stacks_frame (stacks, &frame);
    }
  gemem_call_stacks_extend (stacks, 0, numbers, n);
}

#define MAIN "main", "train.py"

/* A layer of a model that main() calls. */
static void
add_layer (GememTraceInfo *info, guint k)
{
  const guint32 call = gemem_trace_info_intern (info, "_call_impl"),
                module = gemem_trace_info_intern (info, "lib/torch/nn/modules/module.py"),
                forward = gemem_trace_info_intern (info, "forward"),
                model = gemem_trace_info_intern (info, "model.py");
  const GememFrame frames[] = { { .name = forward, .file = model, .line = 20 + k },
                                { .name = call, .file = module, .line = 7 },
                                { .name = forward, .file = model, .line = 5 },
                                { .name = call, .file = module, .line = 7 },
                                { .name = gemem_trace_info_intern (info, "main"),
                                  .file = gemem_trace_info_intern (info, "train.py"),
                                  .line = 40 } };
  GememCallStacks *stacks = gemem_trace_info_stacks (info);
  guint32 numbers[G_N_ELEMENTS (frames)];

  for (guint i = 0; i < G_N_ELEMENTS (frames); i++)
    numbers[i] = gemem_call_stacks_frame (stacks, &frames[i]);
  gemem_call_stacks_extend (stacks, 0, numbers, G_N_ELEMENTS (frames));
}

static void
describe (GememTraceInfo *info)
{
  add_stack (info, (const char *const[]){ "__init__", "model.py", MAIN, NULL });
  add_stack (info, (const char *const[]){ MAIN, NULL });
  add_stack (info, (const char *const[]){ MAIN, NULL });
  add_stack (info,
             (const char *const[]){ "backward", "lib/site-packages/torch/_tensor.py", MAIN, NULL });
  add_stack (info,
             (const char *const[]){ "step", "lib/site-packages/torch/optim/adam.py", MAIN, NULL });
  add_stack (info, (const char *const[]){ MAIN, NULL });
  for (guint k = 0; k < LAYERS; k++)
    add_layer (info, k);
}

static void
describe_marks (GememTraceInfo *info)
{
  gemem_trace_info_intern (info, "Optimizer.step#Adam.step");
}

typedef struct
{
  guint steps, micro; /* steps, micro-batches of each */
  gboolean nowhere;   /* no stacks */
  gboolean marked;    /* the recording names the optimizer's steps */
  gboolean numbered;  /* and all steps */
  gboolean forward;   /* no backward pass, activations stay; else they go */
  gboolean jitter;    /* of sizes */
  gboolean longer;    /* each step asks for more than the last */
  guint64 kept;       /* bytes of each step that are never freed */
  guint window;       /* or after so many steps; 0: never */
  guint cached; /* blocks of each step in a cache of five times as many, which frees any of them */
  gboolean cleared;     /* what is kept goes at the end */
  gboolean interrupted; /* ends by a refused request in the midst of a step */
  gboolean middle;      /* begins in the middle */
} Program;

typedef struct
{
  const Program *program;
  GArray *events;
  guint64 next, random;
} Making;

static guint64
ask (Making *making, guint32 stack, guint64 size)
{
  const GememTraceEvent event = { .kind = GEMEM_EVENT_ALLOC,
                                  .id = ++making->next,
                                  .size = size,
                                  .stack = making->program->nowhere ? 0 : stack,
                                  .flags = making->program->middle && making->events->len < 3
                                               ? GEMEM_EVENT_INITIAL
                                               : 0 };

  g_array_append_val (making->events, event);
  return making->next;
}

static void
release (Making *making, guint64 id)
{
  const GememTraceEvent event = TEST_FREE (id);

  g_array_append_val (making->events, event);
}

static void
mark (Making *making, GememEventKind kind, guint64 id)
{
  const GememTraceEvent event = { .kind = (guint8) kind,
                                  .id = kind == GEMEM_EVENT_STEP ? id : 0,
                                  .tag = kind == GEMEM_EVENT_PHASE ? 1 : 0 };

  g_array_append_val (making->events, event);
}

/* A number below @n. */
static guint64
draw (Making *making, guint64 n)
{
  making->random = making->random * G_GUINT64_CONSTANT (6364136223846793005) + 1442695040888963407;
  return (making->random >> 33) % n;
}

static void
add_step (Making *making, guint step, GArray *kept)
{
  const Program *program = making->program;
  const guint micro = MAX (program->micro, 1);
  g_autoptr (GArray) activations = g_array_new (FALSE, FALSE, sizeof (guint64));

  if (program->numbered)
    mark (making, GEMEM_EVENT_STEP, step + 1);
  for (guint m = 0; m < micro; m++)
    {
      const guint64 more = (program->jitter ? draw (making, 64) * 512 : 0)
                           + (program->longer ? step * (guint64) 4096 : 0);
      const guint64 data = ask (making, DATA, 8192 + more);

      for (guint32 k = 0; k < LAYERS; k++)
        {
          const guint64 id = ask (making, LAYER + k, (k + 1) * (guint64) 65536 + more);

          g_array_append_val (activations, id);
        }
      release (making, ask (making, LOSS, 512));
      release (making, data);
    }
  if (program->forward)
    return;
  for (guint i = activations->len; i-- > 0;)
    {
      release (making, g_array_index (activations, guint64, i));
      release (making, ask (making, NOWHERE, 1024 * (guint64) (i % LAYERS + 1)));
    }
  release (making, ask (making, BACKWARD, 512));
  if (program->marked)
    mark (making, GEMEM_EVENT_PHASE, 0);
  for (guint k = 0; k < LAYERS; k++) /* the state is made once */
    if (step == 0)
      ask (making, OPTIMIZER, 40000);
    else
      release (making, ask (making, OPTIMIZER, 40000));
  if (program->kept > 0)
    {
      const guint64 id = ask (making, KEEP,
                              program->kept + (program->jitter ? draw (making, 9) * 512 : 0));

      g_array_append_val (kept, id);
    }
  for (guint k = 0; k < program->cached; k++)
    {
      const guint64 id = ask (making, KEEP, 4096);
      guint old;

      g_array_append_val (kept, id);
      if (kept->len <= 5 * program->cached)
        continue;
      old = (guint) draw (making, kept->len);
      release (making, g_array_index (kept, guint64, old));
      g_array_remove_index (kept, old);
    }
  if (program->window > 0 && kept->len > program->window)
    {
      release (making, g_array_index (kept, guint64, 0));
      g_array_remove_index (kept, 0);
    }
}

/* The events of @program. */
static GArray *
make (const Program *program)
{
  Making making = { program, g_array_new (FALSE, FALSE, sizeof (GememTraceEvent)), 0, 7 };
  g_autoptr (GArray) kept = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (guint k = 0; k < LAYERS; k++)
    ask (&making, BUILD, 100000);
  for (guint step = 0; step < program->steps; step++)
    add_step (&making, step, kept);
  if (program->interrupted)
    {
      for (guint k = 0; k < 3; k++)
        ask (&making, LAYER + k, 65536);
      ask (&making, LAYER + 3, 1 << 30);
      g_array_index (making.events, GememTraceEvent, making.events->len - 1).flags =
          GEMEM_EVENT_FAILED;
      for (guint i = 0; i < kept->len; i++) /* the exception leaves the function */
        release (&making, g_array_index (kept, guint64, i));
    }
  if (program->cleared)
    for (guint i = 0; i < kept->len; i++)
      release (&making, g_array_index (kept, guint64, i));
  return making.events;
}

static TestTrace
trace_of (const Program *program, const GArray *events)
{
  return (TestTrace){ .events = (const GememTraceEvent *) (gconstpointer) events->data,
                      .n = events->len,
                      .describe = program->nowhere ? describe_marks : describe,
                      .allocator = "pytorch-caching" };
}

static GememGrowth *
find (const Program *program)
{
  g_autoptr (GArray) events = make (program);
  TestTrace trace = trace_of (program, events);
  g_autoptr (GememHeld) held = gemem_held_new (test_trace_open (&trace, NULL), NULL);

  return gemem_growth_find (held, 0);
}

/* ---- what grows */

static void
assert_grows (const Program *program, guint steps, guint64 least, guint64 most, const char *by)
{
  GememGrowth *growth = find (program);

  g_assert_nonnull (growth);
  g_assert_cmpuint (growth->steps->len, >=, steps);
  g_assert_cmpuint (growth->steps->len, <=, program->steps);
  g_assert_cmpuint (growth->step_bytes, >=, least);
  g_assert_cmpuint (growth->step_bytes, <=, most);
  g_assert_cmpstr (growth->by, ==, by);
  gemem_growth_free (growth);
}

#define KIB (G_GUINT64_CONSTANT (1) << 10)

static void
test_grows (void)
{
  const char *keep = "train.py:15 main";

  assert_grows (&(Program){ .steps = 8, .kept = 32 * KIB }, 5, 32 * KIB, 32 * KIB, keep);
  assert_grows (&(Program){ .steps = 8, .kept = 32 * KIB, .interrupted = TRUE }, 5, 32 * KIB,
                32 * KIB, keep);
  assert_grows (&(Program){ .steps = 9, .kept = 32 * KIB, .jitter = TRUE, .middle = TRUE }, 5,
                32 * KIB, 37 * KIB, keep);
  /* of micro-batches, each step keeps something; what they hold between does not count */
  assert_grows (&(Program){ .steps = 9, .micro = 5, .kept = 32 * KIB }, 5, 32 * KIB, 32 * KIB,
                keep);
  /* nothing is freed, over more steps than are accumulated */
  assert_grows (&(Program){ .steps = 24, .forward = TRUE, .jitter = TRUE, .interrupted = TRUE }, 17,
                21 * 64 * KIB, 21 * 64 * KIB + 6 * 32 * KIB, "model.py:25 forward");
}

/* The optimizer's steps are named; so sizes, and what is made once, do not hide it. */
static void
test_marked (void)
{
  Program program = { .steps = 9, .nowhere = TRUE, .marked = TRUE, .kept = 3000 };

  assert_grows (&program, 5, 3000, 3000, NULL);
  program.jitter = TRUE;
  assert_grows (&program, 5, 3000, 3000 + 8 * 512, NULL);
  program.marked = FALSE;
  program.numbered = TRUE; /* micro-batches may be numbered too */
  g_assert_null (find (&program));
  program.steps = 30;
  assert_grows (&program, 17, 3000, 3000 + 8 * 512, NULL);
}

/* ---- what does not */

static void
test_not (void)
{
  static const Program others[] = {
    { .steps = 20 },
    { .steps = 20, .jitter = TRUE, .interrupted = TRUE },
    { .steps = 20, .longer = TRUE },
    { .steps = 3, .kept = 32 << 10 },
    { .steps = 20, .kept = 32 << 10, .window = 3 },
    { .steps = 20, .kept = 32 << 10, .window = 8 },
    { .steps = 20, .kept = 32 << 10, .cleared = TRUE },
    { .steps = 10, .cached = 40 },
    { .steps = 5, .micro = 12 },
    { .steps = 5, .micro = 12, .jitter = TRUE, .interrupted = TRUE },
    { .steps = 15, .forward = TRUE }, /* an accumulation, perhaps */
    { .steps = 15, .forward = TRUE, .nowhere = TRUE },
    { .steps = 60, .forward = TRUE, .nowhere = TRUE }, /* or layers */
    { .steps = 20, .kept = 32 << 10, .window = 8, .nowhere = TRUE, .marked = TRUE },
    { .steps = 20, .nowhere = TRUE, .marked = TRUE },
    { .steps = 5, .micro = 12, .nowhere = TRUE, .numbered = TRUE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    {
      GememGrowth *growth = find (&others[i]);

      if (growth != NULL)
        g_error ("program %u grows: %u steps, %" G_GUINT64_FORMAT " bytes", i, growth->steps->len,
                 growth->bytes);
    }
}

/* A first pass over many layers looks like steps, but is within one call. */
static void
test_layers (void)
{
  Program program = { 0 };
  Making making = { &program, g_array_new (FALSE, FALSE, sizeof (GememTraceEvent)), 0, 7 };
  TestTrace trace;
  g_autoptr (GememHeld) held = NULL;

  for (guint layer = 0; layer < 60; layer++)
    for (guint32 k = 0; k < 2 * LAYERS; k++)
      {
        const guint64 id = ask (&making, LAYER + k % LAYERS, (k + 1) * (guint64) 65536);

        if (k % 2 == 0)
          release (&making, id);
      }
  trace = trace_of (&program, making.events);
  held = gemem_held_new (test_trace_open (&trace, NULL), NULL);
  g_assert_null (gemem_growth_find (held, 0));
  g_array_unref (making.events);
}

/* ---- the answer */

static GememAdvice *
advise (const Program *program, const char *device)
{
  g_autoptr (GArray) events = make (program);
  TestTrace trace = trace_of (program, events);
  g_autoptr (GArray) ordinals = gemem_trace_devices (test_trace_open, &trace, NULL);
  g_autoptr (GememHeld) held = gemem_held_new (test_trace_open (&trace, NULL), NULL);
  const GememAdviceQuestion question = {
    .name = "t.gmt", .held = held, .device_spec = device, .ordinals = ordinals
  };

  return gemem_advise (&question, NULL);
}

static void
assert_says (const char *text, const char *words)
{
  if (text == NULL || strstr (text, words) == NULL)
    g_error ("'%s' does not say '%s'", text, words);
}

/* What fits now and grows is not green; it is where no program makes so many steps. */
static void
test_verdict (void)
{
  const Program grows = { .steps = 10, .kept = 4 << 20 }, stays = { .steps = 10 };
  g_autoptr (GememAdvice) so_far = advise (&grows, "sim:capacity=200MiB"),
                          fits = advise (&stays, "sim:capacity=200MiB"),
                          fails = advise (&grows, "sim:capacity=34MiB");
  g_autofree char *sentence = gemem_advice_sentence (so_far),
                  *failure = gemem_advice_sentence (fails),
                  *words = gemem_advice_growth_words (fails),
                  *none = gemem_advice_growth_words (fits);
  g_autoptr (GString) json = g_string_new (NULL), screen = g_string_new (NULL);
  const guint64 left = (200 * GEMEM_MIB - so_far->now->peak_reserved) / (4 * GEMEM_MIB);
  g_autofree char *more = g_strdup_printf ("full after about %" G_GUINT64_FORMAT " more steps",
                                           left);

  g_assert_cmpint (fits->verdict, ==, GEMEM_ADVICE_FITS);
  g_assert_null (none);
  g_assert_cmpint (so_far->verdict, ==, GEMEM_ADVICE_UNKNOWN);
  assert_says (sentence, "It fits so far, and not for ever: every step keeps 4.000 MiB more");
  assert_says (sentence, more);
  g_assert_cmpint (fails->verdict, ==, GEMEM_ADVICE_DOES_NOT_FIT);
  assert_says (failure, "Why: growth, and in the end ");
  assert_says (failure, "so far, and more with each step");
  assert_says (words, "keeps 4.000 MiB, 20.00 MiB in all or ");
  assert_says (words, "made by train.py:15 main");
  assert_says (words, ".detach()");
  gemem_advice_append_json (json, so_far);
  assert_says (json->str, "\"growth\": {\"words\": \"It grows: each of ");
  assert_says (json->str, "\"fits_so_far\": true");
  gemem_advice_append (screen, fails, FALSE);
  assert_says (screen->str, "\nIt grows: each of ");
}

/* A byte of every step: no program makes so many. */
static void
test_never_full (void)
{
  const Program grows = { .steps = 10, .kept = 512 };
  g_autoptr (GememAdvice) advice = advise (&grows, "sim:capacity=64GiB");

  g_assert_nonnull (advice->growth);
  g_assert_false (gemem_advice_grows (advice));
  g_assert_cmpint (advice->verdict, ==, GEMEM_ADVICE_FITS);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/growth/grows", test_grows);
  g_test_add_func ("/growth/marked", test_marked);
  g_test_add_func ("/growth/not", test_not);
  g_test_add_func ("/growth/layers", test_layers);
  g_test_add_func ("/growth/verdict", test_verdict);
  g_test_add_func ("/growth/never-full", test_never_full);
  return g_test_run ();
}
