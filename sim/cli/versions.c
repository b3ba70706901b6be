/* versions.c - see versions.h.
 *
 * A preset, which names a group of releases, agrees with each release of the group.
 */
#include "config.h"

#include "sim/cli/versions.h"

#include <string.h>

#include "allocators/allocator.h"
#include "sim/cli/cli.h"
#include "sim/cli/source.h"
#include "workloads/lower-paddle.h"
#include "workloads/lowering.h"

typedef struct
{
  char *setting;    /* "version=1.4", "preset=P14" */
  gboolean named;   /* by the user */
  int version, era; /* GememPaddleVersion or -1; GememPaddleEra */
} Version;

/* The setting among @settings that names a version, or NULL. */
static const GememSetting *
find_setting (const GPtrArray *settings)
{
  for (guint i = 0; settings != NULL && i < settings->len; i++)
    {
      const GememSetting *setting = settings->pdata[i];

      if (gemem_name_equal (setting->key, "version") || gemem_name_equal (setting->key, "preset"))
        return setting;
    }
  return NULL;
}

/* The lowering of PaddlePaddle. */
static const GememNamed *
lowering_of_paddle (void)
{
  const GememLowering *const *lowering = gemem_lowerings ();

  while (strcmp ((*lowering)->base.name, "paddle") != 0)
    lowering++;
  return &(*lowering)->base;
}

/* The version that @value names: a release, else a preset. */
static gboolean
read_version (const char *value, gboolean named, Version *version)
{
  static const char *const keys[] = { "version", "preset" };
  static const GememParamContext context = { 0 };
  const GememParam *table = lowering_of_paddle ()->params;
  gboolean read = FALSE;

  for (guint k = 0; k < G_N_ELEMENTS (keys) && !read; k++)
    {
      g_autoptr (GPtrArray) settings = gemem_settings_new ();
      GememLowerPaddle params;

      gemem_settings_add (settings, keys[k], value);
      read = gemem_params_apply (table, &params, &context, "paddle", settings, NULL);
      if (!read)
        continue;
      version->named = named;
      version->version = params.version - 1;
      version->era = version->version >= 0
                         ? (int) gemem_paddle_era ((GememPaddleVersion) version->version)
                         : params.preset;
      version->setting = g_strdup_printf ("%s=%s", keys[k], value);
      gemem_params_clear (table, &params);
    }
  return read;
}

/* What @text, "NAME:key=value,...", says; else @implied.  FALSE: neither names a version. */
static gboolean
version_of (const char *text, const char *implied, Version *version)
{
  const char *colon = strchr (text, ':');
  g_autoptr (GPtrArray) settings = gemem_settings_parse (colon != NULL ? colon + 1 : "", NULL);
  const GememSetting *setting = find_setting (settings);

  if (setting != NULL)
    return read_version (setting->value, TRUE, version);
  return implied != NULL && read_version (implied, FALSE, version);
}

static gboolean
version_of_allocator (const GememAllocatorSpec *spec, Version *version)
{
  const GememSetting *implied = find_setting (spec->settings);

  return g_str_has_prefix (spec->klass->name, "paddle-")
         && version_of (spec->label, implied != NULL ? implied->value : NULL, version);
}

static gboolean
version_of_lowering (const char *lowering, Version *version)
{
  g_autofree char *name = g_strndup (lowering, strcspn (lowering, ":"));

  return gemem_name_is (lowering_of_paddle ()->name, lowering_of_paddle ()->aliases, name)
         && version_of (lowering, "3.x", version);
}

static gboolean
differ (const Version *a, const Version *b)
{
  return a->version >= 0 && b->version >= 0 ? a->version != b->version : a->era != b->era;
}

/* Says that @allocator and @lowering differ, and what to set. */
static void
print (const char *allocator, const Version *a, const char *lowering, const Version *l)
{
  g_autofree char *remedy = !a->named   ? g_strdup_printf ("add %s to -a", l->setting)
                            : !l->named ? g_strdup_printf ("add %s to --lower", a->setting)
                                        : g_strdup ("name the same in both");

  gemem_note (
      "-a %s has %s, --lower=%s has %s: an allocator and an executor of different releases; "
      "%s",
      allocator, a->setting, lowering, l->setting, remedy);
}

/* Prints the note for @file; FALSE if there is none. */
static gboolean
note_file (const GPtrArray *specs, const GememSourceFile *file)
{
  Version allocator = { 0 }, lowering = { 0 };
  gboolean found = FALSE;

  if (file->graph == NULL || !version_of_lowering (gemem_source_lowering (file), &lowering))
    return FALSE;
  for (guint i = 0; i < specs->len && !found; i++)
    {
      const GememAllocatorSpec *spec = specs->pdata[i];

      found = version_of_allocator (spec, &allocator) && differ (&allocator, &lowering);
      if (found)
        print (spec->label, &allocator, gemem_source_lowering (file), &lowering);
      g_clear_pointer (&allocator.setting, g_free);
    }
  g_free (lowering.setting);
  return found;
}

void
gemem_versions_note (const GPtrArray *specs, const GPtrArray *files)
{
  for (guint i = 0; specs != NULL && i < files->len; i++)
    if (note_file (specs, files->pdata[i]))
      return;
}
