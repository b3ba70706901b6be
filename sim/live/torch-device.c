/* torch-device.c - the devices of libgemem-torch.so as text: their numbers and fractions. */
#include "config.h"

#include <string.h>

#include "sim/live/torch-private.h"

/* "cuda:mode=vmm" on device 1 becomes "cuda:1:mode=vmm".  Simulated devices have no numbers. */
char *
gemem_torch_device_spec (const char *device_class, int device)
{
  static const char *const cuda = "cuda";

  if (!g_str_has_prefix (device_class, cuda)
      || (device_class[strlen (cuda)] != '\0' && device_class[strlen (cuda)] != ':'))
    return g_strdup (device_class);
  return g_strdup_printf ("%s:%d%s", cuda, device, device_class + strlen (cuda));
}

guint64
gemem_torch_share (const char *spec, int device, double fraction)
{
  GememDevice *whole = gemem_device_new (spec, NULL, device, NULL);
  guint64 share;

  if (whole == NULL)
    return 0;
  share = (guint64) ((double) gemem_device_capacity (whole) * fraction);
  gemem_device_destroy (whole);
  return MAX (share, 1);
}
