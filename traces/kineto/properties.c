/* properties.c - see properties.h. */
#include "config.h"

#include <string.h>

#include "traces/kineto/properties.h"

static void
clear_gpu (gpointer data)
{
  g_free (((GememKinetoGpu *) data)->name);
}

GArray *
gemem_kineto_properties_new (void)
{
  GArray *gpus = g_array_new (FALSE, TRUE, sizeof (GememKinetoGpu));

  g_array_set_clear_func (gpus, clear_gpu);
  return gpus;
}

/* Reads the value of @key, the property that was named last. */
static gboolean
read_property (GememKinetoGpu *gpu, GememJson *json, const char *key, GError **error)
{
  const gboolean id = strcmp (key, "id") == 0, memory = strcmp (key, "totalGlobalMem") == 0;
  const gboolean name = strcmp (key, "name") == 0;
  const int token = gemem_json_next (json, error);
  gboolean negative = FALSE;
  guint64 number;

  if (token == GEMEM_JSON_NUMBER && (id || memory)
      && gemem_json_scaled (json, 0, &number, &negative) && !negative)
    *(id ? &gpu->id : &gpu->memory) = number;
  if (token == GEMEM_JSON_STRING && name && gpu->name == NULL)
    gpu->name = g_utf8_make_valid (gemem_json_text (json), -1);
  return token >= 0 && gemem_json_skip (json, token, error);
}

static gboolean
read_gpu (GArray *gpus, GememJson *json, GError **error)
{
  GememKinetoGpu gpu = { G_MAXUINT64, 0, NULL };
  gboolean sound = TRUE;
  int token = GEMEM_JSON_END_OBJECT;

  while (sound && (token = gemem_json_next (json, error)) == GEMEM_JSON_KEY)
    {
      g_autofree char *key = g_strdup (gemem_json_text (json));
      sound = read_property (&gpu, json, key, error);
    }
  g_array_append_val (gpus, gpu);
  return sound && token >= 0;
}

gboolean
gemem_kineto_properties_read (GArray *gpus, GememJson *json, int token, GError **error)
{
  if (token != GEMEM_JSON_BEGIN_ARRAY)
    return gemem_json_skip (json, token, error);
  while ((token = gemem_json_next (json, error)) >= 0 && token != GEMEM_JSON_END_ARRAY)
    if (token == GEMEM_JSON_BEGIN_OBJECT ? !read_gpu (gpus, json, error)
                                         : !gemem_json_skip (json, token, error))
      return FALSE;
  return token >= 0;
}

static const GememKinetoGpu *
find (const GArray *gpus, guint64 id)
{
  for (guint i = 0; i < gpus->len; i++)
    if (g_array_index (gpus, GememKinetoGpu, i).id == id)
      return &g_array_index (gpus, GememKinetoGpu, i);
  return NULL;
}

void
gemem_kineto_properties_settle (const GArray *gpus, const GArray *uses, GememTraceInfo *info)
{
  const GememKinetoGpu *first = NULL;
  gboolean told = uses->len > 0;
  guint64 reserved = 0;

  for (guint i = 0; i < uses->len; i++)
    {
      const GememKinetoUse *use = &g_array_index (uses, GememKinetoUse, i);
      const GememKinetoGpu *gpu = use->device != GEMEM_DEVICE_HOST ? find (gpus, use->device)
                                                                   : NULL;

      told = told && gpu != NULL && gpu->memory > 0
             && (first == NULL || first->memory == gpu->memory);
      first = i == 0 ? gpu : first;
      reserved = MAX (reserved, use->device != GEMEM_DEVICE_HOST ? use->reserved : 0);
    }
  if (told && first->memory >= reserved)
    info->device = g_strdup_printf ("capacity=%" G_GUINT64_FORMAT, first->memory);
  else if (reserved > 0)
    info->device = g_strdup_printf ("at_least=%" G_GUINT64_FORMAT, reserved);
  if (told && first->name != NULL)
    gemem_trace_info_note (info, "device", "%s", first->name);
}
