#include "tests/oracle/mutations.h"

#include <algorithm>
#include <array>

#include "tests/oracle/factors.h"

namespace loop::oracle {
namespace {

using plan::OpKind;
using Part = Token::Part;

Token whole(OpKind kind, int variant = 0) {
  return {kind, static_cast<uint8_t>(variant), Part::whole};
}
Token opens(OpKind kind, int variant = 0) {
  return {kind, static_cast<uint8_t>(variant), Part::opens};
}
Token closes(OpKind kind) {
  return {kind, 0, Part::closes};
}

bool only_in_micro(OpKind kind) {
  switch (kind) {
    case OpKind::forward:
    case OpKind::loss:
    case OpKind::scale_loss:
    case OpKind::backward:
    case OpKind::autocast:
    case OpKind::sync_on:
      return true;
    default:
      return false;
  }
}

/// Blocks are closed in the order in which they were opened, within `micro` or within `update`.
bool nests(const Tokens& tokens) {
  std::array<OpKind, 32> open{};
  size_t depth = 0;
  for (size_t i = 0; i < tokens.all.size(); ++i) {
    if (i == tokens.split && depth > 0) return false;
    const Token& token = tokens.all[i];
    if (token.part == Part::opens) {
      if (depth == open.size()) return false;
      open[depth++] = token.kind;
    }
    if (token.part == Part::closes && (depth == 0 || open[--depth] != token.kind)) return false;
  }
  return depth == 0;
}

size_t end_of(const Tokens& tokens, size_t start) {
  int depth = 0;
  for (size_t i = start; i < tokens.all.size(); ++i) {
    if (tokens.all[i].part == Part::opens) ++depth;
    if (tokens.all[i].part == Part::closes && --depth == 0) return i;
  }
  return start;
}

void erase(Tokens& tokens, size_t at) {
  tokens.all.erase(tokens.all.begin() + static_cast<long>(at));
  if (at < tokens.split) --tokens.split;
}

/// Puts `token` before index `at`; at the border it stands in `update` unless `in_micro`.
void insert(Tokens& tokens, size_t at, Token token, bool in_micro) {
  tokens.all.insert(tokens.all.begin() + static_cast<long>(at), token);
  if (at < tokens.split || (at == tokens.split && in_micro)) ++tokens.split;
}

/// `micro` is the compiler's, and stays as it is.
bool micro_is_fixed(const Setting& setting) {
  return setting.sync == Setting::Sync::last || setting.sync == Setting::Sync::every;
}

/// Every place where a token of this kind may stand: (index, in micro).
template <class Visit>
void each_place(const Setting& setting, const Tokens& tokens, OpKind kind, Visit visit) {
  if (!micro_is_fixed(setting))
    for (size_t at = 0; at <= tokens.split; ++at) visit(at, true);
  if (only_in_micro(kind)) return;
  for (size_t at = tokens.split; at <= tokens.all.size(); ++at) visit(at, false);
}

class Editor {
 public:
  Editor(const Setting& setting, const Tokens& tokens, const std::function<void(Tokens&&)>& visit)
      : setting_(setting), tokens_(tokens), visit_(visit) {}

  void edits() {
    for (size_t at = micro_is_fixed(setting_) ? tokens_.split : 0; at < tokens_.all.size(); ++at) {
      const Token& token = tokens_.all[at];
      remove(at);
      if (token.part == Part::whole) {
        Tokens doubled = tokens_;
        insert(doubled, at, token, at < tokens_.split);
        visit_(std::move(doubled));
      }
      move(at);
      if (token.part != Part::closes) exchange(at);
    }
  }

  void insertions() {
    std::vector<Token> pool;
    for (OpKind kind : {OpKind::forward, OpKind::loss, OpKind::backward, OpKind::unscale, OpKind::normalize,
                        OpKind::update_scale, OpKind::zero_grad, OpKind::average})
      pool.push_back(whole(kind));
    for (int mode : {1, 2}) pool.push_back(whole(OpKind::loss, mode));
    for (int factor : loss_factors(setting_)) pool.push_back(whole(OpKind::scale_loss, factor));
    for (int factor : gradient_factors(setting_)) pool.push_back(whole(OpKind::scale_grad, factor));
    for (int scope = 0; scope < scopes(); ++scope) {
      pool.push_back(whole(OpKind::clip_norm, scope));
      pool.push_back(whole(OpKind::clip_value, scope));
      for (int rule = 0; rule < setting_.groups; ++rule)
        pool.push_back(whole(OpKind::step, 3 * rule + scope));
    }
    for (int mode : {0, 1}) pool.push_back(whole(OpKind::reduce, mode));
    for (int clock : {0, 1}) pool.push_back(whole(OpKind::tick, clock));
    for (const Token& token : pool)
      each_place(setting_, tokens_, token.kind, [&](size_t at, bool in_micro) {
        Tokens made = tokens_;
        insert(made, at, token, in_micro);
        visit_(std::move(made));
      });
    for (int condition = 0; condition < kConditions; ++condition) wrap(opens(OpKind::when, condition));
    for (int mode = 0; mode < 4; ++mode) wrap(opens(OpKind::sync_on, mode));
    wrap(opens(OpKind::autocast));
  }

