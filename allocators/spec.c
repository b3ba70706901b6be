/* spec.c - "NAME[:key=value,...]": from what the user typed to allocators with checked settings.
 *
 * Why apart from the registry: this is the one syntax of -a, of sweeps and of the first lines of vector files.  A name may be a glob over
 * the registry, a value may be a list ("chunk_mb=0|64"); both multiply into several specs, the last key varying fastest, in the
 * order of the registry.  Keys that the allocator does not know but a device does belong to the device (capacity=, base=, ...).
 *
 * Invariants: a key is known to the class or to a device, or the parse fails with a suggestion; a value that does not depend on the
 * device's capacity is checked here, so that a typing error is reported before the first run begins.  Origin: design.md section 8.
 */
#include "config.h"

#include <string.h>

#include "allocators/allocator.h"

#define SPECS_MAX 10000 /* one -a; a longer list of values is a typing error */

static const GememParam no_params[] = { { NULL } };

static const GememParam *
params_of (const GememAllocatorClass *klass)
{
  return klass->params != NULL ? klass->params : no_params;
}

/* ---- settings */

static void
setting_free (gpointer data)
{
  GememSetting *setting = data;

  g_free (setting->key);
  g_free (setting->value);
  g_free (setting);
}

static GPtrArray *
settings_new (void)
{
  return g_ptr_array_new_with_free_func (setting_free);
}

static void
settings_add (GPtrArray *settings, const char *key, const char *value)
{
  GememSetting *setting = g_new (GememSetting, 1);

  setting->key = g_strdup (key);
  setting->value = g_strdup (value);
  g_ptr_array_add (settings, setting);
}

static gboolean
device_knows (const char *key)
{
  for (const GememDeviceClass *const *d = gemem_device_classes (); *d != NULL; d++)
    if ((*d)->params != NULL && gemem_params_find ((*d)->params, key) != NULL)
      return TRUE;
  return FALSE;
}

static void
add_names (GPtrArray *names, const GememParam *table)
{
  for (; table != NULL && table->name != NULL; table++)
    g_ptr_array_add (names, (gpointer) table->name);
}

static void
set_unknown_key (GError **error, const GememAllocatorClass *klass, const char *key)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree char *known = NULL;
  const char *near;

  add_names (names, klass->params);
  g_ptr_array_add (names, NULL);
  known = g_strjoinv (", ", (char **) names->pdata);
  g_ptr_array_set_size (names, (gint) names->len - 1);
  for (const GememDeviceClass *const *d = gemem_device_classes (); *d != NULL; d++)
    add_names (names, (*d)->params);
  g_ptr_array_add (names, NULL);
  near = gemem_suggest (key, (const char *const *) names->pdata);
  if (near != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "allocator %s: unknown parameter '%s'; did you mean '%s'?", klass->name, key, near);
  else if (*known != '\0')
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "allocator %s: unknown parameter '%s'; known are %s", klass->name, key, known);
  else
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "allocator %s: unknown parameter '%s'; it takes no parameters", klass->name, key);
}

/* "allocator NAME", for messages. */
static char *
what_of (const GememAllocatorClass *klass)
{
  return g_strconcat ("allocator ", klass->name, NULL);
}

/* Tries @value in a scratch struct; values with "%" depend on a capacity that is not known yet. */
static gboolean
check_value (const GememAllocatorClass *klass, const char *key, const char *value, GError **error)
{
  static const GememParamContext context = { 0 };
  g_autofree gpointer scratch = g_malloc0 (klass->params_size);
  g_autofree char *what = what_of (klass);
  gboolean ok;

  if (strchr (value, '%') != NULL)
    return TRUE;
  gemem_params_set_defaults (params_of (klass), scratch);
  ok = gemem_params_set (params_of (klass), scratch, &context, what, key, value, error);
  gemem_params_clear (params_of (klass), scratch);
  return ok;
}

/* ---- value lists */

/* Splits "a|b|c"; a bar inside brackets is part of the value. */
static GPtrArray *
split_values (const char *text)
{
  GPtrArray *values = g_ptr_array_new_with_free_func (g_free);
  const char *start = text;
  int depth = 0;

  for (const char *p = text;; p++)
    {
      if (*p == '[')
        depth++;
      else if (*p == ']')
        depth--;
      if (*p == '\0' || (*p == '|' && depth <= 0))
        {
          g_ptr_array_add (values, g_strndup (start, (gsize) (p - start)));
          start = p + 1;
        }
      if (*p == '\0')
        return values;
    }
}

