#include "scheduler/objects/value_list.h"

#include <errno.h>
#include <string.h>

int value_list_check(const struct json_value *list, const char *what,
	struct error *err)
{
	if (list != NULL && !json_value_is_null(list) &&
		!json_value_is_array(list)) {
		return error_set(err, -EBADMSG, "%s are not a list", what);
	}
	return 0;
}

size_t value_list_find(const char *const *list, size_t count, const char *text)
{
	size_t i = 0;

	while (i < count && strcmp(list[i], text) != 0) {
		i++;
	}
	return i;
}
