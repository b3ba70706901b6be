/* spec.c - "NAME[:key=value,...]": from the user's text to allocators with checked settings.
 *
 * Why separate from the registry: this one syntax serves -a, sweeps and the first lines of vector
 * files.  A name may be a glob over the registry, a value may be a list ("chunk_mb=0|64"); both
 * multiply into several specs, in the order of the registry, the last key varying fastest.  A "*"
 * behind a shorthand is resolved after the other lists, because they say which class is meant.
 * Keys that a device knows and the allocator does not are settings of the device (capacity=, base=,
 * ...).
 *
 * Invariants: a key that neither the class nor a device knows is an error with a suggestion; a
 * value that does not depend on the device's capacity is checked here, so that a typing error is
 * reported before the first run begins.
 */
#include "config.h"

#include <string.h>

#include "allocators/registry.h"
#include "allocators/shorthand.h"

static const GememParam no_params[] = { { NULL } };

static const GememParam *
params_of (const GememAllocatorClass *klass)
{
  return klass->params != NULL ? klass->params : no_params;
}

/* ---- settings */

/* "allocator NAME", for messages. */
static char *
what_of (const GememAllocatorClass *klass)
{
  return g_strconcat ("allocator ", klass->name, NULL);
}

static gboolean
device_knows (const char *key)
{
  for (const GememDeviceClass *const *d = gemem_device_classes (); *d != NULL; d++)
    if (gemem_params_find ((*d)->params, key) != NULL)
      return TRUE;
  return FALSE;
}

/* FALSE if @value is too small a bare number for the setting @key of a device. */
static gboolean
check_device_unit (const GememAllocatorClass *klass, const char *key, const char *value,
                   GError **error)
{
  g_autofree char *what = what_of (klass);

  for (const GememDeviceClass *const *d = gemem_device_classes (); *d != NULL; d++)
    if (!gemem_params_check_unit ((*d)->params, what, key, value, error))
      return FALSE;
  return TRUE;
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
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "allocator %s: unknown parameter '%s'; did you mean '%s'?", klass->name, key,
                 near);
  else if (*known != '\0')
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "allocator %s: unknown parameter '%s'; known are %s", klass->name, key, known);
  else
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "allocator %s: unknown parameter '%s'; it takes no parameters", klass->name, key);
}

/* Parses @value into a scratch struct; values with "%" depend on a capacity not known yet.
 * @native: it is the real system's own text (GememParamContext). */
static gboolean
check_value (const GememAllocatorClass *klass, const char *key, const char *value, gboolean native,
             GError **error)
{
  const GememParamContext context = { .native = native };
  g_autofree gpointer scratch = g_malloc0 (klass->params_size);
  g_autofree char *what = what_of (klass);
  gboolean ok;

  if (strchr (value, '%') != NULL
      && (!native
          || (gemem_params_find (params_of (klass), key)->flags & GEMEM_PARAM_PERCENT) != 0))
    return TRUE;
  if (!gemem_params_check_unit (klass->params, what, key, value, error))
    return FALSE;
  gemem_params_set_defaults (params_of (klass), scratch);
  ok = gemem_params_set (params_of (klass), scratch, &context, what, key, value, error);
  gemem_params_clear (params_of (klass), scratch);
  return ok;
}

/* ---- specs */

static gboolean
add_setting (GememAllocatorSpec *spec, const char *key, const char *value, GError **error)
{
  if (gemem_params_find (params_of (spec->klass), key) != NULL)
    {
      if (!check_value (spec->klass, key, value, FALSE, error))
        return FALSE;
      gemem_settings_add (spec->settings, key, value);
      return TRUE;
    }
  if (!device_knows (key))
    {
      set_unknown_key (error, spec->klass, key);
      return FALSE;
    }
  if (!check_device_unit (spec->klass, key, value, error))
    return FALSE;
  gemem_settings_add (spec->device, key, value);
  return TRUE;
}

/* The error that the class of @data, a GememAllocatorSpec, reports for @settings together. */
static GError *
object_as_class (const GPtrArray *settings, gpointer data)
{
  GememAllocatorSpec spec = *(const GememAllocatorSpec *) data;
  GememDevice *device = gemem_device_new ("sim", NULL, 0, NULL);
  GError *error = NULL;

  spec.settings = (GPtrArray *) settings;
  gemem_allocator_destroy (gemem_allocator_new (&spec, NULL, device, &error));
  gemem_device_destroy (device);
  return error;
}

