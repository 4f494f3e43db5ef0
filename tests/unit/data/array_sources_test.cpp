// idx, csv and npy: shapes and values of batches, the real Fashion-MNIST files, and what is said about bad
// files.
#include <cmath>

#include "tests/unit/data/scratch.h"

#include <doctest/doctest.h>  // after LibTorch, whose headers take its CHECK away

using namespace loop;
using namespace loop::data::test;
using Ids = std::vector<int64_t>;

namespace {

std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string images(uint32_t count, uint32_t height, uint32_t width, const std::string& pixels) {
  return big_endian(0x0803) + big_endian(count) + big_endian(height) + big_endian(width) + pixels;
}

std::string labels(const std::string& classes) {
  return big_endian(0x0801) + big_endian(static_cast<uint32_t>(classes.size())) + classes;
}

// A .npy file written byte for byte: magic, version, header length, header padded with spaces to a line end.
std::string npy(int version, const std::string& header, const std::string& data) {
  std::string text = header + "\n";
  std::string file = "\x93NUMPY" + std::string{static_cast<char>(version), '\0'};
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) file += static_cast<char>(text.size() >> 8 * i);
  return file + text + data;
}

template <class T>
std::string raw(const std::vector<T>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

const std::string kIdx = R"({"images": "i", "labels": "l"})";
const std::string kNpy = R"({"inputs": "x.npy", "targets": "y.npy"})";

}  // namespace

TEST_CASE("idx: images as [b, 1, h, w] from 0 to 1, classes as labels") {
  const Scratch scratch;
  scratch.write("i", images(3, 1, 2, std::string("\x00\xFF\x33\x66\x01\x02", 6)));
  scratch.write_gzip("l", labels(std::string("\x02\x00\x01", 3)));
  const auto source = scratch.source("idx", kIdx);
  CHECK(source->size() == 3);
  CHECK(source->info().classes == 3);
  CHECK(source->info().input_shape == Ids{1, 1, 2});
  CHECK(source->counted(0, std::nullopt) == 1);
  CHECK(source->counted(0, 2) == 0);
  const Batch batch = source->collate(Ids{1, 0}, 1);
  CHECK(shape(batch.inputs) == Ids{3, 1, 1, 2});
  CHECK(values<float>(batch.inputs) == std::vector<float>{0.2F, 0.4F, 0, 1, 0, 0});
  CHECK(values<int64_t>(batch.targets) == Ids{0, 2, -100});
  CHECK(values<bool>(batch.valid) == std::vector<bool>{true, true, false});
  CHECK(batch.samples == 2);
  CHECK(batch.positions == 3);

  SourceContext fp64;
  fp64.dtype = torch::kFloat64;
  const auto normalised =
      scratch.source("idx", R"({"images": "i", "labels": "l", "mean": 0.5, "std": 0.25})", fp64);
  const auto pixels = values<double>(normalised->collate(Ids{0, 1}).inputs);
  CHECK(pixels[0] == doctest::Approx(-2).epsilon(1e-15));
  CHECK(pixels[1] == doctest::Approx(2).epsilon(1e-15));
  CHECK(pixels[2] == doctest::Approx((0.2 - 0.5) / 0.25).epsilon(1e-14));
}

