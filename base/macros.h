/* macros.h - declarations between GEMEM_BEGIN_DECLS and GEMEM_END_DECLS are the library's public
 * symbols.
 *
 * Everything is compiled with -fvisibility=hidden; the tests link the internal library and see all
 * symbols.  GEMEM_CHECK is an assertion of --enable-checks=cheap (the default), GEMEM_FULL_CHECK of
 * --enable-checks=full.
 */
#pragma once

#include <glib.h>

#define GEMEM_BEGIN_DECLS G_BEGIN_DECLS _Pragma ("GCC visibility push(default)")
#define GEMEM_END_DECLS _Pragma ("GCC visibility pop") G_END_DECLS

#if defined(GEMEM_CHECKS) && GEMEM_CHECKS >= 1
#define GEMEM_CHECK(expression) g_assert (expression)
#else
#define GEMEM_CHECK(expression) ((void) sizeof (expression))
#endif

#if defined(GEMEM_CHECKS) && GEMEM_CHECKS >= 2
#define GEMEM_FULL_CHECK(expression) g_assert (expression)
#else
#define GEMEM_FULL_CHECK(expression) ((void) sizeof (expression))
#endif
