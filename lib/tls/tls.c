#include "lib/tls/tls.h"

#include "lib/buffer.h"
#include "lib/files.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A bundle of all public CAs has about 250 KiB. */
enum { PEM_MAX = 1 << 20 };

static int read_pem(char **out, const char *path, struct error *err)
{
	struct buffer text = BUFFER_MAX(PEM_MAX);
	int r;

	if (path == NULL) {
		return 0;
	}
	r = file_read(&text, path, err);
	if (r == 0 &&
		(text.data == NULL ||
			strstr(text.data, "-----BEGIN ") == NULL)) {
		r = error_set(err, -EINVAL, "'%s' contains no PEM text", path);
	}
	if (r < 0) {
		buffer_fini(&text);
		return r;
	}
	*out = buffer_take(&text, NULL);
	return 0;
}

int tls_load(struct tls_material *out, const struct tls_files *files,
	struct error *err)
{
	struct tls_material material = { 0 };
	int r;

	if ((files->cert == NULL) != (files->key == NULL)) {
		return error_set(err, -EINVAL,
			"a certificate and its key must be given together");
	}
	r = read_pem(&material.ca, files->ca, err);
	if (r == 0) {
		r = read_pem(&material.cert, files->cert, err);
	}
	if (r == 0) {
		r = read_pem(&material.key, files->key, err);
	}
	if (r < 0) {
		tls_fini(&material);
		return r;
	}
	*out = material;
	return 0;
}

void tls_fini(struct tls_material *material)
{
	if (material == NULL) {
		return;
	}
	free(material->ca);
	free(material->cert);
	secret_free(material->key);
	*material = (struct tls_material){ 0 };
}