TEST_CASE("idx: damaged and mismatching files") {
  const Scratch scratch;
  const std::string good = images(2, 2, 2, "abcdefgh");
  scratch.write("i", good);
  scratch.write("l", labels("abc"));
  CHECK(scratch.problem("idx", kIdx) ==
        "kind 2 | l: 3 labels do not go with 2 images in i | name the labels that belong to these images");
  scratch.write("l", labels("ab"));
  CHECK(scratch.problem("idx", kIdx).empty());
  CHECK(scratch.problem("idx", R"({"images": "l", "labels": "i"})")
            .find("l: is not an IDX file of images: it begins with 0x00000801 instead of 0x00000803") !=
        std::string::npos);
  scratch.write("i", good.substr(0, good.size() - 1));
  CHECK(scratch.problem("idx", kIdx).find("i: its header promises 8 bytes of data, but there are 7") !=
        std::string::npos);
  scratch.write("i", good + "x");
  CHECK(scratch.problem("idx", kIdx).find("but there are 9") != std::string::npos);
  scratch.write("i", good.substr(0, 9));
  CHECK(scratch.problem("idx", kIdx).find("i: ends within its header") != std::string::npos);
  scratch.write("i", "\x08");
  CHECK(scratch.problem("idx", kIdx).find("begins with fewer than four bytes") != std::string::npos);
  scratch.write("i", images(0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, ""));
  CHECK(scratch.problem("idx", kIdx).find("its header is damaged") != std::string::npos);
  scratch.write("i", images(2, 0, 2, ""));
  CHECK(scratch.problem("idx", kIdx).find("its images have no pixels") != std::string::npos);
  CHECK(scratch.problem("idx", R"({"images": "i", "labels": "l", "std": 0})").find("`std` must be above 0") !=
        std::string::npos);
}

TEST_CASE("a gzip file that is cut off or damaged is never taken for a shorter one") {
  const Scratch scratch;
  std::string pixels;
  uint32_t state = 1;
  for (int i = 0; i < 100 * 64; ++i)
    pixels += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  scratch.write_gzip("i", images(100, 8, 8, pixels));
  scratch.write("l", labels(std::string(100, '\1')));
  REQUIRE(scratch.problem("idx", kIdx).empty());
  const std::string whole = scratch.read("i");
  for (const size_t keep :
       {size_t{2}, size_t{10}, size_t{11}, whole.size() / 2, whole.size() - 8, whole.size() - 1}) {
    CAPTURE(keep);
    scratch.write("i", whole.substr(0, keep));
    CHECK(scratch.problem("idx", kIdx).find("i: the gzip file is ") != std::string::npos);
  }
  std::string damaged = whole;
  damaged[whole.size() - 6] ^= 1;  // in the checksum
  scratch.write("i", damaged);
  CHECK(scratch.problem("idx", kIdx).find("i: the gzip file is damaged: ") != std::string::npos);
}

TEST_CASE("Fashion-MNIST: 60,000 and 10,000 images of 28×28, equally many of each class") {
  const std::filesystem::path folder = "/usr/share/datasets/fashion-mnist";
  if (!std::filesystem::exists(folder)) {
    MESSAGE("skipped: the Debian package dataset-fashion-mnist is not installed");
    return;
  }
  SourceContext context;
  context.base_dir = folder;
  const auto open = [&](const std::string& part, const Source* training) {
    context.vocabulary_of = training;
    plan::Component component{"idx", plan::json::object()};
    component.args["images"] = part + "-images-idx3-ubyte.gz";
    component.args["labels"] = part + "-labels-idx1-ubyte.gz";
    return make_source(component, context);
  };
  const auto train = open("train", nullptr);
  const auto test = open("t10k", train.get());
  for (const auto& [source, per_class] : {std::pair{train.get(), 6000}, std::pair{test.get(), 1000}}) {
    CHECK(source->size() == per_class * 10);
    CHECK(source->info().classes == 10);
    CHECK(source->info().input_shape == Ids{1, 28, 28});
    std::vector<int> seen(10, 0);
    for (int64_t begin = 0; begin < source->size(); begin += 500) {
      Ids ids(500);
      for (int64_t i = 0; i < 500; ++i) ids[i] = begin + i;
      for (int64_t label : values<int64_t>(source->collate(ids).targets)) ++seen[label];
    }
    CHECK(seen == std::vector<int>(10, per_class));
  }
  // The first training images are an ankle boot, then four tops and dresses.
  CHECK(values<int64_t>(train->collate(Ids{0, 1, 2, 3, 4}).targets) == Ids{9, 0, 0, 3, 0});
  Ids some(6000);
  for (int64_t i = 0; i < 6000; ++i) some[i] = i * 10;
  const torch::Tensor inputs = train->collate(some).inputs;
  CHECK(inputs.min().item<float>() == 0);
  CHECK(inputs.max().item<float>() == 1);
  CHECK(std::abs(inputs.mean().item<float>() - 0.286) < 0.005);  // the published mean of all pixels
}

