/* The bytes that the program has allocated. */
#pragma once

#include <malloc.h>
#include <stddef.h>

static inline size_t heap_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}
