/* strategy.c - FLAGS_allocator_strategy: which allocator a version of PaddlePaddle means by a name.
 *
 * Why: one name has meant different allocators.  `paddle` chooses by the version (preset) and the
 * flag.  Two values of the flag are shorthands of their own: `paddle-naive-best-fit` is the chunked
 * BestFit until 1.5 and the buddy since 1.6; `paddle-legacy` is the buddy under its name until 1.5.
 * Host memory ignores the flag and is served by the buddy, except pageable memory in 3.x, which is
 * malloc's.  The specification leaves open when within 2.x that changed.
 *
 * Invariants: a flag of another allocator of Paddle is refused with the reason, never ignored.
 * Origin: paddle.md, table of presets, and sections 1.1 and 1.2.
 */
#include "config.h"

#include <string.h>

#include "allocators/paddle/buddy-params.h"
#include "allocators/paddle/limit.h"
#include "allocators/registry.h"
#include "allocators/shorthand.h"

enum
{
  STRATEGY_BY_PRESET,
  STRATEGY_LEGACY,
  STRATEGY_NAIVE_BEST_FIT,
  STRATEGY_AUTO_GROWTH,
  STRATEGY_THREAD_LOCAL,
};

static const char place_choices[] = "gpu|cpu|pinned";
static const char *const place_names[] = { "gpu", "cpu", "pinned" };
static const char *const preset_names[] = { "P13", "P14", "P16", "P2", "P3" };

typedef struct
{
  int preset;   /* GememPaddlePreset */
  int strategy; /* STRATEGY_* */
  int place;    /* GememPaddlePlace */
  gboolean virtual_memory;
  gboolean system;
} Choice;

#define PRESET_ROW(presets, preset_default, text) \
  { \
    .name = "preset", .type = GEMEM_PARAM_CHOICE, .default_text = preset_default, \
    .choices = presets, .offset = G_STRUCT_OFFSET (Choice, preset), .help = text \
  }

#define PLACE_ROW \
  { \
    .name = "place", .type = GEMEM_PARAM_CHOICE, .default_text = "gpu", .choices = place_choices, \
    .offset = G_STRUCT_OFFSET (Choice, place), \
    .help = "Kind of memory: the strategy is that of the GPU; cpu is the buddy until 2.x and " \
            "plain malloc since 3.x, pinned always the buddy." \
  }

static const GememParam params[] = {
  PRESET_ROW ("P13|P14|P16|P2|P3", "P3",
              "Version of Paddle: P13 (1.2-1.3), P14 (1.4-1.5), P16 (1.6-2.0), P2 (2.1-2.6), P3 "
              "(3.x): defaults, and what names mean."),
  PLACE_ROW,
  { .name = "allocator_strategy",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "preset",
    .choices = "preset|legacy|naive_best_fit|auto_growth|thread_local",
    .aliases = "FLAGS_allocator_strategy",
    .offset = G_STRUCT_OFFSET (Choice, strategy),
    .help = "Allocator by the name it has in that version; preset: the version's default "
            "(inference builds of 2.x had naive_best_fit).  Until 1.5 "
            "naive_best_fit is a chunked best fit, since 1.6 the buddy that was legacy.  "
            "Default in P13-P14: legacy, P16: naive_best_fit, P2-P3: auto_growth." },
  { .name = "use_virtual_memory_auto_growth",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .aliases = "FLAGS_use_virtual_memory_auto_growth",
    .offset = G_STRUCT_OFFSET (Choice, virtual_memory),
    .help = "auto_growth in one range of addresses, which pages are mapped into (since 2.2; on a "
            "device with virtual memory).  "
            "Default in P2-P3: no." },
  { .name = "use_system_allocator",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .aliases = "FLAGS_use_system_allocator",
    .offset = G_STRUCT_OFFSET (Choice, system),
    .help = "Every request goes to the device by itself.  Default in P16-P3: no." },
  { NULL },
};

static const GememParam naive_params[] = {
  PRESET_ROW ("P13|P14|P16|P2|P3", "P16",
              "Version of Paddle: until P14 (1.5) the chunked BestFit, since P16 (1.6) the buddy."),
  PLACE_ROW,
  { NULL },
};

static const GememParam legacy_params[] = {
  PRESET_ROW (
      "P13|P14", "P14",
      "Version of Paddle: P13 (1.2-1.3) or P14 (1.4-1.5); later ones call it naive_best_fit."),
  PLACE_ROW,
  { NULL },
};

