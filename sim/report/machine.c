/* machine.c - see machine.h. */
#include "config.h"

#include <string.h>
#include <sys/utsname.h>

#include "sim/report/machine.h"

char *
gemem_machine_processor (void)
{
  g_autofree char *text = NULL;
  const char *line, *colon;

  if (!g_file_get_contents ("/proc/cpuinfo", &text, NULL, NULL))
    return NULL;
  line = strstr (text, "model name");
  colon = line != NULL ? strchr (line, ':') : NULL;
  return colon != NULL ? g_strstrip (g_strndup (colon + 1, strcspn (colon + 1, "\n"))) : NULL;
}

char *
gemem_machine_kernel (void)
{
  struct utsname system;
  return uname (&system) == 0 ? g_strdup_printf ("%s %s", system.sysname, system.release) : NULL;
}

char *
gemem_machine_kind (void)
{
  struct utsname system;
  return uname (&system) == 0 ? g_strdup (system.machine) : NULL;
}

char *
gemem_machine_gpu_driver (void)
{
  char *text = NULL;

  if (!g_file_get_contents ("/proc/driver/nvidia/version", &text, NULL, NULL))
    return NULL;
  text[strcspn (text, "\n")] = '\0';
  return text;
}
