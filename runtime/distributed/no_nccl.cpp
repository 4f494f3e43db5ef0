// The build links libtorch_cpu only (docs/decisions/0001): there is no NCCL in it.
#include "runtime/distributed/nccl.h"

namespace loop::distributed {

bool nccl_available() {
  return false;
}

}  // namespace loop::distributed
