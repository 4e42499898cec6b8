/* YAML and kubeconfigs. */
#include "kube/kubeconfig.h"

#include "kube/config.h"
#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kube_config config = { 0 };
	struct error err = { 0 };

	if (kubeconfig_parse(&config, (const char *)data, size, &err) < 0) {
		assert(err.code < 0 && err.text[0] != '\0');
		return 0;
	}
	assert(strncmp(config.server, "https://", 8) == 0);
	assert(config.server[strlen(config.server) - 1] != '/');
	assert(config.namespace_name != NULL);
	kube_config_fini(&config);
	return 0;
}
