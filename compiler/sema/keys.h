// One table per block: which names exist in it, what they take, and what the choices mean for the result.
// Reading, suggestions, findings about missing keys and the reference page all come from here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace loop::sema {

enum class Form {
  value,           // key = value
  block,           // key { … }
  value_or_block,  // either
  named_block,     // key NAME { … }
  named_value,     // key NAME = value
  later            // in the language's plan, not in the language yet
};

struct Key {
  std::string_view name;
  Form form;
  std::string_view takes;  // for messages and the reference: "a quantity in micro_batches, samples or tokens"
  std::string_view
      default_text;  // empty: none (a key that is required says what each choice means in `meaning`)
  std::string_view meaning;
};

struct BlockTable {
  std::string_view name;  // "loop", "data", "window"
  std::vector<Key> keys;
  bool free_names = false;      // further names are the user's: sources, groups, loss terms
  std::string_view free_takes;  // what such a name stands for
};

const BlockTable& loop_table();
const BlockTable& data_table();
const BlockTable& window_table();
const BlockTable& nonfinite_table();
const BlockTable& evaluate_table();
const BlockTable& checkpoint_table();
const BlockTable& log_table();
const BlockTable& params_table();
const BlockTable& loss_table();
/// All of them, the loop's first.
const std::vector<const BlockTable*>& block_tables();

const Key* find_key(const BlockTable& table, std::string_view name);
/// The block's keys as a table of the reference page (docs/reference/language.md holds them word for word).
std::string reference_table(const BlockTable& table);
/// Names that can be written in the block.
std::vector<std::string> key_names(const BlockTable& table);

}  // namespace loop::sema
