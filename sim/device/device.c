/* device.c - to be written */
#include "config.h"
#include <glib.h>
