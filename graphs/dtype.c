/* dtype.c - the table of element types; see dtype.h. */
#include "config.h"

#include "base/params.h"
#include "graphs/dtype.h"

typedef struct
{
  const char *name, *aliases;
  guint bits;
} Row;

static const Row rows[] = {
  { "", NULL, 0 },
  { "float32", "float|fp32|DT_FLOAT|torch.float32|f32", 32 },
  { "float16", "half|fp16|DT_FLOAT16|torch.float16|f16", 16 },
  { "bfloat16", "bf16|DT_BF16|torch.bfloat16", 16 },
  { "float64", "double|fp64|DT_DOUBLE|torch.float64|f64", 64 },
  { "float8_e4m3", "float8_e4m3fn|float8_e4m3fnuz|torch.float8_e4m3fn|DT_FLOAT8_E4M3FN", 8 },
  { "float8_e5m2", "float8_e5m2fnuz|torch.float8_e5m2|DT_FLOAT8_E5M2", 8 },
  { "float8_e8m0", "float8_e8m0fnu|torch.float8_e8m0fnu|DT_FLOAT8_E8M0", 8 },
  { "float6_e2m3", "DT_FLOAT6_E2M3", 6 },
  { "float6_e3m2", "DT_FLOAT6_E3M2", 6 },
  { "float4_e2m1", "DT_FLOAT4_E2M1", 4 },
  { "int64", "long|DT_INT64|torch.int64|i64", 64 },
  { "int32", "int|DT_INT32|torch.int32|i32", 32 },
  { "int16", "short|DT_INT16|torch.int16|i16", 16 },
  { "int8", "DT_INT8|torch.int8|i8", 8 },
  { "int4", "DT_INT4", 4 },
  { "uint64", "DT_UINT64|torch.uint64", 64 },
  { "uint32", "DT_UINT32|torch.uint32", 32 },
  { "uint16", "DT_UINT16|torch.uint16", 16 },
  { "uint8", "byte|DT_UINT8|torch.uint8", 8 },
  { "uint4", NULL, 4 },
  { "int2", "DT_INT2", 2 },
  { "uint2", "DT_UINT2", 2 },
  { "uint1", "DT_UINT1", 1 },
  { "bool", "DT_BOOL|torch.bool|boolean", 8 },
  { "complex64", "DT_COMPLEX64|torch.complex64", 64 },
  { "complex128", "DT_COMPLEX128|torch.complex128", 128 },
  { "string", "DT_STRING", 0 },
};

/* The canonical spelling of names that gemem_name_equal() treats as equal. */
static char *
normalise (const char *name)
{
  return g_strdelimit (g_ascii_strdown (name, -1), "_", '-');
}

static GHashTable *
make_index (void)
{
  GHashTable *index = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 1; i < G_N_ELEMENTS (rows); i++)
    {
      g_auto (GStrv) aliases = g_strsplit (rows[i].aliases != NULL ? rows[i].aliases : "", "|", -1);

      g_hash_table_insert (index, normalise (rows[i].name), GUINT_TO_POINTER (i));
      for (char **alias = aliases; *alias != NULL; alias++)
        g_hash_table_insert (index, normalise (*alias), GUINT_TO_POINTER (i));
    }
  return index;
}

GememDtype
gemem_dtype_find (const char *name)
{
  static gsize index; /* GHashTable, made once, never freed */
  g_autofree char *key = normalise (name);

  if (g_once_init_enter (&index))
    g_once_init_leave (&index, (gsize) make_index ());
  return (GememDtype) GPOINTER_TO_UINT (g_hash_table_lookup ((GHashTable *) index, key));
}

const char *
gemem_dtype_name (GememDtype dtype)
{
  return dtype < G_N_ELEMENTS (rows) ? rows[dtype].name : "";
}

guint
gemem_dtype_bits (GememDtype dtype)
{
  return dtype < G_N_ELEMENTS (rows) ? rows[dtype].bits : 0;
}

const char *const *
gemem_dtype_names (void)
{
  static const char *names[G_N_ELEMENTS (rows)];
  static gsize done;

  if (g_once_init_enter (&done))
    {
      for (guint i = 1; i < G_N_ELEMENTS (rows); i++)
        names[i - 1] = rows[i].name;
      g_once_init_leave (&done, 1);
    }
  return names;
}

gboolean
gemem_dtype_bytes (GememDtype dtype, const gint64 *dims, guint n, guint64 *bytes)
{
  guint64 elements = 1;

  for (guint i = 0; i < n; i++)
    {
      const guint64 dim = dims[i] < 0 ? -(guint64) dims[i] : (guint64) dims[i];

      if (!g_uint64_checked_mul (&elements, elements, dim))
        return FALSE;
    }
  if (!g_uint64_checked_mul (&elements, elements, gemem_dtype_bits (dtype))
      || elements > G_MAXINT64 - 7)
    return FALSE;
  *bytes = (elements + 7) / 8;
  return TRUE;
}
