#include <torch/torch.h>

#include "antlr4-runtime.h"
#include "compiler/check/check.h"
#include "runtime/plan/plan.h"
