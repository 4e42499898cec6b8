/* YAML and what a kubeconfig may say in it. */
#include "kube/kubeconfig.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kubeconfig config = { 0 };
	struct error err = { 0 };

	if (kubeconfig_parse(&config, (const char *)data, size, &err) < 0) {
		assert(err.code < 0 && err.text[0] != '\0');
		return 0;
	}
	assert(strncmp(config.server, "https://", 8) == 0);
	assert(config.server[strlen(config.server) - 1] != '/');
	assert(config.namespace_name != NULL);
	kubeconfig_fini(&config);
	return 0;
}
