/* runtime-prefix.c - parses the prefix that slog writes before a message: "[INFO]
 * GE(PID,NAME):YYYY-MM-DD-HH:MM:SS.mmm.uuu [file.cc:LINE]TID ...".
 *
 * GE does not define the form of the prefix, so it is only searched for the two fields that are
 * used (runtime-line.h).
 */
#include "config.h"

#include "traces/ge/runtime-fields.h"

#define PREFIX 160 /* bytes searched for the two fields */

/* "(DIGITS," or "(DIGITS)" */
static void
take_process (Scan *scan, const char *end)
{
  for (const char *p = memchr (scan->start, '(', (gsize) (end - scan->start)); p != NULL;
       p = memchr (p, '(', (gsize) (end - p)))
    {
      guint64 process;
      p++;
      if (scan_uint (&p, end, &process) && p < end && (*p == ',' || *p == ')'))
        {
          scan->line->process = process;
          return;
        }
    }
}

/* Reads @digits digits, then one of @separators (NULL: none). */
static gboolean
take_digits (const char **p, const char *end, guint digits, const char *separators, guint *value)
{
  *value = 0;
  if (end - *p < (gssize) digits + 1)
    return FALSE;
  for (guint i = 0; i < digits; i++, ++*p)
    {
      if (!g_ascii_isdigit (**p))
        return FALSE;
      *value = *value * 10 + (guint) (**p - '0');
    }
  if (separators == NULL)
    return TRUE;
  return strchr (separators, *(*p)++) != NULL && (*p)[-1] != '\0';
}

/* "YYYY-MM-DD-HH:MM:SS.mmm.uuu" at @p. */
static gboolean
take_clock (const char *p, const char *end, guint64 *ns)
{
  guint year, month, day, hour, minute, second;
  guint64 fraction = 0, unit = 100000000;
  GDate date;

  if (!take_digits (&p, end, 4, "-", &year) || !take_digits (&p, end, 2, "-", &month)
      || !take_digits (&p, end, 2, "- T", &day) || !take_digits (&p, end, 2, ":", &hour)
      || !take_digits (&p, end, 2, ":", &minute) || !take_digits (&p, end, 2, NULL, &second)
      || !g_date_valid_dmy ((GDateDay) day, (GDateMonth) month, (GDateYear) year) || hour > 23
      || minute > 59 || second > 60)
    return FALSE;
  for (; p < end
         && (g_ascii_isdigit (*p)
             || ((*p == '.' || *p == ',') && p + 1 < end && g_ascii_isdigit (p[1])));
       p++)
    if (g_ascii_isdigit (*p))
      {
        fraction += unit * (guint64) (*p - '0');
        unit /= 10;
      }
  g_date_clear (&date, 1);
  g_date_set_dmy (&date, (GDateDay) day, (GDateMonth) month, (GDateYear) year);
  *ns = ((guint64) g_date_get_julian (&date) * 86400 + hour * 3600 + minute * 60 + second)
            * 1000000000
        + fraction;
  return TRUE;
}

void
gemem_ge_runtime_prefix (Scan *scan, const char *mark)
{
  const char *end = MIN (mark, scan->start + PREFIX);

  take_process (scan, end);
  for (const char *p = scan->start; !scan->line->has_time && end - p >= 19; p++)
    if (p[4] == '-' && p[7] == '-')
      scan->line->has_time = take_clock (p, end, &scan->line->time);
}
