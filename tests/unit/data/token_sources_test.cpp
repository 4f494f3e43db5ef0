// text, lines and bin: what a sample is, how batches look, what is said about bad files.
#include "tests/unit/data/scratch.h"

#include <doctest/doctest.h>  // after LibTorch, whose headers take its CHECK away

using namespace loop;
using namespace loop::data::test;
using Ids = std::vector<int64_t>;

namespace {

const Source* other(const std::unique_ptr<Source>& source) {
  return source.get();
}

SourceContext context_with(int64_t length, const Source* vocabulary_of = nullptr) {
  SourceContext context;
  context.context = length;
  context.vocabulary_of = vocabulary_of;
  return context;
}

std::string shard(const std::vector<uint16_t>& tokens) {
  return {reinterpret_cast<const char*>(tokens.data()), tokens.size() * 2};
}

}  // namespace

TEST_CASE("text: characters are numbered in ascending order, targets are the next ones") {
  const Scratch scratch;
  scratch.write("t.txt", "banana, Ärger");  // space , a b e g n r Ä
  const auto source = scratch.source("text", R"({"path": "t.txt", "tokenizer": "char", "length": 4})");
  CHECK(source->info().vocabulary == 9);
  CHECK(source->info().classes == 9);
  CHECK(source->info().context == 4);
  CHECK(source->size() == 3);  // 13 characters: 12 targets
  CHECK(source->info().notes.empty());
  CHECK(source->positions(1) == 4);
  const Batch batch = source->collate(Ids{2, 0});
  CHECK(shape(batch.inputs) == Ids{2, 4});
  CHECK(batch.inputs.dtype() == torch::kLong);
  CHECK(values<int64_t>(batch.inputs) == Ids{8, 7, 5, 4, 3, 2, 6, 2});
  CHECK(values<int64_t>(batch.targets) == Ids{7, 5, 4, 7, 2, 6, 2, 6});
  CHECK_FALSE(batch.valid.defined());
  CHECK(batch.samples == 2);
  CHECK(batch.positions == 8);
  CHECK(batch.sample_ids == Ids{2, 0});
}

TEST_CASE("text: ignored targets are not counted, and only targets are") {
  const Scratch scratch;
  scratch.write("t.txt", "aabab");
  const auto source = scratch.source("text", R"({"path": "t.txt", "tokenizer": "char", "length": 4})");
  CHECK(source->counted(0, std::nullopt) == 4);
  CHECK(source->counted(0, -100) == 4);
  CHECK(source->counted(0, 0) == 2);  // targets a b a b
  CHECK(source->counted(0, 1) == 2);
}

TEST_CASE("text: a remainder too short for a sequence is left out and noted") {
  const Scratch scratch;
  scratch.write("t.txt", std::string(100, 'x'));
  const auto source = scratch.source("text", R"({"path": "t.txt", "tokenizer": "byte", "length": 10})");
  CHECK(source->size() == 9);
  CHECK(source->info().vocabulary == 256);
  REQUIRE(source->info().notes.size() == 1);
  CHECK(source->info().notes[0].find("the last 9 bytes of all do not fill a sequence of 10") !=
        std::string::npos);
}

TEST_CASE("text: shares are of characters, taken before cutting, and do not overlap") {
  const Scratch scratch;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>('a' + i % 26);
  scratch.write("t.txt", text);
  const auto part = [&](const std::string& take) {
    return scratch.source("text",
                          R"({"path": "t.txt", "tokenizer": "byte", "length": 9, "take": )" + take + "}");
  };
  const auto first = part(R"({"call": "first", "args": [0.9]})");
  const auto last = part(R"({"call": "last", "args": [0.1]})");
  CHECK(first->size() == 99);  // 900 characters
  CHECK(last->size() == 11);
  CHECK(values<int64_t>(last->collate(Ids{0}).inputs)[0] == 'a' + 900 % 26);
  // A number of samples is a number of sequences.
  const auto three = part(R"({"call": "last", "args": [{"value": 3, "unit": "samples"}]})");
  CHECK(three->size() == 3);
  CHECK(values<int64_t>(three->collate(Ids{2}).targets)[8] == 'a' + 999 % 26);
  CHECK(scratch
            .problem("text", R"({"path": "t.txt", "tokenizer": "byte", "length": 9,
                                 "take": {"call": "first", "args": [{"value": 112, "unit": "samples"}]}})")
            .find("t.txt: take: first(112 samples), but 1000 bytes are only 111 samples") !=
        std::string::npos);
}