 private:
  int scopes() const { return setting_.groups > 1 ? 3 : 1; }

  void remove(size_t at) {
    const Token& token = tokens_.all[at];
    if (token.part == Part::closes) return;
    Tokens made = tokens_;
    if (token.part == Part::opens) erase(made, end_of(tokens_, at));
    erase(made, at);
    visit_(std::move(made));
  }

  void move(size_t at) {
    Token token = tokens_.all[at];
    Tokens without = tokens_;
    erase(without, at);
    bool whole = token.part == Part::whole;
    each_place(setting_, without, token.kind, [&](size_t to, bool in_micro) {
      Tokens made = without;
      insert(made, to, token, in_micro);
      if (made == tokens_ || (!whole && !nests(made))) return;
      visit_(std::move(made));
    });
  }

  void become(size_t at, Token token) {
    if (tokens_.all[at] == token) return;
    Tokens made = tokens_;
    made.all[at] = token;
    visit_(std::move(made));
  }

  void exchange(size_t at) {
    Token token = tokens_.all[at];
    switch (token.kind) {
      case OpKind::loss:
        for (int mode = 0; mode < 3; ++mode) become(at, whole(OpKind::loss, mode));
        break;
      case OpKind::scale_loss:
        for (int factor : loss_factors(setting_)) become(at, whole(OpKind::scale_loss, factor));
        break;
      case OpKind::sync_on:
        for (int mode = 0; mode < 4; ++mode) become(at, opens(OpKind::sync_on, mode));
        break;
      case OpKind::when:
        for (int condition = 0; condition < kConditions; ++condition)
          become(at, opens(OpKind::when, condition));
        break;
      case OpKind::reduce:
        for (int mode : {0, 1}) become(at, whole(OpKind::reduce, mode));
        break;
      case OpKind::unscale:
      case OpKind::normalize:
      case OpKind::scale_grad:
        become(at, whole(OpKind::unscale));
        become(at, whole(OpKind::normalize));
        for (int factor : gradient_factors(setting_)) become(at, whole(OpKind::scale_grad, factor));
        break;
      case OpKind::clip_norm:
      case OpKind::clip_value:
        for (int scope = 0; scope < scopes(); ++scope) {
          become(at, whole(OpKind::clip_norm, scope));
          become(at, whole(OpKind::clip_value, scope));
        }
        break;
      case OpKind::step:
        for (int scope = 0; scope < scopes(); ++scope)
          become(at, whole(OpKind::step, token.variant / 3 * 3 + scope));
        break;
      case OpKind::tick:
        for (int clock : {0, 1}) become(at, whole(OpKind::tick, clock));
        break;
      default:
        break;
    }
  }

  /// The block around every run of operations.
  void wrap(Token frame) {
    size_t end = only_in_micro(frame.kind) ? tokens_.split : tokens_.all.size();
    for (size_t from = micro_is_fixed(setting_) ? tokens_.split : 0; from < end; ++from)
      for (size_t to = from + 1; to <= (from < tokens_.split ? tokens_.split : end); ++to) {
        Tokens made = tokens_;
        bool in_micro = from < tokens_.split;
        insert(made, to, closes(frame.kind), in_micro);
        insert(made, from, frame, in_micro);
        if (nests(made)) visit_(std::move(made));
      }
  }

