#include "tests/oracle/settings.h"

namespace loop::oracle {

std::vector<Setting> promised_settings() {
  std::vector<Setting> all;
  for (int classes : {1, 2})
    for (int groups : {1, 2})
      for (bool fp16 : {false, true})
        for (Setting::Sync sync : {Setting::Sync::written, Setting::Sync::manual})
          for (plan::ReduceMode reduce : {plan::ReduceMode::sum, plan::ReduceMode::mean}) {
            Setting setting;
            setting.classes = classes;
            setting.groups = groups;
            setting.fp16 = fp16;
            setting.sync = sync;
            setting.reduce = reduce;
            all.push_back(setting);
          }
  return all;
}

std::vector<Setting> all_settings() {
  std::vector<Setting> all;
  using Size = Setting::Size;
  using Sync = Setting::Sync;
  using Unit = Setting::Unit;
  for (Setting base : promised_settings())
    for (Sync sync : {base.sync, base.sync == Sync::written ? Sync::last : Sync::every})
      for (Size size : {Size::three, Size::one, Size::ramp, Size::tokens})
        for (int ranks : {0, 1, 2})
          for (bool equal : {false, true})
            for (plan::Tail tail : {plan::Tail::flush, equal ? plan::Tail::drop : plan::Tail::carry})
              for (Unit unit : {Unit::tokens, Unit::constant, Unit::window, Unit::micro_batch}) {
                if (equal && size == Size::tokens) continue;
                Setting setting = base;
                setting.sync = sync;
                setting.size = size;
                setting.ranks = ranks;
                setting.equal = equal;
                setting.tail = tail;
                setting.unit = unit;
                all.push_back(setting);
              }
  return all;
}

}  // namespace loop::oracle