TEST_CASE("csv: columns by header, by number, several targets") {
  const Scratch scratch;
  scratch.write("d.csv", "\xEF\xBB\xBFheight,\"weight, kg\",age\r\n1.5,60,30\r\n\r\n1.8,\"80.5\",-4e1\r\n");
  const auto one = scratch.source("csv", R"({"path": "d.csv", "target": "age", "task": "regression"})");
  CHECK(one->size() == 2);
  CHECK(one->info().outputs == 1);
  CHECK(one->info().classes == 0);
  CHECK(one->info().input_shape == Ids{2});
  CHECK(one->counted(0, 30) == 1);
  const Batch batch = one->collate(Ids{1, 0}, 1);
  CHECK(values<float>(batch.inputs) == std::vector<float>{1.8F, 80.5F, 1.5F, 60, 0, 0});
  CHECK(shape(batch.targets) == Ids{3, 1});
  CHECK(values<float>(batch.targets) == std::vector<float>{-40, 30, 0});

  const auto two = scratch.source("csv", R"({"path": "d.csv", "target": ["age", 0], "task": "regression"})");
  CHECK(two->info().outputs == 2);
  CHECK(two->counted(0, std::nullopt) == 2);
  CHECK(values<float>(two->collate(Ids{0}).targets) == std::vector<float>{30, 1.5F});
  const auto chosen = scratch.source(
      "csv", R"({"path": "d.csv", "target": "-1", "features": "height", "task": "regression"})");
  CHECK(values<float>(chosen->collate(Ids{0}).inputs) == std::vector<float>{1.5F});
}

TEST_CASE("csv: the first line is a header when nothing in it is a number, or as told") {
  const Scratch scratch;
  const auto size = [&](const std::string& text, const std::string& header) {
    scratch.write("d.csv", text);
    return scratch
        .source("csv",
                R"({"path": "d.csv", "target": "1", "task": "classification", "header": ")" + header + "\"}")
        ->size();
  };
  CHECK(size("a,b\n1,x\n", "auto") == 1);
  CHECK(size("1,x\n2,y\n", "auto") == 2);
  CHECK(size("2019,y\n2,y\n", "yes") == 1);
  CHECK(size("1,0\n2,1\n", "no") == 2);
}

TEST_CASE("csv: classes as whole numbers or as words") {
  const Scratch scratch;
  scratch.write("d.csv", "x,kind\n1,rose\n2,\"fern\"\n3,rose\n");
  const std::string args = R"({"path": "d.csv", "target": "kind", "task": "classification"})";
  const auto words = scratch.source("csv", args);
  CHECK(words->info().classes == 2);
  CHECK(words->info().class_names == std::vector<std::string>{"fern", "rose"});
  CHECK(values<int64_t>(words->collate(Ids{0, 1, 2}).targets) == Ids{1, 0, 1});
  SourceContext held_out;
  held_out.vocabulary_of = words.get();
  scratch.write("d.csv", "x,kind\n1,rose\n");
  CHECK(values<int64_t>(scratch.source("csv", args, held_out)->collate(Ids{0}).targets) == Ids{1});
  scratch.write("d.csv", "x,kind\n1,moss\n");
  CHECK(
      scratch.problem("csv", args, held_out).find("the class `moss` does not occur in the training source") !=
      std::string::npos);

  scratch.write("d.csv", "x,kind\n1,3\n2,0\n");
  const auto numbers = scratch.source("csv", args);
  CHECK(numbers->info().classes == 4);
  CHECK(values<int64_t>(numbers->collate(Ids{0, 1}).targets) == Ids{3, 0});
  held_out.vocabulary_of = numbers.get();
  scratch.write("d.csv", "x,kind\n1,4\n2,0\n");
  CHECK(scratch.problem("csv", args, held_out)
            .find("class 4 does not occur in the training source, which has 4") != std::string::npos);
  scratch.write("d.csv", "x,kind\n1,0\n2,1.5\n");
  CHECK(scratch.problem("csv", args)
            .find("line 3, column `kind`: a class must be a whole number from 0, or a word") !=
        std::string::npos);
}

