/* strategy.c - FLAGS_allocator_strategy: which allocator a version of PaddlePaddle means by a name.
 *
 * Why: one name has meant different allocators.  `paddle` chooses by the version and the flag.  Two
 * values of the flag are shorthands of their own: `paddle-naive-best-fit` is the chunked BestFit
 * until 1.5 and the buddy since 1.6; `paddle-legacy` is the buddy under its name until 1.5.  Host
 * memory ignores the flag and is served by the buddy, except pageable memory in 3.x, which is
 * malloc's.  The specification leaves open when within 2.x that changed.
 * As documented (the manual of 1.5) there are the strategies legacy, the default, and
 * naive_best_fit, the new one, whatever the version, and the buddy serves the host.
 *
 * Invariants: a flag of another allocator of Paddle is refused with the reason, never ignored; the
 * class gets the version by its name, so that every report says which one it was.
 * Origin: paddle.md, table of presets, and sections 1.1, 1.2 and 13.1.
 */
#include "config.h"

#include <string.h>

#include "allocators/paddle/buddy.h"
#include "allocators/registry.h"
#include "allocators/shorthand.h"
#include "base/rules.h"

enum
{
  STRATEGY_BY_VERSION,
  STRATEGY_LEGACY,
  STRATEGY_NAIVE_BEST_FIT,
  STRATEGY_AUTO_GROWTH,
  STRATEGY_THREAD_LOCAL,
};

static const char place_choices[] = "gpu|cpu|pinned";
static const char *const place_names[] = { "gpu", "cpu", "pinned" };
static const char *const strategy_names[] = { "version", "legacy", "naive_best_fit", "auto_growth",
                                              "thread_local" };

typedef struct
{
  int version;  /* GememPaddleVersion + 1; 0: by the rules */
  int rules;    /* GememRules */
  int strategy; /* STRATEGY_* */
  int place;    /* GememPaddlePlace */
  gboolean virtual_memory;
  gboolean system;
} Choice;

/* Every row has all versions that the choice may mean, and "default" before them. */
#define VERSION_ROW(versions, standard, one_each, text) \
  GEMEM_PADDLE_VERSION_ROW (Choice, version, "default|" versions, standard, one_each, text)

#define PLACE_ROW \
  { \
    .name = "place", .type = GEMEM_PARAM_CHOICE, .default_text = "gpu", .choices = place_choices, \
    .offset = G_STRUCT_OFFSET (Choice, place), \
    .help = "Kind of memory: the strategy is that of the GPU; cpu is the buddy until 2.x and " \
            "plain malloc since 3.x, pinned always the buddy." \
  }

static const GememParam params[] = {
  VERSION_ROW (
      GEMEM_PADDLE_VERSIONS, "default", "1.3|1.5|1.6|2.0|2.2|2.6|3.x",
      "Release of Paddle, whose defaults and names count (default: 3.x, with "
      "rules=documented 1.5). Presets stand for the last of a group: P13 1.3, P14 1.5, P16 "
      "2.0, P2 2.6, P3 3.x."),
  GEMEM_RULES_ROW (Choice, rules,
                   "the strategies of every version are legacy, the default, and naive_best_fit, a "
                   "new design; further what the allocator chosen has under this name."),
  PLACE_ROW,
  { .name = "allocator_strategy",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "version",
    .choices = "version|legacy|naive_best_fit|auto_growth|thread_local",
    .aliases = "FLAGS_allocator_strategy",
    .offset = G_STRUCT_OFFSET (Choice, strategy),
    .help = "Allocator by the name it has in that version; version: its default "
            "(inference builds of 2.x had naive_best_fit).  Until 1.5 "
            "naive_best_fit is a chunked best fit, since 1.6 the buddy that was legacy.  "
            "Default in 1.2-1.5: legacy, 1.6: naive_best_fit, 1.7-3.x: auto_growth." },
  { .name = "use_virtual_memory_auto_growth",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .aliases = "FLAGS_use_virtual_memory_auto_growth",
    .offset = G_STRUCT_OFFSET (Choice, virtual_memory),
    .help = "auto_growth in one range of addresses, which pages are mapped into (since 2.3; 2.2.2 "
            "has the flag, without effect; on a device with virtual memory).  "
            "Default in 2.3-3.x: no." },
  { .name = "use_system_allocator",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .aliases = "FLAGS_use_system_allocator",
    .offset = G_STRUCT_OFFSET (Choice, system),
    .help = "Every request goes to the device by itself.  Default in 1.6-3.x: no." },
  { NULL },
};