/* ---- the choice */

extern const GememShorthand gemem_paddle_shorthand, gemem_paddle_naive_best_fit_shorthand,
    gemem_paddle_legacy_shorthand;

static gboolean
refuse (GError **error, const char *text, const char *strategy, const char *preset)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "paddle: allocator_strategy=%s does not exist in preset=%s; %s", strategy, preset,
               text);
  return FALSE;
}

/* Fills in the strategy that the preset defaults to; refuses a strategy that the preset lacks. */
static gboolean
settle (Choice *choice, GError **error)
{
  const gboolean old = choice->preset < GEMEM_PADDLE_P16,
                 gpu = choice->place == GEMEM_PADDLE_PLACE_GPU;
  const char *preset = preset_names[choice->preset];
  const GememFlag flags[] = {
    { "use_virtual_memory_auto_growth", choice->virtual_memory, gpu,
      "concerns the GPU; choose place=gpu" },
    { "use_virtual_memory_auto_growth", choice->virtual_memory, choice->preset >= GEMEM_PADDLE_P2,
      "came with 2.2; choose preset=P2 or P3" },
    { "use_virtual_memory_auto_growth", choice->virtual_memory,
      choice->strategy == STRATEGY_AUTO_GROWTH || choice->strategy == STRATEGY_BY_PRESET,
      "belongs to auto_growth; choose allocator_strategy=auto_growth" },
    { "use_system_allocator", choice->system, gpu, "concerns the GPU; choose place=gpu" },
    { "use_system_allocator", choice->system, !old,
      "exists since 1.6; choose preset=P16 or later" },
  };

  if (choice->strategy == STRATEGY_BY_PRESET)
    choice->strategy = old                                  ? STRATEGY_LEGACY
                       : choice->preset == GEMEM_PADDLE_P16 ? STRATEGY_NAIVE_BEST_FIT
                                                            : STRATEGY_AUTO_GROWTH;
  if (choice->strategy == STRATEGY_LEGACY && !old)
    return refuse (error, "it is called naive_best_fit since 1.6", "legacy", preset);
  if (choice->strategy == STRATEGY_AUTO_GROWTH && old)
    return refuse (error, "it came with 1.6: choose preset=P16 or later", "auto_growth", preset);
  if (choice->strategy == STRATEGY_THREAD_LOCAL && choice->preset < GEMEM_PADDLE_P2)
    return refuse (error, "it came with 2.1: choose preset=P2 or P3", "thread_local", preset);
  return gemem_check_flags ("paddle", flags, G_N_ELEMENTS (flags), error);
}

static const char *
class_name (const Choice *choice)
{
  if (choice->system
      || (choice->place == GEMEM_PADDLE_PLACE_CPU && choice->preset == GEMEM_PADDLE_P3))
    return "direct";
  if (choice->place != GEMEM_PADDLE_PLACE_GPU)
    return "paddle-buddy";
  switch (choice->strategy)
    {
    case STRATEGY_AUTO_GROWTH:
      return choice->virtual_memory ? "paddle-vmm-auto-growth" : "paddle-auto-growth";
    case STRATEGY_THREAD_LOCAL:
      return "paddle-thread-local";
    case STRATEGY_NAIVE_BEST_FIT:
      return choice->preset < GEMEM_PADDLE_P16 ? "paddle-best-fit" : "paddle-buddy";
    default:
      return "paddle-buddy";
    }
}

/* ---- settings */

/* Moves the settings that @table knows from @settings to a new array; returns that array. */
static GPtrArray *
take_own (const GememParam *table, GPtrArray *settings)
{
  GPtrArray *own = gemem_settings_new ();

  for (guint i = 0; i < settings->len;)
    {
      const GememSetting *setting = g_ptr_array_index (settings, i);

      if (gemem_params_find (table, setting->key) != NULL)
        g_ptr_array_add (own, g_ptr_array_steal_index (settings, i));
      else
        i++;
    }
  return own;
}

/* Refuses a setting of another allocator of Paddle that @klass does not know, and a flag that no
 * allocator knows but whose spelling is near a known one, with the nearest name. */
