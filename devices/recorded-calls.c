/* recorded-calls.c - reads a log of device calls (sim/engine/calls-log.c), so that the simulated
 * device answers as the logged device did.
 *
 * Why: decisions depend on addresses and on when events complete, and both come from the device.
 * With the logged ones, an allocator must decide on the simulated device as it did on the other
 * one.  Refusals and held bytes remain the simulated device's own.  Of a log with several devices
 * only the rows of the device that is simulated count.
 *
 * Cost: an address per allocation and reservation, a byte per event query, of the whole log.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "devices/simulated-private.h"

#define HEADER "seq,call,stream,size,address,ok,device"

typedef struct
{
  const char *path;
  int ordinal; /* whose rows count */
  guint line, rows;
} Place;

static gboolean
refuse (const Place *place, const char *what, GError **error)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
               "%s:%u: %s; give a file that 'gemem-sim replay --calls' wrote", place->path,
               place->line, what);
  return FALSE;
}

static gboolean
read_hex (const char *text, guint64 *value)
{
  return g_str_has_prefix (text, "0x") && gemem_parse_digits (text + 2, 16, 0, G_MAXUINT64, value);
}

static gboolean
is (const char *text, GememDeviceCall call)
{
  return strcmp (text, gemem_device_call_name (call)) == 0;
}

static gboolean
take_row (GememSimulated *self, Place *place, const char *row, GError **error)
{
  g_auto (GStrv) fields = g_strsplit (row, ",", 0);
  guint64 size, address, device;
  guint8 ok;

  if (g_strv_length (fields) != 7 || !gemem_parse_digits (fields[3], 10, 0, G_MAXUINT64, &size)
      || !read_hex (fields[4], &address)
      || (strcmp (fields[5], "0") != 0 && strcmp (fields[5], "1") != 0)
      || !gemem_parse_digits (fields[6], 10, 0, G_MAXUINT16, &device))
    return refuse (place, "no row of " HEADER, error);
  if (device != (guint64) place->ordinal)
    return TRUE;
  place->rows++;
  ok = fields[5][0] == '1';
  if (is (fields[1], GEMEM_CALL_EVENT_QUERY))
    g_byte_array_append (self->answers, &ok, 1);
  else if (ok && is (fields[1], GEMEM_CALL_MALLOC))
    gemem_simulated_expect (self, &self->expected_blocks, address, size);
  else if (ok && is (fields[1], GEMEM_CALL_RESERVE))
    gemem_simulated_expect (self, &self->expected_ranges, address, size);
  return TRUE;
}

gboolean
gemem_simulated_load_calls (GememSimulated *self, const char *path, int ordinal, GError **error)
{
  Place place = { path, ordinal, 1, 0 };
  g_autoptr (GError) cause = NULL;
  g_autofree char *text = NULL;
  char *row, *end;
  gsize length;

  if (g_file_test (path, G_FILE_TEST_EXISTS) && !g_file_test (path, G_FILE_TEST_IS_REGULAR))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "device sim: calls=%s: not a regular file, and every run reads it; save the "
                   "calls to a file and name that",
                   path);
      return FALSE;
    }
  if (!g_file_get_contents (path, &text, &length, &cause))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
                   "device sim: calls=%s: %s; give a file that can be read", path, cause->message);
      return FALSE;
    }
  self->answers = g_byte_array_new ();
  if (!g_str_has_prefix (text, HEADER "\n"))
    return refuse (&place, "does not begin with " HEADER, error);
  if (strlen (text) != length || text[length - 1] != '\n')
    return refuse (&place, "is damaged, or its end is missing", error);
  for (row = strchr (text, '\n') + 1; *row != '\0'; row = end + 1)
    {
      place.line++;
      end = strchr (row, '\n');
      *end = '\0';
      if (!take_row (self, &place, row, error))
        return FALSE;
    }
  if (place.rows == 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                 "%s: no call of device %d; give the log of a run on that device", path, ordinal);
  return place.rows > 0;
}
