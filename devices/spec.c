/* spec.c - the registry of devices: creates a device from "sim:capacity=80GiB,address=bump".
 *
 * "cuda:1:mode=vmm" is another way to write "cuda:gpu=1,mode=vmm": where a class has the setting
 * `gpu`, a number before the settings is its value.  "sim:capacity=8GiB|16GiB" stands for two
 * devices.  Instead of a class there may stand a size or a GPU's name, of a simulated device:
 * "16GiB", "h100:address=bump", "16GiB|24GiB".
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/named.h"
#include "base/units.h"
#include "devices/device-private.h"
#include "devices/gpus.h"

static const GememDeviceClass *const classes[] = {
#define GEMEM_DEVICE(symbol) &symbol,
#include "devices/devices.def"
#undef GEMEM_DEVICE
  NULL
};

const GememDeviceClass *const *
gemem_device_classes (void)
{
  return classes;
}

/* ---- parsing */

/* By name or alias; GEMEM_ERROR_USAGE with a suggestion. */
static const GememDeviceClass *
class_find (const char *name, GError **error)
{
  const char *known[G_N_ELEMENTS (classes)] = { NULL };
  const char *nearest;

  for (guint i = 0; classes[i] != NULL; i++)
    {
      if (gemem_name_is (classes[i]->name, classes[i]->aliases, name))
        return classes[i];
      known[i] = classes[i]->name;
    }
  g_autofree char *list = g_strjoinv (", ", (char **) known);
  nearest = gemem_suggest (name, known);
  if (nearest != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "device '%s': no such device; did you mean '%s'?", name, nearest);
  else
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "device '%s': no such device; use one of %s, a size (16GiB) or a GPU "
                 "('gemem-sim list gpus')",
                 name, list);
  return NULL;
}

/* "gpu=h100|a30" of the GPUs in @text, else "capacity=16GiB|24GiB" of the sizes; g_free().  NULL with
 * @error: another word is there. */
static char *
words_to_setting (const char *text, GError **error)
{
  g_auto (GStrv) words = g_strsplit (text, "|", -1);
  g_autoptr (GString) gpus = g_string_new ("gpu=");
  g_autoptr (GError) none = NULL;
  const gboolean sizes = g_ascii_isdigit (*text);
  guint64 bytes;

  for (char **word = words; *word != NULL && none == NULL; word++)
    {
      const GememGpu *gpu = gemem_gpu_find (*word, &none);
      if (gpu != NULL)
        g_string_append_printf (gpus, "%s%s", word > words ? "|" : "", gpu->name);
    }
  if (none == NULL)
    return g_strdup (gpus->str);
  for (char **word = words; *word != NULL && sizes; word++)
    if (!gemem_parse_size (*word, 1, 0, &bytes, error))
      return NULL;
  if (!sizes)
    g_propagate_error (error, g_steal_pointer (&none));
  return sizes ? g_strconcat ("capacity=", text, NULL) : NULL;
}

/* "sim:capacity=16GiB,..." of "16GiB:...", "sim:gpu=h100" of "h100"; other texts as they are.  g_free();
 * NULL with @error: one that was meant to be a size or a GPU, as its digits say. */
static char *
plain_spec (const char *spec, GError **error)
{
  const gsize length = strcspn (spec, ":");
  const char *more = spec[length] != '\0' ? spec + length + 1 : "";
  g_autofree char *name = g_strndup (spec, length), *setting = NULL;
  g_autoptr (GError) none = NULL;

  if (class_find (name, NULL) != NULL)
    return g_strdup (spec);
  setting = words_to_setting (name, &none);
  if (setting != NULL)
    return g_strdup_printf ("sim:%s%s%s", setting, *more != '\0' ? "," : "", more);
  if (strpbrk (name, "0123456789") == NULL)
    return g_strdup (spec);
  g_propagate_prefixed_error (error, g_steal_pointer (&none), "device '%s': ", name);
  return NULL;
}

static const GememParam no_params[] = { { .name = NULL } };

