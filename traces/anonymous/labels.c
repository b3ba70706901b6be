/* labels.c - takes what a word before it names: "pid 1234", "USER=bob", "--nodelist gpu[1-4]"
 * (scan.h).
 */
#include "config.h"

#include "traces/anonymous/scan.h"

#define MAX_LABEL 24    /* longest word before a name: "master_addr" */
#define MAX_NODES 65536 /* most hosts that lists of nodes are spelled out to */

/* Learns the hosts of "gpu[1-4,07],cpu3", the first @n bytes of @list. */
static void
learn_nodes (GememRedactor *redactor, const char *list, gsize n)
{
  const char *end = list + n;

  while (list < end)
    {
      const gsize stem = MIN (strcspn (list, "[,"), (gsize) (end - list));
      const char *p = list + stem;

      if (p == end || *p == ',')
        gemem_redactor_hide_host (redactor, list, (gssize) stem);
      else
        while (p < end && is_one_of (*p, "[,"))
          {
            const gsize width = strspn (++p, G_CSET_DIGITS);
            const guint64 first = g_ascii_strtoull (p, NULL, 10);
            guint64 last = first;

            p += width;
            if (*p == '-')
              {
                last = g_ascii_strtoull (p + 1, NULL, 10);
                p += 1 + strspn (p + 1, G_CSET_DIGITS);
              }
            for (guint64 i = first; width > 0 && width < 10 && i <= last; i++)
              {
                g_autofree char *name = g_strdup_printf ("%.*s%0*" G_GUINT64_FORMAT, (int) stem,
                                                         list, (int) width, i);
                if (redactor->nodes++ >= MAX_NODES)
                  return;
                gemem_redactor_hide_host (redactor, name, -1);
              }
          }
      while (p < end && *p != ',')
        p++;
      list = p + 1;
    }
}

/* The length of the list of nodes at @p, in whose brackets commas do not end a word. */
static gsize
nodes_length (const char *p)
{
  gsize n = 0;

  while (n <= MAX_QUOTED && (is_name (p[n]) || is_one_of (p[n], "._-[],")))
    n++;
  return n;
}

/* TRUE if the word of @n bytes is an option with a value behind a space, "--user bob", and not the
 * one of pip that has none. */
static gboolean
is_option (const GememScan *scan, const char *p, gsize n)
{
  return p - scan->text >= 2 && p[-1] == '-' && p[-2] == '-' && p[n] == ' '
         && (is_name (p[n + 1]) || is_one_of (p[n + 1], "\"'"))
         && !gemem_scan_is_behind (scan, p, " install ");
}

/* Takes a process id with the word before it, and learns from settings of the environment. */
gsize
gemem_scan_labelled (const GememScan *scan, const char *p)
{
  static const char *const processes[] = { "pid",     "ppid",       "tgid", "tid",
                                           "process", "process id", NULL };
  static const char *const users[] = { "user", "username", "logname", "login", NULL };
  static const char *const hosts[] = { "host",          "hostname",    "nodename",
                                       "master_addr",   "master-addr", "rdzv_endpoint",
                                       "rdzv-endpoint", NULL };
  static const char *const lists[] = { "nodelist", NULL };
  gsize n = 0, value, digits;

  if (scan->kind == GEMEM_TEXT_SYMBOL || scan->kind == GEMEM_TEXT_PART)
    return 0;
  while (n < MAX_LABEL && (g_ascii_isalpha (p[n]) || (n > 0 && is_one_of (p[n], "_-"))))
    n++;
  if (n == 7 && g_ascii_strncasecmp (p, "process id", 10) == 0)
    n = 10;
  if (n == 0 || is_name (p[n]))
    return 0;
  value = n + strspn (p + n, " :=#([");
  digits = strspn (p + value, G_CSET_DIGITS);
  if (value > n && digits > 0 && !is_name (p[value + digits]) && is_word (p, n, processes))
    {
      if (scan->out != NULL)
        {
          g_string_append_len (scan->out, p, (gssize) value);
          gemem_scan_number (scan, "", &scan->redactor->processes, p + value, digits);
        }
      return value + digits;
    }
  if (p[n] != '=' && !is_option (scan, p, n))
    return 0;
  value = n + 1 + (is_one_of (p[n + 1], "\"'") ? 1 : 0);
  if (is_word (p, n, lists))
    {
      const gsize length = nodes_length (p + value);
      if (scan->out == NULL)
        learn_nodes (scan->redactor, p + value, length);
      else if (memchr (p + value, '[', length) != NULL)
        {
          g_string_append_len (scan->out, p, (gssize) value);
          gemem_scan_number (scan, "host", &scan->redactor->hosts, p + value, length);
          return value + length;
        }
    }
  else if (scan->out == NULL)
    {
      gsize length = 0;
      while (length <= MAX_NAME
             && (is_name (p[value + length]) || is_one_of (p[value + length], "._-")))
        length++;
      if (is_word (p, n, users))
        gemem_redactor_hide_user (scan->redactor, p + value, (gssize) length);
      else if (is_word (p, n, hosts))
        gemem_redactor_hide_host (scan->redactor, p + value, (gssize) length);
    }
  return 0;
}
