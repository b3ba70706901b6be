/* test-advise.c - settings as lines to paste and back, which settings are tried, the verdict about a
 * trace, and what makes it unsure. */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "sim/search/advise.h"
#include "sim/search/pasted.h"
#include "tests/util/engine-job.h"

extern const GememAllocatorClass gemem_pytorch_caching_class, gemem_rmm_pool_class,
    gemem_rmm_binning_class, gemem_paddle_auto_growth_class, gemem_paddle_vmm_auto_growth_class,
    gemem_ge_class, gemem_tf_bfc_class, gemem_cuda_async_class, gemem_rmm_cuda_async_class,
    gemem_paddle_buddy_class;

/* Settings of "key=value,...". */
static GPtrArray *
settings (const char *text)
{
  g_autoptr (GError) error = NULL;
  GPtrArray *parsed = gemem_settings_parse (text, &error);

  g_assert_no_error (error);
  return parsed;
}

static void
assert_line (const GememAllocatorClass *klass, const char *system, const char *now, const char *own,
             const char *expected)
{
  const GememForm *form = gemem_paste_form (klass, system);
  g_autoptr (GPtrArray) wanted = settings (own);
  g_autofree char *line = NULL;

  g_assert_nonnull (form);
  line = gemem_paste_line (klass, form, FALSE, now, wanted);
  g_assert_cmpstr (line, ==, expected);
}