static const GememParam naive_params[] = {
  VERSION_ROW (GEMEM_PADDLE_VERSIONS, "2.0", "1.3|1.5|2.0",
               "Release of Paddle: until 1.5 the chunked BestFit, since 1.6 the buddy."),
  GEMEM_RULES_ROW (Choice, rules, "the chunked BestFit, the new design, in every version."),
  PLACE_ROW,
  { NULL },
};

static const GememParam legacy_params[] = {
  VERSION_ROW (GEMEM_PADDLE_VERSIONS_UNTIL_1_5, "1.5", "1.3|1.5",
               "Release of Paddle; those since 1.6 call it "
               "naive_best_fit."),
  PLACE_ROW,
  { NULL },
};

/* ---- the choice */

extern const GememShorthand gemem_paddle_shorthand, gemem_paddle_naive_best_fit_shorthand,
    gemem_paddle_legacy_shorthand;

/* The name of the version of @choice. */
static char *
version_name (const Choice *choice)
{
  return gemem_param_value_text (gemem_params_find (params, "version"), choice);
}

static gboolean
since (const Choice *choice, GememPaddleVersion first)
{
  return choice->version > (int) first;
}

/* Refuses the strategy of @choice; @text: which version or rules have it. */
static gboolean
refuse (const Choice *choice, const char *text, GError **error)
{
  g_autofree char *version = version_name (choice);

  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "paddle: allocator_strategy=%s does not exist in version=%s%s; %s",
               strategy_names[choice->strategy], version,
               choice->rules == GEMEM_RULES_DOCUMENTED ? " as documented" : "", text);
  return FALSE;
}

/* Fills in what the version and the rules have by default. */
static void
fill_in (Choice *choice)
{
  const gboolean documented = choice->rules == GEMEM_RULES_DOCUMENTED;

  if (choice->version == 0)
    choice->version = 1 + (documented ? GEMEM_PADDLE_1_5 : GEMEM_PADDLE_3_X);
  if (choice->strategy == STRATEGY_BY_VERSION)
    choice->strategy = documented || !since (choice, GEMEM_PADDLE_1_6) ? STRATEGY_LEGACY
                       : !since (choice, GEMEM_PADDLE_1_7)             ? STRATEGY_NAIVE_BEST_FIT
                                                                       : STRATEGY_AUTO_GROWTH;
}

static gboolean
check_strategy (const Choice *choice, GError **error)
{
  const gboolean growth = choice->strategy == STRATEGY_AUTO_GROWTH,
                 local = choice->strategy == STRATEGY_THREAD_LOCAL;

  if (choice->rules == GEMEM_RULES_DOCUMENTED)
    return !(growth || local)
           || refuse (choice,
                      "the manual has legacy and naive_best_fit; choose one of them, or "
                      "rules=as-built",
                      error);
  if (choice->strategy == STRATEGY_LEGACY && since (choice, GEMEM_PADDLE_1_6))
    return refuse (choice,
                   "1.2 to 1.5 have it (choose version=1.5 or earlier), and since 1.6 its "
                   "allocator is called naive_best_fit",
                   error);
  if (growth && !since (choice, GEMEM_PADDLE_1_6))
    return refuse (choice, "it came with 1.6: choose version=1.6 or later", error);
  if (local && !since (choice, GEMEM_PADDLE_2_0))
    return refuse (choice, "it came with 2.0: choose version=2.0 or later", error);
  return TRUE;
}

/* Settles what is left open; refuses what the version or the manual lacks. */
static gboolean
settle (Choice *choice, GError **error)
{
  const gboolean gpu = choice->place == GEMEM_PADDLE_PLACE_GPU;

  fill_in (choice);
  const GememFlag flags[] = {
    { "use_virtual_memory_auto_growth", choice->virtual_memory, gpu,
      "concerns the GPU; choose place=gpu" },
    { "use_virtual_memory_auto_growth", choice->virtual_memory, since (choice, GEMEM_PADDLE_2_3),
      "came with 2.2, but 2.2.2 ignores it; choose version=2.3 or later" },
    { "use_virtual_memory_auto_growth", choice->virtual_memory,
      choice->strategy == STRATEGY_AUTO_GROWTH,
      "belongs to auto_growth; choose allocator_strategy=auto_growth" },
    { "use_system_allocator", choice->system, gpu, "concerns the GPU; choose place=gpu" },
    { "use_system_allocator", choice->system, since (choice, GEMEM_PADDLE_1_6),
      "exists since 1.6; choose version=1.6 or later" },
  };
  return check_strategy (choice, error)
         && gemem_check_flags ("paddle", flags, G_N_ELEMENTS (flags), error);
}

/* TRUE if naive_best_fit is the chunked BestFit. */
static gboolean
is_chunked (const Choice *choice)
{
  return choice->rules == GEMEM_RULES_DOCUMENTED || !since (choice, GEMEM_PADDLE_1_6);
}

