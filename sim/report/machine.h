/* machine.h - the machine of a measurement: for the manifest of results and for calibrated
 * profiles.  No host name, no user name.  Each returns NULL if unknown; g_free(). */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

char *gemem_machine_processor (void); /* "Intel(R) Xeon(R) ..." */
char *gemem_machine_kernel (void);    /* "Linux 6.8.0" */
char *gemem_machine_kind (void);      /* "x86_64" */
/* as the kernel reports it: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159 ..." */
char *gemem_machine_gpu_driver (void);

GEMEM_END_DECLS