  const Setting& setting_;
  const Tokens& tokens_;
  const std::function<void(Tokens&&)>& visit_;
};

/// micro and update joined.
Tokens joined(std::vector<Token> micro, const std::vector<Token>& update) {
  Tokens tokens;
  tokens.split = micro.size();
  tokens.all = std::move(micro);
  tokens.all.insert(tokens.all.end(), update.begin(), update.end());
  return tokens;
}

std::vector<Token> steps(const Setting& setting) {
  if (setting.groups == 1) return {whole(OpKind::step)};
  return {whole(OpKind::step, 1), whole(OpKind::step, 5)};  // rule 0 on a, rule 1 on b
}

void append(std::vector<Token>& to, const std::vector<Token>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// The end of an update after the gradient has its factor.
void finish(const Setting& setting, std::vector<Token>& update) {
  update.push_back(whole(OpKind::clip_norm));
  append(update, steps(setting));
  if (setting.fp16) update.push_back(whole(OpKind::update_scale));
  update.push_back(whole(OpKind::zero_grad));
}

}  // namespace

uint64_t fingerprint(const Tokens& tokens) {
  uint64_t hash = 0x9e3779b97f4a7c15ULL ^ tokens.split;
  for (const Token& token : tokens.all) {
    hash ^= static_cast<uint64_t>(token.kind) << 16 | static_cast<uint64_t>(token.part) << 8 | token.variant;
    hash *= 0xff51afd7ed558ccdULL;
    hash ^= hash >> 29;
  }
  return hash;
}

Tokens canonical(const Setting& setting) {
  bool mean = setting.reduce == plan::ReduceMode::mean;
  bool manual = setting.sync == Setting::Sync::manual;
  std::vector<Token> micro;
  // What the compiler writes for `sync = every` is the same with another frame.
  int mode =
      static_cast<int>(setting.sync == Setting::Sync::every ? plan::SyncOn::every : plan::SyncOn::last);
  if (!manual) micro.push_back(opens(OpKind::sync_on, mode));
  if (setting.fp16) micro.push_back(opens(OpKind::autocast));
  micro.push_back(whole(OpKind::forward));
  micro.push_back(whole(OpKind::loss, static_cast<int>(setting.classes > 1 ? plan::LossMode::normalized
                                                                           : plan::LossMode::sum)));
  if (setting.fp16) {
    micro.push_back(closes(OpKind::autocast));
    micro.push_back(whole(OpKind::scale_loss, kLossScale));
  }
  micro.push_back(whole(OpKind::backward));
  if (!manual) micro.push_back(closes(OpKind::sync_on));

  std::vector<Token> update;
  if (manual) update.push_back(whole(OpKind::reduce, mean ? 1 : 0));
  if (setting.fp16) update.push_back(whole(OpKind::unscale));
  if (setting.classes == 1) update.push_back(whole(OpKind::normalize));
  if (setting.classes > 1 && mean) update.push_back(whole(OpKind::scale_grad, kRanks));
  finish(setting, update);
  return joined(std::move(micro), update);
}

std::vector<Tokens> transcriptions(const Setting& setting) {
  bool mean = setting.reduce == plan::ReduceMode::mean;
  bool manual = setting.sync == Setting::Sync::manual;
  bool fp16 = setting.fp16;
  std::vector<Tokens> all;
  // One micro-batch with the loss taken in a mode and multiplied by a factor; -1: by none.
  auto body = [&](plan::LossMode mode, int factor) {
    std::vector<Token> micro;
    if (!manual) micro.push_back(opens(OpKind::sync_on));
    micro.push_back(whole(OpKind::forward));
    micro.push_back(whole(OpKind::loss, static_cast<int>(mode)));
    if (factor >= 0) micro.push_back(whole(OpKind::scale_loss, factor));
    if (fp16) micro.push_back(whole(OpKind::scale_loss, kLossScale));
    micro.push_back(whole(OpKind::backward));
    if (!manual) micro.push_back(closes(OpKind::sync_on));
    return micro;
  };
  auto end = [&] {
    std::vector<Token> update;
    if (manual) update.push_back(whole(OpKind::reduce, mean ? 1 : 0));
    if (fp16) update.push_back(whole(OpKind::unscale));
    return update;
  };
  auto add = [&](const std::vector<Token>& micro, std::vector<Token> update) {
    finish(setting, update);
    all.push_back(joined(micro, update));
  };
  auto with = [&](std::vector<Token> update, Token token) {
    update.push_back(token);
    return update;
  };

  add(body(plan::LossMode::mean, kOneOverK), end());
  add(body(plan::LossMode::mean, kOneOverCounted), end());
  add(body(plan::LossMode::mean, kOneOverCounted), with(end(), whole(OpKind::scale_grad, kOneOverRanks)));
  add(body(plan::LossMode::mean, kMicroOverGlobal), end());
  add(body(plan::LossMode::mean, kMicroOverGlobal), with(end(), whole(OpKind::scale_grad, kRanks)));
  add(body(plan::LossMode::sum, kOneOverGlobal), end());
  add(body(plan::LossMode::sum, kRanksOverGlobal), end());
  add(body(plan::LossMode::sum, -1), with(end(), whole(OpKind::scale_grad, kOneOverGlobal)));
  add(body(plan::LossMode::normalized, -1), end());

  // The end of the window found inside `micro`, and an update in `micro` at every micro-batch.
  std::vector<Token> update = end();
  update.push_back(whole(OpKind::normalize));
  finish(setting, update);
  std::vector<Token> micro = body(plan::LossMode::sum, -1);
  std::vector<Token> zero = {update.back()};
  update.pop_back();
  std::vector<Token> guarded = micro;
  guarded.push_back(opens(OpKind::when, kLast));
  append(guarded, update);
  guarded.push_back(closes(OpKind::when));
  all.push_back(joined(guarded, zero));
  append(micro, update);
  all.push_back(joined(micro, zero));

  // Clocks and averages by hand.
  update.push_back(opens(OpKind::when, kFinite));
  update.push_back(whole(OpKind::tick));
  update.push_back(whole(OpKind::average));
  update.push_back(closes(OpKind::when));
  update.push_back(whole(OpKind::zero_grad));
  all.push_back(joined(body(plan::LossMode::sum, -1), update));

  // Zero at the window's start; a reduction per micro-batch.
  std::vector<Token> early = {opens(OpKind::when, kFirst), whole(OpKind::zero_grad), closes(OpKind::when)};
  append(early, body(plan::LossMode::sum, -1));
  update = end();
  update.push_back(whole(OpKind::normalize));
  finish(setting, update);
  update.pop_back();
  all.push_back(joined(early, update));
  std::vector<Token> often = body(plan::LossMode::sum, -1);
  if (manual) {
    often.push_back(whole(OpKind::reduce, mean ? 1 : 0));
    update.erase(update.begin());
  } else {
    often.front().variant = static_cast<uint8_t>(plan::SyncOn::every);
  }
  update.push_back(whole(OpKind::zero_grad));
  all.push_back(joined(often, update));
  std::erase_if(all, [&](const Tokens& tokens) { return !can_be_written(setting, tokens); });
  return all;
}

bool can_be_written(const Setting& setting, const Tokens& tokens) {
  if (!std::all_of(tokens.all.begin(), tokens.all.end(),
                   [&](const Token& token) { return is_writable(setting, token); }))
    return false;
  if (micro_is_fixed(setting)) {
    Tokens fixed = canonical(setting);
    if (tokens.split != fixed.split ||
        !std::equal(fixed.all.begin(), fixed.all.begin() + static_cast<long>(fixed.split),
                    tokens.all.begin()))
      return false;
  }
  return !std::all_of(tokens.all.begin() + static_cast<long>(tokens.split), tokens.all.end(),
                      [](const Token& token) { return token.kind == OpKind::step; });
}

void each_edit(const Setting& setting, const Tokens& tokens, bool with_insertions,
               const std::function<void(Tokens&&)>& visit) {
  Editor editor(setting, tokens, visit);
  editor.edits();
  if (with_insertions) editor.insertions();
}

std::string to_text(const Setting& setting) {
  std::string text = setting.classes == 1 ? "1 class" : "2 classes";
  constexpr std::array<const char*, 4> units = {"tokens", "per 64", "per window", "per micro_batch"};
  if (setting.unit != Setting::Unit::tokens) text += std::string(" ") + units[static_cast<int>(setting.unit)];
  text += setting.groups == 1 ? ", 1 group" : ", 2 groups";
  text += setting.fp16 ? ", fp16" : ", fp32";
  constexpr std::array<const char*, 4> syncs = {"micro written", "sync = manual", "sync = last",
                                                "sync = every"};
  text += std::string(", ") + syncs[static_cast<int>(setting.sync)];
  text += setting.reduce == plan::ReduceMode::sum ? ", reduce = sum" : ", reduce = mean";
  constexpr std::array<const char*, 4> sizes = {"K = 3", "K = 1", "K = 1 -> 3", "size in tokens"};
  text += std::string(", ") + sizes[static_cast<int>(setting.size)];
  text += setting.ranks ? ", ranks = " + std::to_string(setting.ranks) : ", ranks open";
  text += setting.equal ? ", equal counts" : ", unequal counts";
  text += std::string(", tail = ") + plan::name(setting.tail);
  return text;
}

}  // namespace loop::oracle
