/* snapshot-writer.c - see snapshot-writer.h. Writes the opcodes that Python's pickle and
 * PyTorch's C++ pickler write. */
#include "config.h"

#include <string.h>

#include "tests/util/snapshot-writer.h"

typedef struct
{
  GByteArray *out;
  GHashTable *memo; /* string -> its memo index + 1 */
  guint32 next;
  SnapshotStyle style;
} Writer;

static void
put (Writer *writer, const char *bytes, gsize size)
{
  g_byte_array_append (writer->out, (const guint8 *) bytes, (guint) size);
}

static void
put_op (Writer *writer, int opcode)
{
  char c = (char) opcode;
  put (writer, &c, 1);
}

static void
put_number (Writer *writer, guint64 number, guint size)
{
  for (guint i = 0; i < size; i++)
    put_op (writer, (int) (number >> (8 * i) & 0xff));
}

static void
memoise (Writer *writer)
{
  if (writer->style == SNAPSHOT_PYTHON)
    put_op (writer, 0x94);
  else
    {
      put_op (writer, writer->next < 256 ? 'q' : 'r');
      put_number (writer, writer->next, writer->next < 256 ? 1 : 4);
    }
  writer->next++;
}

static void
put_string (Writer *writer, const char *string)
{
  guint32 found = GPOINTER_TO_UINT (g_hash_table_lookup (writer->memo, string));
  if (found != 0)
    {
      put_op (writer, found - 1 < 256 ? 'h' : 'j');
      put_number (writer, found - 1, found - 1 < 256 ? 1 : 4);
      return;
    }
  put_op (writer, writer->style == SNAPSHOT_PYTHON ? 0x8c : 'X');
  put_number (writer, strlen (string), writer->style == SNAPSHOT_PYTHON ? 1 : 4);
  put (writer, string, strlen (string));
  g_hash_table_insert (writer->memo, g_strdup (string), GUINT_TO_POINTER (writer->next + 1));
  memoise (writer);
}

static void
put_int (Writer *writer, gint64 value)
{
  if (value >= 0 && value < 256)
    put_op (writer, 'K'), put_number (writer, (guint64) value, 1);
  else if (value >= 0 && value < 65536)
    put_op (writer, 'M'), put_number (writer, (guint64) value, 2);
  else if (value >= G_MININT32 && value <= G_MAXINT32)
    put_op (writer, 'J'), put_number (writer, (guint64) value, 4);
  else
    put (writer, "\x8a\x08", 2), put_number (writer, (guint64) value, 8);
}

static void
put_float (Writer *writer, double value)
{
  guint64 bits;
  memcpy (&bits, &value, sizeof bits);
  put_op (writer, 'G');
  for (guint i = 0; i < 8; i++)
    put_op (writer, (int) (bits >> (56 - 8 * i) & 0xff));
}

/* An integer, True, False, a real number, or text. */
static void
put_value (Writer *writer, const char *text)
{
  char *end;
  gint64 integer = g_ascii_strtoll (text, &end, 0);
  if (*text != '\0' && *end == '\0')
    put_int (writer, integer);
  else if (strcmp (text, "True") == 0 || strcmp (text, "False") == 0)
    put_op (writer, *text == 'T' ? 0x88 : 0x89);
  else if (*end == '.')
    put_float (writer, g_ascii_strtod (text, NULL));
  else
    put_string (writer, text);
}

/* @words[i] under @keys[i], unless it is "-" or missing. */
static void
put_items (Writer *writer, const char *const *keys, char **words)
{
  for (guint i = 0; keys[i] != NULL && words[i] != NULL; i++)
    if (strcmp (words[i], "-") != 0)
      {
        put_string (writer, keys[i]);
        put_value (writer, words[i]);
      }
}

static void
open_dict (Writer *writer)
{
  put_op (writer, '}');
  memoise (writer);
  put_op (writer, '(');
}

static void
open_list (Writer *writer)
{
  put_op (writer, ']');
  memoise (writer);
  put_op (writer, '(');
}

/* ---- the parts */