TEST_CASE("text: the vocabulary is that of the whole file, or of the training source") {
  const Scratch scratch;
  scratch.write("t.txt", "aaaaaaaaabz");
  scratch.write("other.txt", "zab\nqa");
  const std::string first =
      R"({"path": "t.txt", "tokenizer": "char", "take": {"call": "first", "args": [0.5]}})";
  const auto train = scratch.source("text", first, context_with(2));
  CHECK(train->info().vocabulary == 3);
  CHECK(scratch.problem("text", R"({"path": "other.txt", "tokenizer": "char"})",
                        context_with(2, other(train))) ==
        "kind 2 | other.txt: line 1, column 4: the character U+000A does not occur in the training source | "
        "train on text "
        "that has it, remove it here, or use tokenizer: byte");
  scratch.write("other.txt", "zaqa");
  CHECK(
      scratch.problem("text", R"({"path": "other.txt", "tokenizer": "char"})", context_with(2, other(train)))
          .find("line 1, column 3: the character 'q' (U+0071)") != std::string::npos);
  scratch.write("other.txt", "zabba");
  const auto valid =
      scratch.source("text", R"({"path": "other.txt", "tokenizer": "char"})", context_with(2, other(train)));
  CHECK(values<int64_t>(valid->collate(Ids{0}).inputs) == Ids{2, 0});
  CHECK(valid->info().vocabulary == 3);
  CHECK(
      scratch.problem("text", R"({"path": "other.txt", "tokenizer": "byte"})", context_with(2, other(train)))
          .find("kind 1 | other.txt: its tokenizer (byte) is not the one of the training source") == 0);
}

TEST_CASE("text: bytes that are not UTF-8 are named by their place") {
  const Scratch scratch;
  const auto problem = [&](const std::string& text) {
    scratch.write("t.txt", text);
    return scratch.problem("text", R"({"path": "t.txt", "tokenizer": "char", "length": 1})");
  };
  CHECK(problem("eins\nzw\xE4lf") ==
        "kind 2 | t.txt: line 2, column 3: the byte 0xE4 does not fit into UTF-8 text | convert the file to "
        "UTF-8, or use "
        "tokenizer: byte");
  CHECK(problem("ä\xC0\x80").find("line 1, column 2: the byte 0xC0") != std::string::npos);      // overlong
  CHECK(problem("a\xED\xA0\x80").find("line 1, column 2: the byte 0xED") != std::string::npos);  // surrogate
  CHECK(problem("a\xF4\x90\x80\x80").find("the byte 0xF4") != std::string::npos);  // above U+10FFFF
  CHECK(problem("a\xE2\x82").find("the byte 0xE2") != std::string::npos);          // cut off
  CHECK(problem("a\xF0\x9F\x98\x80").empty());
  CHECK(problem("\xEF\xBB\xBF"
                "ab")
            .empty());  // a byte order mark is no character
  CHECK(scratch.source("text", R"({"path": "t.txt", "tokenizer": "char", "length": 1})")->info().vocabulary ==
        2);
}

TEST_CASE("text: files that cannot be used are named with the reason and what to do") {
  const Scratch scratch;
  const std::string args = R"({"path": "t.txt", "tokenizer": "byte", "length": 4})";
  CHECK(scratch.problem("text", args) ==
        "kind 2 | t.txt: there is no such file | put it there, or correct the path; paths start at the "
        "spec's folder");
  scratch.write("t.txt", "");
  CHECK(scratch.problem("text", args).find("t.txt: is empty") != std::string::npos);
  scratch.write("t.txt", "abcd");
  CHECK(scratch.problem("text", args).find("take: all of 4 bytes is 4: a sequence of 4 needs 5") !=
        std::string::npos);
  std::filesystem::create_directory(scratch.folder() / "d");
  CHECK(scratch.problem("text", R"({"path": "d", "tokenizer": "byte", "length": 4})").find("is not a file") !=
        std::string::npos);
}

