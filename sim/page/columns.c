/* columns.c - see columns.h. */
#include "config.h"

#include "base/io/json-text.h"
#include "sim/page/columns.h"

void
gemem_column_add (GByteArray *bytes, guint64 before, guint64 value)
{
  const guint64 difference = value - before;
  guint64 rest = difference << 1 ^ (0 - (difference >> 63));
  guint8 buffer[10];
  guint n = 0;

  do
    {
      buffer[n++] = (guint8) (rest & 127) | (rest > 127 ? 128 : 0);
      rest >>= 7;
    }
  while (rest > 0);
  g_byte_array_append (bytes, buffer, n);
}

void
gemem_column_append (GString *out, const char *name, const GByteArray *bytes)
{
  g_autofree char *text = g_base64_encode (bytes->data, bytes->len);

  gemem_json_append_name (out, name);
  g_string_append_printf (out, "\"%s\"", text);
}

void
gemem_columns_append (GString *out, const GememColumn *columns, const GArray *rows)
{
  const gsize size = g_array_get_element_size ((GArray *) rows);

  gemem_json_append_number_member (out, "n", rows->len);
  for (; columns->name != NULL; columns++)
    {
      g_autoptr (GByteArray) bytes = g_byte_array_new ();
      guint64 before = 0;

      for (guint i = 0; i < rows->len; i++)
        {
          gconstpointer at = rows->data + i * size + columns->offset;
          const guint64 value = columns->narrow ? *(const guint32 *) at : *(const guint64 *) at;

          gemem_column_add (bytes, before, value);
          before = value;
        }
      gemem_column_append (out, columns->name, bytes);
    }
}