/* One GPtrArray of values per setting; NULL if they multiply to more than SPECS_MAX. */
static GPtrArray *
split_all (const GPtrArray *settings, guint *combinations, GError **error)
{
  g_autoptr (GPtrArray) lists = g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref);

  *combinations = 1;
  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (settings, i);
      GPtrArray *values = split_values (setting->value);

      g_ptr_array_add (lists, values);
      if (values->len > SPECS_MAX / *combinations)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s: the value lists give more than %d combinations; shorten them",
                       setting->key, SPECS_MAX);
          return NULL;
        }
      *combinations *= values->len;
    }
  return g_steal_pointer (&lists);
}

/* ---- specs */

static gboolean
add_setting (GememAllocatorSpec *spec, const char *key, const char *value, GError **error)
{
  if (gemem_params_find (params_of (spec->klass), key) != NULL)
    {
      if (!check_value (spec->klass, key, value, error))
        return FALSE;
      settings_add (spec->settings, key, value);
      return TRUE;
    }
  if (!device_knows (key))
    {
      set_unknown_key (error, spec->klass, key);
      return FALSE;
    }
  settings_add (spec->device, key, value);
  return TRUE;
}

static void
append_setting (GString *label, gboolean first, const char *key, const char *value)
{
  g_autofree char *quoted = gemem_settings_quote (value);

  g_string_append_printf (label, "%c%s=%s", first ? ':' : ',', key, quoted);
}

/* The @index-th combination of @lists, the last setting varying fastest. */
static GememAllocatorSpec *
make_spec (const GememAllocatorClass *klass, const char *name, const GPtrArray *settings, const GPtrArray *lists, guint index,
           GError **error)
{
  GememAllocatorSpec *spec = g_new0 (GememAllocatorSpec, 1);
  g_autoptr (GString) label = g_string_new (name);
  g_autofree guint *choice = g_new0 (guint, settings->len + 1);

  spec->klass = klass;
  spec->settings = settings_new ();
  spec->device = settings_new ();
  for (guint i = settings->len; i-- > 0;)
    {
      const GPtrArray *values = g_ptr_array_index (lists, i);

      choice[i] = index % values->len;
      index /= values->len;
    }
  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (settings, i);
      const GPtrArray *values = g_ptr_array_index (lists, i);
      const char *value = g_ptr_array_index (values, choice[i]);

      if (!add_setting (spec, setting->key, value, error))
        {
          gemem_allocator_spec_free (spec);
          return NULL;
        }
      append_setting (label, i == 0, setting->key, value);
    }
  spec->label = g_strdup (label->str);
  return spec;
}

static gboolean
expand (const GememAllocatorClass *klass, const char *name, const GPtrArray *settings, GPtrArray *specs, GError **error)
{
  guint combinations;
  g_autoptr (GPtrArray) lists = split_all (settings, &combinations, error);

  if (lists == NULL)
    return FALSE;
  for (guint i = 0; i < combinations; i++)
    {
      GememAllocatorSpec *spec = make_spec (klass, name, settings, lists, i, error);

      if (spec == NULL)
        return FALSE;
      g_ptr_array_add (specs, spec);
    }
  return TRUE;
}

/* '-' and '_' are the same, and case does not matter, in globs too. */
static char *
normalise (const char *text)
{
  return g_strdelimit (g_ascii_strdown (text, -1), "_", '-');
}

static gboolean
expand_glob (const char *name, const GPtrArray *settings, GPtrArray *specs, GError **error)
{
  g_autofree char *glob = normalise (name);
  gboolean matched = FALSE;

  for (const GememAllocatorClass *const *c = gemem_allocator_classes (); *c != NULL; c++)
    {
      g_autofree char *candidate = normalise ((*c)->name);

      if (!g_pattern_match_simple (glob, candidate))
        continue;
      matched = TRUE;
      if (!expand (*c, (*c)->name, settings, specs, error))
        return FALSE;
    }
  if (!matched)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "allocator '%s': matches nothing; `gemem-sim list` shows all", name);
  return matched;
}

static void
set_label (GememAllocatorSpec *spec, const char *label)
{
  g_free (spec->label);
  spec->label = g_strdup (label);
}

gboolean
gemem_allocator_spec_parse (const char *text, GPtrArray *specs, GError **error)
{
  const char *colon = strchr (text, ':');
  g_autofree char *name = g_strstrip (g_strndup (text, colon != NULL ? (gsize) (colon - text) : strlen (text)));
  g_autoptr (GPtrArray) settings = colon != NULL ? gemem_settings_parse (colon + 1, error) : settings_new ();
  const GememAllocatorClass *klass;
  const guint before = specs->len;
  gboolean ok;

  if (settings == NULL)
    return FALSE;
  if (*name == '\0')
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "allocator '%s': no name before the colon; write NAME:key=value", text);
      return FALSE;
    }
  if (strpbrk (name, "*?") != NULL)
    ok = expand_glob (name, settings, specs, error);
  else
    {
      klass = gemem_allocator_find (name, error);
      ok = klass != NULL && expand (klass, name, settings, specs, error);
      if (ok && specs->len == before + 1) /* nothing was expanded: the label is what the user wrote */
        set_label (g_ptr_array_index (specs, before), text);
    }
  while (!ok && specs->len > before) /* all or nothing */
    {
      GememAllocatorSpec *spec = g_ptr_array_steal_index (specs, specs->len - 1);

      gemem_allocator_spec_free (spec);
    }
  return ok;
}

