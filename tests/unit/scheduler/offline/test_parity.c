/* Recorded cases with the verdicts and scores of kube-scheduler 1.37 itself.
 * `tests/e2e/parity.py --keep` wrote them. Each shows if one rule is wrong. */
#include "scheduler/offline/score_cmd.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "kube/json_value.h"
#include "lib/files.h"
#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/golden.h"

#define FOLDER "tests/fixtures/parity"

enum { TEXT_MAX = 1 << 20 };

/* The answer of `score` to the case of a file, whose last member it is. */
static void score_case(struct buffer *out, const char *policy, const char *file)
{
	static const char member[] = "\"case\": {";
	scoped_buffer struct buffer input = BUFFER_MAX(TEXT_MAX);
	const char *inside = strstr(file, member);
	struct error err;

	assert_non_null(inside);
	inside += strlen(member);
	buffer_printf(&input, "{\"policy\": \"%s\", ", policy);
	buffer_append(&input, inside, (size_t)(strrchr(inside, '}') - inside));
	if (score_text(out, input.data, input.len, &err) < 0) {
		fail_msg("%s", err.text);
	}
}

static bool has_reason(const struct json_value *reasons, const char *reason)
{
	for (const struct json_value *v = json_value_first(reasons); v != NULL;
		v = json_value_next(v)) {
		if (strcmp(json_value_text(v), reason) == 0) {
			return true;
		}
	}
	return false;
}

static void assert_reasons(const char *name, const struct json_value *node,
	const struct json_value *expected)
{
	const struct json_value *reasons = json_value_get(node, "reasons");

	assert_non_null(expected);
	assert_int_equal(json_value_count(reasons), json_value_count(expected));
	for (const struct json_value *v = json_value_first(expected); v != NULL;
		v = json_value_next(v)) {
		if (has_reason(reasons, json_value_text(v))) {
			continue;
		}
		fail_msg("%s: %s", name, json_value_text(v));
	}
}

/* A score that kube-scheduler did not give is none of ours. */
static void assert_score(const char *name, const char *term,
	const struct json_value *node, const struct json_value *scores)
{
	const struct json_value *ours =
		json_value_get(json_value_get(node, "terms"), term);
	const struct json_value *theirs = json_value_get(scores, term);
	double is = -1, was = -1;

	(void)json_value_number(&is, ours);
	(void)json_value_number(&was, theirs);
	if (is != was) {
		fail_msg("%s: %s is %f, not %f", name, term, is, was);
	}
}

static void assert_same(const char *name, const char *file)
{
	scoped_buffer struct buffer out = BUFFER_MAX(TEXT_MAX);
	struct json_value *kept = NULL, *answer = NULL;
	const struct json_value *nodes, *reasons, *scores;

	score_case(&out, "kube-scheduler", file);
	assert_int_equal(json_value_parse(&kept, file, strlen(file), NULL), 0);
	assert_int_equal(json_value_parse(&answer, out.data, out.len, NULL), 0);
	nodes = json_value_get(answer, "nodes");
	reasons = json_value_get(kept, "reasons");
	scores = json_value_get(kept, "scores");
	assert_int_equal(json_value_count(nodes), json_value_count(reasons));
	for (const struct json_value *v = json_value_first(nodes); v != NULL;
		v = json_value_next(v)) {
		const char *node = json_value_text_at(v, "name", "");

		assert_reasons(name, v, json_value_get(reasons, node));
		assert_score(name, "LeastAllocated", v,
			json_value_get(scores, node));
		assert_score(name, "BalancedAllocation", v,
			json_value_get(scores, node));
	}
	json_value_free(kept);
	json_value_free(answer);
}

/* Calls use for each file, by name. */
static void each_case(
	void (*use)(void *owner, const char *name, const char *file),
	void *owner)
{
	struct dirent **list = NULL;
	int count = scandir(FOLDER, &list, NULL, alphasort);

	assert_true(count > 50);
	for (int i = 0; i < count; i++) {
		scoped_free char *path =
			xasprintf(FOLDER "/%s", list[i]->d_name);
		scoped_buffer struct buffer file = BUFFER_MAX(TEXT_MAX);

		if (list[i]->d_name[0] != '.') {
			assert_true(file_read(&file, path, NULL) >= 0);
			buffer_char(&file, '\0');
			use(owner, list[i]->d_name, file.data);
		}
		free(list[i]);
	}
	free(list);
}

static void compare(void *owner, const char *name, const char *file)
{
	(void)owner;
	assert_same(name, file);
}

static void the_verdicts_and_scores_are_those_of_kube_scheduler(void **state)
{
	(void)state;
	each_case(compare, NULL);
}

static void add_answer(void *owner, const char *name, const char *file)
{
	buffer_printf(owner, "%s\n", name);
	score_case(owner, "real-load", file);
}

static void the_answers_by_real_load_stay_as_they_are(void **state)
{
	scoped_buffer struct buffer all = BUFFER_MAX(TEXT_MAX);

	(void)state;
	each_case(add_answer, &all);
	assert_golden("scheduler/parity.txt", all.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_verdicts_and_scores_are_those_of_kube_scheduler),
		cmocka_unit_test(the_answers_by_real_load_stay_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