static void
put_block (Writer *writer, char **words)
{
  static const char *const keys[] = { "address", "size", "requested_size", "state", NULL };

  open_dict (writer);
  if (words[0] != NULL && words[1] != NULL && words[2] != NULL && words[3] != NULL
      && words[4] != NULL)
    {
      put_string (writer, "history");
      open_list (writer);
      open_dict (writer);
      put_string (writer, "real_size");
      put_value (writer, words[4]);
      put_op (writer, 'u');
      put_op (writer, 'e');
    }
  put_items (writer, keys, words);
  put_op (writer, 'u');
}

/* Segments and the blocks behind each. */
static void
put_segments (Writer *writer, char **lines)
{
  static const char *const keys[] = { "device", "address",      "total_size",
                                      "stream", "segment_type", NULL };

  for (; *lines != NULL; lines++)
    {
      if ((*lines)[0] != 's')
        continue;
      g_auto (GStrv) words = g_strsplit (*lines, " ", -1);
      open_dict (writer);
      put_items (writer, keys, words + 1);
      if (g_strv_length (words) > 8)
        {
          put_string (writer, "segment_pool_id");
          put_value (writer, words[6]);
          put_value (writer, words[7]);
          put_op (writer, 0x86);
          memoise (writer);
          put_string (writer, "is_expandable");
          put_value (writer, words[8]);
        }
      put_string (writer, "blocks");
      open_list (writer);
      for (char **next = lines + 1; *next != NULL && (*next)[0] == 'b'; next++)
        {
          g_auto (GStrv) block = g_strsplit (*next, " ", -1);
          put_block (writer, block + 1);
        }
      put_op (writer, 'e');
      put_op (writer, 'u');
    }
}

/* TRUE: @name was written before and the writer shares objects; a reference to it is written. */
static gboolean
put_again (Writer *writer, const char *name)
{
  guint32 found = writer->style == SNAPSHOT_PYTHON
                      ? GPOINTER_TO_UINT (g_hash_table_lookup (writer->memo, name))
                      : 0;
  if (found == 0)
    g_hash_table_insert (writer->memo, g_strdup (name), GUINT_TO_POINTER (writer->next + 1));
  else
    {
      put_op (writer, found - 1 < 256 ? 'h' : 'j');
      put_number (writer, found - 1, found - 1 < 256 ? 1 : 4);
    }
  return found != 0;
}

/* Shares objects as PyTorch does: equal frames are one dict, equal stacks one list. */
static void
put_frames (Writer *writer, const char *stack)
{
  g_auto (GStrv) names = g_strsplit (stack, "/", -1);
  g_autofree char *key = g_strconcat ("stack ", stack, NULL);

  if (put_again (writer, key))
    return;
  open_list (writer);
  for (char **name = names; *name != NULL; name++)
    {
      g_autofree char *frame = g_strconcat ("frame ", *name, NULL);
      if (put_again (writer, frame))
        continue;
      open_dict (writer);
      put_string (writer, "name");
      put_string (writer, *name);
      put_string (writer, "filename");
      put_string (writer, "program.py");
      put_string (writer, "line");
      /* 2^64 - 1, as torch.compile writes it */
      put (writer, "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\0", 11);
      put_op (writer, 'u');
    }
  put_op (writer, 'e');
}

static void
put_event (Writer *writer, const char *line)
{
  static const char *const keys[] = { "action", "addr", "size", "stream", "time_us", NULL };
  static const char *const oom_keys[] = {
    "action", "device_free", "size", "stream", "time_us", NULL
  };
  g_auto (GStrv) words = g_strsplit (line, " ", -1);

  open_dict (writer);
  put_items (writer, strcmp (words[1], "oom") == 0 ? oom_keys : keys, words + 1);
  if (g_strv_length (words) > 8)
    {
      put_string (writer, "user_metadata");
      put_string (writer, words[8]);
    }
  if (g_strv_length (words) > 7 && strcmp (words[7], "-") != 0)
    {
      put_string (writer, "pool_id");
      put_int (writer, 0);
      put_value (writer, words[7]);
      put_op (writer, 0x86);
      memoise (writer);
    }
  if (g_strv_length (words) > 6 && strcmp (words[6], "-") != 0)
    {
      put_string (writer, "frames");
      put_frames (writer, words[6]);
    }
  put_op (writer, 'u');
}