/* Adds those of @variables that the class reads. */
static gboolean
add_variables (GememAllocatorSpec *spec, const GPtrArray *variables, GError **error)
{
  const guint before = spec->settings->len;

  gemem_settings_add_variables (params_of (spec->klass), spec->settings, variables, spec->variables,
                                spec->left_out, object_as_class, spec);
  for (guint i = before; i < spec->settings->len; i++)
    {
      const GememSetting *variable = g_ptr_array_index (spec->settings, i);

      if (!check_value (spec->klass, variable->key, variable->value, TRUE, error))
        return FALSE;
    }
  return TRUE;
}

/* The error that the shorthand @data reports for @settings together. */
static GError *
object_as_shorthand (const GPtrArray *settings, gpointer data)
{
  g_autoptr (GPtrArray) copy = gemem_settings_new ();
  GError *error = NULL;

  gemem_settings_append (copy, settings);
  ((const GememShorthand *) data)->choose (copy, &error);
  return error;
}

/* The shorthand that @choice names; NULL: it names a class. */
static const GememShorthand *
shorthand_of (const GememChoice *choice)
{
  for (const GememNamed *const *s = gemem_shorthands (); *s != NULL; s++)
    if (*s == choice->named)
      return (const GememShorthand *) *s;
  return NULL;
}

/* The class of @choice; if that is a shorthand, first applies the @variables that it reads,
 * noted in @spec. */
static const GememAllocatorClass *
class_of (const GememChoice *choice, const GPtrArray *variables, GememAllocatorSpec *spec,
          GError **error)
{
  const GememShorthand *shorthand = shorthand_of (choice);

  if (shorthand == NULL)
    return ((const GememNamedClass *) choice->named)->klass;
  gemem_settings_add_variables (shorthand->base.params, choice->settings, variables,
                                spec->variables, spec->left_out, object_as_shorthand,
                                (gpointer) shorthand);
  return shorthand->choose (choice->settings, error);
}

static gboolean
add_settings (GememAllocatorSpec *spec, const GPtrArray *settings, GError **error)
{
  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (settings, i);

      if (!add_setting (spec, setting->key, setting->value, error))
        return FALSE;
    }
  return TRUE;
}

static GememAllocatorSpec *
new_spec (const char *label)
{
  GememAllocatorSpec *spec = g_new0 (GememAllocatorSpec, 1);

  spec->label = g_strdup (label);
  spec->settings = gemem_settings_new ();
  spec->device = gemem_settings_new ();
  spec->variables = gemem_settings_new ();
  spec->left_out = gemem_settings_new ();
  return spec;
}

static GememAllocatorSpec *
make_spec (const GememChoice *choice, const GPtrArray *variables, GError **error)
{
  GememAllocatorSpec *spec = new_spec (choice->label);

  spec->klass = class_of (choice, variables, spec, error);
  if (spec->klass == NULL || !add_settings (spec, choice->settings, error)
      || !add_variables (spec, variables, error))
    g_clear_pointer (&spec, gemem_allocator_spec_free);
  return spec;
}

/* What the name in @text may mean: a glob all that users tell apart, a name a
 * shorthand or a class. */
static const GememNamed *const *
list_for (const char *text)
{
  g_autofree char *name = g_strstrip (g_strndup (text, strcspn (text, ":")));

  if (strpbrk (name, "*?") != NULL)
    return gemem_named_choices ();
  for (const GememNamed *const *s = gemem_shorthands (); *s != NULL; s++)
    if (gemem_name_is ((*s)->name, (*s)->aliases, name))
      return gemem_shorthands ();
  return gemem_named_classes ();
}

/* FALSE for an unknown name that is that of a skipped plugin, with the reason, or near the name of
 * a class or a shorthand, with a suggestion. */