TEST_CASE("csv: what is missing or wrong is named by line and column") {
  const Scratch scratch;
  const auto problem = [&](const std::string& text,
                           const std::string& args = R"("target": "y", "task": "regression")") {
    scratch.write("d.csv", text);
    return scratch.problem("csv", R"({"path": "d.csv", )" + args + "}");
  };
  CHECK(problem("x,y\n1,2\n3,\n") ==
        "kind 2 | d.csv: line 3, column `y`: the value is missing | fill in or remove the row, or leave the "
        "column out with "
        "`features`");
  CHECK(problem("x,y\nNaN,2\n").find("line 2, column `x`: the value is NaN") != std::string::npos);
  CHECK(problem("x,y\n1,inf\n").find("line 2, column `y`: the value is inf") != std::string::npos);
  CHECK(problem("x,y\n1,abc\n").find("line 2, column `y`: `abc` is not a number") != std::string::npos);
  CHECK(problem("x,y\n1,1.5kg\n").find("`1.5kg` is not a number") != std::string::npos);
  CHECK(problem("x,y\n1,2\n1,2,3\n").find("line 3: 3 fields, but the first line has 2") != std::string::npos);
  CHECK(problem("x,y\n1,\"2\n3,4\n").find("line 2: a quote is opened and not closed") != std::string::npos);
  CHECK(problem("x,y\n1,2\"3\n").find("line 2: a quote or a carriage return stands inside a field") !=
        std::string::npos);
  CHECK(problem("x,y\n1,\"2\"3\n").find("line 2: a quote") != std::string::npos);
  CHECK(problem("x,y\n").find("take: all of 0 rows leaves nothing to read") != std::string::npos);
  CHECK(problem("\n\n").find("has only empty lines") != std::string::npos);
  CHECK(problem("x;y\n1;2\n") ==
        "kind 1 | d.csv: there is no column `y` | the columns are x;y; columns are separated by commas");
  CHECK(problem("x,z\n1,2\n") == "kind 1 | d.csv: there is no column `y` | the columns are x, z");
  CHECK(problem("y,y\n1,2\n").find("line 1: several columns are called `y`") != std::string::npos);
  CHECK(problem("x,y\n1,2\n", R"("target": "y", "task": "regression", "features": ["y"])")
            .find("both a feature and a target") != std::string::npos);
  CHECK(problem("x,y\n1,2\n", R"("target": "y")") ==
        "kind 1 | csv(…): `task` is missing | give one of classification, regression");
  CHECK(problem("x,y\n1,2\n", R"("target": ["x", "y"], "task": "classification")")
            .find("a class stands in one column") != std::string::npos);
  CHECK(problem("1,2\n1,2\n", R"("target": "2", "task": "regression")")
            .find("columns are numbers from 0 to 1") != std::string::npos);
}

TEST_CASE("csv: quoted fields may hold commas, quotes and line ends") {
  const Scratch scratch;
  scratch.write("d.csv", "x,kind\n1,\"a \"\"b\"\", c\nd\"\n2,e\n3,\n");
  const std::string args = R"({"path": "d.csv", "target": "kind", "task": "classification"})";
  CHECK(scratch.problem("csv", args).find("line 5, column `kind`: the class is missing") !=
        std::string::npos);
  scratch.write("d.csv", "x,kind\n1,\"a \"\"b\"\", c\nd\"\n2,e\n");
  CHECK(scratch.source("csv", args)->info().class_names == std::vector<std::string>{"a \"b\", c\nd", "e"});
}