static void
put_traces (Writer *writer, char **lines)
{
  guint device = 0, batch = 0;
  for (; *lines != NULL; lines++)
    if ((*lines)[0] == 't')
      {
        if (device++ > 0)
          put_op (writer, 'e');
        open_list (writer);
        batch = 0;
      }
    else if ((*lines)[0] == 'e')
      {
        if (batch++ == 1000 && writer->style == SNAPSHOT_PYTHON)
          {
            put (writer, "e(", 2);
            batch = 1;
          }
        put_event (writer, *lines);
      }
  if (device > 0)
    put_op (writer, 'e');
}

static void
put_settings (Writer *writer, char **lines)
{
  gboolean divisions = FALSE;
  for (char **line = lines; *line != NULL; line++)
    if ((*line)[0] == 'c')
      {
        g_auto (GStrv) words = g_strsplit (*line, " ", 3);
        put_string (writer, words[1]);
        put_value (writer, words[2]);
      }
  for (char **line = lines; *line != NULL; line++)
    if ((*line)[0] == 'd')
      {
        g_auto (GStrv) words = g_strsplit (*line, " ", 3);
        if (!divisions)
          {
            put_string (writer, "roundup_power2_divisions");
            open_dict (writer);
          }
        divisions = TRUE;
        put_string (writer, words[1]);
        put_value (writer, words[2]);
      }
  if (divisions)
    put_op (writer, 'u');
}

static void
put_annotations (Writer *writer, char **lines)
{
  static const char *const keys[] = { "stage", "name", "device", "time_us", NULL };
  for (; *lines != NULL; lines++)
    if ((*lines)[0] == 'n')
      {
        g_auto (GStrv) words = g_strsplit (*lines, " ", -1);
        open_dict (writer);
        put_items (writer, keys, words + 1);
        put_op (writer, 'u');
      }
}

GBytes *
snapshot_pickle (const char *text, SnapshotStyle style)
{
  Writer writer = { g_byte_array_new (),
                    g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL), 0, style };
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  put (&writer, style == SNAPSHOT_PYTHON ? "\x80\x04" : "\x80\x02", 2);
  if (style == SNAPSHOT_PYTHON)
    put (&writer, "\x95\0\0\0\0\0\0\0\0", 9);
  open_dict (&writer);
  put_string (&writer, "segments");
  open_list (&writer);
  put_segments (&writer, lines);
  put_op (&writer, 'e');
  put_string (&writer, "device_traces");
  open_list (&writer);
  put_traces (&writer, lines);
  put_op (&writer, 'e');
  put_string (&writer, "allocator_settings");
  open_dict (&writer);
  put_settings (&writer, lines);
  put_op (&writer, 'u');
  put_string (&writer, "external_annotations");
  open_list (&writer);
  put_annotations (&writer, lines);
  put_op (&writer, 'e');
  put_op (&writer, 'u');
  put_op (&writer, '.');
  g_hash_table_unref (writer.memo);
  return g_byte_array_free_to_bytes (writer.out);
}

char *
snapshot_page (GBytes *pickle)
{
  gsize size;
  const guint8 *data = g_bytes_get_data (pickle, &size);
  gsize padded = size + 3 - size % 3; /* 1 to 3 zero bytes behind STOP */
  g_autofree guint8 *bytes = g_malloc0 (padded);
  memcpy (bytes, data, size);
  g_autofree char *text = g_base64_encode (bytes, padded);
  return g_strdup_printf (
      "<!DOCTYPE html>\n<html>\n<head></head>\n<body>\n<script type=\"module\">\n"
      "import {add_local_files} from \"https://example.org/MemoryViz.js\"\n"
      "const local_files = [{\"name\": \"snapshot.pickle\", \"base64\": \"%s\"}]\n"
      "add_local_files(local_files, \"Active Memory Timeline\")\n</script>\n</body>\n</html>\n",
      text);
}
