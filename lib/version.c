#include "lib/options.h"

#include <version.h>

const char *const plimsoll_version = PLIMSOLL_VERSION;
const char *const plimsoll_commit = PLIMSOLL_COMMIT;
