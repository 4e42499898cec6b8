#include "lib/edit_distance.h"

#include <string.h>

size_t edit_distance(const char *a, size_t a_len, const char *b)
{
	size_t row[EDIT_DISTANCE_MAX];
	size_t b_len = strlen(b);

	for (size_t j = 0; j <= b_len; j++) {
		row[j] = j;
	}
	for (size_t i = 1; i <= a_len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t replaced =
				diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
			size_t moved =
				row[j] < row[j - 1] ? row[j] : row[j - 1];

			diagonal = row[j];
			row[j] = replaced < moved + 1 ? replaced : moved + 1;
		}
	}
	return row[b_len];
}
