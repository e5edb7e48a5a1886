/* Unit tests of codec/toml*.c. */
#include "support/test.h"