static gboolean
check_name (const char *text, GError **error)
{
  g_autofree char *name = g_strstrip (g_strndup (text, strcspn (text, ":")));
  const GememNamed *const *lists[] = { gemem_shorthands (), gemem_named_classes () };
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  const char *near;

  for (guint i = 0; i < G_N_ELEMENTS (lists); i++)
    for (const GememNamed *const *named = lists[i]; *named != NULL; named++)
      {
        if (gemem_name_is ((*named)->name, (*named)->aliases, name))
          return TRUE;
        g_ptr_array_add (names, (gpointer) (*named)->name);
      }
  if (!gemem_check_not_skipped (name, error))
    return FALSE;
  g_ptr_array_add (names, NULL);
  near = strpbrk (name, "*?=") == NULL ? gemem_suggest (name, (const char *const *) names->pdata)
                                       : NULL;
  if (near != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "unknown allocator '%s'; did you mean '%s'?", name, near);
  return near == NULL;
}

/* The class that @choice means, which stays as it is. */
static const GememAllocatorClass *
find_class (const GememChoice *choice, const GPtrArray *variables, GError **error)
{
  GememAllocatorSpec *spec = new_spec (choice->label);
  GememChoice copy = { .named = choice->named, .settings = gemem_settings_new () };
  const GememAllocatorClass *klass;

  gemem_settings_append (copy.settings, choice->settings);
  klass = class_of (&copy, variables, spec, error);
  g_ptr_array_unref (copy.settings);
  gemem_allocator_spec_free (spec);
  return klass;
}

/* Appends what @choice stands for, when "*" may also belong to the class that a shorthand means, or
 * to a device. */
static gboolean
resolve (const GememChoice *choice, const GPtrArray *variables, GPtrArray *choices, GError **error)
{
  g_autoptr (GPtrArray) tables = g_ptr_array_new ();
  const GememAllocatorClass *klass = find_class (choice, variables, error);

  if (klass == NULL)
    return FALSE;
  g_ptr_array_add (tables, (gpointer) params_of (klass));
  for (const GememDeviceClass *const *d = gemem_device_classes (); *d != NULL; d++)
    if ((*d)->params != NULL)
      g_ptr_array_add (tables, (gpointer) (*d)->params);
  g_ptr_array_add (tables, NULL);
  return gemem_choice_multiply (choice, (const GememParam *const *) tables->pdata, choices, error);
}

static gboolean
has_star (const GememChoice *choice)
{
  for (guint i = 0; i < choice->settings->len; i++)
    if (strcmp (((const GememSetting *) choice->settings->pdata[i])->value, "*") == 0)
      return TRUE;
  return FALSE;
}

/* Replaces each of the @choices that still has a "*" by what it stands for. */
static gboolean
resolve_all (GPtrArray *choices, const GPtrArray *variables, GError **error)
{
  for (guint i = 0; i < choices->len;)
    {
      const GememChoice *choice = g_ptr_array_index (choices, i);
      g_autoptr (GPtrArray) found = g_ptr_array_new ();

      if (!has_star (choice))
        {
          i++;
          continue;
        }
      if (!resolve (choice, variables, found, error))
        return FALSE;
      g_ptr_array_remove_index (choices, i);
      for (guint k = 0; k < found->len; k++)
        g_ptr_array_insert (choices, (gint) i++, g_ptr_array_index (found, k));
    }
  return TRUE;
}

gboolean
gemem_allocator_spec_parse (const char *text, GPtrArray *specs, GError **error)
{
  return gemem_allocator_spec_parse_with (text, NULL, specs, error);
}

gboolean
gemem_allocator_spec_parse_with (const char *text, const GPtrArray *variables, GPtrArray *specs,
                                 GError **error)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  const guint before = specs->len;

  if (!gemem_check_text ("allocator", text, error) || !check_name (text, error)
      || !gemem_named_expand (list_for (text), "allocator", text, choices, error)
      || !resolve_all (choices, variables, error))
    return FALSE;
  for (guint i = 0; i < choices->len; i++)
    {
      GememAllocatorSpec *spec = make_spec (g_ptr_array_index (choices, i), variables, error);

      if (spec != NULL)
        {
          spec->one_of = choices->len > 1 ? g_strdup (text) : NULL;
          g_ptr_array_add (specs, spec);
          continue;
        }
      while (specs->len > before) /* all or nothing */
        gemem_allocator_spec_free (g_ptr_array_steal_index (specs, specs->len - 1));
      return FALSE;
    }
  return TRUE;
}