TEST_CASE("arguments that do not fit are named") {
  const Scratch scratch;
  scratch.write("t.txt", "abcdefgh");
  const auto problem = [&](const std::string& args) { return scratch.problem("text", args); };
  CHECK(problem(R"({"path": "t.txt", "tokenizer": "byte"})") ==
        "kind 1 | text(…): the length of a sequence is not known: the model has no context | give `length`, "
        "for example "
        "length: 64");
  CHECK(problem(R"({"path": "t.txt", "length": 2})") ==
        "kind 1 | text(…): `tokenizer` is missing | give one of byte, char");
  CHECK(problem(R"({"path": "t.txt", "tokenizer": "word", "length": 2})").find("`tokenizer` is \"word\"") !=
        std::string::npos);
  CHECK(problem(R"({"path": 3, "tokenizer": "byte", "length": 2})").find("`path` is 3") != std::string::npos);
  CHECK(problem(R"({"path": "t.txt", "tokenizer": "byte", "length": 2.5})").find("`length` is 2.5") !=
        std::string::npos);
  CHECK(problem(R"({"path": "t.txt", "tokenizer": "byte", "length": 0})").find("a whole number of 1") !=
        std::string::npos);
  CHECK(problem(R"({"path": "t.txt", "tokenizer": "byte", "length": 2, "stride": 1})") ==
        "kind 1 | text(…) has no argument `stride` | its arguments are length, path, take, tokenizer");
  for (const char* take :
       {R"("some")", R"({"call": "first", "args": [1.5]})", R"({"call": "middle", "args": [0.5]})",
        R"({"call": "first", "args": [{"value": 5, "unit": "tokens"}]})"}) {
    CHECK(problem(std::string(R"({"path": "t.txt", "tokenizer": "byte", "length": 2, "take": )") + take + "}")
              .find("`take` is ") != std::string::npos);
  }
  CHECK(problem(R"({"path": "t.txt", "tokenizer": "byte", "length": 2, "take": "all"})").empty());
  CHECK(scratch.problem("parquet", "{}") ==
        "kind 1 | there is no data source `parquet` | the sources are bin, csv, idx, lines, npy, text");
}

TEST_CASE("lines: one sample per line, padded to the longest of the batch") {
  const Scratch scratch;
  scratch.write("l.txt", "abc\n\nab\r\nx\nabcd");
  const auto source = scratch.source("lines", R"({"path": "l.txt", "tokenizer": "char"})");
  CHECK(source->size() == 3);
  CHECK(source->info().vocabulary == 5);  // a b c d x, no line ends
  CHECK(source->info().context == 3);
  REQUIRE(source->info().notes.size() == 1);
  CHECK(source->info().notes[0].find("1 lines of one token have nothing to predict") != std::string::npos);
  CHECK(source->positions(0) == 2);
  CHECK(source->positions(1) == 1);
  CHECK(source->counted(2, std::nullopt) == 3);
  const Batch batch = source->collate(Ids{1, 2}, 1);
  CHECK(shape(batch.inputs) == Ids{3, 3});
  CHECK(values<int64_t>(batch.inputs) == Ids{0, 0, 0, 0, 1, 2, 0, 0, 0});
  CHECK(values<int64_t>(batch.targets) == Ids{1, -100, -100, 1, 2, 3, -100, -100, -100});
  CHECK(values<bool>(batch.valid) == std::vector<bool>{true, true, false});
  CHECK(batch.samples == 2);
  CHECK(batch.positions == 9);
}

