/* testutil.h - what several tests share: where test data is, and skipping that cannot hide. */
#pragma once

#include <glib.h>

/* Path of @relative under the shared test data (--with-shared).  NULL, with the test marked as
 * skipped, when it is not there; with GEMEM_REQUIRE=shared a missing file is a failure instead. */
char *test_shared_path (const char *relative);

/* Path under the source tree; never NULL. */
char *test_source_path (const char *relative);

/* All files of shared/@dir whose name ends in @suffix, sorted; NULL and skipped as above. */
GPtrArray *test_shared_files (const char *dir, const char *suffix);

/* An empty directory that is removed, with its content, at exit. */
const char *test_tmpdir (void);

/* Switches the process to a locale with a decimal comma, making one (localedef) where none is
 * installed; FALSE, with the test marked as skipped, where that cannot be done.  Undo with
 * setlocale (LC_ALL, "C"). */
gboolean test_use_comma_locale (void);

/* Fails with the message of @error. */
#define test_assert_no_error(error) g_assert_no_error (error)