static gboolean
check_setting (const GememAllocatorClass *klass, const char *key, const char *name, GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  if (gemem_params_find (klass->params, key) != NULL)
    return TRUE;
  for (const GememAllocatorClass *const *c = gemem_allocator_classes (); *c != NULL; c++)
    if (g_str_has_prefix ((*c)->name, "paddle-"))
      {
        if (gemem_params_find ((*c)->params, key) != NULL)
          {
            g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                         "%s: %s has no effect here: these settings mean %s, and it belongs to %s; "
                         "leave it out",
                         name, key, klass->name, (*c)->name);
            return FALSE;
          }
        for (const GememParam *row = (*c)->params; row->name != NULL; row++)
          g_ptr_array_add (names, (gpointer) row->name);
      }
  g_ptr_array_add (names, NULL);
  const char *near = g_ascii_strncasecmp (key, "FLAGS_", 6) == 0
                         ? gemem_suggest (key + 6, (const char *const *) names->pdata)
                         : NULL;
  if (near == NULL)
    return TRUE; /* may be the device's; otherwise refused later, with the keys of the class */
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "%s: unknown flag '%s'; did you mean 'FLAGS_%s'?", name, key, near);
  return FALSE;
}

static const GememAllocatorClass *
choose (const GememShorthand *shorthand, int fixed, GPtrArray *settings, GError **error)
{
  static const GememParamContext context = { 0 };
  const char *name = shorthand->base.name;
  g_autoptr (GPtrArray) own = take_own (shorthand->base.params, settings);
  Choice choice = { 0 };
  const GememAllocatorClass *klass;

  if (!gemem_params_apply (shorthand->base.params, &choice, &context, name, own, error))
    return NULL;
  if (fixed != STRATEGY_BY_PRESET)
    choice.strategy = fixed;
  if (!settle (&choice, error)
      || (klass = gemem_allocator_find (class_name (&choice), error)) == NULL)
    return NULL;
  for (guint i = 0; i < settings->len; i++)
    if (!check_setting (klass, ((const GememSetting *) g_ptr_array_index (settings, i))->key, name,
                        error))
      return NULL;
  if (gemem_params_find (klass->params, "preset") != NULL)
    gemem_settings_add (settings, "preset", preset_names[choice.preset]);
  if (choice.place != GEMEM_PADDLE_PLACE_GPU && gemem_params_find (klass->params, "place") != NULL)
    gemem_settings_add (settings, "place", place_names[choice.place]);
  return klass;
}

static const GememAllocatorClass *
choose_any (GPtrArray *settings, GError **error)
{
  return choose (&gemem_paddle_shorthand, STRATEGY_BY_PRESET, settings, error);
}

static const GememAllocatorClass *
choose_naive (GPtrArray *settings, GError **error)
{
  return choose (&gemem_paddle_naive_best_fit_shorthand, STRATEGY_NAIVE_BEST_FIT, settings, error);
}

static const GememAllocatorClass *
choose_legacy (GPtrArray *settings, GError **error)
{
  return choose (&gemem_paddle_legacy_shorthand, STRATEGY_LEGACY, settings, error);
}

const GememShorthand gemem_paddle_shorthand = {
  .base = { .name = "paddle",
            .summary = "PaddlePaddle as its flags choose: version by preset, "
                       "FLAGS_allocator_strategy, and all flags of what that means",
            .origin = "PaddlePaddle 1.2-3.x; paddle.md section 1",
            .params = params,
            .params_size = sizeof (Choice) },
  .choose = choose_any,
};

const GememShorthand gemem_paddle_naive_best_fit_shorthand = {
  .base = { .name = "paddle-naive-best-fit",
            .summary = "FLAGS_allocator_strategy=naive_best_fit: chunked BestFit until 1.5, buddy "
                       "since 1.6",
            .origin = "PaddlePaddle 1.2-3.x; paddle.md section 1.2",
            .known_as = "naive_best_fit",
            .params = naive_params,
            .params_size = sizeof (Choice) },
  .choose = choose_naive,
};

const GememShorthand gemem_paddle_legacy_shorthand = {
  .base = { .name = "paddle-legacy",
            .summary = "FLAGS_allocator_strategy=legacy: the buddy of 1.2-1.5",
            .origin = "PaddlePaddle 1.2-1.5; paddle.md section 1.2",
            .known_as = "legacy",
            .params = legacy_params,
            .params_size = sizeof (Choice) },
  .choose = choose_legacy,
};