TEST_CASE("lines: what is too long is an error with its line, or is cut when told to") {
  const Scratch scratch;
  scratch.write("l.txt", "ab\nabcdef\n");
  const std::string args = R"({"path": "l.txt", "tokenizer": "char")";
  CHECK(scratch.problem("lines", args + "}", context_with(3)).find("l.txt: line 2: 6 tokens") !=
        std::string::npos);
  CHECK(scratch.problem("lines", args + "}", context_with(5)).empty());
  const auto source = scratch.source("lines", args + R"(, "long": "cut"})", context_with(3));
  CHECK(values<int64_t>(source->collate(Ids{1}).targets) == Ids{1, 2, 3});
  CHECK(source->info().notes[0].find("1 lines are cut to 3 positions") != std::string::npos);
  scratch.write("l.txt", "\n\n");
  CHECK(scratch.problem("lines", args + "}").find("leaves nothing to read") != std::string::npos);
  scratch.write("l.txt", "ab\n\xFF\n");
  CHECK(scratch.problem("lines", args + "}").find("line 2, column 1: the byte 0xFF") != std::string::npos);
}

TEST_CASE("batches without samples keep their shape") {
  const Scratch scratch;
  scratch.write("t.txt", "abcdefghij");
  const auto text = scratch.source("text", R"({"path": "t.txt", "tokenizer": "byte", "length": 4})");
  CHECK(shape(text->collate(Ids{}).inputs) == Ids{0, 4});
  CHECK(text->collate(Ids{}).positions == 0);
  const Batch padded = text->collate(Ids{}, 2);
  CHECK(shape(padded.targets) == Ids{2, 4});
  CHECK(padded.samples == 0);
  CHECK(values<bool>(padded.valid) == std::vector<bool>{false, false});
  const auto lines = scratch.source("lines", R"({"path": "t.txt", "tokenizer": "byte"})");
  CHECK(shape(lines->collate(Ids{}).inputs) == Ids{0, 1});
}

TEST_CASE("bin: shards in the order of their names are one stream") {
  const Scratch scratch;
  scratch.write("s_2.bin", shard({5, 6, 7, 8}));
  scratch.write("s_1.bin", shard({1, 2, 3, 4, 9}));
  scratch.write("x.bin", shard({60000}));
  const auto source = scratch.source("bin", R"({"path": "s_*.bin", "length": 2})");
  CHECK(source->size() == 4);  // 9 tokens
  CHECK(source->info().vocabulary == 10);
  CHECK(values<int64_t>(source->collate(Ids{1, 2}).inputs) == Ids{3, 4, 9, 5});
  CHECK(values<int64_t>(source->collate(Ids{1, 2}).targets) == Ids{4, 9, 5, 6});
  CHECK(values<int64_t>(source->collate(Ids{3}).targets) == Ids{7, 8});
  const auto last = scratch.source(
      "bin",
      R"({"path": "s_*.bin", "length": 2, "vocabulary": 50257, "take": {"call": "last", "args": [0.5]}})");
  CHECK(last->info().vocabulary == 50257);
  CHECK(values<int64_t>(last->collate(Ids{0}).inputs) == Ids{5, 6});  // 4 of 9 tokens
}

TEST_CASE("bin: every token is within the vocabulary, every file is whole") {
  const Scratch scratch;
  scratch.write("a.bin", shard({1, 2, 300, 4}));
  CHECK(scratch.problem("bin", R"({"path": "a.bin", "length": 2, "vocabulary": 256})") ==
        "kind 2 | a.bin: token 2 is 300, outside the vocabulary of 256 | give the vocabulary of the "
        "tokenizer that wrote "
        "the file");
  scratch.write("b.bin", shard({1, 2, 3}));
  const auto train = scratch.source("bin", R"({"path": "b.bin", "length": 2})");
  CHECK(scratch.problem("bin", R"({"path": "a.bin", "length": 2})", context_with(0, other(train)))
            .find("outside the vocabulary of 4") != std::string::npos);
  scratch.write("a.bin", "abc");
  CHECK(scratch.problem("bin", R"({"path": "a.bin", "length": 1})").find("3 bytes are not a whole number") !=
        std::string::npos);
  CHECK(scratch.problem("bin", R"({"path": "none*.bin", "length": 1})")
            .find("none*.bin: there is no such file") != std::string::npos);
  CHECK(scratch.problem("bin", R"({"path": "b.bin", "length": 3})").find("a sequence of 3 needs 4") !=
        std::string::npos);
}
