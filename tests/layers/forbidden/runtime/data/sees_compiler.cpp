#include "compiler/sema/spec.h"
#include "loop/batch.h"
