/* terminal.h - how wide the terminal is that a descriptor stands for.
 *
 * The programs ask, never the library: what it writes does not depend on where it goes.
 */
#pragma once

#include <glib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Columns of the terminal at @descriptor; 0: it is none, or does not say. */
static inline guint
gemem_terminal_columns (int descriptor)
{
  struct winsize size = { 0 };

  return isatty (descriptor) && ioctl (descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
