/* images-private.h - between images.c (choice of the entry, tables) and the readers of
 * single images. */
#pragma once

#include "base/io/elf.h"
#include "dry/images/images.h"

/* What is known of one image. */
typedef struct _GememDryImage GememDryImage;
struct _GememDryImage
{
  const void *image;
  int sm;
  GememDryImageState state;
  const char *problem; /* constant; NULL: none */
  GHashTable *kernels; /* name -> GememDryKernel */
  GHashTable *symbols; /* name -> guint64, bytes */
  gsize allowance; /* bytes of names that it may still have, so that names that share their bytes
                          cannot make the table larger than the image */
  char *ptx;       /* that can be compiled, and was not yet; or NULL */
  GememDryImage *compiled; /* from it; or NULL */
};

/* names.c. The kernel @name, added if it is new; NULL: the names are longer than the image. */
GememDryKernel *gemem_dry_image_add (GememDryImage *image, const char *name, gsize length);
/* The same for a variable of @size bytes; FALSE: the names are longer than the image. */
gboolean gemem_dry_image_add_symbol (GememDryImage *image, const char *name, gsize length,
                                     guint64 size);

/* elf.c. The compute capability that the ELF image was compiled for; *@exact: it runs on no
 * other. 0: not an ELF image of a GPU. */
int gemem_dry_elf_target (GememBytes elf, gboolean *exact);
gboolean gemem_dry_elf_read (GememBytes elf, GememDryImage *image);

/* ptx.c. */
gboolean gemem_dry_is_ptx (GememBytes text);
gboolean gemem_dry_ptx_read (GememBytes text, GememDryImage *image);

/* unpack.c. Both return @size bytes, free with g_free(); NULL: not exactly that many. */
guint8 *gemem_dry_unpack_lz4 (GememBytes packed, gsize size);
guint8 *gemem_dry_unpack_zstd (GememBytes packed, gsize size);
