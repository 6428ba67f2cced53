/* Numbers as people type and read them: base/units.h. */
#ifndef TT_CLI_UNITS_H
#define TT_CLI_UNITS_H

#include "base/units.h"

#endif
