/* Included before items.c, assoc.c, slabs.c and crawler.c: their variables, static ones too, lie side by side, so that keep.c can name them all. */
#pragma clang section bss = "kept_bss" data = "kept_data"
