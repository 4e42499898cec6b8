/* Responses of the API server about tokens and pods. The first byte selects
 * the kind of request that the rest answers. */
#include "auth/access_review_text.h"
#include "auth/subject_access.h"

#include "kube/json_value.h"
#include "lib/memory.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The next request about any account is valid JSON, and its pod's path stays
 * below /api/v1/namespaces/. */
static void check_account(const struct account *account)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
	scoped_free char *path = NULL;
	struct json_value *request = NULL;

	assert(account->user[0] != '\0');
	subject_access_write(&out, account,
		&(struct subject_access){ .verb = "get", .path = "/v1/\"x" });
	assert(!out.overflowed);
	assert(json_value_parse(&request, out.data, out.len, NULL) == 0);
	json_value_free(request);
	if (access_review_pod_path(&path, account, NULL) == 0) {
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
		/* Nothing is allowed without the word "true". */
		bool is_allowed = false;

		assert(subject_access_read(&is_allowed, body, size, NULL) < 0 ||
			!is_allowed || memmem(body, size, "true", 4) != NULL);
	} else if (data[0] == 'p') {
		assert(access_review_check_pod(&nobody, "n", body, size, NULL) <
				0 ||
			memmem(body, size, "nodeName", 8) != NULL ||
			memmem(body, size, "\\u", 2) != NULL);
	} else if (data[0] == 'l') {
		/* A pod that is not listed is gone. */
		bool leaves = false;

		assert(access_review_read_pods(&leaves, "1", body, size, NULL) <
				0 ||
			leaves || memmem(body, size, "uid", 3) != NULL ||
			memmem(body, size, "\\u", 2) != NULL);
	} else if (access_review_read_account(&account, body, size,
			   data[0] == 't' ? "ours" : NULL, NULL) == 0) {
		check_account(&account);
		account_fini(&account);
	}
	return 0;
}
