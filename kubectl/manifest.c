#include "kubectl/manifest.h"

#include "kube/json_value.h"
#include "kube/yaml.h"
#include "lib/buffer.h"
#include "lib/files.h"

#include <errno.h>
#include <string.h>

int manifest_read(struct json_value **out, const char *name, struct error *err)
{
	scoped_buffer struct buffer text = BUFFER_MAX(MANIFEST_MAX);
	const char *path = strcmp(name, "-") == 0 ? "/dev/stdin" : name;
	struct json_value *object = NULL;
	int r = file_read(&text, path, err);

	if (r < 0) {
		return r;
	}
	r = yaml_parse(&object, text.data == NULL ? "" : text.data, text.len,
		err);
	if (r < 0) {
		return error_wrap(err, r, "%.160s", name);
	}
	if (!json_value_is_object(object)) {
		json_value_free(object);
		return error_set(err, -EBADMSG, "%.160s: there is no object",
			name);
	}
	*out = object;
	return 0;
}