static const char *
class_name (const Choice *choice)
{
  if (choice->system
      || (choice->place == GEMEM_PADDLE_PLACE_CPU && since (choice, GEMEM_PADDLE_3_X)
          && choice->rules != GEMEM_RULES_DOCUMENTED))
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
      return is_chunked (choice) ? "paddle-best-fit" : "paddle-buddy";
    default:
      return "paddle-buddy";
    }
}

/* Hands the choice to the class: the version by its name (the chunked BestFit has no later one than
 * 1.5, and as documented there is none), the place, the rules. */
static void
hand_over (const Choice *choice, const GememAllocatorClass *klass, GPtrArray *settings)
{
  Choice known = *choice;
  g_autofree char *version = NULL;

  if (strcmp (klass->name, "paddle-best-fit") == 0)
    known.version = MIN (known.version, 1 + GEMEM_PADDLE_1_5);
  version = version_name (&known);
  if (gemem_params_find (klass->params, "version") != NULL)
    gemem_settings_add (settings, "version", version);
  if (choice->place != GEMEM_PADDLE_PLACE_GPU && gemem_params_find (klass->params, "place") != NULL)
    gemem_settings_add (settings, "place", place_names[choice->place]);
  if (choice->rules == GEMEM_RULES_DOCUMENTED && gemem_params_find (klass->params, "rules") != NULL)
    gemem_settings_add (settings, "rules", "documented");
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

/* ---- the way to a class that reads a flag */

/* The class that @own, settings of the shorthand, select; NULL with @error. */
static const GememAllocatorClass *
class_by (const GememShorthand *shorthand, int fixed, const GPtrArray *own, Choice *choice,
          GError **error)
{
  static const GememParamContext context = { 0 };

  *choice = (Choice){ 0 };
  if (!gemem_params_apply (shorthand->base.params, choice, &context, shorthand->base.name, own,
                           error))
    return NULL;
  if (fixed != STRATEGY_BY_VERSION)
    choice->strategy = fixed;
  return settle (choice, error) ? gemem_allocator_find (class_name (choice), error) : NULL;
}

/* TRUE if @klass takes those of @settings that it knows, together with what @choice implies. */
static gboolean
class_takes (const GememAllocatorClass *klass, const Choice *choice, const GPtrArray *settings)
{
  GememDevice *device = gemem_device_new ("sim", NULL, 0, NULL);
  const GememParamContext context = { .capacity = gemem_device_capacity (device) };
  g_autoptr (GPtrArray) known = gemem_settings_new ();
  g_autofree gpointer filled = g_malloc0 (klass->params_size);
  GememAllocator *allocator = NULL;

  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (settings, i);

      if (gemem_params_find (klass->params, setting->key) != NULL)
        gemem_settings_add (known, setting->key, setting->value);
    }
  hand_over (choice, klass, known);
  if (gemem_params_apply (klass->params, filled, &context, klass->name, known, NULL))
    {
      allocator = klass->create (filled, device, NULL);
      gemem_params_clear (klass->params, filled);
    }
  if (allocator != NULL)
    {
      if (allocator->klass == NULL)
        allocator->klass = klass;
      allocator->device = device;
    }
  gemem_allocator_destroy (allocator);
  gemem_device_destroy (device);
  return allocator != NULL;
}

/* TRUE if the flag @key of @settings has an effect once @change ("place=cpu,version=2.6") replaces
 * what @own says of it. */
static gboolean
change_helps (const GememShorthand *shorthand, int fixed, const GPtrArray *own,
              const GPtrArray *settings, const char *key, const char *change)
{
  g_autoptr (GPtrArray) changed = gemem_settings_parse (change, NULL);
  const guint n_changed = changed->len;
  const GememAllocatorClass *klass;
  Choice choice;

  for (guint i = 0; i < own->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (own, i);
      const GememParam *row = gemem_params_find (shorthand->base.params, setting->key);
      gboolean replaced = FALSE;

      for (guint c = 0; c < n_changed; c++)
        replaced = replaced
                   || gemem_params_find (shorthand->base.params,
                                         ((const GememSetting *) changed->pdata[c])->key)
                          == row;
      if (!replaced)
        gemem_settings_add (changed, setting->key, setting->value);
    }
  klass = class_by (shorthand, fixed, changed, &choice, NULL);
  return klass != NULL && gemem_params_find (klass->params, key) != NULL
         && class_takes (klass, &choice, settings);
}

/* What to choose for the flag @key to have an effect: the first of each line that helps, of changes
 * of two settings only where none of one does.  "choose A, B or C, or leave it out". */
