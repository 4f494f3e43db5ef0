// The executor itself: what is known to be right or wrong is found so, and its worlds can show every kind of
// fault.
#include "tests/oracle/executor.h"

#include <doctest/doctest.h>

#include "tests/oracle/factors.h"
#include "tests/oracle/mutations.h"
#include "tests/oracle/settings.h"

using namespace loop;
using namespace loop::oracle;

namespace {

Judgement judge(const Setting& setting, const Tokens& tokens) {
  SpecBuilder builder(setting);
  Executor executor(builder.spec());
  static Program program;  // the judgement may point into it
  compile(builder.build(tokens), program);
  Judgement judgement = executor.judge(program);
  judgement.world = nullptr;
  return judgement;
}

/// The canonical loop with its token of one kind replaced or removed.
Tokens with(const Setting& setting, plan::OpKind kind, int variant) {
  Tokens tokens = canonical(setting);
  for (Token& token : tokens.all)
    if (token.kind == kind && token.part != Token::Part::closes)
      token.variant = static_cast<uint8_t>(variant);
  return tokens;
}
Tokens without(const Setting& setting, plan::OpKind kind) {
  Tokens tokens = canonical(setting);
  for (size_t i = tokens.all.size(); i-- > 0;)
    if (tokens.all[i].kind == kind) {
      tokens.all.erase(tokens.all.begin() + static_cast<long>(i));
      if (i < tokens.split) --tokens.split;
    }
  return tokens;
}

enum Transcription {
  kMeanOverK,
  kMeanOverCounted,
  kMeanOverCountedRanks,
  kWeighted,
  kWeightedRanks,
  kSumOverGlobal,
  kSumRanksOverGlobal,
  kGradOverGlobal,
  kNormalizedLoss,
  kWhenLast,
  kInMicro,
  kByHand,
  kEarlyZero,
  kReduceOften
};

}  // namespace

TEST_CASE("the canonical loop equals the reference in every setting") {
  for (const std::vector<Setting>& settings : {promised_settings(), all_settings()})
    for (const Setting& setting : settings) {
      Judgement judgement = judge(setting, canonical(setting));
      INFO(to_text(setting), ": ", to_text(judgement));
      CHECK(judgement.outcome == Outcome::equal);
    }
}

TEST_CASE("thresholds clip sometimes, always and never") {
  std::vector<Setting> settings = promised_settings();
  std::vector<Setting> all = all_settings();
  for (size_t i = 0; i < all.size(); i += 7) settings.push_back(all[i]);
  for (size_t i = 0; i < 2 * settings.size(); ++i) {
    const Setting& setting = settings[i / 2];
    SpecBuilder builder(setting);
    Program program;
    Tokens tokens = canonical(setting);
    for (Token& token : tokens.all)
      if (token.kind == plan::OpKind::clip_norm && i % 2 == 1) token.kind = plan::OpKind::clip_value;
    compile(builder.build(tokens), program);
    for (const World& world : worlds_of(builder.spec())) {
      int active = 0;
      int applied = static_cast<int>(reference(program, world, &active).back().clocks[kUpdates]);
      INFO(to_text(setting), ": ", world.name, " ", active, " of ", applied);
      double scale = i % 2 == 0 ? world.norm_scale : world.value_scale;
      if (scale == 1e-3)
        CHECK(active >= applied - 1);  // a gradient of zero is not clipped
      else if (scale == 1e6)
        CHECK(active == 0);
      else
        CHECK((active > 0 && active < applied));
    }
  }
}

TEST_CASE("a mean of means over K is right only where counts are equal and no window is short") {
  Setting setting;
  setting.reduce = plan::ReduceMode::mean;
  CHECK(judge(setting, transcriptions(setting)[kMeanOverK]).outcome == Outcome::different);
  setting.equal = true;
  CHECK(judge(setting, transcriptions(setting)[kMeanOverK]).outcome == Outcome::different);
  setting.tail = plan::Tail::drop;
  CHECK(judge(setting, transcriptions(setting)[kMeanOverK]).outcome == Outcome::equal);
  CHECK(judge(setting, transcriptions(setting)[kMeanOverCounted]).outcome == Outcome::equal);
  setting.reduce = plan::ReduceMode::sum;
  CHECK(judge(setting, transcriptions(setting)[kMeanOverCounted]).outcome == Outcome::different);
  CHECK(judge(setting, transcriptions(setting)[kMeanOverCountedRanks]).outcome == Outcome::equal);
}