static void
test_lines (void)
{
  const GememAllocatorClass *torch = &gemem_pytorch_caching_class;

  assert_line (torch, "pytorch", NULL, "expandable_segments=yes",
               "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
  /* what the program has now stays, because the variable is one string; facts do not belong there */
  assert_line (torch, NULL, "version=2.11,max_split_size_mb=128,memory_limit=1GiB",
               "roundup_power2_divisions=8",
               "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128,roundup_power2_divisions:8");
  assert_line (torch, NULL, "max_split_size_mb=128", "max_split_size_mb=unlimited",
               "export PYTORCH_CUDA_ALLOC_CONF=");
  assert_line (torch, NULL, NULL, "memory_limit=1GiB", NULL);
  /* the part of the GPU: a call before 2.10, in the string too since then */
  assert_line (torch, NULL, "version=2.9,per_process_memory_fraction=0.5",
               "expandable_segments=yes",
               "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
  assert_line (torch, NULL, "version=2.11,per_process_memory_fraction=0.5",
               "expandable_segments=yes",
               "export PYTORCH_CUDA_ALLOC_CONF=per_process_memory_fraction:0.5,"
               "expandable_segments:True");
  assert_line (torch, NULL, "version=2.9", "per_process_memory_fraction=0.5", NULL);
  assert_line (torch, NULL, NULL, "roundup_power2_divisions=[64:8,>:1]",
               "export PYTORCH_CUDA_ALLOC_CONF='roundup_power2_divisions:[64:8,>:1]'");
  assert_line (&gemem_paddle_auto_growth_class, "paddle", NULL,
               "free_idle_chunk=yes,auto_growth_chunk_size_in_mb=64MiB",
               "export FLAGS_auto_growth_chunk_size_in_mb=64 FLAGS_free_idle_chunk=true");
  assert_line (&gemem_paddle_auto_growth_class, "paddle", "free_idle_chunk=yes",
               "free_idle_chunk=no", "export FLAGS_free_idle_chunk=false");
  assert_line (&gemem_paddle_vmm_auto_growth_class, "paddle", NULL, "",
               "export FLAGS_use_virtual_memory_auto_growth=true");
  assert_line (&gemem_tf_bfc_class, "tensorflow", NULL, "allow_growth=no",
               "export TF_FORCE_GPU_ALLOW_GROWTH=false");
  assert_line (&gemem_cuda_async_class, "tensorflow", NULL, "",
               "export TF_GPU_ALLOCATOR=cuda_malloc_async");
  assert_line (&gemem_rmm_pool_class, "rmm", NULL, "initial_pool_size=64MiB",
               "rmm.mr.set_current_device_resource(rmm.mr.PoolMemoryResource("
               "rmm.mr.CudaMemoryResource(), initial_pool_size=67108864))");
  assert_line (&gemem_rmm_pool_class, "rmm", NULL,
               "maximum_pool_size=64MiB", /* RMM begins with half of the device */
               "rmm.mr.set_current_device_resource(rmm.mr.PoolMemoryResource("
               "rmm.mr.CudaMemoryResource(), initial_pool_size=0, maximum_pool_size=67108864))");
  assert_line (&gemem_rmm_binning_class, "rmm", NULL,
               "max_size_exponent=18", /* RMM has no bins by default */
               "rmm.mr.set_current_device_resource(rmm.mr.BinningMemoryResource("
               "rmm.mr.CudaMemoryResource(), min_size_exponent=18, max_size_exponent=18))");
  assert_line (&gemem_rmm_cuda_async_class, "rmm", NULL, "",
               "rmm.mr.set_current_device_resource(rmm.mr.CudaAsyncMemoryResource())");
  assert_line (&gemem_ge_class, "ge", NULL, "static_memory_policy=2",
               "ge.exec.staticMemoryPolicy=2");
  g_assert_null (gemem_paste_form (torch, "rmm"));
}

static void
assert_refused (const GememAllocatorClass *klass, const char *line)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (gemem_paste_read (klass, gemem_paste_form (klass, NULL), line, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
}

static void
test_refused (void)
{
  assert_refused (&gemem_pytorch_caching_class, "export");
  assert_refused (&gemem_pytorch_caching_class, "export NO_SUCH_VARIABLE=1");
  assert_refused (&gemem_pytorch_caching_class, "export 'PYTORCH_CUDA_ALLOC_CONF=");
  assert_refused (&gemem_paddle_vmm_auto_growth_class, "export FLAGS_free_idle_chunk=true");
  assert_refused (&gemem_rmm_pool_class, "rmm.mr.ArenaMemoryResource()");
  assert_refused (&gemem_rmm_pool_class,
                  "rmm.mr.set_current_device_resource(rmm.mr.PoolMemoryResource("
                  "rmm.mr.CudaMemoryResource(), no_such=1))");
  assert_refused (&gemem_rmm_pool_class, /* half of what is free, which depends on the moment */
                  "rmm.mr.set_current_device_resource(rmm.mr.PoolMemoryResource("
                  "rmm.mr.CudaMemoryResource(), maximum_pool_size=67108864))");
  assert_refused (&gemem_rmm_binning_class,
                  "rmm.mr.set_current_device_resource(rmm.mr.BinningMemoryResource("
                  "rmm.mr.CudaMemoryResource(), max_size_exponent=18))");
}

/* ---- replays */

#define MIXED 3000

/* Requests of 1 KiB to 64 MiB, of which a quarter is alive at a time. */
static GememTraceEvent *
mixed_events (gsize *n)
{
  GememTraceEvent *events = g_new0 (GememTraceEvent, 2 * MIXED);
  guint64 random = 42;

  *n = 0;
  for (guint64 i = 1; i <= MIXED; i++)
    {
      random = random * G_GUINT64_CONSTANT (6364136223846793005) + 1442695040888963407;
      events[*n] = (GememTraceEvent){ .kind = GEMEM_EVENT_ALLOC,
                                      .id = i,
                                      .size = (G_GUINT64_CONSTANT (1024) << (random >> 60))
                                              + (random >> 40) % 4096 };
      ++*n;
      if (i > 100)
        events[(*n)++] = (GememTraceEvent){ .kind = GEMEM_EVENT_FREE, .id = i - 100 };
    }
  return events;
}

static GememResult *
replay (const GememAllocatorSpec *spec, TestTrace *trace)
{
  const GememJob job = { .allocator = spec,
                         .device_spec = "sim:capacity=3GiB",
                         .device_ordinal = -1,
                         .source = test_trace_open,
                         .source_data = trace };

  return gemem_job_run (&job, NULL); /* settings of other versions are refused */
}

/* The spec of @candidate's settings as gemem writes them. */
static GememAllocatorSpec *
direct_spec (const GememCandidate *candidate)
{
  g_autoptr (GString) text = g_string_new (candidate->klass->name);
  g_autoptr (GPtrArray) specs = g_ptr_array_new ();
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < candidate->own->len; i++)
    {
      const GememSetting *setting = candidate->own->pdata[i];
      g_string_append_printf (text, "%c%s=%s", i == 0 ? ':' : ',', setting->key, setting->value);
    }
  gemem_allocator_spec_parse (text->str, specs, &error);
  g_assert_no_error (error);
  return specs->pdata[0];
}

/* Every line of every allocator, read back, is the replay of the settings it was made of. */
static void
test_every_line (void)
{
  gsize n;
  g_autofree GememTraceEvent *events = mixed_events (&n);
  TestTrace trace = { .events = events, .n = n };
  guint lines = 0;

  for (const GememAllocatorClass *const *klass = gemem_allocator_classes (); *klass != NULL;
       klass++)
    for (const GememForm *form = (*klass)->forms; form != NULL && form->system != NULL; form++)
      {
        g_autoptr (GPtrArray) list = gemem_candidates_single (*klass, form->system, NULL);

        for (guint i = 0; i < list->len; i++)
          {
            GememCandidate *candidate = list->pdata[i];
            g_autoptr (GPtrArray) pasted = g_ptr_array_new_with_free_func (
                (GDestroyNotify) gemem_allocator_spec_free);
            g_autoptr (GError) error = NULL;
            GememAllocatorSpec *direct;
            GememResult *one, *other;

            if (candidate->klass != *klass)
              continue;
            g_test_message ("%s", candidate->line);
            g_assert_true (gemem_is_pasted (candidate->line));
            gemem_pasted_parse (candidate->line, pasted, &error);
            g_assert_no_error (error);
            g_assert_true (((GememAllocatorSpec *) pasted->pdata[0])->klass == *klass);
            direct = direct_spec (candidate);
            one = replay (pasted->pdata[0], &trace);
            other = replay (direct, &trace);
            g_assert_cmpint (one == NULL, ==, other == NULL);
            if (one != NULL)
              {
                g_assert_cmpuint (one->peak_reserved, ==, other->peak_reserved);
                g_assert_cmpuint (one->ooms, ==, other->ooms);
                g_assert_cmpuint (gemem_result_calls (one), ==, gemem_result_calls (other));
                lines++;
              }
            gemem_result_free (one);
            gemem_result_free (other);
            gemem_allocator_spec_free (direct);
          }
      }
  g_assert_cmpuint (lines, >=, 40);
}

static const GememCandidate *
find_line (const GPtrArray *list, const char *line)
{
  for (guint i = 0; i < list->len; i++)
    if (strcmp (((GememCandidate *) list->pdata[i])->line, line) == 0)
      return list->pdata[i];
  return NULL;
}

static void
test_candidates (void)
{
  g_autoptr (GPtrArray) list = gemem_candidates_single (&gemem_pytorch_caching_class, "pytorch",
                                                        "expandable_segments=yes");
  g_autoptr (GPtrArray) rmm = gemem_candidates_single (&gemem_rmm_pool_class, "rmm", NULL);
  const GememCandidate *plain = find_line (list, "export PYTORCH_CUDA_ALLOC_CONF=");
  const GememCandidate *split = find_line (
      list, "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128,expandable_segments:True");
  GememCandidate *both;

  g_assert_nonnull (
      plain); /* what the program has is tried without it, and is no candidate itself */
  g_assert_nonnull (split);
  g_assert_null (find_line (list, "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"));
  g_assert_false (gemem_candidates_alike (plain, split));
  both = gemem_candidates_both (plain, split, "expandable_segments=yes");
  g_assert_cmpstr (both->line, ==, "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128");
  g_assert_null (gemem_candidates_both (both, split, NULL));
  gemem_candidate_free (both);
  /* the other resources of RMM, but nobody else's */
  g_assert_nonnull (
      find_line (rmm, "rmm.mr.set_current_device_resource(rmm.mr.CudaAsyncMemoryResource())"));
  for (guint i = 0; i < rmm->len; i++)
    g_assert_true (g_str_has_prefix (((GememCandidate *) rmm->pdata[i])->klass->name, "rmm-"));
}

/* What the program has chosen by a variable stays so unless the line says otherwise. */
static void
test_instead (void)
{
  g_autoptr (GPtrArray) buddy = gemem_candidates_single (&gemem_paddle_buddy_class, "paddle", NULL);
  g_autoptr (GPtrArray)
      growth = gemem_candidates_single (&gemem_paddle_auto_growth_class, "paddle", NULL);
  g_autoptr (GPtrArray)
      cuda = gemem_candidates_single (&gemem_cuda_async_class, "tensorflow", NULL),
      jax = gemem_candidates_single (&gemem_tf_bfc_class, "jax", NULL);

  g_assert_nonnull (
      find_line (buddy, "export FLAGS_allocator_strategy=auto_growth "
                        "FLAGS_use_virtual_memory_auto_growth=false FLAGS_free_idle_chunk=true"));
  g_assert_null (find_line (buddy, "export FLAGS_free_idle_chunk=true"));
  g_assert_nonnull (find_line (growth, "export FLAGS_free_idle_chunk=true"));
  g_assert_cmpuint (cuda->len, ==, 0); /* no line takes TF_GPU_ALLOCATOR back */
  g_assert_cmpuint (jax->len, ==, 0);  /* which does not read it */
}

/* ---- the verdict */

static GememAdvice *
ask (TestTrace *trace, const char *device, const char *system)
{
  g_autoptr (GArray) ordinals = gemem_trace_devices (test_trace_open, trace, NULL);
  g_autoptr (GememHeld) held = gemem_held_new (test_trace_open (trace, NULL), NULL);
  const GememAdviceQuestion question = {
    .name = "t.gmt", .held = held, .device_spec = device, .ordinals = ordinals, .system = system
  };
  g_autoptr (GError) error = NULL;
  GememAdvice *advice = gemem_advise (&question, &error);

  g_assert_no_error (error);
  return advice;
}

static const GememTraceEvent two[] = { TEST_ALLOC (1, 30 * GEMEM_MIB),
                                       TEST_ALLOC (2, 30 * GEMEM_MIB), TEST_FREE (1),
                                       TEST_FREE (2) };

static void
assert_verdict (TestTrace *trace, const char *device, GememAdviceVerdict verdict, const char *says)
{
  g_autoptr (GememAdvice) advice = ask (trace, device, NULL);
  g_autofree char *sentence = gemem_advice_sentence (advice);

  g_assert_cmpint (advice->verdict, ==, verdict);
  if (strstr (sentence, says) == NULL)
    g_error ("'%s' does not say '%s'", sentence, says);
}

static void
test_verdict (void)
{
  TestTrace trace = TEST_TRACE (two);

  trace.allocator = "pytorch-caching";
  assert_verdict (&trace, NULL, GEMEM_ADVICE_UNKNOWN,
                  "It needs 60.00 MiB with the settings it had. How");
  assert_verdict (&trace, "sim:capacity=64MiB", GEMEM_ADVICE_FITS,
                  "It fits: it needs 60.00 MiB of 64.00 MiB");
  assert_verdict (&trace, "sim:capacity=50MiB", GEMEM_ADVICE_DOES_NOT_FIT,
                  "a request of 30.00 MiB fails, event 1. Why: truly too little");
  /* a trace of which the beginning is missing never gets a green verdict, but a red one */
  trace.flags = GEMEM_TRACE_STARTS_IN_MIDDLE;
  assert_verdict (&trace, NULL, GEMEM_ADVICE_UNKNOWN, "begins in the middle");
  assert_verdict (&trace, "sim:capacity=50MiB", GEMEM_ADVICE_DOES_NOT_FIT, "It does not fit");
  trace.flags = GEMEM_TRACE_TRUNCATED;
  assert_verdict (&trace, NULL, GEMEM_ADVICE_UNKNOWN, "the end of the recording is missing");
  trace.flags = 0;
  trace.allocator = "cuda-async";
  trace.settings = "growth=2MiB";
  assert_verdict (&trace, NULL, GEMEM_ADVICE_UNKNOWN, "approximation");
  assert_verdict (&trace, "sim:capacity=50MiB", GEMEM_ADVICE_UNKNOWN, "approximation");
  trace.n = 0;
  trace.allocator = trace.settings = NULL;
}

#define SEGMENT(bytes, at) \
  { \
    .kind = GEMEM_EVENT_SEGMENT_ALLOC, .size = (bytes), .address = (at) \
  }

#define PLACED(number, bytes, at) \
  { \
    .kind = GEMEM_EVENT_ALLOC, .id = (number), .size = (bytes), .address = (at) \
  }

/* What a program held and its replay does not need is never called fitting where there is less. */
static void
test_not_followed (void)
{
  /* nothing in the recording says why it took the last segment */
  static const GememTraceEvent odd[] = { SEGMENT (30 * GEMEM_MIB, 0x10000000),
                                         TEST_ALLOC (1, 30 * GEMEM_MIB),
                                         SEGMENT (100 * GEMEM_MIB, 0x20000000), TEST_FREE (1) };
  /* what was freed is kept, unless the device is full */
  static const GememTraceEvent kept[] = {
    SEGMENT (30 * GEMEM_MIB, 0x10000000), TEST_ALLOC (1, 30 * GEMEM_MIB), TEST_FREE (1),
    SEGMENT (40 * GEMEM_MIB, 0x20000000), TEST_ALLOC (2, 40 * GEMEM_MIB), TEST_FREE (2),
    SEGMENT (50 * GEMEM_MIB, 0x30000000), TEST_ALLOC (3, 50 * GEMEM_MIB), TEST_FREE (3)
  };
  /* the second block lies where the replay puts none */
  static const GememTraceEvent parted[] = { SEGMENT (20 * GEMEM_MIB, 0x10000000),
                                            PLACED (1, 5 * GEMEM_MIB, 0x10000000),
                                            PLACED (2, 5 * GEMEM_MIB, 0x10a00000),
                                            TEST_FREE (1),
                                            TEST_FREE (2),
                                            SEGMENT (40 * GEMEM_MIB, 0x20000000),
                                            PLACED (3, 40 * GEMEM_MIB, 0x20000000),
                                            TEST_FREE (3) };
  TestTrace trace = TEST_TRACE (odd);

  trace.allocator = "pytorch-caching";
  trace.flags = GEMEM_TRACE_HAS_SEGMENTS;
  assert_verdict (&trace, NULL, GEMEM_ADVICE_UNKNOWN,
                  "the replay does not follow the recording, in which 130.0 MiB were held");
  assert_verdict (&trace, "sim:capacity=100MiB", GEMEM_ADVICE_UNKNOWN, "does not follow");
  assert_verdict (&trace, "sim:capacity=130MiB", GEMEM_ADVICE_FITS, "It fits");
  assert_verdict (&trace, "sim:capacity=20MiB", GEMEM_ADVICE_DOES_NOT_FIT, "It does not fit");
  trace.events = kept;
  trace.n = G_N_ELEMENTS (kept);
  assert_verdict (&trace, NULL, GEMEM_ADVICE_UNKNOWN, "It needs 120.0 MiB");
  assert_verdict (&trace, "sim:capacity=100MiB", GEMEM_ADVICE_FITS, "It fits: it needs");
  trace.events = parted;
  trace.n = G_N_ELEMENTS (parted);
  trace.flags |= GEMEM_TRACE_HAS_ADDRESSES;
  assert_verdict (&trace, "sim:capacity=50MiB", GEMEM_ADVICE_UNKNOWN, "does not follow");
  assert_verdict (&trace, "sim:capacity=60MiB", GEMEM_ADVICE_FITS, "It fits");
}

/* A freed block of 30 MiB cannot serve 40 MiB; pages can. */
static void
test_saves (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 30 * GEMEM_MIB), TEST_FREE (1),
                                            TEST_ALLOC (2, 40 * GEMEM_MIB), TEST_FREE (2),
                                            TEST_ALLOC (3, 50 * GEMEM_MIB), TEST_FREE (3) };
  TestTrace trace = TEST_TRACE (events);
  g_autoptr (GememAdvice) advice = ask (&trace, NULL, NULL);
  g_autoptr (GememAdvice) tight = NULL;
  const GememAdviceLine *line = &g_array_index (advice->lines, GememAdviceLine, 0);

  g_assert_true (advice->assumed);
  g_assert_cmpuint (advice->need, ==, 120 * GEMEM_MIB);
  g_assert_cmpuint (advice->lines->len, >=, 1);
  g_assert_cmpstr (line->candidate->line, ==,
                   "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
  g_assert_cmpuint (line->need, <=, 60 * GEMEM_MIB);
  g_assert_cmpuint (line->saved, ==, advice->need - line->need);
  g_assert_cmpuint (advice->tried, >=, 20);
  trace.allocator = "rmm-pool";
  tight = ask (&trace, NULL, NULL);
  g_assert_cmpstr (tight->system, ==, "rmm");
}

static void
test_other_system (void)
{
  TestTrace trace = TEST_TRACE (two);
  g_autoptr (GememAdvice) advice = NULL;

  trace.allocator = "pytorch-caching";
  advice = ask (&trace, NULL, "paddle");
  g_assert_cmpstr (advice->system, ==, "paddle");
  g_assert_true (g_str_has_prefix (advice->now->allocator, "paddle-"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/advise/lines", test_lines);
  g_test_add_func ("/advise/refused", test_refused);
  g_test_add_func ("/advise/every-line", test_every_line);
  g_test_add_func ("/advise/candidates", test_candidates);
  g_test_add_func ("/advise/instead", test_instead);
  g_test_add_func ("/advise/verdict", test_verdict);
  g_test_add_func ("/advise/not-followed", test_not_followed);
  g_test_add_func ("/advise/saves", test_saves);
  g_test_add_func ("/advise/other-system", test_other_system);
  return g_test_run ();
}
