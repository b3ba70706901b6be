/* testutil.h - shared by all tests: the paths of test data, and skips that cannot go unnoticed. */
#pragma once

#include <glib.h>

/* Path of @relative under the shared test data (--with-shared). NULL, with the test marked as
 * skipped, if the file is missing; with GEMEM_REQUIRE=shared a missing file is a failure
 * instead. */
char *test_shared_path (const char *relative);

/* Path under the source tree; never NULL. */
char *test_source_path (const char *relative);

/* All files of shared/@dir whose name ends in @suffix, sorted; NULL and skipped as above. */
GPtrArray *test_shared_files (const char *dir, const char *suffix);

/* An empty directory that is removed, with its content, at exit. */
const char *test_tmpdir (void);

/* Switches the process to a locale with a decimal comma; makes one with localedef if none is
 * installed. FALSE, with the test marked as skipped, if that fails. Undo with setlocale (LC_ALL,
 * "C"). */
gboolean test_use_comma_locale (void);

/* Opens the library @built, a path below the build folder, with the @flags of dlopen().  Ends the test if it
 * cannot be opened. */
gpointer test_open_library (const char *built, int flags);

/* The symbol @name of @library, which ends the test if it is missing. */
gpointer test_symbol (gpointer library, const char *name);

/* Ends the test, with both texts, if @part is not in @text. */
void test_assert_contains (const char *text, const char *part);