TEST_CASE("npy: files written by NumPy") {
  const Scratch scratch;
  SourceContext context;
  const std::string folder = std::string(LOOP_SOURCE_DIR) + "/tests/data/";
  const std::string args =
      R"({"inputs": ")" + folder + R"(inputs_f4.npy", "targets": ")" + folder + R"(classes_i8.npy"})";
  const auto source = scratch.source("npy", args, context);
  CHECK(source->size() == 4);
  CHECK(source->info().input_shape == Ids{2, 3});
  CHECK(source->info().classes == 3);
  const Batch batch = source->collate(Ids{3, 0});
  CHECK(shape(batch.inputs) == Ids{2, 2, 3});
  CHECK(values<float>(batch.inputs) == std::vector<float>{2.25F, 2.375F, 2.5F, 2.625F, 2.75F, 2.875F, 0,
                                                          0.125F, 0.25F, 0.375F, 0.5F, 0.625F});
  CHECK(values<int64_t>(batch.targets) == Ids{2, 2});
  CHECK(scratch
            .problem("npy", R"({"inputs": ")" + folder + R"(fortran_f8.npy", "targets": ")" + folder +
                                R"(classes_i8.npy"})")
            .find("fortran_f8.npy: is stored column by column (Fortran order) | save "
                  "numpy.ascontiguousarray(array)") != std::string::npos);
}

TEST_CASE("npy: every version of the format and every type of element") {
  const Scratch scratch;
  scratch.write("y.npy", npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }",
                             raw<double>({1, 2, 3, 4})));
  const auto inputs = [&](int version, const std::string& descr, const std::string& data) {
    scratch.write("x.npy",
                  npy(version, "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (2,)}", data));
    SourceContext context;
    context.dtype = torch::kFloat64;
    const Batch batch = scratch.source("npy", kNpy, context)->collate(Ids{0, 1});
    CHECK(shape(batch.inputs) == Ids{2, 1});
    CHECK(values<double>(batch.targets) == std::vector<double>{1, 2, 3, 4});
    return values<double>(batch.inputs);
  };
  const std::vector<double> expected = {7, -3};
  CHECK(inputs(1, "<f4", raw<float>({7, -3})) == expected);
  CHECK(inputs(2, "<f8", raw<double>({7, -3})) == expected);
  CHECK(inputs(3, "<i2", raw<int16_t>({7, -3})) == expected);
  CHECK(inputs(1, "<i4", raw<int32_t>({7, -3})) == expected);
  CHECK(inputs(1, "<i8", raw<int64_t>({7, -3})) == expected);
  CHECK(inputs(1, "|i1", raw<int8_t>({7, -3})) == expected);
  CHECK(inputs(1, "|u1", raw<uint8_t>({7, 200})) == std::vector<double>{7, 200});
  CHECK(inputs(1, "<u2", raw<uint16_t>({7, 60000})) == std::vector<double>{7, 60000});
}

TEST_CASE("npy: token ids with a vocabulary") {
  const Scratch scratch;
  scratch.write("x.npy", npy(1, "{'descr': '<u2', 'fortran_order': False, 'shape': (3, 2), }",
                             raw<uint16_t>({4, 0, 1, 2, 49999, 3})));
  scratch.write("y.npy",
                npy(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }", raw<int32_t>({1, 0, 1})));
  const auto args = [](const std::string& vocabulary) {
    return R"({"inputs": "x.npy", "targets": "y.npy", "vocabulary": )" + vocabulary + "}";
  };
  const auto source = scratch.source("npy", args("50000"));
  CHECK(source->info().vocabulary == 50000);
  CHECK(source->info().classes == 2);
  CHECK(source->info().context == 2);
  CHECK(source->info().input_shape.empty());
  CHECK(source->positions(1) == 2);
  CHECK(source->counted(1, std::nullopt) == 1);
  const Batch batch = source->collate(Ids{2, 0}, 1);
  CHECK(shape(batch.inputs) == Ids{3, 2});
  CHECK(values<int64_t>(batch.inputs) == Ids{49999, 3, 4, 0, 0, 0});
  CHECK(values<int64_t>(batch.targets) == Ids{1, 1, -100});
  CHECK(batch.positions == 6);
  CHECK(scratch.problem("npy", args("49999")) ==
        "kind 2 | x.npy: row 2 (from 0) has the token 49999, outside the vocabulary of 49999 | give the "
        "vocabulary of the tokenizer that wrote the file");
  SourceContext evaluation;
  evaluation.vocabulary_of = source.get();
  CHECK(scratch.problem("npy", args("50001"), evaluation).find("the training source one of 50000") !=
        std::string::npos);
  scratch.write("x.npy", npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }",
                             raw<float>({4, 0, 1, 2, 9, 3})));
  CHECK(scratch.problem("npy", args("50000")).find("(3, 2) of real numbers is not one of token ids") !=
        std::string::npos);
}