/* A device of @klass from @settings and, for unset keys, @defaults (may be NULL). */
static GememDevice *
new_plain (const GememDeviceClass *klass, const GPtrArray *settings, const GPtrArray *defaults,
           int ordinal, GError **error)
{
  const GememParam *table = klass->params != NULL ? klass->params : no_params;
  g_autofree char *what = g_strconcat ("device ", klass->name, NULL);
  g_autoptr (GPtrArray) merged = gemem_settings_merge (table, defaults, settings, what, error);
  g_autofree guint64 *params = g_malloc0 (MAX (klass->params_size, sizeof (guint64)));
  const GememParamContext context = { 0 };
  g_autoptr (GPtrArray) all = gemem_settings_new ();
  GememDevice *device = NULL;

  if (merged == NULL)
    return NULL;
  gemem_settings_append (all, merged);
  if (klass->imply != NULL)
    klass->imply (all);
  if (gemem_params_apply (table, params, &context, what, all, error))
    device = klass->create (params, ordinal, error);
  gemem_params_clear (table, params);
  return device;
}

/* The settings of @klass in @text, which follows "NAME:". */
static GPtrArray *
parse_settings (const GememDeviceClass *klass, const char *text, GError **error)
{
  gsize digits = strspn (text, "0123456789");
  g_autofree char *whole = NULL;

  if (digits == 0 || (text[digits] != '\0' && text[digits] != ':')
      || gemem_params_find (klass->params, "gpu") == NULL)
    return gemem_settings_parse (text, error);
  whole = g_strdup_printf ("gpu=%.*s,%s", (int) digits, text,
                           text + digits + (text[digits] == ':'));
  if (text[digits] == '\0' || text[digits + 1] == '\0')
    whole[strlen (whole) - 1] = '\0';
  return gemem_settings_parse (whole, error);
}

/* plain_spec() of what a user wrote. */
static char *
read_spec (const char *text, GError **error)
{
  return gemem_check_text ("device", text, error) ? plain_spec (text, error) : NULL;
}

/* The settings in @spec, of read_spec(), as written, lists included; NULL: it is NULL, or wrong. */
static GPtrArray *
parse_spec (const char *spec, const GememDeviceClass **klass, GError **error)
{
  const gsize length = spec != NULL ? strcspn (spec, ":") : 0;
  g_autofree char *name = g_strndup (spec, length);

  *klass = spec != NULL ? class_find (name, error) : NULL;
  return *klass != NULL
             ? parse_settings (*klass, spec[length] == ':' ? spec + length + 1 : "", error)
             : NULL;
}

/* The name of the device beneath a wrapper with @settings. */
static const char *
beneath_name (const GPtrArray *settings)
{
  const char *beneath = "sim";

  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = settings->pdata[i];
      if (gemem_name_equal (setting->key, "on"))
        beneath = setting->value;
    }
  return beneath;
}

const GememDeviceClass *
gemem_device_class_beneath (const GememDeviceClass *klass, const GPtrArray *settings)
{
  return klass->wrap != NULL ? class_find (beneath_name (settings), NULL) : klass;
}

GPtrArray *
gemem_device_spec_parse (const char *text, const GememDeviceClass **klass, GError **error)
{
  g_autofree char *spec = read_spec (text, error);
  g_autoptr (GPtrArray) settings = parse_spec (spec, klass, error);
  const GememDeviceClass *beneath;
  g_autofree char *what = NULL;

  if (settings == NULL)
    return NULL;
  beneath = gemem_device_class_beneath (*klass, settings);
  what = g_strconcat ("device ", (*klass)->name, NULL);
  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (settings, i);

      if (!gemem_params_check_unit ((*klass)->params, what, setting->key, setting->value, error)
          || (beneath != NULL
              && !gemem_params_check_unit (beneath->params, what, setting->key, setting->value,
                                           error)))
        return NULL;
    }
  return g_steal_pointer (&settings);
}

int
gemem_device_spec_gpu (const char *spec)
{
  const GememDeviceClass *klass, *beneath;
  g_autoptr (GPtrArray) settings = gemem_device_spec_parse (spec, &klass, NULL);
  guint64 number;

  beneath = settings != NULL ? gemem_device_class_beneath (klass, settings) : NULL;
  if (beneath == NULL || beneath->params == NULL
      || gemem_params_find (beneath->params, "gpu") == NULL)
    return -1;
  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = settings->pdata[i];
      if (gemem_name_equal (setting->key, "gpu"))
        return gemem_parse_uint (setting->value, &number, NULL) && number <= G_MAXUINT16
                   ? (int) number
                   : -1;
    }
  return -1;
}

static void
free_spec (GememDeviceSpec *spec)
{
  g_free (spec->spec);
  g_free (spec->difference);
  g_free (spec);
}