TEST_CASE("other right ways to the exact mean") {
  for (bool fp16 : {false, true}) {
    Setting setting;
    setting.fp16 = fp16;
    CHECK(judge(setting, transcriptions(setting)[kWeighted]).outcome == Outcome::equal);
    CHECK(judge(setting, transcriptions(setting)[kSumOverGlobal]).outcome == Outcome::equal);
    CHECK(judge(setting, transcriptions(setting)[kGradOverGlobal]).outcome == Outcome::equal);
    CHECK(judge(setting, transcriptions(setting)[kNormalizedLoss]).outcome == Outcome::equal);
    CHECK(judge(setting, transcriptions(setting)[kByHand]).outcome == Outcome::equal);
    CHECK(judge(setting, transcriptions(setting)[kEarlyZero]).outcome == Outcome::equal);
    CHECK(judge(setting, transcriptions(setting)[kReduceOften]).outcome == Outcome::different);
    setting.reduce = plan::ReduceMode::mean;
    CHECK(judge(setting, transcriptions(setting)[kSumRanksOverGlobal]).outcome == Outcome::equal);
    CHECK(judge(setting, transcriptions(setting)[kWeightedRanks]).outcome == Outcome::equal);
    CHECK(judge(setting, transcriptions(setting)[kSumOverGlobal]).outcome == Outcome::different);
    CHECK(judge(setting, transcriptions(setting)[kReduceOften]).outcome == Outcome::equal);
  }
}

TEST_CASE("an update inside micro: right at the last micro-batch, or at every one when there is only one") {
  Setting setting;
  setting.equal = true;
  setting.tail = plan::Tail::drop;
  CHECK(judge(setting, transcriptions(setting)[kWhenLast]).outcome == Outcome::equal);
  CHECK(judge(setting, transcriptions(setting)[kInMicro]).outcome != Outcome::equal);
  setting.size = Setting::Size::one;
  CHECK(judge(setting, transcriptions(setting)[kInMicro]).outcome == Outcome::equal);
}

TEST_CASE("where gradients are synchronised") {
  Setting setting;
  using plan::OpKind;
  CHECK(judge(setting, with(setting, OpKind::sync_on, static_cast<int>(plan::SyncOn::none))).outcome ==
        Outcome::diverged);
  CHECK(judge(setting, with(setting, OpKind::sync_on, static_cast<int>(plan::SyncOn::first))).outcome ==
        Outcome::diverged);
  CHECK(judge(setting, with(setting, OpKind::sync_on, static_cast<int>(plan::SyncOn::every))).outcome ==
        Outcome::different);
  CHECK(judge(setting, without(setting, OpKind::sync_on)).outcome == Outcome::different);
  setting.reduce = plan::ReduceMode::mean;
  CHECK(judge(setting, with(setting, OpKind::sync_on, static_cast<int>(plan::SyncOn::every))).outcome ==
        Outcome::equal);
  CHECK(judge(setting, without(setting, OpKind::sync_on)).outcome == Outcome::equal);
  setting.ranks = 1;
  CHECK(judge(setting, with(setting, OpKind::sync_on, static_cast<int>(plan::SyncOn::none))).outcome ==
        Outcome::equal);
  setting.ranks = 0;
  setting.sync = Setting::Sync::manual;
  CHECK(judge(setting, without(setting, OpKind::reduce)).outcome == Outcome::diverged);
}

TEST_CASE("what may be left out and what not") {
  using plan::OpKind;
  Setting setting;
  setting.fp16 = true;
  CHECK(judge(setting, without(setting, OpKind::clip_norm)).outcome == Outcome::equal);
  CHECK(judge(setting, without(setting, OpKind::update_scale)).outcome == Outcome::equal);
  CHECK(judge(setting, without(setting, OpKind::autocast)).outcome == Outcome::equal);
  CHECK(judge(setting, without(setting, OpKind::unscale)).outcome == Outcome::different);
  CHECK(judge(setting, without(setting, OpKind::normalize)).outcome == Outcome::different);
  CHECK(judge(setting, without(setting, OpKind::zero_grad)).outcome == Outcome::different);
  CHECK(judge(setting, without(setting, OpKind::step)).outcome == Outcome::error);
  CHECK(judge(setting, without(setting, OpKind::forward)).outcome == Outcome::error);
  CHECK(judge(setting, without(setting, OpKind::loss)).outcome == Outcome::error);
  CHECK(judge(setting, without(setting, OpKind::backward)).outcome == Outcome::different);
}
