#include "scheduler/offline/json_fields.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/memory.h"
#include "lib/utf8.h"

int scenario_number(double *out, const struct value *object, const char *key,
	struct scenario_range range, struct error *err)
{
	double number = NAN;

	if (!value_number(&number, value_get(object, key))) {
		return error_set(err, -EBADMSG, "'%s' is not a number", key);
	}
	if (!(number >= range.min && number <= range.max)) {
		return error_set(err, -ERANGE,
			"'%s' is %g, which is not within %g and %g", key,
			number, range.min, range.max);
	}
	*out = number;
	return 0;
}

int scenario_whole(int64_t *out, const struct value *object, const char *key,
	double max, struct error *err)
{
	double number = 0;
	int r = scenario_number(&number, object, key,
		(struct scenario_range){ 0, max }, err);

	if (r == 0 && number != floor(number)) {
		return error_set(err, -EBADMSG, "'%s' is not a whole number",
			key);
	}
	if (r == 0) {
		*out = (int64_t)number;
	}
	return r;
}

int scenario_step(size_t *out, const struct value *object, const char *key,
	size_t max, struct error *err)
{
	int64_t step = 0;
	int r = scenario_whole(&step, object, key, (double)max, err);

	if (r == 0) {
		*out = (size_t)step;
	}
	return r;
}

static bool is_utf8(const char *text)
{
	size_t len = 1;

	while (*text != '\0' && len > 0) {
		len = utf8_length(text);
		text += len;
	}
	return len > 0;
}

int scenario_name(char **out, const struct value *object, const char *key,
	struct error *err)
{
	const char *text = value_text_at(object, key, "");

	if (*text == '\0' || strlen(text) > 253) {
		return error_set(err, -EBADMSG,
			"'%s' is not a name of 1 to 253 bytes", key);
	}
	if (!is_utf8(text)) {
		return error_set(err, -EBADMSG, "'%s' is not UTF-8", key);
	}
	*out = xstrdup(text);
	return 0;
}

int scenario_list(const struct value **out, const struct value *input,
	const char *key, size_t max, struct error *err)
{
	const struct value *list = value_get(input, key);

	if (!value_is_array(list)) {
		return error_set(err, -EBADMSG, "'%s' is not a list", key);
	}
	if (value_count(list) > max) {
		return error_set(err, -E2BIG, "'%s' holds more than %zu", key,
			max);
	}
	*out = list;
	return 0;
}

int scenario_time(struct scenario *s, const struct value *input,
	struct error *err)
{
	int r = scenario_number(&s->step_s, input, "step_s",
		(struct scenario_range){ 1, 86400 }, err);

	if (r == 0) {
		r = scenario_step(&s->steps, input, "steps", SCENARIO_STEPS_MAX,
			err);
	}
	if (r == 0 && s->steps == 0) {
		r = error_set(err, -ERANGE, "'steps' is 0");
	}
	return r;
}

int scenario_check_size(const struct scenario *s, size_t vms, struct error *err)
{
	if (vms * s->steps > SCENARIO_FIGURES_MAX) {
		return error_set(err, -E2BIG,
			"%zu VMs of %zu steps are more than %d figures", vms,
			s->steps, SCENARIO_FIGURES_MAX);
	}
	return 0;
}