void
gemem_allocator_spec_free (GememAllocatorSpec *spec)
{
  if (spec == NULL)
    return;
  g_free (spec->label);
  g_ptr_array_unref (spec->settings);
  g_ptr_array_unref (spec->device);
  g_free (spec);
}

/* ---- from a spec to an allocator */

static gboolean
is_in_list (const char *bars, const char *name)
{
  g_auto (GStrv) words = g_strsplit (bars != NULL ? bars : "", "|", -1);

  for (guint i = 0; words[i] != NULL; i++)
    if (gemem_name_equal (words[i], name))
      return TRUE;
  return FALSE;
}

/* TRUE if the user's own settings say something about @row, or exclude it. */
static gboolean
is_overridden (const GememAllocatorSpec *spec, const GememParam *row)
{
  for (guint i = 0; i < spec->settings->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (spec->settings, i);
      const GememParam *own = gemem_params_find (params_of (spec->klass), setting->key);

      if (own == row || is_in_list (row->conflicts, own->name) || is_in_list (own->conflicts, row->name))
        return TRUE;
    }
  return FALSE;
}

/* @defaults that the user did not override, then the user's. */
static GPtrArray *
merge_settings (const GememAllocatorSpec *spec, const char *defaults, GError **error)
{
  g_autoptr (GPtrArray) merged = settings_new ();
  g_autoptr (GPtrArray) given = defaults != NULL ? gemem_settings_parse (defaults, error) : settings_new ();

  if (given == NULL)
    return NULL;
  for (guint i = 0; i < given->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (given, i);
      const GememParam *row = gemem_params_find (params_of (spec->klass), setting->key);

      if (row == NULL)
        {
          set_unknown_key (error, spec->klass, setting->key);
          return NULL;
        }
      if (!is_overridden (spec, row))
        settings_add (merged, setting->key, setting->value);
    }
  for (guint i = 0; i < spec->settings->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (spec->settings, i);

      settings_add (merged, setting->key, setting->value);
    }
  return g_steal_pointer (&merged);
}

/* A filled parameter struct; gemem_params_clear() and g_free(). */
static gpointer
fill_params (const GememAllocatorSpec *spec, const char *defaults, GememDevice *device, GError **error)
{
  const GememParamContext context = { device != NULL ? gemem_device_capacity (device) : 0 };
  g_autoptr (GPtrArray) settings = merge_settings (spec, defaults, error);
  g_autofree char *what = what_of (spec->klass);
  gpointer params;

  if (settings == NULL)
    return NULL;
  params = g_malloc0 (MAX (spec->klass->params_size, 1));
  if (gemem_params_apply (params_of (spec->klass), params, &context, what, settings, error))
    return params;
  gemem_params_clear (params_of (spec->klass), params);
  g_free (params);
  return NULL;
}

GememAllocator *
gemem_allocator_new (const GememAllocatorSpec *spec, const char *defaults, GememDevice *device, GError **error)
{
  g_autofree gpointer params = fill_params (spec, defaults, device, error);
  GememAllocator *allocator;

  if (params == NULL)
    return NULL;
  allocator = spec->klass->create (params, device, error);
  gemem_params_clear (params_of (spec->klass), params);
  if (allocator != NULL)
    {
      allocator->klass = spec->klass;
      allocator->device = device;
    }
  return allocator;
}

GPtrArray *
gemem_allocator_effective (const GememAllocatorSpec *spec, const char *defaults, GememDevice *device, GError **error)
{
  g_autofree gpointer params = fill_params (spec, defaults, device, error);
  GPtrArray *settings;

  if (params == NULL)
    return NULL;
  settings = settings_new ();
  for (const GememParam *row = params_of (spec->klass); row->name != NULL; row++)
    {
      g_autofree char *value = gemem_param_value_text (row, params);

      settings_add (settings, row->name, value);
    }
  gemem_params_clear (params_of (spec->klass), params);
  return settings;
}

void
gemem_allocator_destroy (GememAllocator *allocator)
{
  if (allocator != NULL)
    allocator->klass->destroy (allocator);
}