/* ---- from a spec to an allocator */

/* A filled parameter struct; gemem_params_clear() and g_free(). */
static gpointer
fill_params (const GememAllocatorSpec *spec, const char *defaults, GememDevice *device,
             GError **error)
{
  const GememParamContext context = { device != NULL ? gemem_device_capacity (device) : 0 };
  g_autoptr (GPtrArray) given = gemem_settings_parse (defaults != NULL ? defaults : "", error);
  g_autoptr (GPtrArray) settings = NULL;
  g_autofree char *what = what_of (spec->klass);
  gpointer params;

  if (given == NULL)
    return NULL;
  settings = gemem_settings_merge (params_of (spec->klass), given, spec->settings, what, error);
  if (settings == NULL)
    return NULL;
  params = g_malloc0 (MAX (spec->klass->params_size, 1));
  if (gemem_params_apply (params_of (spec->klass), params, &context, what, settings, error))
    return params;
  gemem_params_clear (params_of (spec->klass), params);
  g_free (params);
  return NULL;
}

static const GememAllocatorMaking making = { gemem_allocator_find, gemem_allocator_classes,
                                             gemem_allocator_spec_parse, gemem_allocator_new };

GememAllocator *
gemem_allocator_new (const GememAllocatorSpec *spec, const char *defaults, GememDevice *device,
                     GError **error)
{
  g_autofree gpointer params = fill_params (spec, defaults, device, error);
  GememAllocator *allocator;

  if (params == NULL)
    return NULL;
  g_atomic_pointer_set (&gemem_allocator_making, &making);
  allocator = spec->klass->create (params, device, error);
  gemem_params_clear (params_of (spec->klass), params);
  if (allocator != NULL)
    {
      if (allocator->klass == NULL) /* else its settings decided: a class may serve several ways */
        allocator->klass = spec->klass;
      allocator->device = device;
    }
  return allocator;
}

GPtrArray *
gemem_allocator_effective (const GememAllocatorSpec *spec, const char *defaults,
                           GememDevice *device, GError **error)
{
  g_autofree gpointer params = fill_params (spec, defaults, device, error);
  GPtrArray *settings;

  if (params == NULL)
    return NULL;
  if (spec->klass->unfold != NULL)
    spec->klass->unfold (params);
  settings = gemem_settings_new ();
  for (const GememParam *row = params_of (spec->klass); row->name != NULL; row++)
    {
      g_autofree char *value = gemem_param_value_text (row, params);

      gemem_settings_add (settings, row->name, value);
    }
  gemem_params_clear (params_of (spec->klass), params);
  return settings;
}

gboolean
gemem_allocator_has_effect (const GememAllocatorSpec *spec, const char *defaults,
                            GememDevice *device, const GPtrArray *settings)
{
  g_autofree gpointer params = fill_params (spec, defaults, device, NULL);
  const GememParam *row = params_of (spec->klass);
  guint i = 0;

  if (params == NULL)
    return FALSE;
  if (spec->klass->unfold != NULL)
    spec->klass->unfold (params);
  for (; row->name != NULL && i < settings->len; row++, i++)
    {
      g_autofree char *value = gemem_param_value_text (row, params);

      if (strcmp (value, ((const GememSetting *) settings->pdata[i])->value) != 0)
        break;
    }
  gemem_params_clear (params_of (spec->klass), params);
  return row->name == NULL && i == settings->len;
}

void
gemem_allocator_spec_notes (const GememAllocatorSpec *spec, const char *defaults,
                            GememNoteFunc func, gpointer data)
{
  g_autofree char *release = gemem_params_release_note (spec->klass->params, spec->settings, NULL);
  GememDevice *device;
  g_autofree gpointer params = NULL;

  if (release != NULL)
    func (release, data);
  if (spec->klass->notes == NULL)
    return;
  device = gemem_device_new ("sim", NULL, 0, NULL); /* for values in percent */
  params = fill_params (spec, defaults, device, NULL);
  if (params != NULL)
    {
      spec->klass->notes (params, func, data);
      gemem_params_clear (params_of (spec->klass), params);
    }
  gemem_device_destroy (device);
}