static char *
way_to (const GememShorthand *shorthand, int fixed, const GPtrArray *own, const GPtrArray *settings,
        const char *key)
{
  static const char *const changes[][6] = {
    { "version=3.x", "version=2.6", "version=2.0", "version=1.5", "version=1.3" },
    { "allocator_strategy=naive_best_fit", "allocator_strategy=auto_growth" },
    { "rules=documented", "rules=as-built" },
    { "use_virtual_memory_auto_growth=yes" },
    { "place=pinned" },
    { "place=cpu", "place=cpu,version=2.6" },
    { "place=cpu,rules=documented" },
  };
  g_autoptr (GPtrArray) found = g_ptr_array_new ();
  GString *text;

  for (guint line = 0; line < G_N_ELEMENTS (changes); line++)
    for (guint i = 0; changes[line][i] != NULL; i++)
      if ((found->len == 0 || strchr (changes[line][i], ',') == NULL
           || strchr (found->pdata[0], ',') != NULL)
          && change_helps (shorthand, fixed, own, settings, key, changes[line][i]))
        {
          g_ptr_array_add (found, (gpointer) changes[line][i]);
          break;
        }
  if (found->len == 0)
    return g_strdup ("leave it out");
  text = g_string_new ("choose ");
  for (guint i = 0; i < found->len; i++)
    g_string_append_printf (text, "%s%s",
                            i == 0                ? ""
                            : i + 1 == found->len ? " or "
                                                  : ", ",
                            (const char *) found->pdata[i]);
  return g_string_free (g_string_append (text, ", or leave it out"), FALSE);
}

/* The first allocator of Paddle that reads the flag @key, or NULL. */
static const GememAllocatorClass *
reader_of (const char *key)
{
  for (const GememAllocatorClass *const *c = gemem_allocator_classes (); *c != NULL; c++)
    if (g_str_has_prefix ((*c)->name, "paddle-") && gemem_params_find ((*c)->params, key) != NULL)
      return *c;
  return NULL;
}

/* The name of a flag of Paddle's allocators to which the spelling of @key is near, or NULL. */
static const char *
flag_near (const char *key)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  if (g_ascii_strncasecmp (key, "FLAGS_", 6) != 0)
    return NULL;
  for (const GememAllocatorClass *const *c = gemem_allocator_classes (); *c != NULL; c++)
    for (const GememParam *row = (*c)->params;
         g_str_has_prefix ((*c)->name, "paddle-") && row->name != NULL; row++)
      g_ptr_array_add (names, (gpointer) row->name);
  g_ptr_array_add (names, NULL);
  return gemem_suggest (key + 6, (const char *const *) names->pdata);
}

/* Refuses settings of other allocators of Paddle that @klass does not know, with the way to them,
 * and flags that no allocator knows but whose spelling is near a known one, with that name. */
static gboolean
check_settings (const GememShorthand *shorthand, int fixed, const GPtrArray *own,
                const GPtrArray *settings, const GememAllocatorClass *klass, GError **error)
{
  const char *name = shorthand->base.name;

  for (guint i = 0; i < settings->len; i++)
    {
      const char *key = ((const GememSetting *) settings->pdata[i])->key, *near;
      const GememAllocatorClass *reader;

      if (gemem_params_find (klass->params, key) != NULL)
        continue;
      if ((reader = reader_of (key)) != NULL)
        {
          g_autofree char *way = way_to (shorthand, fixed, own, settings, key);

          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                       "%s: %s has no effect here: these settings mean %s, and it belongs to %s; "
                       "%s",
                       name, key, klass->name, reader->name, way);
          return FALSE;
        }
      if ((near = flag_near (key)) != NULL)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                       "%s: unknown flag '%s'; did you mean 'FLAGS_%s'?", name, key, near);
          return FALSE;
        }
      /* may be the device's; otherwise refused later, with the keys of the class */
    }
  return TRUE;
}

static const GememAllocatorClass *
choose (const GememShorthand *shorthand, int fixed, GPtrArray *settings, GError **error)
{
  g_autoptr (GPtrArray) own = take_own (shorthand->base.params, settings);
  Choice choice;
  const GememAllocatorClass *klass = class_by (shorthand, fixed, own, &choice, error);

  if (klass == NULL || !check_settings (shorthand, fixed, own, settings, klass, error))
    return NULL;
  hand_over (&choice, klass, settings);
  return klass;
}

static const GememAllocatorClass *
choose_any (GPtrArray *settings, GError **error)
{
  return choose (&gemem_paddle_shorthand, STRATEGY_BY_VERSION, settings, error);
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
            .summary = "PaddlePaddle 3.x, or the version= that is named, as its flags choose: "
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
