/* visible.c - which GPUs of the machine a process sees, and in which order: $CUDA_VISIBLE_DEVICES, as the driver reads it when
 * it is initialised.
 *
 * The variable lists GPUs by their number or the beginning of their UUID.  The list ends before the first entry that names none;
 * a GPU that is named twice leaves none; so does an empty list.  A number beyond the machine's GPUs is no mistake
 * here: all GPUs of a dry run are alike, so the machine is taken to have as many as are named.
 *
 * Invariants: device I of the process is GPU gemem_driver.devices[I].place of the machine.
 */
#include "config.h"

#include <string.h>

#include "dry/driver/devices.h"
#include "dry/driver/mode.h"

void
gemem_driver_uuid (guint place, CUuuid *uuid)
{
  memset (uuid, 0, sizeof *uuid);
  g_snprintf (uuid->bytes, sizeof uuid->bytes, "stand-in %u", place);
}

void
gemem_driver_uuid_text (guint place, char text[DRIVER_UUID_TEXT])
{
  gsize length = g_strlcpy (text, "GPU-", DRIVER_UUID_TEXT);
  CUuuid uuid;

  gemem_driver_uuid (place, &uuid);
  for (guint i = 0; i < sizeof uuid.bytes; i++)
    length += g_snprintf (text + length, DRIVER_UUID_TEXT - length, "%s%02x",
                          i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", (guint8) uuid.bytes[i]);
}

/* The GPU of the machine, of @gpus, that @entry names; -1: none. */
static int
read_entry (const char *entry, guint gpus)
{
  int found = -1;

  if (g_ascii_isdigit (*entry))
    {
      const guint64 number = g_ascii_strtoull (entry, NULL,
                                               10); /* what follows the digits does not count */
      return number < DRIVER_DEVICES_MAX ? (int) number : -1;
    }
  for (guint i = 0; i < gpus && g_str_has_prefix (entry, "GPU-"); i++)
    {
      char text[DRIVER_UUID_TEXT];
      gemem_driver_uuid_text (i, text);
      if (!g_str_has_prefix (text, entry))
        continue;
      if (found >= 0)
        return -1; /* more than one begins so */
      found = (int) i;
    }
  return found;
}

guint
gemem_driver_visible (guint gpus, guint places[DRIVER_DEVICES_MAX])
{
  const char *text = gemem_driver.mode->as_gpu ? g_getenv ("CUDA_VISIBLE_DEVICES") : NULL;
  g_auto (GStrv) entries = g_strsplit (text != NULL ? text : "", ",", -1);
  guint64 seen = 0;
  guint count = 0;

  if (text == NULL)
    for (count = 0; count < gpus; count++)
      places[count] = count;
  for (char **entry = entries; text != NULL && *entry != NULL; entry++)
    {
      const int place = read_entry (g_strstrip (*entry), gpus);
      if (place < 0)
        break;
      if ((seen & (G_GUINT64_CONSTANT (1) << place)) != 0)
        return 0;
      seen |= G_GUINT64_CONSTANT (1) << place;
      places[count++] = (guint) place;
    }
  return count;
}

guint
gemem_driver_machine_gpus (void)
{
  guint places[DRIVER_DEVICES_MAX];
  guint gpus = gemem_driver.gpus;
  const guint count = gemem_driver_visible (gpus, places);

  for (guint i = 0; i < count; i++)
    gpus = MAX (gpus, places[i] + 1);
  return gpus;
}

int
gemem_driver_device_at (guint place)
{
  for (guint i = 0; i < gemem_driver.n_devices; i++)
    if (gemem_driver.devices[i].place == place)
      return (int) i;
  return -1;
}
