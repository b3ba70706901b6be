/* decimal.c - see decimal.h.
 *
 * The digits before the point must fit into 64 bits; digits after it beyond 64 bits are dropped.
 */
#include "config.h"

#include "base/io/decimal.h"

#define MAX_EXPONENT 1000
#define SAFE_DIGITS 19 /* as many fit into 64 bits, whatever they are */

const char *
gemem_decimal_scaled (const char *text, int scale, guint64 *magnitude, gboolean *negative)
{
  const char *at = text + (*text == '-');
  gboolean minus = *text == '-', point = FALSE;
  guint64 value = 0;
  gint64 exponent = 0;

  if (!g_ascii_isdigit (*at))
    return NULL;
  for (const char *const safe = at + SAFE_DIGITS; at < safe && (guchar) (*at - '0') < 10; at++)
    value = value * 10 + (guint64) (*at - '0');
  for (; g_ascii_isdigit (*at) || (*at == '.' && !point); at++)
    {
      guint64 digit = (guint64) (*at - '0');
      if (*at == '.')
        point = TRUE;
      else if (value <= (G_MAXUINT64 - digit) / 10)
        {
          value = value * 10 + digit;
          exponent -= point;
        }
      else if (!point)
        return NULL;
    }
  if (*at == 'e' || *at == 'E')
    {
      gint64 power = 0;
      gboolean down = at[1] == '-';
      for (at += 1 + (at[1] == '-' || at[1] == '+'); g_ascii_isdigit (*at); at++)
        power = MIN (power * 10 + (*at - '0'), MAX_EXPONENT);
      exponent += down ? -power : power;
    }
  for (exponent += scale; exponent < 0 && value > 0; exponent++)
    value /= 10;
  for (; exponent > 0 && value > 0; exponent--)
    {
      if (value > G_MAXUINT64 / 10)
        return NULL;
      value *= 10;
    }
  minus = minus && value > 0;
  if (minus && negative == NULL)
    return NULL;
  *magnitude = value;
  if (negative != NULL)
    *negative = minus;
  return at;
}