TEST_CASE("npy: what cannot be used is said, with the way out") {
  const Scratch scratch;
  const auto header = [](const std::string& descr, const std::string& shape) {
    return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + "}";
  };
  const std::string good = npy(1, header("<f4", "(2, 1)"), raw<float>({1, 2}));
  scratch.write("y.npy", npy(1, header("<i4", "(2,)"), raw<int32_t>({0, 1})));
  const auto input_problem = [&](const std::string& bytes) {
    scratch.write("x.npy", bytes);
    return scratch.problem("npy", kNpy);
  };
  CHECK(input_problem(good).empty());
  CHECK(input_problem("PK\x03\x04 something").find("x.npy: is not an .npy file") != std::string::npos);
  CHECK(input_problem(npy(4, header("<f4", "(2, 1)"), "")).find("unknown .npy version 4") !=
        std::string::npos);
  CHECK(input_problem(npy(1, header(">f4", "(2, 1)"), "")).find("elements of the type '>f4'") !=
        std::string::npos);
  CHECK(input_problem(npy(1, header("|O", "(2, 1)"), "")).find("elements of the type '|O'") !=
        std::string::npos);
  CHECK(input_problem(npy(1, header("<f4", "()"), raw<float>({1}))).find("a single number") !=
        std::string::npos);
  CHECK(input_problem(npy(1, header("<f4", "(2, 0)"), "")).find("its samples hold no numbers") !=
        std::string::npos);
  CHECK(input_problem(npy(1, header("<f4", "(99999999999999, 99999999999999)"), ""))
            .find("its header is damaged") != std::string::npos);
  CHECK(input_problem(npy(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", ""))
            .find("not that of a plain array") != std::string::npos);
  CHECK(input_problem(npy(1, "{'descr': '<f4'}", "")).find("not that of a plain array") != std::string::npos);
  CHECK(input_problem(good.substr(0, 20)).find("ends within its header") != std::string::npos);
  CHECK(input_problem(good.substr(0, good.size() - 1)).find("promises 8 bytes of data, but there are 7") !=
        std::string::npos);
  CHECK(input_problem(npy(1, header("<f4", "(2, 1)"), raw<float>({1, NAN}))) ==
        "kind 2 | x.npy: row 1 (from 0) has a number that is NaN or infinite | remove or replace it before "
        "training");
  CHECK(input_problem(npy(1, header("<f4", "(3,)"), raw<float>({1, 2, 3})))
            .find("2 targets do not go with 3 inputs") != std::string::npos);
  scratch.write("x.npy", good);
  const auto target_problem = [&](const std::string& bytes) {
    scratch.write("y.npy", bytes);
    return scratch.problem("npy", kNpy);
  };
  CHECK(target_problem(npy(1, header("<i4", "(2, 1)"), raw<int32_t>({0, 1})))
            .find("y.npy: its shape (2, 1) of integers") != std::string::npos);
  CHECK(target_problem(npy(1, header("<i4", "(2,)"), raw<int32_t>({0, -1})))
            .find("row 1 (from 0) has the class -1") != std::string::npos);
}