/* "NAME:key=value,..." of @settings, with @lists (or NULL) only those whose text differs there. */
static char *
join_settings (const char *name, const GPtrArray *settings, const GPtrArray *lists)
{
  GString *text = g_string_new (name);

  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (settings, i);
      g_autofree char *quoted = gemem_settings_quote (setting->value);

      if (lists == NULL
          || strcmp (setting->value, ((const GememSetting *) lists->pdata[i])->value) != 0)
        g_string_append_printf (text, "%s%s=%s",
                                text->len == 0               ? ""
                                : text->len == strlen (name) ? ":"
                                                             : ",",
                                setting->key, quoted);
    }
  return g_string_free (text, FALSE);
}

GPtrArray *
gemem_device_spec_expand (const char *given, GError **error)
{
  const GememDeviceClass *klass, *beneath;
  g_autofree char *text = read_spec (given, error);
  g_autoptr (GPtrArray) lists = parse_spec (text, &klass, error);
  g_autoptr (GPtrArray) all = NULL;
  g_autofree char *what = NULL;
  g_autoptr (GPtrArray) specs = g_ptr_array_new_with_free_func ((GDestroyNotify) free_spec);

  if (lists == NULL)
    return NULL;
  beneath = gemem_device_class_beneath (klass, lists);
  const GememParam *const tables[] = { klass->params != NULL ? klass->params : no_params,
                                       beneath != NULL ? beneath->params : NULL, NULL };
  what = g_strconcat ("device ", klass->name, NULL);
  all = gemem_settings_multiply (what, tables, lists, error);
  for (guint i = 0; all != NULL && i < all->len; i++)
    {
      const GPtrArray *settings = g_ptr_array_index (all, i);
      GememDeviceSpec *spec = g_new0 (GememDeviceSpec, 1);
      g_autofree char *difference = join_settings ("", settings, lists);
      const GememDeviceClass *checked;

      spec->spec = *difference == '\0' ? g_strdup (text)
                                       : join_settings (klass->name, settings, NULL);
      spec->difference = all->len > 1 ? g_steal_pointer (&difference) : NULL;
      g_ptr_array_add (specs, spec);
      g_autoptr (GPtrArray) sound = gemem_device_spec_parse (spec->spec, &checked, error);
      if (sound == NULL)
        return NULL;
    }
  return all != NULL ? g_steal_pointer (&specs) : NULL;
}

/* Creates a wrapper: it gets its own settings, the device beneath the others and all @defaults. */
static GememDevice *
new_wrapper (const GememDeviceClass *klass, const GPtrArray *settings, const GPtrArray *defaults,
             int ordinal, GError **error)
{
  g_autoptr (GPtrArray) own = g_ptr_array_new (), others = g_ptr_array_new ();
  g_autofree char *what = g_strconcat ("device ", klass->name, NULL);
  g_autofree gpointer params = g_malloc0 (klass->params_size);
  const GememParamContext context = { 0 };
  const GememDeviceClass *beneath;
  GememDevice *device = NULL, *inner;

  for (guint i = 0; i < settings->len; i++)
    {
      GememSetting *setting = g_ptr_array_index (settings, i);
      g_ptr_array_add (gemem_params_find (klass->params, setting->key) != NULL ? own : others,
                       setting);
    }
  if (gemem_params_apply (klass->params, params, &context, what, own, error)
      && (beneath = class_find (beneath_name (own), error)) != NULL)
    {
      if (beneath->wrap != NULL)
        g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                     "%s: on=%s: cannot stand on itself; use on=sim", what, beneath_name (own));
      else if ((inner = new_plain (beneath, others, defaults, ordinal, error)) != NULL)
        device = klass->wrap (inner, params, error);
    }
  gemem_params_clear (klass->params, params);
  return device;
}

GememDevice *
gemem_device_new (const char *spec, const char *defaults, int ordinal, GError **error)
{
  const GememDeviceClass *klass;
  g_autoptr (GPtrArray)
      settings = gemem_device_spec_parse (spec != NULL ? spec : "sim", &klass, error);
  g_autoptr (GPtrArray) fallback = NULL;
  GememDevice *device;

  if (settings == NULL
      || (defaults != NULL && (fallback = gemem_settings_parse (defaults, error)) == NULL))
    return NULL;
  device = (klass->wrap != NULL ? new_wrapper : new_plain) (klass, settings, fallback, ordinal,
                                                            error);
  for (GememDevice *each = device; each != NULL; each = each->inner)
    each->ordinal = ordinal;
  return device;
}
