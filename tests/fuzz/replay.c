/* main() of a fuzz target without the fuzzer: runs the target on every file
 * that it is given, so that `make test` replays the corpora. */
#include "lib/buffer.h"
#include "lib/files.h"

#include <stdint.h>
#include <stdio.h>

enum { INPUT_MAX = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		scoped_buffer struct buffer input = BUFFER_MAX(INPUT_MAX);
		struct error err;

		if (file_read(&input, argv[i], &err) < 0) {
			(void)fprintf(stderr, "%s\n", err.text);
			return 1;
		}
		(void)LLVMFuzzerTestOneInput(
			(const uint8_t *)(input.data == NULL ? "" : input.data),
			input.len);
	}
	(void)printf("replayed %d inputs\n", argc - 1);
	return 0;
}
