/* nccl-topology.c - the machine that the installed NCCL finds: a file as NCCL_TOPO_FILE names it,
 * so that it is the same wherever the dry run is made.
 *
 * All GPUs are on the PCIe bus of one Intel processor, with 16 lanes of the generation that
 * dry/nvml/links.c says.  From each, as many NVLinks as its row in gpus.def has lead to NVSwitch.
 * How many channels NCCL opens, and with that its buffers, follows from this.  Where the user names
 * a file, the machine is that one, and its GPUs are these.
 *
 * Invariants: the notes say which machine it was (gemem_dry_took()).  The file has no name, and lives as long
 * as the process.
 *
 * Origin: NCCL's user guide for NCCL_TOPO_FILE; the form is that of what
 * NCCL_TOPO_DUMP_FILE writes.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dry/libraries/nccl.h"
#include "dry/nvml/nvml.h"

/* As NCCL writes them, in small letters. */
static char *
bus_of (guint number)
{
  NvmlPciInfo info = { .legacy = "" };

  nvmlDeviceGetPciInfo_v3 ((NvmlDevice) (guintptr) (number + 1), &info);
  return g_ascii_strdown (info.legacy, -1);
}

/* ---- the machine that is assumed */

static void
append_gpu (GString *text, guint number)
{
  static const char *const speeds[] = { [3] = "8.0", [4] = "16.0", [5] = "32.0" };
  const GememGpu *gpu = gemem_dry_gpu ();
  const NvmlDevice device = (NvmlDevice) (guintptr) (number + 1);
  g_autofree char *bus = bus_of (number);
  NvmlOldPciInfo remote;
  unsigned generation = 3, width = 16;

  nvmlDeviceGetCurrPcieLinkGeneration (device, &generation);
  nvmlDeviceGetCurrPcieLinkWidth (device, &width);
  g_string_append_printf (text,
                          "<pci busid=\"%s\" class=\"0x030200\" vendor=\"0x10de\" device=\"\" "
                          "subsystem_vendor=\"\" subsystem_device=\"\" link_speed=\"%s GT/s PCIe\" "
                          "link_width=\"%u\">\n<gpu dev=\"%u\" sm=\"%d\" gdr=\"1\">\n",
                          bus, speeds[generation], width, number, 10 * gpu->major + gpu->minor);
  if (nvmlDeviceGetNvLinkRemotePciInfo (device, 0, &remote) == NVML_OK)
    {
      g_autofree char *far = g_ascii_strdown (remote.legacy, -1);
      g_string_append_printf (text, "<nvlink target=\"%s\" count=\"%d\" tclass=\"0x068000\"/>\n",
                              far, gpu->nvlinks);
    }
  g_string_append (text, "</gpu>\n</pci>\n");
}

static char *
assumed_machine (guint count)
{
  GString *text = g_string_new ("<system version=\"1\">\n<cpu numaid=\"0\" affinity=\"\" "
                                "arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" "
                                "modelid=\"143\">\n");

  for (guint i = 0; i < count; i++)
    append_gpu (text, i);
  g_string_append (text, "</cpu>\n</system>\n");
  return g_string_free (text, FALSE);
}

/* ---- the user's */

static char *
replaced (const char *text, const char *from, const char *to)
{
  g_auto (GStrv) parts = g_strsplit (text, from, -1);
  return g_strjoinv (to, parts);
}

/* The places on the bus of the GPUs in @text, in the order of their numbers, or of the file where
 * it numbers none. */
static GPtrArray *
places_of (const char *text)
{
  GPtrArray *places = g_ptr_array_new_with_free_func (g_free);
  const gboolean numbered = strstr (text, "<gpu ") != NULL;
  const char *form = numbered ? "<pci busid=\"([^\"]+)\"[^>]*>\\s*<gpu dev=\"(\\d+)\""
                              : "<pci busid=\"([^\"]+)\" class=\"0x030[02]()";
  g_autoptr (GRegex) regex = g_regex_new (form, 0, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;

  for (g_regex_match (regex, text, 0, &match); g_match_info_matches (match);
       g_match_info_next (match, NULL))
    {
      g_autofree char *number = g_match_info_fetch (match, 2);
      const guint i = numbered ? (guint) atoi (number) : places->len;
      if (i >= DRIVER_DEVICES_MAX)
        continue;
      if (i >= places->len)
        g_ptr_array_set_size (places, (gint) i + 1);
      g_free (places->pdata[i]);
      places->pdata[i] = g_match_info_fetch (match, 1);
    }
  return places;
}

/* The machine in the file @path, where the GPUs are at other places than here: they are moved, and
 * whatever is at theirs goes to a part of the bus of its own.  NULL: it has not @count GPUs. */
static char *
given_machine (const char *path, guint count)
{
  g_autoptr (GRegex) host = g_regex_new (" host_hash=\"[^\"]*\"", 0, 0, NULL);
  g_autofree char *file = NULL;

  if (!g_file_get_contents (path, &file, NULL, NULL))
    return NULL;
  char *text = g_regex_replace_literal (host, file, -1, 0, "", 0,
                                        NULL); /* of its machine, not this */
  g_autoptr (GPtrArray) places = places_of (text);
  for (guint i = 0; i < count; i++)
    if (i >= places->len || places->pdata[i] == NULL)
      {
        g_free (text);
        return NULL;
      }
  for (guint step = 0; step < 3; step++) /* theirs away, ours away, theirs to ours */
    for (guint i = 0; i < count; i++)
      {
        g_autofree char *own = bus_of (i), *marked = g_strdup_printf ("gpu %u of dry", i);
        g_autofree char *away = g_strconcat ("fffe", own + strlen ("0000"), NULL);
        char *next = step == 0   ? replaced (text, places->pdata[i], marked)
                     : step == 1 ? replaced (text, own, away)
                                 : replaced (text, marked, own);
        g_free (text);
        text = next;
      }
  return text;
}

/* ---- both */

/* A name for a file that holds @text; NULL: there is none. */
static char *
file_with (const char *text)
{
  const int file = memfd_create ("gemem-dry-topology", MFD_CLOEXEC);

  if (file < 0 || write (file, text, strlen (text)) != (ssize_t) strlen (text))
    return NULL;
  return g_strdup_printf ("/proc/%d/fd/%d", (int) getpid (), file);
}

char *
nccl_topology (gboolean *given)
{
  const char *path = g_getenv ("NCCL_TOPO_FILE");
  const int links = gemem_dry_gpu ()->nvlinks;
  unsigned count = 0;

  *given = path != NULL && *path != '\0';
  nvmlDeviceGetCount_v2 (&count);
  g_autofree char *text = *given ? given_machine (path, count) : assumed_machine (count);
  g_autofree char *own = text != NULL ? file_with (text) : NULL;
  char *machine = own == NULL ? NULL
                  : *given    ? g_strdup_printf ("the topology of %s", path)
                  : links > 0
                      ? g_strdup_printf ("a machine where %d NVLinks of each GPU lead to NVSwitch",
                                         links)
                      : g_strdup (links == 0
                                      ? "a machine where GPUs reach each other by the PCIe bus of "
                                        "one processor"
                                      : "a machine where GPUs do not reach each other");
  if (own != NULL)
    setenv ("NCCL_TOPO_FILE", own, 1);
  return machine;
}
