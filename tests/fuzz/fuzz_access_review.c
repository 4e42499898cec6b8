/* What the API server says about tokens and pods. The first byte picks the
 * question that it is an answer to. */
#include "aggregator/auth/access_review_text.h"

#include "kube/json_value.h"
#include "lib/memory.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is asked next about an account, however odd, is JSON, and a path stays
 * below the namespaces. */
static void check_account(const struct account *account)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
	scoped_free char *path = NULL;
	struct value *question = NULL;

	assert(account->user[0] != '\0');
	review_write_access(&out, account, "/v1/\"x", "get");
	assert(!out.overflowed);
	assert(value_parse(&question, out.data, out.len, NULL) == 0);
	value_free(question);
	if (review_pod_path(&path, account, NULL) == 0) {
		assert(strstr(path, "..") == NULL ||
			strstr(path, "/../") == NULL);
		assert(strncmp(path, "/api/v1/namespaces/", 19) == 0);
		assert(strpbrk(path, "?#% ") == NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_free char *user = xstrdup("u");
	scoped_free char *uid = xstrdup("1");
	const struct account nobody = { .user = user, .pod_uid = uid };
	struct account account = { 0 };
	const char *body = (const char *)data + 1;

	if (size == 0) {
		return 0;
	}
	size--;
	if (data[0] == 'a') {
		/* No yes without the word. */
		assert(review_read_access(&nobody, "/", "get", body, size,
			       NULL) < 0 ||
			memmem(body, size, "true", 4) != NULL);
	} else if (data[0] == 'p') {
		assert(review_check_pod(&nobody, "n", body, size, NULL) < 0 ||
			memmem(body, size, "nodeName", 8) != NULL ||
			memmem(body, size, "\\u", 2) != NULL);
	} else if (review_read_account(&account, body, size,
			   data[0] == 't' ? "ours" : NULL, NULL) == 0) {
		check_account(&account);
		account_fini(&account);
	}
	return 0;
}
